"""The generic mistakes: made wherever they can show, and known when a learner makes them."""

import math

import pytest
import torch
from torch import nn

from judge import messages
from judge.call import driver
from judge.call.values import by_columns
from judge.exercise import Case, Exercise
from judge.say.bank import generic_mutants
from judge.verdict import judge, judge_own, local


def make_exercise(cases, *answers, **settings) -> Exercise:
    """An exercise whose first answer is both its reference and its first right answer."""
    card = {"kind": "build", "difficulty": 1, "minutes": 1, "points": 1, "title": "Toy"}
    card |= {"name": "toy", "chapter": "dot_product", "hints": ("idea", "shape", "line")}
    task = Exercise(**card | settings)
    task.reference(answers[0])
    task.cases(cases)
    for answer in answers:
        task.valid(answer)
    return task


def means(x):
    top = x.amax(dim=-1, keepdim=True)
    return (x - top).sum(dim=-2)


def argmax_of_rows(x):
    return x.argmax(dim=-1)


def inputs(draw):
    x = draw.normal(3, 5, 4)
    yield Case("a batch", (x,), longer=(draw.normal(24, 40, 4),))
    yield Case("another batch", (draw.normal(2, 3, 4),))
    yield Case("no batch", (x[0],))
    yield Case("two leading axes", (draw.normal(2, 3, 5, 4),))


class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return (x * self.weight).sum(dim=-2)


def scale_cases(draw):
    x, weights = draw.normal(2, 5, 4), {"weight": draw.normal(4)}
    module_case = {"build": (4,), "weights": weights}
    yield Case("a batch", (x,), longer=(draw.normal(9, 40, 4),), **module_case)
    yield Case("another batch", (draw.normal(2, 3, 4),), **module_case)
    yield Case("no batch", (x[0],), **module_case)


FUNCTION_MISTAKES = {
    "always_float32",
    "always_float64",
    "float32_inside",
    "half_inside",
    "made_on_the_cpu",
    "computes_on_the_cpu",
    "detached",
    "loops",
    "loops_over_a_batch",
    "squeezed",
    "remembers",
    "changes_its_input",
    "batch_axis_assumed",
    "axes_from_the_front",
    "viewed",
}


def mistake_names(task: Exercise) -> set[str]:
    return {mutant.name.removeprefix("generic: ") for mutant in generic_mutants(task)}


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (make_exercise(inputs, means), FUNCTION_MISTAKES),
        (make_exercise(scale_cases, Scale), FUNCTION_MISTAKES - {"remembers"} | {"keeping"}),
    ],
)
def test_each_is_made_and_refused_with_its_hint(task, expected):
    assert mistake_names(task) == expected
    for mutant in generic_mutants(task):
        assert judge_own(task, mutant.function, seed=3).hint == mutant.hint, mutant.name


@pytest.mark.parametrize(
    ("cases", "answer", "settings", "missing"),
    [
        (lambda d: iter([Case("one", (d.normal(3, 4),))]), means, {},
         {"loops", "loops_over_a_batch", "squeezed", "batch_axis_assumed", "axes_from_the_front"}),
        (inputs, argmax_of_rows, {"differentiable": False},
         {"always_float32", "always_float64", "float32_inside", "half_inside", "detached",
          "remembers"}),
        (lambda d: iter([Case("a number", (3,), longer=(50,))]), lambda n: n + 1, {},
         FUNCTION_MISTAKES - {"loops"}),
        (inputs, means, {"kind": "test"}, FUNCTION_MISTAKES),
        (inputs, means, {"without": {"viewed": "a reason"}}, {"viewed"}),
    ],
)  # fmt: skip
def test_what_cannot_show_is_not_made(cases, answer, settings, missing):
    task = make_exercise(cases, answer, **settings)
    assert not mistake_names(task) & missing


def test_an_exercise_can_say_more_of_one():
    task = make_exercise(inputs, means, generic_hints={"loops": "add up all rows at once"})
    assert "add up all rows at once" in {mutant.hint for mutant in generic_mutants(task)}


@pytest.mark.parametrize("setting", ["without", "generic_hints"])
def test_leaving_out_what_is_not_there_is_an_error(setting):
    task = make_exercise(inputs, means, **{setting: {"loop": "a reason"}})
    with pytest.raises(ValueError, match="toy has no generic mistake loop: it has always_float32"):
        _ = generic_mutants(task)


@pytest.mark.parametrize("shape", [(), (3,), (3, 4), (2, 3, 4), (2, 1, 3, 4)])
def test_by_columns_are_the_same_numbers(shape):
    x = torch.arange(24.0)[: math.prod(shape)].reshape(shape)
    by_column = by_columns(x)
    assert by_column.equal(x)
    assert by_column.is_contiguous() == (x.dim() < 2)


def test_a_call_of_the_reference_that_goes_wrong_is_named(monkeypatch):
    def raise_error(x):
        raise TypeError("no such order")

    monkeypatch.setattr(driver, "by_columns", raise_error)
    with pytest.raises(RuntimeError, match="toy: the reference fails on another batch"):
        judge(make_exercise(inputs, means), local(means), seed=1)


def view_rows(x):
    return means(x.view(-1, *x.shape[-2:])).view(*x.shape[:-2], x.shape[-1])


def loop_means(x):
    return means(torch.stack([row * 1 for row in x.unbind(-2)], dim=-2))


def unpack_batch(x):
    _batch, _n, _d = x.shape
    return means(x)


def shift_in_place(x):
    x -= x.amax(dim=-1, keepdim=True)
    return x.sum(dim=-2)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (view_rows, messages.VIEW),
        (loop_means, messages.LOOPS),
        (unpack_batch, messages.BATCH),
        (shift_in_place, messages.CHANGES),
        (lambda x: means(x.float()), messages.FLOAT32),
        (lambda x: means(x.double()), messages.FLOAT64),
        (lambda x: means(x.float()).to(x.dtype), messages.FLOAT32_INSIDE),
        (lambda x: means(x.half().to(x.dtype)).half().to(x.dtype), messages.HALF_INSIDE),
        (lambda x: means(x) + torch.zeros(4, dtype=x.dtype), messages.DEVICE),
        (lambda x: means(x.detach()), messages.DETACHED),
    ],
)
def test_a_learner_who_makes_one_hears_its_hint(answer, hint):
    assert judge(make_exercise(inputs, means), local(answer), seed=4).hint == hint


def test_an_answer_that_reshapes_passes():
    def reshape_rows(x):
        return means(x.reshape(-1, *x.shape[-2:])).reshape(*x.shape[:-2], x.shape[-1])

    assert judge(make_exercise(inputs, means), local(reshape_rows), seed=5).status == "passed"
