"""The owner of a file, by the names that platforms give and by a roster."""

import unicodedata
from pathlib import Path

import pytest

from judge.grading.gradebook.classroom import Classroom
from judge.grading.submissions.layouts import class_folders, student_of
from judge.grading.submissions.roster import Roster, owners
from judge.grading.submissions.students import People, Student

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
    # Gradescope
    ("class", "submission_9/linear.ipynb"): ("9", "", "gradescope"),
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
    # a text or a link that was handed in lies beside the files
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
    # names with additions of browsers, phones and file managers
    ("class", "lisi.ipynb.json"): ("lisi", "", ""),
    ("class", "wangwu.IPYNB.txt"): ("wangwu", "", ""),
    ("class", "lisi.ipynb (1)"): ("lisi", "", ""),
    ("class", "lisi.ipynb(1).download"): ("lisi", "", ""),
    ("class", "lisi.zip.download/linear.ipynb"): ("lisi", "", ""),
    ("class", "lisi (1).ipynb"): ("lisi (1)", "", ""),
    ("class", "lisi"): ("lisi", "", ""),
    # names that students give themselves say nothing
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
    ("class", "Bob_77_assignsubmission_file_x_78_assignsubmission_file_/x.ipynb"): (
        "78",
        "Bob_77_assignsubmission_file_x",
        "moodle",
    ),
    # a name or a file's name that was chosen so: which of the two, nobody can tell
    ("class", "Bob_77_assignsubmission_file_x_78_assignsubmission_file_y.ipynb"): (
        "Bob_77_assignsubmission_file_x_78_assignsubmission_file_y",
        "",
        "",
    ),
    ("class", "M_78_assignsubmission_file_Bob_77_assignsubmission_file_"): (
        "M_78_assignsubmission_file_Bob_77_assignsubmission_file_",
        "",
        "",
    ),
}


CLASS_PREFIXES = ("submissions.zip/", "c-12.zip/", "submitted/", "linear-submissions/", "linear/")
SINGLE_SUBMISSIONS = {file for _, file in FOLDERS if file.startswith(CLASS_PREFIXES)}


@pytest.mark.parametrize(("folder", "file"), FOLDERS)
def test_the_first_part_that_names_somebody_says_whose_a_file_is(folder, file):
    # beside what another has handed in, but for what lies alone
    files = [file] if file in SINGLE_SUBMISSIONS else [file, "other/x.ipynb"]
    key, name, platform = FOLDERS[folder, file]
    class_paths = class_folders(files, Path(folder), None)
    assert student_of(file, Path(folder), class_paths) == Student(key, name, platform)


def test_a_download_beside_others_or_of_a_known_student_is_one_student_s():
    file, roster = "mallory.zip/bob_77_9988_x.ipynb", Roster([{"login": "mallory"}])
    assert class_folders([file], Path("class"), None) == {"mallory.zip"}
    assert not class_folders([file], Path("class"), roster)
    assert not class_folders([file, "bob/x.ipynb"], Path("class"), None)
    assert not class_folders([file, "mallory.zip/x.ipynb"], Path("class"), None)
    # a zip for each assignment
    files = [file, "mallory (1).zip/bob_77_9999_y.ipynb"]
    assert class_folders(files, Path("class"), None) == {"mallory.zip", "mallory (1).zip"}


def test_one_person_is_one_student_and_no_two_have_one_key():
    students = {
        "a": Student("bob"),
        "b": Student("Bob", platform="nbgrader"),
        "c": Student("bob", platform="github"),
        "d": Student("77", "jonesbob", "canvas"),
        "e": Student("77", "Ann", "moodle"),
        "f": Student("77"),
    }
    by_file = owners(students, None)
    assert by_file["a"] == by_file["b"] == by_file["c"]
    assert [by_file[file].key for file in "def"] == ["77", "77 (2)", "77 (3)"]
    assert by_file["e"].number("moodle") == "77" and by_file["e"].number("canvas") == ""
    roster = Roster([{"ID": "77", "login": "bob", "name": "Bob Jones"}, {"login": "ann"}])
    with_roster = owners({file: students[file] for file in "abcd"} | {"g": Student("ann")}, roster)
    assert len({with_roster[file] for file in "abcd"}) == 1
    # its number is that of the platform, which a table for the platform needs
    assert (with_roster["a"].key, with_roster["a"].name, with_roster["a"].platform) == (
        "77",
        "Bob Jones",
        "canvas",
    )
    assert with_roster["g"].key == "ann"


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
    keys_by_name = {
        name: [student.key for student in people.called(name)]
        for name in ("12", " JANE", "J@x.edu")
    }
    assert keys_by_name == {"12": ["12"], " JANE": ["7", "8"], "J@x.edu": ["8"]}
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
    text, fields, name = ROSTERS[kind]
    (tmp_path / "roster.csv").write_text(text, "utf-8")
    roster = Roster.read(tmp_path / "roster.csv")
    student = roster.student(Student(*fields))
    assert student.key == fields[0] and student.name == name and student.row
    (missing,) = roster.missing([student])
    assert missing.row and missing.row != student.row


def test_two_that_may_be_meant_are_nobody():
    rows = [{"name": "Jane Doe", "id": "1"}, {"name": "Doe Jane", "id": "2"}]
    assert Roster(rows).student(Student("3", "Jane Doe")).row == rows[0]
    assert Roster(rows * 2).student(Student("3", "Nobody")).row == {}
    twins = [{"name": "Jane Doe", "id": "1"}, {"name": "jane doe", "id": "2"}]
    assert Roster(twins).student(Student("3", "Jane Doe")).row == {}


def classroom_of(files: list[str], roster: list[dict[str, str]] | None = None) -> Classroom:
    """The class that has handed in these files."""
    classroom = Classroom(Path("class"), Path(), Roster(roster) if roster else None)
    list(classroom.identify(files))
    return classroom


def printed_lines(files: list[str], roster: list[dict[str, str]] | None = None) -> str:
    """The lines printed of the class that has handed in these files."""
    classroom = Classroom(Path("class"), Path(), Roster(roster) if roster else None)
    return "\n".join(classroom.identify(files))


def rows_of(classroom: Classroom) -> list[tuple[str, bool]]:
    """The keys of all students who handed in a file, and whether the roster has them."""
    return [
        (student.key, bool(student.row)) for student in dict.fromkeys(classroom.owners.values())
    ]


SIMILAR_NAMES = {
    "an ß": (["weiß/a.ipynb", "weiss/a.ipynb"], "weiß"),
    "an accent": (["José Li.ipynb", "Jose Li.ipynb"], "José Li"),
    "the order": (["Li Wang.ipynb", "Wang Li.ipynb"], "Li Wang"),
    "marks of vowels": (["कि.ipynb", "कु.ipynb"], "कि"),
}


@pytest.mark.parametrize("case", SIMILAR_NAMES)
def test_two_whose_names_differ_by_little_are_two(case):
    files, name = SIMILAR_NAMES[case]
    first, second = (file.partition("/")[0].removesuffix(".ipynb") for file in files)
    assert rows_of(classroom_of(files)) == [(first, False), (second, False)]
    roster_class = classroom_of(files, [{"name": first}, {"name": second}])
    assert rows_of(roster_class) == [(first, True), (second, True)] and not roster_class.missing
    swapped_class = classroom_of(files[::-1], [{"name": name}, {"name": "Nora None"}])
    assert rows_of(swapped_class) == [(second, False), (first, True)]
    assert [student.key for student in swapped_class.missing] == ["Nora None"]
    # a student who comes alone is known in the other's spelling, too
    assert rows_of(classroom_of(files[1:], [{"name": name}])) == [(second, True)]


ACCOUNTS = {
    "Canvas": ["doejane_1_99_a.ipynb", "doejane_2_98_a.ipynb"],
    "Moodle": [f"Jane Doe_{n}_assignsubmission_file_/a.ipynb" for n in (1, 2)],
    "GitHub": [f"x-submissions/x-{name}/a.ipynb" for name in ("jane-doe", "doejane")],
}


@pytest.mark.parametrize("platform", ACCOUNTS)
def test_two_accounts_of_a_platform_are_two_students_of_one_name(platform):
    classroom = classroom_of(ACCOUNTS[platform], [{"name": "Jane Doe"}, {"name": "Nora None"}])
    keys = ["1", "2"] if platform != "GitHub" else ["jane-doe", "doejane"]
    has_row = dict(rows_of(classroom))
    assert [*has_row] == keys
    if platform == "GitHub":
        # the order of the words tells
        assert [*has_row.values()] == [True, False]
    else:
        assert not any(has_row.values())
        jane = next(student for student in classroom.missing if student.key == "Jane Doe")
        assert classroom.unsure() == {
            jane: "perhaps nothing was handed in, or is the work of 1 or 2 theirs?"
        }


def test_moodle_s_numbers_of_two_assignments_are_of_one_student():
    files = [f"{chapter}/Jane Doe_{n}_assignsubmission_file_/a.ipynb" for chapter, n in
             (("linear", 1), ("dot_product", 2))]  # fmt: skip
    assert rows_of(classroom_of(files, [{"name": "Jane Doe"}])) == [("1", True)]


def test_a_letter_and_its_accent_in_two_are_the_letter_with_it():
    names = [unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD")]
    assert names[0] != names[1]
    files = [f"{name}/a.ipynb" for name in names]
    assert rows_of(classroom_of(files)) == [("Zoë", False)]
    for name in names:
        assert rows_of(classroom_of(files, [{"name": name}])) == [("Zoë", True)]
    (student,) = People([Student("Zoë")]).called(names[1])
    assert student.key == "Zoë"


@pytest.mark.parametrize("name", ["eve-submissions", "linear", "submitted", "week3"])
def test_beside_other_students_a_folder_is_a_student_s_whatever_it_is_called(name):
    their_files = [
        f"{name}/{name.removesuffix('submissions')}alice/a.ipynb",
        f"{name}/alice/b.ipynb",
    ]
    classroom = classroom_of(["alice/a.ipynb", *their_files])
    assert rows_of(classroom) == [("alice", False), (name, False)]
    with_roster = classroom_of(
        ["alice/a.ipynb", *their_files], [{"login": "alice"}, {"login": name}]
    )
    assert rows_of(with_roster) == [("alice", True), (name, True)]


def test_in_a_platform_s_folder_a_student_may_be_called_like_a_chapter():
    assert rows_of(classroom_of(["submitted/linear/x/a.ipynb"])) == [("linear", False)]
    classroom = classroom_of(
        ["x-submissions/x-linear/bob/a.ipynb", "x-submissions/x-submitted/bob/a.ipynb"]
    )
    assert rows_of(classroom) == [("linear", False), ("submitted", False)]


def test_a_student_of_the_roster_who_comes_alone_is_no_class():
    files, roster = ["bob/a.ipynb", "bob/b.ipynb"], [{"login": "bob"}, {"login": "nora"}]
    assert "taken for one student's" in printed_lines(files)
    assert "taken for one student's" not in printed_lines(files, roster)


def test_a_platform_s_folder_beside_other_students_is_known_by_the_roster():
    roster = [{"login": name} for name in ("alice", "bob", "carol")]
    files = ["alice/a.ipynb", "submitted/bob/x/a.ipynb", "linear-submissions/linear-carol/a.ipynb"]
    classroom = classroom_of(files, roster)
    assert rows_of(classroom) == [("alice", True), ("bob", True), ("carol", True)]
    assert not classroom.missing and "taken for one student's" not in printed_lines(files, roster)


NESTED_LAYOUTS = {
    "a week": "week3/{}/a.ipynb",
    "a zip": "all of them.zip/{}.ipynb",
    "two levels": "term/week3/{}/a.ipynb",
}


@pytest.mark.parametrize("case", NESTED_LAYOUTS)
def test_a_class_a_folder_higher_is_known_by_the_roster_and_else_it_is_said(case):
    files = [NESTED_LAYOUTS[case].format(name) for name in ("alice", "bob")]
    roster = [{"login": "alice"}, {"login": "bob"}, {"login": "nora"}]
    classroom = classroom_of([*files, "README.md"], roster)
    assert {("alice", True), ("bob", True)} <= {*rows_of(classroom)}
    assert [student.key for student in classroom.missing] == ["nora"]
    if case != "two levels":
        assert "1 folders or zips are each taken for one student's" in printed_lines(files)
    # beside another student's, it is one's own
    assert rows_of(classroom_of([*files, "mallory/x.ipynb"], roster))[0] == (
        files[0].partition("/")[0].removesuffix(".zip"),
        False,
    )


def test_gradescope_s_export_is_a_class_s():
    export = "assignment_5_export"
    files = [f"{export}/submission_metadata.yml", f"{export}/submission_9/a.ipynb",
             f"{export}/submission_10/a.ipynb"]  # fmt: skip
    roster = [{"First Name": "Jane", "Last Name": "Doe", "SID": "10", "Submission ID": "9"}]
    for prefix in ("", "submissions.zip/"):
        paths = [f"{prefix}{file}" for file in files]
        classroom = classroom_of(paths, roster)
        assert ("9", True) in rows_of(classroom) and ("10", False) in rows_of(classroom)
        assert classroom.owners[f"{prefix}{files[1]}"].name == "Jane Doe"
        assert "by Gradescope's folders" in printed_lines(paths, roster)


def test_of_whoever_may_have_handed_in_it_is_not_said_that_nothing_came():
    roster = [{"login": "bsmith", "name": "Bob Smith"}, {"login": "beth", "name": "bsmith"},
              {"login": "nora", "name": "Nora"}]  # fmt: skip
    classroom = classroom_of(["bsmith.ipynb"], roster)
    reasons = classroom.unsure()
    assert [student.key for student in reasons] == ["bsmith (2)", "beth"] and len(
        classroom.missing
    ) == 3
    assert all("or is the work of bsmith theirs?" in reason for reason in reasons.values())


NAMES = ["li.wang", "li.wang.ipynb", "li.wang (1).ipynb", "li.wang.ipynb.json", "li.wang copy.zip"]


@pytest.mark.parametrize("name", NAMES)
def test_the_roster_knows_a_student_by_a_name_with_what_was_added(name):
    classroom = classroom_of([name, "other.ipynb"], [{"login": "li.wang"}, {"login": "li"}])
    assert classroom.owners[name].row == {"login": "li.wang"}
    assert [student.key for student in classroom.missing] == ["li"]


def test_a_file_without_an_ending_or_with_a_rare_one_is_nobody_else_s():
    files = ["li.wang", "li.ipynb", "wu.odt", "zhao.pdf", "zhao.safetensors"]
    keys = ["li.wang", "li", "wu.odt", "zhao"]
    assert [key for key, _ in rows_of(classroom_of(files))] == keys
    roster = [{"login": name} for name in ("li.wang", "li", "wu", "zhao")]
    assert all(in_roster for _, in_roster in rows_of(classroom_of(files, roster)))
    # a student outside the roster is not taken for a student in it
    assert rows_of(classroom_of(files[:2], roster[1:])) == [("li.wang", False), ("li", True)]


def test_a_second_download_without_a_roster_is_said():
    assert "1 students have the name of another" in printed_lines(["lisi.ipynb", "lisi (1).ipynb"])
    assert "the name of another" not in printed_lines(["lisi.ipynb", "zhao (1).ipynb"])


def test_a_word_of_the_roster_s_and_of_a_stranger_s_means_nobody():
    bob = Student("10", "Bob", row={"login": "bsmith", "address": "bob@x.edu"})
    people = People([Student("bsmith", platform="github"), bob, Student("eve")])
    assert people.called("BSmith") == [] and "counts for neither" in people.nobody("bsmith")
    assert people.called("bob@x.edu") == [bob] and people.called("eve")[0].key == "eve"
    assert people.nobody("noira") == "nobody is called 'noira'"
