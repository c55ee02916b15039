"""Partial credit: in the report of one file, in every table of a class, and nowhere unasked."""

import csv
import json
import zipfile
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from attncourse.course import COURSE
from judge.grading.cli import app
from judge.grading.grade import grade
from judge.grading.report import Report
from judge.grading.show import show
from tests.grading import classes
from tests.grading.submissions import SECONDS, SOLVED, notebook_with, statuses, write_notebook

ON_THE_CPU = """# exercise: prefix_mask
def prefix_mask(n, prefix, device=None):
    i = torch.arange(n)
    return (i <= i[:, None]) | (i < prefix)
"""
# right but for the mask, with a call that it may not make or hides
WITHOUT_MASK = """# exercise: {name}
def {name}(scores, mask=None):
    extra = torch.zeros_like(scores[..., :1])
    return torch.cat([scores, extra], -1).softmax(-1)[..., :-1]
"""
HIDDEN = {
    "eval": "eval('1')",
    "open": "print('tried', file=open('log.txt', 'w'))",
    "write": "import io\nio.StringIO().write('tried')",
    "vars": "vars()['tried'] = True",
    COURSE.solved_by[0]: f"    return torch.nn.functional.{COURSE.solved_by[0]}(scores)",
}
# a thread that waits for work, of which the text has no word; and a program that has ended
KEPT_ALIVE = "\nimport asyncio, time\nawait asyncio.to_thread(time.sleep, 0)\n"
ENDED = "\n!ls\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory, grading):
    """Grade a notebook with these answers."""

    def report(answers: dict[str, str], partial: bool) -> Report:
        file = write_notebook(tmp_path_factory.mktemp("in"), notebook_with(answers))
        return grade(file, seed=1, timeout=SECONDS, partial=partial)

    return report


def result(report: Report, name: str):
    return next(result for result in report.exercises if result.name == name)


def test_what_is_right_earns_its_share_and_the_verdict_stays(graded):
    answers = {
        "prefix_mask": ON_THE_CPU,
        "softmax_with_sink": WITHOUT_MASK.format(name="softmax_with_sink"),
    }
    off, on = graded(answers, partial=False), graded(answers, partial=True)
    assert statuses(off) == statuses(on) and off.points == 0
    assert [result.hint for result in off.exercises] == [result.hint for result in on.exercises]
    assert result(on, "prefix_mask").points == 9 and result(on, "softmax_with_sink").points == 7
    assert on.points == 16 and not on.passed
    note = result(on, "softmax_with_sink").note
    assert note.startswith("7 of 10 points, for values, leading axes") and "not for masks" in note
    # without the option nothing of it is in a report
    assert not {"share", "partial"} & {*off.as_data(), *off.as_data()["exercises"][0]}
    console = Console(record=True, width=150)
    show(on, console)
    assert "partial credit" in (text := console.export_text()) and "9/10" in text


@pytest.mark.parametrize("word", HIDDEN)
def test_what_may_hide_a_call_earns_no_part_and_is_named(graded, word):
    answer = WITHOUT_MASK.format(name="softmax_with_sink") + HIDDEN[word] + "\n"
    report = graded({"softmax_with_sink": answer}, partial=True)
    graded_result = result(report, "softmax_with_sink")
    assert graded_result.status == "wrong" and report.points == 0
    assert (
        graded_result.note.startswith("no part of the points") and f"`{word}`" in graded_result.note
    )


def test_what_hides_nothing_costs_no_part(graded):
    tried = "import sys\nsys.stdout.write('tried')\nopen('/etc/hostname').read()\n"
    answer = WITHOUT_MASK.format(name="softmax_with_sink") + tried
    report = graded({"softmax_with_sink": answer}, partial=True)
    assert report.points == 7, result(report, "softmax_with_sink")


def test_a_thread_that_a_cell_leaves_running_is_named(graded):
    answers = {
        "prefix_mask": SOLVED["prefix_mask"] + KEPT_ALIVE,
        "softmax_with_sink": WITHOUT_MASK.format(name="softmax_with_sink") + KEPT_ALIVE,
        "decoder_mask": SOLVED["decoder_mask"] + ENDED,
    }
    report = graded(answers, partial=True)
    passed, wrong = result(report, "prefix_mask"), result(report, "softmax_with_sink")
    assert passed.status == "passed" and passed.note == ""
    assert wrong.points == 0 and wrong.note.startswith("no part of the points")
    assert passed.unproven == "starts a thread or a process" and passed.unproven in wrong.note
    assert result(report, "decoder_mask").note == ""


def test_a_report_with_parts_is_read_as_it_was_written(graded, tmp_path):
    report = graded({"prefix_mask": ON_THE_CPU}, partial=True)
    report.write(tmp_path / "report.json")
    assert Report.read(tmp_path / "report.json") == report


def test_gradescope_s_zip_may_ask_for_it(tmp_path):
    for options in ([], ["--partial"]):
        command = ["autograder", "gradescope", "--out", str(tmp_path / "a.zip"), *options]
        CliRunner().invoke(app, command, catch_exceptions=False)
        with zipfile.ZipFile(tmp_path / "a.zip") as archive:
            assert (b"--partial" in archive.read("run_autograder")) == bool(options)


@pytest.fixture
def folder(tmp_path, monkeypatch, grading) -> Path:
    def judged(report, *args):
        report = classes.judged(report, *args)
        for result in report.exercises:
            result.share = 0.75 if report.partial and result.status == "wrong" else 0.0
        return report

    monkeypatch.setattr("judge.grading.grade.judged", judged)
    classes.make_class(tmp_path / "class")
    return tmp_path


def class_of(folder: Path, *options: str) -> dict[str, str]:
    """The points of each student."""
    command = ["grade", str(folder / "class"), "--out", str(folder / "out"), *options]
    CliRunner().invoke(app, command, catch_exceptions=False)
    with (folder / "out/gradebook.csv").open(newline="") as file:
        return {row["student"]: row["points"] for row in csv.DictReader(file)}


def test_a_class_gets_parts_of_points_everywhere_or_nowhere(folder):
    assert class_of(folder)["12"] == "105"
    assert class_of(folder, "--partial", "--gradescope", str(folder / "out.json"))["12"] == "112.5"
    assert "112.5" in (folder / "out/canvas.csv").read_text()
    assert "112.50" in (folder / "out/moodle-dot_product.csv").read_text()
    page = (folder / "out/feedback/12.html").read_text()
    assert "112.5 of 115 points" in page and "7.5/10" in page
    tests = json.loads((folder / "out.json").read_text())["tests"]
    assert sorted({test["score"] for test in tests})[0] == 7.5
    assert class_of(folder)["12"] == "105"


def test_points_by_hand_are_instead_of_parts(folder):
    (folder / "out").mkdir()
    overrides = folder / "out/overrides.csv"
    overrides.write_text("student,exercise,points,comment\n12,prefix_mask,8,nearly\n")
    assert class_of(folder, "--partial")["12"] == "113"
