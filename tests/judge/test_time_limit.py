"""In a notebook, an answer that works without end is stopped, and told after what."""

import signal
import threading
import time

import pytest
import torch

from attncourse.course import exercise, session
from judge.call.time_limit import SECONDS, timed
from judge.exercise import MAX_STEPS, TEST_FACTOR
from judge.grading.kernel.budget import EXERCISE
from judge.verdict import judge, local

# as in a notebook: where the course is called, its annotations are not checked
pytestmark = pytest.mark.usefixtures("unchecked")
TASK = exercise("share_within")
RIGHT_ANSWER = TASK.valid_answers[0]


def work_forever():
    large = torch.ones(400, 400)
    while True:
        torch.linalg.matrix_power(large, 63)


def never_ends(weights, reach):
    work_forever()


def ignore_stop(weights, reach):
    try:
        work_forever()
    except BaseException:
        work_forever()


def judge_timed(answer, seconds=SECONDS):
    verdict = judge(TASK, timed(local(answer), seconds), 3, forbidden=())
    assert signal.getsignal(signal.SIGPROF) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    return verdict


def test_an_answer_that_works_without_end_is_stopped():
    for answer in (never_ends, ignore_stop):
        verdict = judge_timed(answer, 0.3)
        assert verdict.status == "too slow" and "never ends" in verdict.hint, verdict
        assert verdict.evidence.endswith(f"your code was stopped after {SECONDS} seconds of work")


def test_all_calls_of_a_check_share_their_time():
    calls, seconds = [], 0.3

    def slow(weights, reach):
        calls.append(reach)
        deadline = time.process_time() + seconds / 5
        while time.process_time() < deadline:
            torch.ones(10, 10).sum()
        return RIGHT_ANSWER(weights, reach)

    assert judge_timed(slow, seconds).status == "too slow" and len(calls) > 1


def test_a_right_answer_is_not_stopped_and_one_in_a_thread_is_not_timed():
    assert judge_timed(RIGHT_ANSWER).status == "passed"
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(judge_timed(RIGHT_ANSWER)))
    thread.start()
    thread.join()
    assert [verdict.status for verdict in verdicts] == ["passed"]


def test_the_time_is_that_of_the_grader_and_what_a_check_gives():
    assert SECONDS == EXERCISE
    arguments = []

    def caller(request):
        return arguments.append(request) or local(RIGHT_ANSWER)(request)

    caller.trained_weights = "where they lie"
    assert timed(caller).trained_weights == "where they lie"
    assert judge(TASK, timed(caller), 3, forbidden=()).status == "passed" and arguments


def test_a_test_that_runs_for_ever_is_told_after_how_many_lines_it_was_stopped(capsys):
    def test_rnn(rnn):
        while True:
            pass

    session.check(test_rnn)
    printed = capsys.readouterr().out
    assert "your test runs for too long: use fewer inputs, or smaller ones" in printed
    assert f"your code was stopped after {MAX_STEPS * TEST_FACTOR:,} lines of Python" in printed
