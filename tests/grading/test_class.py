"""A class: its gradebook, its pages, its tables, and that nobody's name is where it may not be."""

import csv
import io
import json
import re
import time
from contextlib import nullcontext
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from rich.console import Console
from typer.testing import CliRunner, Result

from attncourse.grading import gradebook
from attncourse.grading.cli import app
from attncourse.grading.show import progress
from tests.grading.classes import JANE, RICK, WORKSHEET, make_class
from tests.grading.submissions import NAMES, SOLVED, notebook_with, written

MAX_POINTS = 115
NAMED = re.compile(r"\b(doe|roe|zoe|nora|jane|rick)\b", re.IGNORECASE)


def graded(folder: Path, *options: str) -> Result:
    command = ["grade", str(folder / "class"), "--out", str(folder / "grades"), *options]
    return CliRunner().invoke(app, command, catch_exceptions=False)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def folder(tmp_path, all_pass) -> Path:
    make_class(tmp_path / "class")
    (tmp_path / "roster.csv").write_text(WORKSHEET)
    return tmp_path


def test_the_gradebook_has_a_line_for_each_student_there_or_not(folder):
    done = graded(folder, "--roster", str(folder / "roster.csv"))
    assert done.exit_code == 1, done.output
    book = {one["student"]: one for one in rows(folder / "grades/gradebook.csv")}
    points = [book[who]["points"] for who in ("4711", "12")]
    assert points == [str(MAX_POINTS), str(MAX_POINTS - 10)]
    assert book["4711"]["name"] == "Jane Doe" and book["12"]["passed"] == str(len(NAMES) - 1)
    assert book["Participant 99"]["remarks"] == "nothing was handed in"
    assert "1 students are not in the roster" in done.output
    files = {one["student"]: one["in roster"] for one in rows(folder / "grades/files.csv")}
    assert files == {"4711": "yes", "12": "yes", "13": "no"}


def test_no_name_is_in_a_log_a_worker_s_output_or_a_seed(folder, capfd):
    done = graded(folder, "--roster", str(folder / "roster.csv"), "--jobs", "2")
    assert not NAMED.search(done.output) and not NAMED.search("".join(capfd.readouterr()))
    out = folder / "grades"
    for name in ("junit.xml", "mistakes.csv", "seed.json"):
        assert not NAMED.search((out / name).read_text()), name
    assert not any(NAMED.search(path.name) for path in (out / "reports").iterdir())


def test_what_a_judge_reads_names_nobody(folder, monkeypatch):
    monkeypatch.undo()
    seen = []

    class Reader:
        def asked(self, request, most, stop):
            report = Path(request["folder"]) / "report.json"
            seen.append(repr(request) + report.read_text())
            return ""

    monkeypatch.setattr("attncourse.grading.grade.one_judge", lambda: nullcontext(Reader()))
    graded(folder)
    assert len(seen) == 6 and not any(NAMED.search(one) for one in seen)


def test_canvas_finds_students_by_id_and_the_assignment_by_its_column(folder, tmp_path):
    solved = notebook_with(SOLVED)
    for name in ("doejane_10234_99_dot_product.ipynb", "roerick_77_98_dot_product.ipynb"):
        written(folder / "class", solved, name)
    roster = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Dot_Product (55),Quiz (56)\n"
        "    Points Possible,,,,,115,3\n"
        '"Doe, Jane",10234,u77,jdoe,A,,\n'
        '"None, Nora",5,u5,nnone,A,,\n'
    )
    (folder / "canvas.csv").write_text(roster)
    graded(folder, "--roster", str(folder / "canvas.csv"))
    text = (folder / "grades/canvas.csv").read_text()
    assert text.splitlines()[0] == "Student,ID,SIS User ID,SIS Login ID,Section,Dot_Product (55)"
    assert text.splitlines()[1] == f"    Points Possible,,,,,{MAX_POINTS}"
    known = {one["ID"]: one for one in rows(folder / "grades/canvas.csv")}
    assert known["10234"]["SIS Login ID"] == "jdoe" and known["10234"]["Student"] == "Doe, Jane"
    assert known["10234"]["Dot_Product (55)"] == str(MAX_POINTS)
    assert known["77"]["Student"] == "roerick" and known["5"]["Dot_Product (55)"] == ""


def test_moodle_gets_its_worksheet_on_its_own_scale(folder):
    graded(folder, "--roster", str(folder / "roster.csv"))
    known = {one["Identifier"]: one for one in rows(folder / "grades/moodle-dot_product.csv")}
    assert known["Participant 4711"]["Grade"] == "100.00"
    assert known["Participant 12"]["Grade"] == f"{100 * (MAX_POINTS - 10) / MAX_POINTS:.2f}"
    assert known["Participant 12"]["Email address"] == "rick@example.edu"
    assert "the prefix is left out" in known["Participant 12"]["Feedback comments"]
    assert known["Participant 99"]["Grade"] == "" and known["Participant 13"]["Maximum Grade"]
    assert all(one["Last modified (grade)"] == "-" for one in known.values())


def test_the_matrix_and_the_mistakes(folder):
    graded(folder)
    matrix = {one["exercise"]: one for one in rows(folder / "grades/matrix.csv")}
    assert list(matrix) == NAMES
    assert [matrix["prefix_mask"][who] for who in ("4711", "12", "13")] == [
        "passed",
        "wrong",
        "wrong",
    ]
    assert matrix[NAMES[0]]["12"] == "passed"
    # what nobody has written is no mistake
    (mistake,) = rows(folder / "grades/mistakes.csv")
    assert mistake == {
        "students": "2", "exercise": "prefix_mask", "status": "wrong",
        "reason": "the prefix is left out",
    }  # fmt: skip


HOSTILE = {
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
    "a\u200d\u0645": "a\u200d\u0645",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_cell_is_one_line_without_controls_marks_of_direction_and_formulas(name, tmp_path):
    gradebook.table(tmp_path / "a.csv", [(name, 1, "-")])
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert [*csv.reader(file)] == [[HOSTILE[name], "1", "-"]]


def test_no_cell_of_a_table_is_a_formula(folder):
    for n, name in enumerate(HOSTILE):
        (folder / f"class/{name}_{n}00_assignsubmission_file_").mkdir()
        written(folder / f"class/{name}_{n}00_assignsubmission_file_", notebook_with(SOLVED))
    graded(folder)
    for path in (folder / "grades").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        # some spreadsheets take a semicolon for the end of a cell
        parts = [part.strip() for cell in cells for part in cell.split(";")]
        assert not any(re.match(r"[=+@\uff1d]|-.", part) for part in parts), path
        assert not re.search("[\x00-\x1f\u061c\u200f\u202e\u2066]", "".join(cells)), path
    assert "'=Zoe" in (folder / "grades/gradebook.csv").read_text("utf-8")


def test_a_comment_for_moodle_shows_a_comparison_and_is_no_formula(folder, monkeypatch):
    hint = "expected 1 <=2, got 3"
    monkeypatch.setattr("tests.grading.classes.HINT", hint)
    graded(folder)
    known = {one["Identifier"]: one for one in rows(folder / "grades/moodle-dot_product.csv")}
    said = known["Participant 12"]["Feedback comments"]
    assert ";=" not in said and ";'=" not in said
    assert hint in BeautifulSoup(said, "html.parser").get_text().replace("\u200b", "")


def test_a_student_gets_a_page_that_their_own_html_cannot_change(folder):
    graded(folder)
    pages = {path.name: path.read_text("utf-8") for path in (folder / "grades/feedback").iterdir()}
    assert set(pages) == {"4711.html", "12.html", "13.html"}
    for page in (*pages.values(), (folder / "grades/overview.html").read_text("utf-8")):
        soup = BeautifulSoup(page, "html.parser")
        assert not soup.find_all(["script", "b", "img", "iframe"]) and "default-src 'none'" in page
    rick = BeautifulSoup(pages["12.html"], "html.parser")
    text = rick.get_text()
    assert "Feedback for Rick Roe" in text and "<b>wrong</b>" in text
    assert "the prefix is left out" in text and "There are two reasons to be allowed" in text
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
    graded(folder, "--gradescope", str(folder / "results.json"))
    suites = ElementTree.parse(folder / "grades/junit.xml").getroot()
    assert sum(int(suite.get("failures", 0)) for suite in suites) == 2
    assert {case.get("name") for case in suites.iter("testcase")} == set(NAMES)
    results = json.loads((folder / "results.json").read_text())
    assert sum(one["max_score"] for one in results["tests"]) == 3 * MAX_POINTS
    assert sum(one["score"] for one in results["tests"]) == 3 * MAX_POINTS - 20
    assert {one["status"] for one in results["tests"]} == {"passed", "failed"}


def test_points_by_hand_and_being_late_survive_a_regrade(folder):
    (folder / "times.csv").write_text("who,when\nrick@example.edu,2026-11-02T10:00:00+00:00\n")
    (folder / "policy.toml").write_text(
        'time_zone = "UTC"\ndeadline = 2026-11-01 12:00:00\n[late]\npercent_per_day = 20\n'
        '[times]\nfile = "times.csv"\nstudent = "who"\ntime = "when"\n'
    )
    options = ["--roster", str(folder / "roster.csv"), "--policy", str(folder / "policy.toml")]
    graded(folder, *options)
    overrides = folder / "grades/overrides.csv"
    overrides.write_text("student,exercise,points,comment\n12,prefix_mask,5,=nearly <i>\nx,y,1,\n")
    done = graded(folder, *options, "--regrade", "*")
    book = {one["student"]: one for one in rows(folder / "grades/gradebook.csv")}
    assert float(book["12"]["points"]) == pytest.approx(0.8 * (MAX_POINTS - 10) + 5)
    assert "late by 22 h: 20 % of the points" in book["12"]["remarks"]
    assert book["4711"]["remarks"] == "no time of handing in is known"
    assert (
        "The instructor set the points: =nearly <i>"
        in BeautifulSoup((folder / "grades/feedback/12.html").read_text(), "html.parser").get_text()
    )
    assert "overrides.csv, line 3: no exercise is called 'y'" in done.output
    assert overrides.read_text().startswith("student,exercise")


def test_of_several_files_the_best_counts(folder):
    written(folder / "class" / RICK, notebook_with(SOLVED), "second.ipynb")
    (folder / "class" / JANE / "broken.ipynb").write_text("{")
    (folder / "class" / JANE / "notes.txt").write_text("mine")
    assert graded(folder).exit_code == 2
    book = [one for one in rows(folder / "grades/gradebook.csv") if one["student"] == "12"]
    assert [one["points"] for one in book] == [str(MAX_POINTS)] and "2 files" in book[0]["remarks"]
    (broken,) = (one for one in rows(folder / "grades/gradebook.csv") if one["chapter"] == "")
    assert "not complete JSON" in broken["remarks"]
    assert any(one["file"].endswith("notes.txt") for one in rows(folder / "grades/files.csv"))


BAD = {
    "without a class": (["--roster", "x.csv"], "need --out"),
    "no roster": (["--out", "grades", "--roster", "no.csv"], "--roster"),
    "no policy": (["--out", "grades", "--policy", "no.toml"], "no.toml: "),
    "points that are no number": (["--out", "bad"], "overrides.csv, line 2: points are 0 or more"),
    "among the submissions": (["--out", "class/grades"], "may not lie among"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_used_is_named_before_anything_runs(what, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "bad").mkdir()
    (folder / "bad/overrides.csv").write_text("student,exercise,points,comment\na,b,many,\n")
    options, says = BAD[what]
    done = CliRunner().invoke(app, ["grade", "class", *options])
    assert done.exit_code == 2 and says in done.output


def test_a_bar_shows_count_rate_and_time_left_where_somebody_looks():
    said = io.StringIO()
    console = Console(file=said, force_terminal=True, width=100, force_jupyter=False)
    with progress(console) as bar:
        task = bar.add_task("", total=120, completed=20)
        for _ in range(10):
            bar.advance(task)
            time.sleep(0.01)
        bar.refresh()
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.getvalue())
    assert re.search(r"graded\s+30/120 .*\d a minute\s+\d:\d\d:\d\d left", shown), shown
    quiet = io.StringIO()
    with progress(Console(file=quiet)) as bar:
        bar.advance(bar.add_task("", total=2))
    assert quiet.getvalue().strip() == ""
