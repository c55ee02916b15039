"""What is ok in the notebook is ok when graded, in whatever form a notebook holds what it needs."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from attncourse.course import exercise
from judge.grading.grade import grade
from judge.grading.graft import graft
from judge.grading.pristine import chapters
from judge.grading.report import Report
from judge.verdict import judge, local
from tests.grading import machines
from tests.grading.forms import (
    ANSWER,
    BY_F,
    BY_HELPER,
    FORMS,
    HELPER,
    IMPORT,
    NAME,
    PARSED,
    USUAL,
    with_cells,
)
from tests.grading.machines import TIERS
from tests.grading.submissions import SECONDS, SLUG, SOLVED, notebook_with, statuses, write_notebook

EVERY = [pytest.param(form, marks=[pytest.mark.slow] * (form not in USUAL)) for form in FORMS]
# what is set on torch's own classes is torch's from then on; what exec runs is not read
UNPROVEN = (
    "a method set on a class", "a method set by setattr", "a helper from exec",
    "a helper put among the globals",
)  # fmt: skip
TORCHS = "F.scaled_dot_product_attention(*[torch.ones(2, 2)] * 3)"


def graded(tmp_path, notebook, **settings) -> Report:
    return grade(write_notebook(tmp_path, notebook), seed=3, **{"timeout": 2 * SECONDS, **settings})


def result(report: Report, name: str = NAME):
    return next(result for result in report.exercises if result.name == name)


@pytest.mark.sandbox
@pytest.mark.parametrize("form", EVERY)
def test_what_is_ok_in_the_notebook_is_ok_when_graded(tmp_path, form):
    report = graded(tmp_path, FORMS[form]())
    assert result(report).status == "passed", (result(report), report.notes)
    assert {result.status for result in report.exercises} <= {"passed", "not attempted"}
    assert bool(result(report).unproven) == (form in UNPROVEN), result(report).unproven


GRADED = f"""
import json, sys
from pathlib import Path
from judge.grading.grade import grade
for path in sorted(Path(sys.argv[1]).glob("*.ipynb")):
    report = grade(path, seed=3, timeout={4 * SECONDS})
    print(json.dumps([path.stem, report.sandbox, *[x.status for x in report.exercises]]))
"""


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("machine", [tier for tier in TIERS if TIERS[tier] and tier != "root"])
def test_they_are_ok_in_each_sandbox(tmp_path, machine):
    if why := machines.problem(machine):
        pytest.skip(why)
    for number, form in enumerate(FORMS):
        write_notebook(tmp_path, FORMS[form](), f"{number}.ipynb")
    machines.opened_to_others(tmp_path)
    done = machines.python(machine, "-c", GRADED, str(tmp_path))
    rows = {int(report[0]): report[1:] for report in map(json.loads, done.stdout.splitlines())}
    assert len(rows) == len(FORMS), done.stderr
    assert {tier for tier, *_ in rows.values()} == {TIERS[machine]}
    lost = [form for number, form in enumerate(FORMS) if "passed" not in rows[number]]
    assert not lost


@pytest.mark.parametrize("form", PARSED)
def test_where_no_cell_may_be_run_its_text_tells_what_an_answer_needs(form):
    grafted = graft(nbformat.writes(FORMS[form]()).encode())
    imports = "import torch\nfrom torch import Tensor\n"
    text = grafted.answers()[NAME].replace("%%time\n", "")
    assert "!" not in text and "%" not in text and "pip" not in text
    namespace = {}
    exec(imports + text, namespace)
    assert judge(exercise(NAME), local(namespace[NAME]), 3).status == "passed"


def test_a_number_of_a_chapter_s_own_cells_is_not_run_again_below_them():
    """The given cells of the notebook are those that run, in their places."""
    grafted = graft(nbformat.writes(notebook_with(SOLVED)).encode())
    texts = [cell.source.strip() for cell in grafted.cells]
    assert set(texts) >= {text.strip() for text in chapters()[SLUG].texts if "check(" in text}


@pytest.mark.sandbox
def test_what_no_answer_needs_costs_nothing_and_what_one_needs_may_cost_it(tmp_path):
    tried = "bilinear_weights", f"{IMPORT}\nwant = {TORCHS}\nimport sys\nsys.settrace(None)"
    free = result(graded(tmp_path, with_cells(tried[1], IMPORT)))
    assert free.status == "passed" and not free.unproven
    needed = f"{IMPORT}\ndef soft(s):\n    {TORCHS}\n    return F.softmax(s, -1)"
    forbidden = result(graded(tmp_path, with_cells(needed, answer=BY_HELPER)))
    assert forbidden.status == "wrong" and "may not be called here" in forbidden.hint


@pytest.mark.sandbox
def test_what_was_not_run_and_what_was_left_out_is_told(tmp_path):
    report = graded(
        tmp_path,
        with_cells(
            "!pip install -q no_such_package", "exit()", "import no_such_package", answer=BY_HELPER
        ),
    )
    assert result(report).status == "error" and "soft" in result(report).hint
    notes = "\n".join(report.notes)
    assert "not run here: “pip install -q no_such_package”" in notes
    assert "cell 6, “exit()”, was left out" in notes and "it ends the Python process" in notes
    assert report.lacks == ["no_such_package"]


def test_without_a_sandbox_no_cell_runs_but_the_answers(tmp_path, grading):
    mark = tmp_path / "mark"
    notebook = with_cells(
        f"!touch {mark}", f"open({str(mark)!r}, 'w')\n{IMPORT}", f"x = open({str(mark)!r}, 'w')"
    )
    report = graded(tmp_path, notebook, sandboxed=False)
    assert result(report).status == "passed" and not mark.exists()
    assert any("not the cells 5, 6, 7" in note for note in report.notes), report.notes


LEAKS = """
import os, sys, torch
torch.left_by_a_test = True
def test_attention(attention):
    torch.right_one = attention
    with open('right_one', 'w') as file:
        file.write('seen')
    q, k, v = torch.ones(2, 3), torch.ones(4, 3), torch.eye(4)
    raise AssertionError('wrong')
"""
LOOKS = ANSWER.format(softmax="torch.softmax(s, dim=-1)").replace(
    "    s =",
    "    import os\n"
    "    assert not hasattr(torch, 'right_one') and not hasattr(torch, 'left_by_a_test')\n"
    "    assert not os.path.exists('right_one')\n    s =",
    1,
)


@pytest.mark.sandbox
def test_nothing_that_an_answer_is_sent_or_does_reaches_the_next(tmp_path):
    first = "bilinear_weights"
    notebook = with_cells(answer=LOOKS)
    for cell in notebook.cells:
        if cell.id == "answer-test_attention":
            cell.source = f"# exercise: test_attention\n{LEAKS}"
    # the test is judged first
    places = {cell.id: at for at, cell in enumerate(notebook.cells)}
    for name in ("check", "answer"):
        cell = notebook.cells.pop(places[f"{name}-test_attention"])
        notebook.cells.insert(1, cell)
        places = {cell.id: at for at, cell in enumerate(notebook.cells)}
    report = graded(tmp_path, notebook)
    assert statuses(report)[first] == "passed", report.exercises


SPOILED = {
    "torch patched": "torch.Tensor.softmax = torch.softmax = None",
    "check patched": "import attncourse\nattncourse.check = lambda *a: print('ok')",
    "the driver patched": (
        "import sys\nsys.modules['judge_driver.driver'].drive = lambda *a: {'outcome': 'returned'}"
    ),
    "no more processes": "import os\nos.fork = None",
    "a file in place of the connection": (
        "import os\nfor n in range(3, 50):\n    try:\n        os.close(n)\n"
        "    except OSError:\n        pass"
    ),
    "memory without end": "held = bytearray(3 << 30)",
}


@pytest.mark.sandbox
@pytest.mark.parametrize("what", SPOILED)
def test_a_cell_that_spoils_its_notebook_is_judged_around(tmp_path, what):
    notebook = with_cells(SPOILED[what], answer=ANSWER.format(softmax="torch.softmax(s, dim=-1)"))
    wrong = "# exercise: effective_keys\ndef effective_keys(weights):\n    return weights.sum(-1)"
    for cell in notebook.cells:
        if cell.id == "answer-effective_keys":
            cell.source = wrong
    report = graded(tmp_path, notebook)
    assert result(report).status == "passed", result(report)
    assert statuses(report)["effective_keys"] == "wrong"


@pytest.mark.sandbox
def test_the_answer_that_was_checked_last_is_judged_and_not_a_later_sketch(tmp_path):
    second_check = f"from attncourse import check\ncheck('{NAME}', {NAME})"
    worse = BY_F.replace("dim=-1", "dim=-2").partition("\n")[2]
    checked = graded(tmp_path, with_cells(IMPORT, after=(worse, second_check)))
    # the text in its own cell is right: nobody gets less than for that
    assert result(checked).status == "passed"
    later = with_cells(answer=BY_F.replace("dim=-1", "dim=-2"), after=(IMPORT,))
    assert result(graded(tmp_path, later)).status == "wrong"


@pytest.mark.sandbox
def test_an_empty_notebook_and_an_unchanged_one_start_no_judge(tmp_path, monkeypatch):
    def refuse():
        raise AssertionError("a judge was asked for")

    monkeypatch.setattr("judge.grading.grade.one_judge", refuse)
    notebook = notebook_with({})
    notebook.cells.append(new_code_cell("print('a trial')"))
    assert set(statuses(graded(tmp_path, notebook)).values()) == {"not attempted"}


@pytest.mark.sandbox
def test_who_misses_a_name_is_shown_the_cell_that_stops_before_it_makes_it(tmp_path):
    outcome = result(graded(tmp_path, with_cells(f"1 / 0\n{HELPER}", answer=BY_HELPER)))
    assert outcome.status == "passed", "from its text"
    looped = "1 / 0\nfor soft in [torch.softmax]:\n    pass"
    outcome = result(graded(tmp_path, with_cells(looped, answer=BY_HELPER)))
    assert outcome.status == "error" and "raises ZeroDivisionError" in outcome.evidence, outcome
