"""A reply that lies is refused as unreadable: it never reaches the judge."""

import json

import pytest
import torch

from attncourse.course import exercise
from judge.call.caller import local
from judge.compare.criteria import checked
from judge.compare.observe import UNREADABLE
from judge.compare.reply_schema import ReplyError
from judge.verdict import judge
from tests.grading.submissions import SOLVED

EXERCISE = exercise("distance_attention")
TENSOR = {"dtype": "float64", "shape": [1], "device": "cpu", "bytes": "AAAAAAAAAAA="}
LIES = {
    "infinite steps": {"steps": float("inf")},
    "steps below 0": {"steps": -1},
    "steps that are true": {"steps": True},
    "elements that are text": {"largest": "1"},
    "an error that is a list": {"error": [1]},
    "an error without a type": {"error": {"text": "", "line": None}},
    "an error whose text is a number": {"error": {"type": "E", "text": 1, "line": None}},
    "an error whose text is long": {"error": {"type": "E", "text": "x" * 301, "line": None}},
    "an outcome of its own": {"outcome": "passed"},
    "an outcome that is a list": {"outcome": ["returned"]},
    "settings that are a number": {"settings": 1},
    "arguments that are a text": {"after": "abc"},
    "gradients that are numbers": {"gradients": [1.0]},
    "a value of two kinds": {"value": {"plain": 1, "float": "0x1p0"}},
    "a value that is a number": {"value": 1},
    "a dtype that is no dtype": {"value": {"tensor": TENSOR | {"dtype": "nn"}}},
    "axes that are endless": {"value": {"tensor": TENSOR | {"shape": [1] * 70}}},
    "an axis below 0": {"value": {"tensor": TENSOR | {"shape": [-1]}}},
    "a tensor with more parts": {"value": {"tensor": TENSOR | {"requires_grad": True}}},
    "a part too many": {"status": "passed"},
    "what it printed, without end": {"printed": "x" * 10**6},
}
# these have the form of a reply, and cannot be decoded
UNDECODABLE = {
    "bytes that are none": {"value": {"tensor": TENSOR | {"bytes": "%"}}},
    "too few bytes": {"value": {"tensor": TENSOR | {"shape": [2]}}},
    "sizes whose product overflows": {"value": {"tensor": TENSOR | {"shape": [2**62] * 3}}},
    "such sizes on another device": {
        "value": {"tensor": TENSOR | {"shape": [2**62] * 3, "device": "meta"}}
    },
    "a float that is none": {"value": {"float": "zero"}},
    "no arguments where some were given": {"after": []},
    "too many arguments": {"after": [{"plain": 1}] * 9},
}


@pytest.fixture(scope="module")
def honest_answer():
    namespace = {"__name__": "__main__", "torch": torch, "Tensor": torch.Tensor}
    exec(SOLVED[EXERCISE.name], namespace)
    return local(namespace[EXERCISE.name])


def test_what_the_driver_says_passes(honest_answer):
    assert judge(EXERCISE, honest_answer, 3).status == "passed"


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused(lie, honest_answer):
    messages = []
    judge(EXERCISE, lambda request: messages.append(honest_answer(request)) or messages[-1], 3)
    for form in (LIES[lie], json.loads(json.dumps(LIES[lie]))):
        with pytest.raises(ReplyError):
            checked(messages[0] | form)


@pytest.mark.parametrize("lie", LIES | UNDECODABLE)
def test_a_lie_costs_the_answer_that_tells_it(lie, honest_answer):
    reply = (LIES | UNDECODABLE)[lie]
    verdict = judge(EXERCISE, lambda request: honest_answer(request) | reply, 3)
    assert verdict.status == "error" and UNREADABLE in verdict.hint, verdict


@pytest.mark.parametrize("reply", [None, [], "passed", 1, {}, {"status": "passed"}])
def test_what_is_no_reply_at_all_is_refused(reply):
    verdict = judge(EXERCISE, lambda request: reply, 3)
    assert verdict.status == "error" and UNREADABLE in verdict.hint, verdict
