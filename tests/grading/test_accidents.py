"""No accident costs a right answer, and each gets its own status and a clear line."""

import gc
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import nbformat
import pytest
import torch
from rich.console import Console

from attncourse.course import exercise
from judge.cell_syntax import parsed
from judge.grading.grade import grade
from judge.grading.kernel.budget import EXERCISE
from judge.grading.report.results import Report, Result
from judge.grading.report.text import plain
from judge.grading.terminal import show
from judge.verdict import Verdict, judge, local
from tests.grading.commands import call, reports
from tests.grading.submissions import (
    NAMES,
    SECONDS,
    SOLVED,
    make_notebook,
    statuses,
    write_notebook,
)

pytestmark = pytest.mark.usefixtures("grading")
HARMLESS_CHANGES = {
    # first in the notebook, because torch loads many modules for it, line by line
    "an operation on the meta device": lambda s: s.replace(
        "\n    return", "\n    torch.empty(2, device='meta').square()\n    return", 1
    ),
    "a print, a plot and a warning left in": lambda s: (
        s + "\nprint('here')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()"
        "\nimport sys, warnings\nprint('w', file=sys.stderr)\nwarnings.warn('w')"
    ),
    "the check left in": lambda s: (
        "from attncourse import check, failed, hint, status\nhint('x')\nfailed()\n"
        f"{s}\ncheck('x', 1)\nstatus()"
    ),
    "magics on top": lambda s: "%matplotlib inline\n%load_ext autoreload\n!ls\n" + s,
    "a magic that there is not": lambda s: s + "\n%no_such_magic",
    "a cell that fails after the function, and cannot say how": lambda s: (
        s + "\nclass Mute(Exception):\n    def __str__(self):\n        return None\nraise Mute"
    ),
    "a print in the function, of a name that another answer has made": lambda s: s.replace(
        "\n    return", "\n    print(plt)\n    return", 1
    ),
    "timed by a cell magic": lambda s: "%%time\n" + s,
    "a seed, a trial and what is awaited": lambda s: (
        s + "\ntorch.manual_seed(0)\nx = torch.randn(3)\ndisplay(x)\nx"
        "\nimport asyncio\nawait asyncio.sleep(0)"
    ),
}


def test_what_is_left_in_a_cell_costs_no_right_answer(tmp_path):
    change_by_name = dict(zip(NAMES, HARMLESS_CHANGES.values(), strict=True))
    answers = {name: change(SOLVED[name]) for name, change in change_by_name.items()}
    report = grade(write_notebook(tmp_path, make_notebook(answers)), seed=1, timeout=EXERCISE)
    assert set(statuses(report).values()) == {"passed"}, report.exercises
    assert report.passed and report.points == report.max_points
    # their rules hold, and nothing more is said of them
    assert {result.note for result in report.exercises} == {""}


ACCIDENTS = {
    "softmax_with_sink": ("", "not attempted", "empty"),
    "bilinear_weights": (
        "# exercise: bilinear_weights\ndef bilinear_weights(q, k, w\n    return q",
        "error",
        "SyntaxError",
    ),
    "prefix_mask": (
        "# exercise: prefix_mask\ndef prefix_mask(n, prefix, device=None): return helper(n)",
        "error",
        "NameError.*(only this cell is graded|no cell defines that name)",
    ),
    "decoder_mask": ("# exercise: decoder_mask\nx = 1", "error", "isn't defined"),
    "attention_pool": (
        SOLVED["attention_pool"].replace("    return", "    1 / 0\n    return", 1),
        "error",
        r"ZeroDivisionError.*line \d+: “1 / 0”",
    ),
    "effective_keys": (
        "# exercise: effective_keys\ndef effective_keys(weights):\n    weights.sum()",
        "wrong",
        "None.*return",
    ),
    "cached_attention": ("# exercise: cached_attention\n# later", "not attempted", "empty"),
}
MISTAKE = SOLVED["distance_attention"].replace("2 *", "1 *")


@pytest.fixture(scope="module")
def accident_report(tmp_path_factory):
    """The report on every accident, a mistake, and no cell for the last exercise."""
    sources = {name: source for name, (source, *_) in ACCIDENTS.items()}
    notebook = make_notebook(sources | {"distance_attention": MISTAKE})
    notebook.cells = [c for c in notebook.cells if c.id != "answer-test_attention"]
    path = write_notebook(tmp_path_factory.mktemp("unlucky"), notebook)
    return grade(path, seed=5, timeout=SECONDS)


def test_each_accident_gets_its_own_status(accident_report):
    rows = {result.name: result for result in accident_report.exercises}
    for name, (_, status, hint) in ACCIDENTS.items():
        assert rows[name].status == status, rows[name]
        assert re.search(hint, f"{rows[name].hint} {rows[name].evidence}"), rows[name]
    assert rows["test_attention"].status == "not found"
    assert accident_report.graded and not accident_report.passed and accident_report.points == 0


def test_a_seed_gives_the_verdict_of_the_notebook_and_another_seed_other_inputs(accident_report):
    graded_result = accident_report.exercises[1]
    namespace = {"torch": torch, "Tensor": torch.Tensor}
    exec(MISTAKE, namespace)
    answer = local(namespace["distance_attention"])
    same_seed, other_seed = (judge(exercise("distance_attention"), answer, seed) for seed in (5, 6))
    assert Verdict(graded_result.status, graded_result.hint, graded_result.evidence) == same_seed
    assert "the 2 is missing" in same_seed.hint
    assert "expected" in same_seed.evidence and same_seed.evidence != other_seed.evidence


BROKEN_FILES = {
    "there is no such file": None,
    "the file is empty": b"",
    "JSON isn't complete": b'{"cells": [',
    "the file isn't a notebook": b"[1, 2]",
    "no list of cells": b'{"cells": {"0": "code"}, "nbformat": 4, "nbformat_minor": 5}',
    "a web page": b"<!DOCTYPE html><title>Log in</title>",
    "no exercise of the course": nbformat.writes(nbformat.v4.new_notebook()).encode(),
    "more than 20,000,000": b" " * 20_000_001,
}


@pytest.mark.parametrize("message", BROKEN_FILES)
def test_a_file_that_holds_no_answers_gets_a_clear_line(tmp_path, message):
    path = tmp_path / "broken.ipynb"
    if BROKEN_FILES[message] is not None:
        path.write_bytes(BROKEN_FILES[message])
    report = grade(path, seed=1)
    assert message in report.problem and not report.graded
    assert call("grade", path).exit_code == 2


def test_the_command_grades_a_folder_and_exits_as_a_script_wants(tmp_path):
    write_notebook(tmp_path, make_notebook(SOLVED), "ä solved.ipynb")
    # modules beside a submission are not imported
    for name in ("attncourse", "conftest", "torch"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints/solved.ipynb").write_text("{")
    out = tmp_path / "out.json"
    command = ("grade", tmp_path, "--jobs", "2", "--json", out)
    result = call(*command, "--seed", "4")
    assert result.exit_code == 0 and "seed 4" in result.output, result.output
    (solved,) = (report for report in reports(out).values() if "points" in report)
    assert solved["file"] == "ä solved.ipynb" and solved["points"] == solved["max_points"] > 0
    (tmp_path / "ä solved.ipynb").unlink()
    write_notebook(tmp_path, make_notebook({}), "stub.ipynb")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/broken.ipynb").write_text("{")
    result = call(*command)
    assert result.exit_code == 2 and "JSON isn't complete" in result.output, result.output
    by_file = {file: report for file, report in reports(out).items() if "points" in report}
    assert {*by_file} == {"stub.ipynb", "old/broken.ipynb"}
    assert {one["status"] for one in by_file["stub.ipynb"]["exercises"]} == {"not attempted"}


@pytest.mark.parametrize(
    ("statuses", "code", "gradings"),
    [
        (["passed"], 0, 1),
        (["wrong"], 1, 1),
        (["not attempted"], 1, 1),
        (["not graded", "passed"], 0, 2),
        (["not graded", "wrong"], 1, 2),
        (["not graded", "not graded"], 2, 2),
    ],
)
def test_what_could_not_be_graded_is_tried_once_more_when_all_else_is_done(
    tmp_path, monkeypatch, statuses, code, gradings
):
    graded_names = []

    def record_grade(file, **settings):
        graded_names.append(file.name)
        attempt = graded_names.count(file.name) - 1
        status = statuses[attempt] if file.name == "busy.ipynb" else "passed"
        return Report(file.name, "dot_product", exercises=[Result("one", "One", 3, status)])

    monkeypatch.setattr("judge.grading.cli.grade", record_grade)
    for name in ("busy", "other"):
        write_notebook(tmp_path, make_notebook({}), f"{name}.ipynb")
    result = call("grade", tmp_path, "--json", tmp_path / "out.json")
    assert result.exit_code == code, result.output
    assert graded_names == ["busy.ipynb", "other.ipynb", "busy.ipynb"][: gradings + 1]
    assert reports(tmp_path / "out.json")["busy.ipynb"]["exercises"][0]["status"] == statuses[-1]


def test_a_folder_without_notebooks_is_named(tmp_path):
    result = call("grade", tmp_path)
    assert result.exit_code == 2 and "no notebook" in result.output


def test_square_brackets_in_a_hint_are_shown_as_they_are():
    hint = "at [0, 1] expected [bold]x[/bold]"
    report = Report("a.ipynb", exercises=[Result("x", "X", 1, "wrong", hint, "[red]y[/red]")])
    console = Console(record=True, width=150)
    show(report, console)
    assert hint in (text := console.export_text()) and "[red]y[/red]" in text


def test_text_of_a_learner_cannot_write_to_the_terminal():
    assert plain("\x1b[31mred\x1b[0m\x07 \u202eback") == "red back"
    assert len(plain("x" * 10_000)) == 600


class Garbage:
    """A reference cycle whose finalizer executes some lines."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        for _ in range(200):
            pass


@contextmanager
def frequent_collections(objects: int) -> Iterator[None]:
    """A context in which garbage is collected after every `objects` allocations."""
    thresholds = gc.get_threshold()
    gc.set_threshold(objects)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def test_several_threads_may_read_cells_at_once():
    source = "\n".join(f"x = [a + (b, {i}) * f({i}, [c]) for a in range({i})]" for i in range(400))

    def parse_repeatedly(_):
        for _ in range(5):
            Garbage()
        return parsed(source)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        # a collection while a tree is made lets another thread run
        with frequent_collections(50), ThreadPoolExecutor(4) as pool:
            assert all(pool.map(parse_repeatedly, range(60)))
    finally:
        sys.setswitchinterval(interval)
