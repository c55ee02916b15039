"""Whose a file is: by the names that platforms give, and by a roster."""

from pathlib import Path

import pytest

from judge.grading.students import (
    People,
    Roster,
    Student,
    owners,
    passed_over,
    student_of,
)

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
    ("course", "submitted/jdoe.ipynb"): ("jdoe", "", ""),
    # a folder for each chapter
    ("class", "linear/jdoe/linear.ipynb"): ("jdoe", "", ""),
    ("class", "linear/doejane_10234_998877_linear.ipynb"): ("10234", "doejane", "canvas"),
    # a download as it came
    ("class", "submissions.zip/doejane_10234_998877_a.ipynb"): ("10234", "doejane", "canvas"),
    ("class", "c-12.zip/Jane Doe_47_assignsubmission_file_/a.ipynb"): ("47", "Jane Doe", "moodle"),
    # what was handed in as a text or a link lies beside the files
    ("class", "doejane_LATE_10234_text.html"): ("10234", "doejane", "canvas"),
    # none of them
    ("class", "jdoe/linear.ipynb"): ("jdoe", "", ""),
    ("class", "jdoe.ipynb"): ("jdoe", "", ""),
    ("class", "john.doe/linear.ipynb"): ("john.doe", "", ""),
    ("class", "john.doe.ipynb"): ("john.doe", "", ""),
    ("class", "s19.zip/linear.ipynb"): ("s19", "", ""),
    ("class", "s19.ZIP"): ("s19", "", ""),
    ("class", "s19.tar.gz"): ("s19", "", ""),
    ("class", "s19.ipynb/linear.ipynb"): ("s19", "", ""),
    # dates
    ("class", "s16/linear_2026_11_23.ipynb"): ("s16", "", ""),
    ("class", "s16_2026_11_23.ipynb"): ("s16_2026_11_23", "", ""),
    ("class", "s16_23_11_26_final.ipynb"): ("s16_23_11_26_final", "", ""),
    ("class", "s16_20261123_1159_b.ipynb"): ("s16_20261123_1159_b", "", ""),
    # what students name themselves says nothing
    ("class", "mallory/Bob Jones_77_9988_x.ipynb"): ("mallory", "", ""),
    ("class", "mallory.zip/submitted/bob/x/linear.ipynb"): ("mallory", "", ""),
    ("class", "mallory/linear-submissions/linear-bob/x.ipynb"): ("mallory", "", ""),
    ("class", "submitted/mallory/x/bob_77_9988_x.ipynb"): ("mallory", "", "nbgrader"),
    ("x-submissions", "x-mallory/bob_77_9988_x.ipynb"): ("mallory", "", "github"),
    ("class", "mm_78_9989_m.zip/bob_77_9988_x.ipynb"): ("78", "mm", "canvas"),
    ("class", "M_78_assignsubmission_file_/Bob_77_assignsubmission_file_/x.ipynb"): (
        "78",
        "M",
        "moodle",
    ),
}


ALONE = {file for _, file in FOLDERS if file.startswith(("submissions.zip", "c-12.zip"))}


@pytest.mark.parametrize(("folder", "file"), FOLDERS)
def test_the_first_part_that_names_somebody_says_whose_a_file_is(folder, file):
    # beside what another has handed in, but for what lies alone
    files = [file] if file in ALONE else [file, "other/x.ipynb"]
    key, name, platform = FOLDERS[folder, file]
    over = passed_over(files, Path(folder), None)
    assert student_of(file, Path(folder), over) == Student(key, name, platform)


def test_a_download_beside_others_or_of_a_known_student_is_one_student_s():
    file, roster = "mallory.zip/bob_77_9988_x.ipynb", Roster([{"login": "mallory"}])
    assert passed_over([file], Path("class"), None) == {"mallory.zip"}
    assert not passed_over([file], Path("class"), roster)
    assert not passed_over([file, "bob/x.ipynb"], Path("class"), None)
    assert not passed_over([file, "mallory.zip/x.ipynb"], Path("class"), None)
    # a zip for each assignment
    two = [file, "mallory (1).zip/bob_77_9999_y.ipynb"]
    assert passed_over(two, Path("class"), None) == {"mallory.zip", "mallory (1).zip"}


def test_one_person_is_one_student_and_no_two_have_one_key():
    found = {
        "a": Student("bob"),
        "b": Student("Bob", platform="nbgrader"),
        "c": Student("bob", platform="github"),
        "d": Student("77", "jonesbob", "canvas"),
        "e": Student("77", "Ann", "moodle"),
        "f": Student("77"),
    }
    one = owners(found, None)
    assert one["a"] == one["b"] == one["c"]
    assert [one[file].key for file in "def"] == ["77", "77 (2)", "77 (3)"]
    assert one["e"].number("moodle") == "77" and one["e"].number("canvas") == ""
    roster = Roster([{"ID": "77", "login": "bob", "name": "Bob Jones"}, {"login": "ann"}])
    known = owners({file: found[file] for file in "abcd"} | {"g": Student("ann")}, roster)
    assert len({known[file] for file in "abcd"}) == 1
    # its number is that of the platform, which a table for the platform needs
    assert (known["a"].key, known["a"].name, known["a"].platform) == ("77", "Bob Jones", "canvas")
    assert known["g"].key == "ann"


def test_a_row_with_another_number_is_somebody_else_s():
    canvas = Roster([{"Student": "Jones, Bob", "ID": "77", "SIS Login ID": "bob"}])
    assert canvas.student(Student("666", "jonesbob", "canvas")).row == {}
    assert canvas.student(Student("77", "whoever", "canvas")).row
    # a university's numbers are not Canvas's
    university = Roster([{"id": "4", "name": "Bob Jones"}])
    assert university.student(Student("77", "jonesbob", "canvas")).row
    classroom = Roster([{"identifier": "Bob Jones", "github_username": "bobj"}])
    assert classroom.student(Student("bob-jones", platform="github")).row == {}
    assert classroom.student(Student("BobJ", platform="github")).row


def test_a_name_means_those_with_that_key_then_that_name_then_that_cell():
    people = People(
        [
            Student("12", "Rick", row={"quiz": "99"}),
            Student("7", "Jane", row={"quiz": "12"}),
            Student("8", "jane", row={"email": "j@x.edu"}),
        ]
    )
    called = {name: [one.key for one in people.called(name)] for name in ("12", " JANE", "J@x.edu")}
    assert called == {"12": ["12"], " JANE": ["7", "8"], "J@x.edu": ["8"]}
    assert people.called("") == [] == people.called("nobody")


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
