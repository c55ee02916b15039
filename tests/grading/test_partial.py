"""Partial credit: in the report of one file, in every table of a class, and nowhere unasked."""

import json
import zipfile
from pathlib import Path

import pytest
from rich.console import Console

from judge.grading.grade import grade
from judge.grading.report.results import Report
from judge.grading.terminal import show
from tests.grading import classes
from tests.grading.commands import call, points
from tests.grading.submissions import SECONDS, make_notebook, result_of, statuses, write_notebook

ON_THE_CPU = """# exercise: prefix_mask
def prefix_mask(n, prefix, device=None):
    i = torch.arange(n)
    return (i <= i[:, None]) | (i < prefix)
"""
# right but for the mask
WITHOUT_MASK = """# exercise: softmax_with_sink
def softmax_with_sink(scores, mask=None):
    extra = torch.zeros_like(scores[..., :1])
    return torch.cat([scores, extra], -1).softmax(-1)[..., :-1]
"""


@pytest.fixture(scope="module")
def grade_report(tmp_path_factory, grading):
    """Grade a notebook with these answers."""

    def grade_answers(answers: dict[str, str], partial: bool) -> Report:
        file = write_notebook(tmp_path_factory.mktemp("in"), make_notebook(answers))
        return grade(file, seed=1, timeout=SECONDS, partial=partial)

    return grade_answers


def test_what_is_right_earns_its_share_and_the_verdict_stays(grade_report):
    answers = {"prefix_mask": ON_THE_CPU, "softmax_with_sink": WITHOUT_MASK}
    plain_report, partial_report = (
        grade_report(answers, partial=False),
        grade_report(answers, partial=True),
    )
    assert statuses(plain_report) == statuses(partial_report) and plain_report.points == 0
    assert [result.hint for result in plain_report.exercises] == [
        result.hint for result in partial_report.exercises
    ]
    assert (
        result_of(partial_report, "prefix_mask").points == 9
        and result_of(partial_report, "softmax_with_sink").points == 7
    )
    assert partial_report.points == 16 and not partial_report.passed
    note = result_of(partial_report, "softmax_with_sink").note
    assert note.startswith("7 of 10 points, for values, leading axes") and "not for masks" in note
    # without the option nothing of it is in a report
    assert not {"share", "partial"} & {
        *plain_report.as_data(),
        *plain_report.as_data()["exercises"][0],
    }
    console = Console(record=True, width=150)
    show(partial_report, console)
    assert "partial credit" in (text := console.export_text()) and "9/10" in text


def test_gradescope_s_zip_may_ask_for_it(tmp_path):
    for options in ([], ["--partial"]):
        call("autograder", "gradescope", "--out", tmp_path / "a.zip", *options)
        with zipfile.ZipFile(tmp_path / "a.zip") as archive:
            assert (b"--partial" in archive.read("run_autograder")) == bool(options)


@pytest.fixture
def folder(tmp_path, monkeypatch, grading) -> Path:
    def judge_with_share(report, *args):
        report = classes.judge_by_mark(report, *args)
        for result in report.exercises:
            result.share = 0.75 if report.partial and result.status == "wrong" else 0.0
        return report

    monkeypatch.setattr("judge.grading.grade.judged", judge_with_share)
    classes.make_class(tmp_path / "class")
    return tmp_path


def class_points(folder: Path, *options: str) -> dict[str, str]:
    """The points of each student."""
    call("grade", folder / "class", "--out", folder / "out", *options)
    return points(folder / "out")


def test_a_class_gets_parts_of_points_everywhere_or_nowhere(folder):
    assert class_points(folder)["12"] == "105"
    # graded, and then read from the reports
    for _ in range(2):
        by_student = class_points(folder, "--partial", "--gradescope", str(folder / "out.json"))
        assert by_student["12"] == "112.5"
    assert "112.5" in (folder / "out/canvas.csv").read_text()
    assert "112.50" in (folder / "out/moodle-dot_product.csv").read_text()
    page = (folder / "out/feedback/12.html").read_text()
    assert "112.5 of 115 points" in page and "7.5/10" in page
    tests = json.loads((folder / "out.json").read_text())["tests"]
    assert sorted({test["score"] for test in tests})[0] == 7.5
    assert class_points(folder)["12"] == "105"


def test_points_by_hand_are_instead_of_parts(folder):
    (folder / "out").mkdir()
    overrides = folder / "out/overrides.csv"
    overrides.write_text("student,exercise,points,comment\n12,prefix_mask,8,nearly\n")
    assert class_points(folder, "--partial")["12"] == "113"
