"""A class: its gradebook, its pages, its tables, and that nobody's name is where it may not be."""

import csv
import io
import json
import re
import time
from contextlib import nullcontext
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from bs4 import BeautifulSoup
from rich.console import Console
from typer.testing import Result

from judge.grading.gradebook.feedback import page_name, page_of
from judge.grading.report.tables import write_table
from judge.grading.submissions.students import Student
from judge.grading.terminal import progress
from tests.grading.classes import (
    JANE,
    RICK,
    WORKSHEET,
    judge_by_mark,
    make_class,
    make_sixty,
    write_zip,
)
from tests.grading.commands import call, gradebook, points, reports, rows
from tests.grading.submissions import NAMES, SOLVED, make_notebook, write_notebook

MAX_POINTS = 115
SOLVED_BYTES, UNTOUCHED = (
    nbformat.writes(make_notebook(answers)).encode() for answers in (SOLVED, {})
)
NAME_PATTERN = re.compile(r"\b(doe|roe|zoe|nora|jane|rick)\b", re.IGNORECASE)


def run_grade(folder: Path, *options: str, roster: str = "") -> Result:
    """Grade the class of a folder into its `grades`, with a roster if there is one."""
    if roster:
        (folder / "roster.csv").write_text(roster)
        options = (*options, "--roster", str(folder / "roster.csv"))
    return call("grade", folder / "class", "--out", folder / "grades", *options)


def hand_in(folder: Path, *names: str, data: bytes | None = None) -> None:
    """Write files of a class, notebooks that nobody has touched unless others are given."""
    for name in names:
        path = folder / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(UNTOUCHED if data is None else data)


def override(folder: Path, lines: str, header: str = "student,exercise,points,comment\n") -> None:
    """Write the points by hand."""
    (folder / "grades").mkdir(exist_ok=True)
    (folder / "grades/overrides.csv").write_text(header + lines)


@pytest.fixture
def folder(tmp_path, all_pass) -> Path:
    make_class(tmp_path / "class")
    return tmp_path


def test_the_gradebook_has_a_line_for_each_student_there_or_not(folder):
    result = run_grade(folder, roster=WORKSHEET)
    assert result.exit_code == 1, result.output
    by_student = gradebook(folder / "grades")
    assert by_student["4711"]["points"] == str(MAX_POINTS)
    assert by_student["12"]["points"] == str(MAX_POINTS - 10)
    assert by_student["4711"]["name"] == "Jane Doe"
    assert by_student["12"]["passed"] == str(len(NAMES) - 1)
    assert by_student["Participant 99"]["remarks"] == "nothing was handed in"
    assert "1 students are not on the roster" in result.output
    files = {row["student"]: row["in roster"] for row in rows(folder / "grades/files.csv")}
    assert files == {"4711": "yes", "12": "yes", "13": "no"}


def test_no_name_is_in_a_log_a_worker_s_output_or_a_seed(folder, capfd):
    result = run_grade(folder, "--jobs", "2", roster=WORKSHEET)
    assert not NAME_PATTERN.search(result.output) and not NAME_PATTERN.search(
        "".join(capfd.readouterr())
    )
    out = folder / "grades"
    for name in ("junit.xml", "mistakes.csv", "seed.json"):
        assert not NAME_PATTERN.search((out / name).read_text()), name
    assert not any(NAME_PATTERN.search(path.name) for path in (out / "reports").iterdir())


def test_what_a_judge_reads_names_nobody(folder, monkeypatch):
    monkeypatch.undo()
    requests = []

    class Reader:
        def asked(self, request, most, stop):
            report = Path(request["folder"]) / "report.json"
            requests.append(repr(request) + report.read_text())
            return ""

    monkeypatch.setattr("judge.grading.grade.one_judge", lambda: nullcontext(Reader()))
    run_grade(folder)
    assert len(requests) == 6 and not any(NAME_PATTERN.search(request) for request in requests)


@pytest.mark.parametrize("column", ["Dot_Product (55)", "Dot-product attention (55)"])
def test_canvas_finds_students_by_id_and_the_assignment_by_its_column(folder, column):
    notebook = make_notebook(SOLVED)
    for name in ("doejane_10234_99_dot_product.ipynb", "roerick_77_98_dot_product.ipynb"):
        write_notebook(folder / "class", notebook, name)
    roster = (
        f"Student,ID,SIS User ID,SIS Login ID,Section,{column},Quiz (56)\n"
        "    Points Possible,,,,,115,3\n"
        '"Doe, Jane",10234,u77,jdoe,A,,\n'
        '"None, Nora",5,u5,nnone,A,,\n'
    )
    run_grade(folder, roster=roster)
    text = (folder / "grades/canvas.csv").read_text()
    assert text.splitlines()[0] == f"Student,ID,SIS User ID,SIS Login ID,Section,{column}"
    assert text.splitlines()[1] == f"    Points Possible,,,,,{MAX_POINTS}"
    by_id = {row["ID"]: row for row in rows(folder / "grades/canvas.csv")}
    assert by_id["10234"]["SIS Login ID"] == "jdoe" and by_id["10234"]["Student"] == "Doe, Jane"
    assert by_id["10234"][column] == str(MAX_POINTS)
    assert by_id["77"]["Student"] == "roerick" and by_id["5"][column] == ""


def test_moodle_gets_its_worksheet_on_its_own_scale(folder):
    run_grade(folder, roster=WORKSHEET)
    worksheet = {row["Identifier"]: row for row in rows(folder / "grades/moodle-dot_product.csv")}
    assert worksheet["Participant 4711"]["Grade"] == "100.00"
    assert worksheet["Participant 12"]["Grade"] == f"{100 * (MAX_POINTS - 10) / MAX_POINTS:.2f}"
    assert worksheet["Participant 12"]["Email address"] == "rick@example.edu"
    assert "the prefix is left out" in worksheet["Participant 12"]["Feedback comments"]
    assert (
        worksheet["Participant 99"]["Grade"] == "" and worksheet["Participant 13"]["Maximum Grade"]
    )
    assert all(row["Last modified (grade)"] == "-" for row in worksheet.values())


def test_the_matrix_and_the_mistakes(folder):
    run_grade(folder)
    matrix = {row["exercise"]: row for row in rows(folder / "grades/matrix.csv")}
    assert list(matrix) == NAMES
    assert [matrix["prefix_mask"][student] for student in ("4711", "12", "13")] == [
        "passed",
        "wrong",
        "wrong",
    ]
    assert matrix[NAMES[0]]["12"] == "passed"
    # an answer that nobody has written is no mistake
    (mistake,) = rows(folder / "grades/mistakes.csv")
    assert mistake == {
        "students": "2",
        "exercise": "prefix_mask",
        "status": "wrong",
        "reason": "the prefix is left out",
    }


HOSTILE_NAMES = {
    "=1+1": "'=1+1",
    "  =1+1": "'  =1+1",
    "\u00a0+1": "'\u00a0+1",
    "\uff1d1+1": "'\uff1d1+1",
    "x;=1+1": "x;'=1+1",
    "x; @SUM(1)": "x;' @SUM(1)",
    "x\n=1\t=2": "x =1 =2",
    "\x1b[31mred\x07": "red",
    "a\u202eb\u2066c\u200fd\u061c": "abcd",
    "Doe-Roe, =; -": "Doe-Roe, =; -",
    "a\u200d\u0645": "a\u0645",
    "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627": "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627",
    "\U000e0041b\u200b\ufe0fc\u2800": "bc\u2800",
}


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_cell_is_one_line_without_controls_marks_of_direction_and_formulas(name, tmp_path):
    write_table(tmp_path / "a.csv", [(name, 1, "-")])
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert [*csv.reader(file)] == [[HOSTILE_NAMES[name], "1", "-"]]


def test_no_cell_of_a_table_is_a_formula(folder):
    for n, name in enumerate(HOSTILE_NAMES):
        (folder / f"class/{name}_{n}00_assignsubmission_file_").mkdir()
        write_notebook(folder / f"class/{name}_{n}00_assignsubmission_file_", make_notebook(SOLVED))
    run_grade(folder)
    for path in (folder / "grades").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        # some spreadsheets take a semicolon for the end of a cell
        fields = [field.strip() for cell in cells for field in cell.split(";")]
        assert not any(re.match(r"[=+@\uff1d]|-.", field) for field in fields), path
        assert not re.search("[\x00-\x1f\u061c\u200f\u202e\u2066]", "".join(cells)), path
    assert "'=Zoe" in (folder / "grades/gradebook.csv").read_text("utf-8")


def test_no_page_is_another_s_or_turns_its_text_round():
    keys = ["a b"]
    for _ in range(3):
        # a student whose key is the name of another's page
        keys.append(page_name(Student(keys[-1])).removesuffix(".html"))
    assert len({page_name(Student(key)) for key in keys}) == 4
    page = page_of(Student("1", "a\u202eb\x1b[1m"), [])
    assert "Feedback for ab" in page and not re.search("[\u202e\x1b]", page)


def test_a_comment_for_moodle_shows_a_comparison_and_is_no_formula(folder, monkeypatch):
    hint = "expected 1 <=2, got 3"
    monkeypatch.setattr("tests.grading.classes.HINT", hint)
    run_grade(folder)
    worksheet = {row["Identifier"]: row for row in rows(folder / "grades/moodle-dot_product.csv")}
    comment = worksheet["Participant 12"]["Feedback comments"]
    assert ";=" not in comment and ";'=" not in comment
    assert hint in BeautifulSoup(comment, "html.parser").get_text().replace("\u200b", "")


def test_a_student_gets_a_page_that_their_own_html_cannot_change(folder):
    run_grade(folder)
    pages = {path.name: path.read_text("utf-8") for path in (folder / "grades/feedback").iterdir()}
    assert set(pages) == {"4711.html", "12.html", "13.html"}
    for page in (*pages.values(), (folder / "grades/overview.html").read_text("utf-8")):
        soup = BeautifulSoup(page, "html.parser")
        assert not soup.find_all(["script", "b", "img", "iframe"]) and "default-src 'none'" in page
    rick = BeautifulSoup(pages["12.html"], "html.parser")
    text = rick.get_text()
    assert "Feedback for Rick Roe" in text and "<b>wrong</b>" in text
    assert "the prefix is left out" in text and "A key is allowed for one of two reasons" in text
    links = [a["href"] for a in rick.find_all("a")]
    assert any(
        link.endswith(
            "/exercises/dot_product.html#read-the-question-whole-write-the-answer-in-order"
        )
        for link in links
    ), links
    assert any(link.endswith("/chapters/dot_product.html") for link in links)
    assert (
        "</pre><script>alert(2)</script>"
        in BeautifulSoup(pages["13.html"], "html.parser").get_text()
    )


def test_junit_and_gradescope(folder, tmp_path):
    run_grade(folder, "--gradescope", str(folder / "results.json"))
    suites = ElementTree.parse(folder / "grades/junit.xml").getroot()
    assert sum(int(suite.get("failures", 0)) for suite in suites) == 2
    assert {case.get("name") for case in suites.iter("testcase")} == set(NAMES)
    results = json.loads((folder / "results.json").read_text())
    assert sum(test["max_score"] for test in results["tests"]) == 3 * MAX_POINTS
    assert sum(test["score"] for test in results["tests"]) == 3 * MAX_POINTS - 20
    assert {test["status"] for test in results["tests"]} == {"passed", "failed"}


def test_points_by_hand_survive_a_regrade(folder):
    run_grade(folder)
    override(folder, "12,prefix_mask,5,=nearly <i>\nx,y,1,\n")
    result = run_grade(folder, "--regrade", "*")
    assert points(folder / "grades")["12"] == str(MAX_POINTS - 5)
    assert (
        "The instructor set the points: =nearly <i>"
        in BeautifulSoup((folder / "grades/feedback/12.html").read_text(), "html.parser").get_text()
    )
    assert "overrides.csv, line 3: no exercise is called 'y'" in result.output
    assert (folder / "grades/overrides.csv").read_text().startswith("student,exercise")


def test_only_the_exercises_that_are_set_count_and_others_need_no_grading(folder):
    grades, reports_path = folder / "grades", folder / "reports.json"
    set_exercises = NAMES[0], "prefix_mask"
    options = [*(f"--exercise={name}" for name in set_exercises), "--json", str(reports_path)]
    assert run_grade(folder, *options, roster=WORKSHEET).exit_code == 1
    assert {len(report["exercises"]) for report in reports(reports_path).values()} == {2}
    jane, rick = (gradebook(grades)[student] for student in ("4711", "12"))
    exercise_points = jane["of"]
    assert 10 < int(exercise_points) < MAX_POINTS
    assert jane["exercises"] == rick["exercises"] == "2"
    assert jane["points"] == exercise_points
    assert int(rick["points"]) == int(exercise_points) - 10
    assert [row["exercise"] for row in rows(grades / "matrix.csv")] == [*set_exercises]
    assert rows(grades / "canvas.csv")[0]["dot_product"] == exercise_points
    worksheet = {row["Identifier"]: row for row in rows(grades / "moodle-dot_product.csv")}
    assert worksheet["Participant 4711"]["Grade"] == "100.00"
    page = BeautifulSoup((grades / "feedback/12.html").read_text(), "html.parser").get_text()
    assert f"{rick['points']} of {exercise_points} points" in page
    assert len(ElementTree.parse(grades / "junit.xml").findall(".//testcase")) == 3 * 2
    # another week's exercises, and points by hand for what is not among them
    override(folder, f"12,prefix_mask,5,\n12,{NAMES[0]},1,\n")
    result = run_grade(folder, "--exercise", NAMES[0], roster=WORKSHEET)
    assert "3 of them already graded" in result.output
    assert "overrides.csv, line 2: prefix_mask is not set: see --exercise" in result.output
    rick = gradebook(grades)["12"]
    assert (rick["points"], rick["exercises"]) == ("1", "1")


def test_a_notebook_of_a_chapter_that_is_not_set_says_so(folder):
    override(folder, "12,linear_weights,4,seen in class\n")
    assert run_grade(folder, "--exercise", "linear_weights", roster=WORKSHEET).exit_code == 2
    by_chapter = {
        (row["student"], row["chapter"]): row for row in rows(folder / "grades/gradebook.csv")
    }
    assert by_chapter["4711", ""]["remarks"] == "no exercise of dot_product is set"
    rick = by_chapter["12", "linear"]
    assert (rick["points"], rick["exercises"]) == ("4", "1")


def test_of_several_files_the_best_counts(folder):
    write_notebook(folder / "class" / RICK, make_notebook(SOLVED), "second.ipynb")
    (folder / "class" / JANE / "broken.ipynb").write_text("{")
    (folder / "class" / JANE / "notes.txt").write_text("mine")
    assert run_grade(folder).exit_code == 2
    (rick,) = (row for row in rows(folder / "grades/gradebook.csv") if row["student"] == "12")
    assert rick["points"] == str(MAX_POINTS) and "2 files" in rick["remarks"]
    (broken_row,) = (row for row in rows(folder / "grades/gradebook.csv") if row["chapter"] == "")
    assert "JSON isn't complete" in broken_row["remarks"]
    assert any(row["file"].endswith("notes.txt") for row in rows(folder / "grades/files.csv"))


ROSTER = "id,name\nbob,Bob Jones\nmallory,Mallory Moe\nnora,Nora None\n"


@pytest.mark.parametrize("roster", [ROSTER, ""])
def test_nobody_writes_the_row_or_the_page_of_another(tmp_path, all_pass, roster):
    hand_in(tmp_path, "bob/submission.ipynb", data=SOLVED_BYTES)
    names = (
        "submitted/bob/x/a.ipynb", "x-submissions/x-bob/a.ipynb", "bob/a.ipynb",
        "Bob Jones_77_9988_a.ipynb", "Bob Jones_77_assignsubmission_file_/a.ipynb",
        "../bob/a.ipynb", "/bob/a.ipynb",
    )  # fmt: skip
    write_zip(tmp_path / "class/mallory.zip", dict.fromkeys(names, UNTOUCHED))
    result = run_grade(tmp_path, roster=roster)
    by_student = points(tmp_path / "grades")
    assert by_student == {"bob": "115", "mallory": "0"} | ({"nora": ""} if roster else {})
    assert len(rows(tmp_path / "grades/canvas.csv")) == 1 + len(by_student)
    pages = [path.name for path in (tmp_path / "grades/feedback").iterdir()]
    assert sorted(pages) == ["bob.html", "mallory.html"]
    assert "8 files of 2 students by the name of a folder or file" in result.output


def test_the_printed_lines_say_which_layouts_were_assumed(folder, tmp_path):
    lone_folder = tmp_path / "alone"
    (lone_folder / "class").mkdir(parents=True)
    moodle_files = {f"{student}/a.ipynb": UNTOUCHED for student in (JANE, RICK)}
    write_zip(lone_folder / "class/course-12.zip", moodle_files)
    output = run_grade(lone_folder, "--no-sandbox").output
    assert "2 files of 2 students by Moodle's names" in output
    assert "1 folders or zips are taken for a class's" in output
    assert {*points(lone_folder / "grades")} == {"4711", "12"}
    # beside others it is a student's, and that it looks otherwise is said
    write_zip(folder / "class/course-12.zip", moodle_files)
    output = run_grade(folder, "--no-sandbox").output
    assert "3 files of 3 students by Moodle's names" in output
    assert "2 files of 1 students by the name of a folder or file" in output
    assert "1 folders or zips are each taken for one student's, though" in output


def test_one_person_is_one_row_whatever_the_layouts(tmp_path, all_pass):
    hand_in(
        tmp_path, "bob/a.ipynb", "submitted/bob/x/a.ipynb", "x-submissions/x-bob/a.ipynb",
        "jonesbob_77_9988_a.ipynb", "Bob Jones_4711_assignsubmission_file_/a.ipynb",
    )  # fmt: skip
    write_zip(tmp_path / "class/Bob Jones.zip", {"a.ipynb": SOLVED_BYTES})
    run_grade(tmp_path, roster="Canvas ID;Login;Name\n77;bob;Bob Jones\n")
    (row,) = rows(tmp_path / "grades/gradebook.csv")
    assert row["points"] == "115" and "6 files" in row["remarks"]
    _, canvas = rows(tmp_path / "grades/canvas.csv")
    assert (canvas["Student"], canvas["ID"]) == ("Bob Jones", "77")
    assert [path.name for path in (tmp_path / "grades/feedback").iterdir()] == ["4711.html"]


def test_sixty_students_in_all_layouts_have_their_own_points_and_pages(tmp_path, all_pass):
    expected = make_sixty(tmp_path)
    (tmp_path / "out").rename(tmp_path / "grades")
    result = run_grade(tmp_path, "--roster", str(tmp_path / "roster.csv"), "--no-sandbox")
    canvas = rows(tmp_path / "grades/canvas.csv")[1:]
    assert {row["ID"]: row["dot_product"] for row in canvas} == expected and len(canvas) == 60
    assert len(points(tmp_path / "grades")) == 60
    # one has handed in a scan
    assert len([*(tmp_path / "grades/feedback").iterdir()]) == 59
    assert "not in the roster" not in result.output and "nobody" not in result.output


def test_points_by_hand_reach_those_whose_notebook_is_broken_or_missing(folder):
    (folder / "class" / JANE / "dot_product.ipynb").write_text("{")
    override(
        folder,
        "4711;prefix_mask;7,5;told me\n"
        "nora@example.edu;prefix_mask;99;was ill\nNora None;decoder_mask;3;\n"
        "Rick Roe;prefix_mask;1;\nnoira;prefix_mask;1;\n4711;prefix_mask;8;\n",
        header="student;exercise;points;comment\n",
    )
    result = run_grade(folder, roster=WORKSHEET + "Participant 5,Rick Roe,r5@x.edu,,,100\n")
    by_student = {
        row["student"]: row for row in rows(folder / "grades/gradebook.csv") if row["chapter"]
    }
    jane, nora = by_student["4711"], by_student["Participant 99"]
    assert (jane["points"], nora["points"]) == ("8", "102") and jane["of"] == nora["of"] == "115"
    canvas = {row["Student"]: row["dot_product"] for row in rows(folder / "grades/canvas.csv")}
    assert canvas["Jane Doe"] == "8" and canvas["Nora None"] == "102"
    (page,) = (folder / "grades/feedback").glob("Participant_99*.html")
    assert "The instructor set the points: was ill" in page.read_text("utf-8")
    for line, message in {
        3: "99 points count, more than the 10 that prefix_mask has",
        5: "2 students have that name",
        6: "nobody is called 'noira'",
        7: "it counts instead of overrides.csv, line 2",
    }.items():
        assert f"overrides.csv, line {line}: {message}" in result.output
    assert not NAME_PATTERN.search(result.output)
    assert jane["remarks"] == "no notebook was read"


def test_who_handed_in_no_notebook_has_a_line(folder):
    hand_in(folder, "Nora None_99_assignsubmission_file_/work.pdf", data=b"a scan")
    hand_in(folder, "README.md", data=b"of the instructor")
    result = run_grade(folder, roster=WORKSHEET)
    remarks = {row["name"]: row["remarks"] for row in rows(folder / "grades/gradebook.csv")}
    assert remarks["Nora None"] == "no notebook was handed in"
    assert "1 students are not on the roster" in result.output


@pytest.mark.parametrize("column", ["id", "Id", "ID", "canvas id"])
def test_the_roster_s_id_reaches_canvas_in_any_case(column, tmp_path, all_pass):
    hand_in(tmp_path, "bob/a.ipynb")
    run_grade(tmp_path, roster=f"{column},sis login id,name\n77,bob,Bob Jones\n78,n,Nora\n")
    ids = [(row["ID"], row["SIS Login ID"]) for row in rows(tmp_path / "grades/canvas.csv")]
    assert ids == [("", ""), ("77", "bob"), ("78", "n")]


BROWSER_NAMES = (
    "lisi.ipynb.json", "wangwu.ipynb.txt", "zhao.ipynb (1)", "qian(1).ipynb", "sun.IPYNB",
    "li.download", "zhou", "wu.zip (1)", "zheng.zip.download", "hanzip",
)  # fmt: skip


def test_what_a_browser_adds_hides_neither_a_notebook_nor_whose_it_is(tmp_path, all_pass):
    zips = [name for name in BROWSER_NAMES if "zip" in name]
    hand_in(tmp_path, *{*BROWSER_NAMES} - {*zips}, "shen.zip", data=SOLVED_BYTES)
    for name in zips:
        members = {"work.ipynb.txt": SOLVED_BYTES, "a.txt": b"an essay"}
        write_zip(tmp_path / "class" / name, members)
    write_zip(tmp_path / "class/slides.pptx", {"slide.xml": b"of the instructor"})
    hand_in(tmp_path, "feng.txt", "README", data=b"an essay")
    names = [re.split(r"[.( ]", name)[0] for name in (*BROWSER_NAMES, "shen.zip")]
    result = run_grade(tmp_path, roster="\n".join(["login", *names, "feng", "nora"]))
    by_student = gradebook(tmp_path / "grades")
    assert {student: row["points"] or row["remarks"] for student, row in by_student.items()} == {
        **dict.fromkeys(names, str(MAX_POINTS)),
        "feng": "no notebook was handed in",
        "nora": "nothing was handed in",
    }, result.output
    kinds = {row["file"]: row["what it is"] for row in rows(tmp_path / "grades/files.csv")}
    assert kinds["feng.txt"] == "a text: only notebooks are graded"
    assert kinds["wu.zip (1)/a.txt"] == kinds["feng.txt"]


def test_points_by_hand_for_a_user_name_go_to_no_stranger_who_has_it(tmp_path, all_pass):
    # on GitHub, somebody else has the user name that Bob has at the university
    hand_in(tmp_path, "x-submissions/x-bsmith/a.ipynb", "smithbob_77_99_a.ipynb")
    roster = (
        "Student,ID,SIS Login ID,github_username\nBob Smith,77,bsmith,bob\nBeth,78,beth,bsmith2\n"
    )
    override(tmp_path, "bsmith,prefix_mask,8,\n")
    result = run_grade(tmp_path, roster=roster)
    assert points(tmp_path / "grades") == {"77": "0", "bsmith": "0", "Beth": ""}, result.output
    assert "overrides.csv, line 2: a student on the roster and one who is not" in result.output
    override(tmp_path, "Bob Smith,prefix_mask,8,\n")
    run_grade(tmp_path, roster=roster)
    assert points(tmp_path / "grades") == {"77": "8", "bsmith": "0", "Beth": ""}


def test_notebooks_of_one_chapter_in_several_folders_of_one_student_are_said(tmp_path, all_pass):
    hand_in(tmp_path, "week3/alice/a.ipynb", "week3/bob/a.ipynb", "nora/a.ipynb", "nora/b.ipynb")
    output = run_grade(tmp_path).output
    assert "1 students have notebooks of the same chapter in several folders" in output


def test_a_copy_of_the_package_without_notebooks_is_named_before_anything_runs(folder, monkeypatch):
    monkeypatch.setattr("judge.grading.cli.exercise_files", dict)
    result = run_grade(folder)
    assert result.exit_code == 2 and "check PYTHONPATH" in result.output
    assert not (folder / "grades").exists()


BAD_OPTIONS = {
    "without a class": (["--roster", "x.csv"], "needs --out"),
    "no exercise": (["--exercise", "prefix_masks"], "the nearest name is 'prefix_mask'"),
    "no roster": (["--out", "grades", "--roster", "no.csv"], "no.csv: "),
    "an endless cell": (["--out", "grades", "--roster", "long.csv"], "long.csv, line 2: "),
    "a roster in Latin-1": (["--out", "grades", "--roster", "latin.csv"], "latin.csv, line 2: "),
    "points that are no number": (
        ["--out", "bad"],
        "overrides.csv, line 2: points must be 0 or more",
    ),
    "among the submissions": (["--out", "class/grades"], "outside the folder of submissions"),
    "no folder": (["--json", "no/such/folder/x.json"], "there is no folder"),
    "no seconds": (["--timeout", "0"], "--timeout"),
    "a seed below 0": (["--seed", "-1"], "--seed"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_what_cannot_be_used_is_named_before_anything_runs(case, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "bad").mkdir()
    (folder / "bad/overrides.csv").write_text("student,exercise,points,comment\na,b,many,\n")
    (folder / "long.csv").write_bytes(b"name,id\n" + b"x" * 200_000 + b",1\n")
    (folder / "latin.csv").write_bytes(b"name,id\nJos\xe9,1\n")
    options, message = BAD_OPTIONS[case]
    result = call("grade", "class", *options)
    assert result.exit_code == 2 and message in result.output


def test_a_bar_shows_count_rate_and_time_left_where_somebody_looks():
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100, force_jupyter=False)
    with progress(console, 120, 20) as advance:
        for _ in range(10):
            advance()
            time.sleep(0.01)
    printed = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", output.getvalue())
    assert re.search(r"graded\s+30/120 .*\d a minute\s+\d:\d\d:\d\d left", printed), printed


def progress_lines(total: int, graded_before: int = 0) -> list[str]:
    output = io.StringIO()
    with progress(Console(file=output), total, graded_before) as advance:
        for _ in range(total - graded_before):
            advance()
    return output.getvalue().splitlines()


def test_a_log_has_a_line_for_each_tenth_of_a_class_and_none_for_one_file():
    assert progress_lines(60, 12)[:3] == [
        "12 of 60 graded, 20 %",
        "18 of 60 graded, 30 %",
        "24 of 60 graded, 40 %",
    ]
    assert len(progress_lines(60)) == 11 and progress_lines(60)[-1] == "60 of 60 graded, 100 %"
    assert progress_lines(3)[1:] == [
        f"{n} of 3 graded, {p} %" for n, p in ((1, 33), (2, 66), (3, 100))
    ]
    assert progress_lines(1) == []


def test_a_log_says_that_files_are_read_how_far_it_is_and_what_is_graded_once_more(
    folder, monkeypatch
):
    def judge_after_two(report, *arguments):
        """The first two files meet a busy machine."""
        files_seen.append(report.file)
        if len(files_seen) <= 2:
            return report
        return judge_by_mark(report, *arguments)

    files_seen = []
    monkeypatch.setattr("judge.grading.grade.judged", judge_after_two)
    lines = [line for line in run_grade(folder).stderr.splitlines() if line]
    assert lines == [
        "reading the files",
        "0 of 3 graded, 0 %",
        "1 of 3 graded, 33 %",
        "2 files are graded once more, because the machine may have been too busy",
        "2 of 3 graded, 66 %",
        "3 of 3 graded, 100 %",
    ]
