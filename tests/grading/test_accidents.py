"""No accident costs a right answer, and each gets its own status and a clear line."""

import json
import re
from pathlib import Path

import nbformat
import pytest
import torch
from typer.testing import CliRunner

from attncourse.checks import exercise
from attncourse.checks.verdict import judge, local
from attncourse.grading.cli import app
from attncourse.grading.grade import grade
from attncourse.grading.report import plain
from tests.grading.submissions import NAMES, SECONDS, SOLVED, notebook_with, statuses, written

HARMLESS = {
    # the first of all: torch loads much for it, line by line, before any check has had it do so
    "an operation on the meta device": lambda s: s.replace(
        "    return", "    torch.empty(2, device='meta').square()\n    return", 1
    ),
    "a print, a plot and a warning left in": lambda s: (
        s + "\nprint('here')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()"
        "\nimport sys, warnings\nprint('w', file=sys.stderr)\nwarnings.warn('w')"
    ),
    "the check left in": lambda s: (
        s + "\nfrom attncourse import check, hint, status\ncheck('x', 1)\nstatus()"
    ),
    "a magic on top": lambda s: "%matplotlib inline\n" + s,
    "a magic that there is not": lambda s: s + "\n%no_such_magic",
    "a cell that fails after the function": lambda s: s + "\nleftover_of_another_cell + 1",
    "a print in the function": lambda s: s.replace("    return", "    print('x')\n    return", 1),
    "timed by a cell magic": lambda s: "%%time\n" + s,
    "a seed and a trial": lambda s: s + "\ntorch.manual_seed(0)\nx = torch.randn(3)",
}


def test_what_is_left_in_a_cell_costs_no_right_answer(tmp_path):
    left_in = dict(zip(NAMES, HARMLESS.values(), strict=True))
    answers = {name: change(SOLVED[name]) for name, change in left_in.items()}
    report = grade(written(tmp_path, notebook_with(answers)), seed=1, timeout=SECONDS)
    assert set(statuses(report).values()) == {"passed"}, report.exercises
    assert report.passed and report.points == report.worth


def test_each_accident_gets_its_own_status(tmp_path):
    good = SOLVED["attention_pool"]
    accidents = {
        "softmax_with_sink": ("", "not attempted", "empty"),
        "distance_attention": ("# exercise: distance_attention\n# later", "not attempted", "empty"),
        "bilinear_weights": (
            "# exercise: bilinear_weights\ndef bilinear_weights(q, k, w\n    return q",
            "error",
            "SyntaxError",
        ),
        "prefix_mask": (
            "# exercise: prefix_mask\ndef prefix_mask(n, prefix, device=None): return helper(n)",
            "error",
            "NameError.*only this cell is graded",
        ),
        "decoder_mask": ("# exercise: decoder_mask\nx = 1", "error", "nothing is called"),
        "attention_pool": (
            good.replace("    return", "    1 / 0\n    return", 1),
            "error",
            r"ZeroDivisionError.*line \d+: 1 / 0",
        ),
        "effective_keys": (
            "# exercise: effective_keys\ndef effective_keys(weights):\n    weights.sum()",
            "wrong",
            "None.*return",
        ),
    }
    notebook = notebook_with({name: source for name, (source, *_) in accidents.items()})
    notebook.cells = [c for c in notebook.cells if c.id != "answer-test_attention"]
    report = grade(written(tmp_path, notebook), seed=1, timeout=SECONDS)
    rows = {one.name: one for one in report.exercises}
    for name, (_, status, hint) in accidents.items():
        assert rows[name].status == status, rows[name]
        assert re.search(hint, f"{rows[name].hint} {rows[name].evidence}"), rows[name]
    assert rows["cached_attention"].status == "not attempted"
    assert rows["test_attention"].status == "not found"
    assert report.graded and not report.passed and report.points == 0


def test_a_seed_gives_the_verdict_of_the_notebook_and_another_seed_other_inputs(tmp_path):
    fix = SOLVED["distance_attention"].replace("2 *", "1 *")
    path = written(tmp_path, notebook_with({"distance_attention": fix}))
    graded = grade(path, seed=5, timeout=SECONDS).exercises[1]
    namespace = {"torch": torch, "Tensor": torch.Tensor}
    exec(fix, namespace)
    answer = local(namespace["distance_attention"])
    same, other = (judge(exercise("distance_attention"), answer, seed) for seed in (5, 6))
    assert (graded.status, graded.hint, graded.evidence) == same
    assert "the 2 is missing" in same.hint
    assert "expected" in same.evidence and same.evidence != other.evidence


BROKEN = {
    "there is no such file": None,
    "the file is empty": b"",
    "not complete JSON": b'{"cells": [',
    "it is not a notebook": b"[1, 2]",
    "not a notebook": b'{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 5}',
    "no exercise of the course": nbformat.writes(nbformat.v4.new_notebook()).encode(),
    "more than 20,000,000": b" " * 20_000_001,
}


@pytest.mark.parametrize("says", BROKEN)
def test_a_file_that_holds_no_answers_gets_a_clear_line(tmp_path, says):
    path = tmp_path / "broken.ipynb"
    if BROKEN[says] is not None:
        path.write_bytes(BROKEN[says])
    report = grade(path, seed=1)
    assert says in report.problem and not report.graded
    assert CliRunner().invoke(app, ["grade", str(path)]).exit_code == 2


def test_the_command_grades_a_folder_and_exits_as_a_script_wants(tmp_path):
    solved = written(tmp_path, notebook_with(SOLVED), "ä solved.ipynb")
    # what stands beside a submission has no say
    for name in ("attncourse", "conftest", "torch"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints/solved.ipynb").write_text("{")
    out = tmp_path / "out.json"
    every = ["grade", str(tmp_path), "--jobs", "2", "--json", str(out)]
    done = CliRunner().invoke(app, [*every, "--seed", "4"])
    assert done.exit_code == 0 and "seed 4" in done.output, done.output
    solved.rename(tmp_path / "solved.ipynb")
    written(tmp_path, notebook_with({}), "stub.ipynb")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/broken.ipynb").write_text("{")
    done = CliRunner().invoke(app, every)
    assert done.exit_code == 2 and "not complete JSON" in done.output, done.output
    reports = {Path(one["file"]).name: one for one in json.loads(out.read_text())}
    assert set(reports) == {"stub.ipynb", "solved.ipynb", "broken.ipynb"}
    assert reports["solved.ipynb"]["points"] == reports["solved.ipynb"]["worth"] > 0
    assert {one["status"] for one in reports["stub.ipynb"]["exercises"]} == {"not attempted"}
    assert CliRunner().invoke(app, ["grade", str(tmp_path / "stub.ipynb")]).exit_code == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--device", "quantum"], "not on this machine"),
        (["--json", "no/such/folder/x.json"], "there is no folder"),
        (["--timeout", "0"], "--timeout"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_a_bad_option_is_named_before_anything_runs(tmp_path, options, says):
    path = written(tmp_path, notebook_with({}))
    done = CliRunner().invoke(app, ["grade", str(path), *options])
    assert done.exit_code == 2 and says in done.output and "Traceback" not in done.output


def test_a_folder_without_notebooks_is_named(tmp_path):
    done = CliRunner().invoke(app, ["grade", str(tmp_path)])
    assert done.exit_code == 2 and "no notebook" in done.output


def test_text_of_a_learner_cannot_write_to_the_terminal():
    assert plain("\x1b[31mred\x1b[0m\x07 \u202eback") == "red back"
    assert len(plain("x" * 10_000)) == 600
