"""One judge serves many notebooks, and none is started for unchanged answers."""

import socket
import subprocess
import sys
import tempfile
from threading import Event

import psutil
import pytest
import torch
from nbformat.v4 import new_code_cell

from judge.grading.grade import AS_GIVEN, grade
from judge.grading.judging.answers import GradedNotebook
from judge.grading.judging.pool import Judge, StoppedError, end_all, idle, templates
from judge.grading.kernel.client import GradingKernel, LostKernelError
from judge.grading.kernel.fork_server import CAN_FORK, MOST_OUTPUT, Output, OutputError
from judge.grading.kernel.server import ServerError
from judge.grading.notebook.pristine import exercise_files
from judge.grading.sandbox import tiers
from tests.grading.submissions import SOLVED, make_notebook, result_of, statuses, write_notebook

pytestmark = pytest.mark.usefixtures("grading")
EXERCISE = "prefix_mask"
LEAVING_ANSWER = f"{SOLVED[EXERCISE]}\nimport torch\ntorch.left_by_another = 1"
LOOKING_ANSWER = "# exercise: decoder_mask\nimport torch\nprint(torch.left_by_another)"


class JudgeStarted(Exception):
    """A judge was asked for."""


@pytest.fixture
def no_judge(monkeypatch):
    def refuse():
        raise JudgeStarted

    monkeypatch.setattr("judge.grading.grade.one_judge", refuse)


@pytest.mark.usefixtures("no_judge")
def test_what_was_not_touched_is_judged_without_a_kernel(tmp_path):
    answers = {EXERCISE: f"# exercise: {EXERCISE}\n# my answer\n\n"}
    notebook = make_notebook(answers)
    notebook.cells.append(new_code_cell("print('a trial')"))
    report = grade(write_notebook(tmp_path, notebook), seed=7)
    assert not report.problem and set(statuses(report).values()) == {"not attempted"}
    hints = {result.name: result.hint for result in report.exercises}
    assert hints.pop(EXERCISE) == "the cell is empty" and set(hints.values()) == {AS_GIVEN}
    # only one of the two says for which machine it was built
    assert report.torch.partition("+")[0] == torch.__version__.partition("+")[0]


@pytest.mark.usefixtures("no_judge")
def test_a_capstone_s_given_code_with_weights_is_an_answer(tmp_path):
    path = tmp_path / "tasks.ipynb"
    path.write_bytes(exercise_files()["tasks"].read_bytes())
    assert set(statuses(grade(path, seed=7)).values()) == {"not attempted"}
    path.with_suffix(".safetensors").write_bytes(b"trained for longer")
    assert JudgeStarted.__name__ in grade(path, seed=7).problem


class Flood:
    """A kernel that sends the same bytes without end, and a wait that is soon over."""

    def __init__(self, data: bytes):
        self.recv = lambda size: data

    def go_on(self, budget):
        raise LostKernelError("too slow", "it sends and sends")


@pytest.mark.parametrize(("data", "error"), [(b"1", LostKernelError), (b"-1\n", ValueError)])
def test_an_answer_that_comes_in_drops_is_not_waited_for_without_end(data, error):
    flood = Flood(data)
    with pytest.raises(error) as raised:
        GradingKernel.answer(flood, flood, None)
    assert getattr(raised.value, "status", "too slow") == "too slow"


def test_the_rest_of_an_announced_answer_is_not_waited_for_without_end():
    chunks = [b"100\n", b"half of it"]

    def recv(size):
        if not chunks:
            pytest.fail("it waits, and asks nobody whether it may")
        return chunks.pop(0)

    flood = Flood(b"")
    flood.recv = recv
    with pytest.raises(LostKernelError):
        GradingKernel.answer(flood, flood, None)
    assert chunks == [b"half of it"]


@pytest.fixture
def judge(tmp_path):
    """The process of the one idle judge, which has judged an answer before."""
    while idle:
        idle.pop().end()
    grade(write_notebook(tmp_path, make_notebook({EXERCISE: SOLVED[EXERCISE]})), seed=7)
    return idle[0].process


def test_one_judge_and_what_starts_its_kernels_serve_many_notebooks(judge, tmp_path):
    servers = []
    for answers in ({EXERCISE: LEAVING_ANSWER}, {"decoder_mask": LOOKING_ANSWER}):
        report = grade(write_notebook(tmp_path, make_notebook(answers)), seed=7)
        assert [judge_process.process for judge_process in idle] == [judge]
        servers.append([child.pid for child in psutil.Process(judge.pid).children()])
    looking_result = result_of(report, "decoder_mask")
    assert looking_result.status == "error" and "left_by_another" in looking_result.hint
    # where a sandbox is a user, each notebook has its own
    assert all(servers) == (tiers.select_tier()[0] != tiers.Tier.OWN_USER)
    assert servers[0] == servers[1]


def test_an_answer_that_is_run_twice_has_no_longer_for_it(tmp_path):
    work_code = "import time\nwhile time.process_time() < begun + 2:\n    pass"
    answer = (
        f"# exercise: decoder_mask\nimport time\nbegun = time.process_time()\n{work_code}\n"
        "def decoder_mask(*args):\n    return of_another_answer\n"
    )
    naming_answer = f"{SOLVED[EXERCISE]}\nof_another_answer = None"
    notebook = make_notebook({EXERCISE: naming_answer, "decoder_mask": answer})
    report = grade(write_notebook(tmp_path, notebook), seed=7, timeout=3)
    results = {result.name: result for result in report.exercises}
    assert results[EXERCISE].status == "passed"
    assert results["decoder_mask"].status == "too slow", results["decoder_mask"]
    assert "stopped after 3 seconds" in results["decoder_mask"].hint


def test_a_judge_that_has_ended_is_replaced(judge, tmp_path):
    judge.kill()
    judge.wait()
    report = grade(write_notebook(tmp_path, make_notebook({EXERCISE: SOLVED[EXERCISE]})), seed=7)
    assert statuses(report)[EXERCISE] == "passed" and idle[0].process.pid != judge.pid


ENDS_ITS_JUDGE = (
    "import os, psutil, time\nos.kill(psutil.Process(os.getppid()).ppid(), 9)\ntime.sleep(10**6)"
)


@pytest.mark.skipif(not CAN_FORK, reason="a process is not copied here")
def test_an_answer_that_ends_its_judge_twice_is_an_error_and_costs_no_neighbour(tmp_path):
    answers = SOLVED | {EXERCISE: f"{SOLVED[EXERCISE]}\n{ENDS_ITS_JUDGE}"}
    report = grade(write_notebook(tmp_path, make_notebook(answers)), seed=7, sandboxed=False)
    results = {result.name: result for result in report.exercises}
    broken_result = results.pop(EXERCISE)
    assert broken_result.status == "error", broken_result
    assert "breaks the grader, even on a second try" in broken_result.hint
    assert {result.status for result in results.values()} == {"passed"}
    # graded answers are kept, and not graded again
    assert report.graded and not report.problem


@pytest.mark.parametrize(
    ("fault", "status"), [(KeyError("F8"), "error"), (ServerError("no torch"), "not graded")]
)
def test_the_second_fault_is_the_answer_s_and_a_kernel_that_does_not_start_is_not(fault, status):
    def raise_fault(name):
        raise fault

    notebook = object.__new__(GradedNotebook)
    notebook.judging_seconds = {}
    outcome = notebook.judge_again(EXERCISE, raise_fault)
    assert outcome.verdict.status == status


@pytest.mark.skipif(not CAN_FORK, reason="a process is not copied here")
def test_judges_are_copies_of_one_process(judge):
    second_judge = Judge()
    try:
        assert {judge.ppid(), second_judge.process.ppid()} == {templates[0].process.pid}
        assert judge.pid != second_judge.process.pid
    finally:
        second_judge.end()
    assert judge.is_running() and not second_judge.process.is_running()


def test_judges_that_cannot_begin_are_said_to(monkeypatch, tmp_path):
    end_all()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "nbformat").mkdir()
    (tmp_path / "nbformat/__init__.py").write_text("raise ImportError('half installed')")
    report = grade(write_notebook(tmp_path, make_notebook({EXERCISE: SOLVED[EXERCISE]})), seed=7)
    assert "no judge could be started: ImportError: half installed" in report.problem
    monkeypatch.undo()
    report = grade(write_notebook(tmp_path, make_notebook({EXERCISE: SOLVED[EXERCISE]})), seed=7)
    assert statuses(report)[EXERCISE] == "passed"


def test_a_judge_that_is_to_stop_is_ended(judge, tmp_path):
    stop = Event()
    stop.set()
    endless = f"# exercise: {EXERCISE}\nwhile True:\n    pass"
    with pytest.raises(StoppedError):
        grade(write_notebook(tmp_path, make_notebook({EXERCISE: endless})), seed=7, stop=stop)
    assert not judge.is_running() and not idle


def test_what_was_printed_over_one_notebook_is_not_the_reason_for_the_next():
    """It answers at once, and nothing of it was printed this time."""
    judge = Judge.__new__(Judge)
    judge.process = psutil.Process()
    judge.socket, other_end = socket.socketpair()
    with judge.socket, other_end, tempfile.TemporaryFile("w+") as judge.said:
        judge.said.write("MemoryError, over the notebook before")
        judge.said.flush()
        other_end.sendall(b"\n")
        assert judge.asked({}, most=1e9, stop=Event()) == ""


def test_what_prints_too_much_is_stopped_once_so_that_its_traceback_can_be_printed():
    output = Output()
    output.write("a" * MOST_OUTPUT)
    with pytest.raises(OutputError, match="this code prints without end"):
        output.write("a")
    assert output.write("Traceback") == 9


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere some limits are not there")
def test_what_is_limited_may_not_lift_its_limit():
    code = (
        "import resource\n"
        "from judge.grading.sandbox.confine import set_limits\n"
        "set_limits({'RLIMIT_NOFILE': 64})\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "(64, 64)\n"


def test_the_command_begins_without_torch():
    code = "import sys, judge.grading.cli; print('torch' in sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "False\n"
