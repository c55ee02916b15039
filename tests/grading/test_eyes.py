"""A notebook's free cells change no other answer, hold nobody up and pass nothing on."""

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbformat.v4 import new_code_cell

from judge.grading.grade import grade
from judge.grading.judging.cell_notes import STOPPED
from judge.grading.notebook.names import tree
from judge.grading.notebook.pristine import answer_cells, exercise_files
from judge.grading.report.results import Report, Result
from tests.grading.forms import BY_HELPER, IMPORT, NAME, cell_index, with_cells, with_source
from tests.grading.submissions import SECONDS, SOLVED, result_of, statuses, write_notebook
from tools.notebooks import solved_notebook

pytestmark = pytest.mark.sandbox

MASK = SOLVED["prefix_mask"]
RENAMED_ANSWER = MASK.partition("\n")[2].replace("def prefix_mask", "def mine")
SHARED_TABLE = "known = {'soft': lambda s: torch.softmax(s, dim=-1)}"


def graded(tmp_path, notebook, name="prefix_mask", timeout=2 * SECONDS) -> tuple[Result, Report]:
    report = grade(write_notebook(tmp_path, notebook), seed=3, timeout=timeout)
    return result_of(report, name), report


def with_check_cells(*cells):
    """A notebook in which these cells check the answer, which is called `mine`."""
    notebook = with_source(with_cells(IMPORT), "answer-prefix_mask", RENAMED_ANSWER)
    index = cell_index(notebook, "check-prefix_mask")
    notebook.cells[index : index + 1] = map(new_code_cell, cells)
    return notebook


@pytest.mark.parametrize(
    "cells",
    [
        ["from attncourse import check as ok\nok('prefix_mask', mine)"],
        ["import attncourse\nok = attncourse.check", "ok('prefix_mask', mine)"],
        [
            "mine_all = {'prefix_mask': mine}",
            "from attncourse import check\nfor name, answer in mine_all.items():\n"
            "    check(name, answer)",
        ],
        [
            "from attncourse import check\ndef verify(name, answer):\n    check(name, answer)",
            "verify('prefix_mask', mine)",
        ],
    ],
)
def test_an_answer_of_another_name_is_found_however_it_is_checked(tmp_path, cells):
    result, _ = graded(tmp_path, with_check_cells(*cells))
    assert result.status == "passed", result


def test_a_cell_that_computes_with_more_threads_costs_no_answer(tmp_path):
    threads = "torch.set_num_threads(2)\nx = torch.ones(600, 600)\n(x @ x).softmax(-1).sum()"
    answer = BY_HELPER.replace("soft(s)", "known['soft'](s)")
    notebook = with_cells(
        "known = {}", f"known.update({SHARED_TABLE[8:]})\n{threads}", answer=answer
    )
    result, _ = graded(tmp_path, notebook, NAME)
    assert result.status == "passed", result


HOLDING_CELLS = {
    "a lock that a fork waits for": (
        "import logging, threading, time\ndef hold():\n    logging._lock.acquire()\n"
        "    time.sleep(1e6)\nthreading.Thread(target=hold, daemon=True).start()"
    ),
    "a copy that ends at once": (
        "import os\nfork = os.fork\nos.fork = lambda: fork() or os._exit(0)"
    ),
    "a folder that is closed": "import os\nos.chmod('.', 0)",
    "a table of checks without end": (
        "import time\nfrom attncourse import check\nclass Table(dict):\n"
        "    def __contains__(self, name):\n        time.sleep(1e6)\ncheck.__self__.given = Table()"
    ),
}


@pytest.mark.parametrize("case", HOLDING_CELLS)
def test_no_cell_holds_up_the_class_for_longer_than_the_answers_may(tmp_path, case):
    notebook = with_source(with_cells(HOLDING_CELLS[case], IMPORT), "answer-prefix_mask", MASK)
    _, report = graded(tmp_path, notebook, timeout=2)
    attempted_statuses = {
        name: status for name, status in statuses(report).items() if status != "not attempted"
    }
    assert attempted_statuses == {NAME: "passed", "prefix_mask": "passed"}, report
    # what holds up a copy of the kernel is met once, what holds up one answer costs only that
    assert report.notes == [STOPPED] * (case != "a table of checks without end")


STORING_TEST = """# exercise: test_rnn
import marshal
def test_rnn(rnn):
    code = marshal.dumps(rnn.__code__)
    box[:len(code)] = code
    raise AssertionError
"""


def test_what_a_test_is_sent_reaches_no_other_answer_through_shared_memory(tmp_path):
    notebook = nbformat.read(exercise_files()["recurrence"], as_version=4)
    answers = answer_cells(notebook)
    right_source = answer_cells(solved_notebook("recurrence"))["reverse_within"].source
    answers["test_rnn"].source = STORING_TEST
    checking_code = "    assert not any(box[:99])\n    t, lengths = "
    answers["reverse_within"].source = right_source.replace("    t, lengths = ", checking_code)
    first_index = 1 + next(
        i for i, cell in enumerate(notebook.cells) if cell.source.startswith("import")
    )
    # the test comes first
    test_index = cell_index(notebook, "answer-test_rnn")
    test = notebook.cells[test_index : test_index + 2]
    del notebook.cells[test_index : test_index + 2]
    notebook.cells[first_index:first_index] = [
        new_code_cell("import mmap\nbox = mmap.mmap(-1, 1 << 20)"),
        *test,
    ]
    result, report = graded(tmp_path, notebook, "reverse_within")
    assert result.status == "passed", result
    assert statuses(report)["test_rnn"] == "wrong"


def test_a_cell_of_many_magics_is_read_a_few_times(monkeypatch):
    calls, transform = [], TransformerManager.do_one_token_transform

    def record_call(self, lines):
        calls.append(lines)
        return transform(self, lines)

    monkeypatch.setattr(TransformerManager, "do_one_token_transform", record_call)
    # IPython reads it 500 times, which takes minutes in a cell of 200,000 characters
    for line in ("%pwd", "here = !pwd", "here?"):
        assert tree(f"{line}\n" * 490 + "x = 1\n" * 1000)
    assert len(calls) < 10
