"""Whose a file is: by the names that platforms give, and by a roster."""

from pathlib import Path

import pytest

from attncourse.grading.students import Roster, Student, student_of

FOLDERS = {
    # Canvas: all in one folder
    ("class", "doejane_10234_998877_dot_product.ipynb"): ("10234", "doejane", "canvas"),
    ("class", "doejane_LATE_10234_998877_dot_product-2.ipynb"): ("10234", "doejane", "canvas"),
    ("class", "doejane_10234_998877_work.zip/deep/a.ipynb"): ("10234", "doejane", "canvas"),
    # Moodle: a folder for each student, or none
    ("class", "Jane Doe_4711_assignsubmission_file_/a.ipynb"): ("4711", "Jane Doe", "moodle"),
    ("class", "Jane Doe_4711_assignsubmission_file/b/a.ipynb"): ("4711", "Jane Doe", "moodle"),
    ("class", "Jané O_Doe_4711_assignsubmission_file_a.ipynb"): ("4711", "Jané O_Doe", "moodle"),
    # gh classroom clone student-repos
    ("class", "linear-submissions/linear-jane-doe/linear.ipynb"): ("jane-doe", "", "github"),
    ("linear-submissions", "linear-jane-doe/linear.ipynb"): ("jane-doe", "", "github"),
    # nbgrader
    ("course", "submitted/jdoe/linear/linear.ipynb"): ("jdoe", "", "nbgrader"),
    ("submitted", "jdoe/linear/linear.ipynb"): ("jdoe", "", "nbgrader"),
    # none of them
    ("class", "jdoe/linear.ipynb"): ("jdoe", "", ""),
    ("class", "jdoe.ipynb"): ("jdoe", "", ""),
}


@pytest.mark.parametrize(("folder", "file"), FOLDERS)
def test_a_platform_s_names_say_whose_a_file_is(folder, file):
    key, name, platform = FOLDERS[folder, file]
    assert student_of(file, Path(folder)) == Student(key, name, platform)


ROSTERS = {
    "canvas": (
        "Student,ID,SIS User ID,SIS Login ID,Section,Dot product (55)\n"
        "    Points Possible,,,,,115\n"
        '"Doe, Jane",10234,u77,jdoe,A,\n"Roe, Rick",77,10234,rroe,A,\n',
        ("10234", "doejane", "canvas"), "Doe, Jane",
    ),
    "moodle": (
        "\ufeffIdentifier;Full name;Email address;Maximum Grade\n"
        "Participant 4711;Jane Doe;jane@example.edu;100,00\n"
        "Participant 12;Rick Roe;rick@example.edu;100,00\n",
        ("4711", "Jane Doe", "moodle"), "Jane Doe",
    ),
    "github": (
        '"identifier","github_username","github_id","name"\n"s-1","Jane-Doe","9","Jane"\n"s-2","","",""\n',
        ("jane-doe", "", "github"), "Jane",
    ),
    "by name": (
        "matriculation\tname\n1\tZoë Ångström\n2\tRick Roe\n",
        ("angstromzoe", "", ""), "Zoë Ångström",
    ),
    "first and last name": (
        "Username,First name,Last name\njdoe,Jane,Doe\nrroe,Rick,Roe\n",
        ("jdoe", "", ""), "Jane Doe",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ROSTERS)
def test_a_roster_in_a_platform_s_own_form_knows_the_student(kind, tmp_path):
    text, found, name = ROSTERS[kind]
    (tmp_path / "roster.csv").write_text(text, "utf-8")
    roster = Roster.read(tmp_path / "roster.csv")
    student = roster.student(Student(*found))
    assert student.key == found[0] and student.name == name and student.row
    (missing,) = roster.missing([student])
    assert missing.row and missing.row != student.row


def test_two_that_may_be_meant_are_nobody():
    rows = [{"name": "Jane Doe", "id": "1"}, {"name": "Doe Jane", "id": "2"}]
    assert Roster(rows).student(Student("3", "Jane Doe")).row == rows[0]
    assert Roster(rows * 2).student(Student("3", "Nobody")).row == {}
    twins = [{"name": "Jane Doe", "id": "1"}, {"name": "jane doe", "id": "2"}]
    assert Roster(twins).student(Student("3", "Jane Doe")).row == {}
