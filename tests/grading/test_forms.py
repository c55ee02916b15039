"""An answer that is ok in its notebook is ok when graded, in whatever form it has its helpers."""

import json
from functools import partial

import nbformat
import pytest

from attncourse.course import exercise
from judge.grading.grade import grade
from judge.grading.notebook.graft import graft
from judge.grading.notebook.pristine import chapters
from judge.grading.report.results import Report
from judge.verdict import judge, local
from tests.grading import machines, submissions
from tests.grading.forms import (
    ANSWER,
    BY_F,
    BY_HELPER,
    FORMS,
    HELPER,
    IMPORT,
    NAME,
    PARSED_FORMS,
    PUBLIC_FORMS,
    with_cells,
    with_moved_cell,
    with_source,
)
from tests.grading.machines import TIERS
from tests.grading.submissions import SECONDS, SLUG, SOLVED, make_notebook, statuses, write_notebook

FORM_PARAMS = [
    pytest.param(form, marks=[pytest.mark.slow] * (form not in PUBLIC_FORMS)) for form in FORMS
]
TORCH_CALL = "F.scaled_dot_product_attention(*[torch.ones(2, 2)] * 3)"


def grade_notebook(tmp_path, notebook, **settings) -> Report:
    return grade(write_notebook(tmp_path, notebook), seed=3, timeout=2 * SECONDS, **settings)


result_of = partial(submissions.result_of, name=NAME)


@pytest.mark.sandbox
@pytest.mark.parametrize("form", FORM_PARAMS)
def test_what_is_ok_in_the_notebook_is_ok_when_graded(tmp_path, form):
    report = grade_notebook(tmp_path, FORMS[form]())
    assert result_of(report).status == "passed", (result_of(report), report.notes)
    assert {result.status for result in report.exercises} <= {"passed", "not attempted"}


GRADE_SCRIPT = f"""
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
    if reason := machines.missing_reason(machine):
        pytest.skip(reason)
    for number, form in enumerate(FORMS):
        write_notebook(tmp_path, FORMS[form](), f"{number}.ipynb")
    machines.open_to_others(tmp_path)
    process = machines.run_python(machine, "-c", GRADE_SCRIPT, str(tmp_path))
    rows = {int(report[0]): report[1:] for report in map(json.loads, process.stdout.splitlines())}
    assert len(rows) == len(FORMS), process.stderr
    assert {tier for tier, *_ in rows.values()} == {TIERS[machine]}
    failed_forms = [form for number, form in enumerate(FORMS) if "passed" not in rows[number]]
    assert not failed_forms


@pytest.mark.parametrize("form", PARSED_FORMS)
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
    grafted = graft(nbformat.writes(make_notebook(SOLVED)).encode())
    texts = [cell.source.strip() for cell in grafted.cells]
    assert set(texts) >= {text.strip() for text in chapters()[SLUG].texts if "check(" in text}


@pytest.mark.sandbox
def test_what_no_answer_needs_costs_nothing_and_what_one_needs_may_cost_it(tmp_path):
    comparison = f"{IMPORT}\nwant = {TORCH_CALL}"
    free_result = result_of(grade_notebook(tmp_path, with_cells(comparison, IMPORT)))
    assert free_result.status == "passed"
    helper_cell = f"{IMPORT}\ndef soft(s):\n    {TORCH_CALL}\n    return F.softmax(s, -1)"
    forbidden_result = result_of(
        grade_notebook(tmp_path, with_cells(helper_cell, answer=BY_HELPER))
    )
    assert forbidden_result.status == "wrong" and "may not be called here" in forbidden_result.hint


@pytest.mark.sandbox
def test_what_was_not_run_and_what_was_left_out_is_told(tmp_path):
    report = grade_notebook(
        tmp_path,
        with_cells(
            "!pip install -q no_such_package", "exit()", "import no_such_package", answer=BY_HELPER
        ),
    )
    assert result_of(report).status == "error" and "soft" in result_of(report).hint
    notes = "\n".join(report.notes)
    assert "the grader didn't run this command: “pip install -q no_such_package”" in notes
    assert (
        "cell 6, “exit()”, was left out" in notes
        and "this code ends or breaks the Python process" in notes
    )
    assert report.lacks == ["no_such_package"]


def test_without_a_sandbox_no_cell_runs_but_the_answers(tmp_path, grading):
    marker = tmp_path / "mark"
    notebook = with_cells(
        f"!touch {marker}",
        f"open({str(marker)!r}, 'w')\n{IMPORT}",
        f"x = open({str(marker)!r}, 'w')",
    )
    report = grade_notebook(tmp_path, notebook, sandboxed=False)
    assert result_of(report).status == "passed" and not marker.exists()
    assert any("these cells were not: 5, 6, 7" in note for note in report.notes), report.notes


LEAKING_TEST = """
import os, sys, torch
torch.left_by_a_test = True
def test_attention(attention):
    torch.right_one = attention
    with open('right_one', 'w') as file:
        file.write('seen')
    q, k, v = torch.ones(2, 3), torch.ones(4, 3), torch.eye(4)
    raise AssertionError('wrong')
"""
LOOKING_ANSWER = ANSWER.format(softmax="torch.softmax(s, dim=-1)").replace(
    "    s =",
    "    import os\n"
    "    assert not hasattr(torch, 'right_one') and not hasattr(torch, 'left_by_a_test')\n"
    "    assert not os.path.exists('right_one')\n    s =",
    1,
)


@pytest.mark.sandbox
def test_nothing_that_an_answer_is_sent_or_does_reaches_the_next(tmp_path):
    leaking_test = f"# exercise: test_attention\n{LEAKING_TEST}"
    notebook = with_source(with_cells(answer=LOOKING_ANSWER), "answer-test_attention", leaking_test)
    # the test is judged first
    for part in ("check", "answer"):
        with_moved_cell(notebook, f"{part}-test_attention", 1)
    report = grade_notebook(tmp_path, notebook)
    assert statuses(report)["bilinear_weights"] == "passed", report.exercises


SPOILING_CELLS = {
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
@pytest.mark.parametrize("case", SPOILING_CELLS)
def test_a_cell_that_spoils_its_notebook_is_judged_around(tmp_path, case):
    notebook = with_cells(
        SPOILING_CELLS[case], answer=ANSWER.format(softmax="torch.softmax(s, dim=-1)")
    )
    wrong = "# exercise: effective_keys\ndef effective_keys(weights):\n    return weights.sum(-1)"
    report = grade_notebook(tmp_path, with_source(notebook, "answer-effective_keys", wrong))
    assert result_of(report).status == "passed", result_of(report)
    assert statuses(report)["effective_keys"] == "wrong"


@pytest.mark.sandbox
def test_the_answer_that_was_checked_last_is_judged_and_not_a_later_sketch(tmp_path):
    second_check = f"from attncourse import check\ncheck('{NAME}', {NAME})"
    worse_answer = BY_F.replace("dim=-1", "dim=-2").partition("\n")[2]
    report = grade_notebook(tmp_path, with_cells(IMPORT, at_end=(worse_answer, second_check)))
    # the text in its own cell is right: nobody gets less than for that
    assert result_of(report).status == "passed"
    notebook = with_cells(answer=BY_F.replace("dim=-1", "dim=-2"), at_end=(IMPORT,))
    assert result_of(grade_notebook(tmp_path, notebook)).status == "wrong"


@pytest.mark.sandbox
def test_who_misses_a_name_is_shown_the_cell_that_stops_before_it_makes_it(tmp_path):
    outcome = result_of(grade_notebook(tmp_path, with_cells(f"1 / 0\n{HELPER}", answer=BY_HELPER)))
    assert outcome.status == "passed", "from its text"
    looping_cell = "1 / 0\nfor soft in [torch.softmax]:\n    pass"
    outcome = result_of(grade_notebook(tmp_path, with_cells(looping_cell, answer=BY_HELPER)))
    assert outcome.status == "error" and "raises ZeroDivisionError" in outcome.evidence, outcome
