"""Edge cases that a text allows are tried in every exercise."""

import pytest
import torch
from torch import nn

from judge import messages
from judge.exercise import FINITE, WHATEVER, Case, Exercise
from judge.verdict import judge, local
from tests.judge.test_generic_mistakes import Scale, make_exercise


def status_and_evidence(task: Exercise, answer) -> tuple[str, str]:
    """The status and the evidence of the verdict on an answer."""
    verdict = judge(task, local(answer), seed=3)
    return verdict.status, verdict.evidence


def inputs(draw):
    x = draw.normal(3, 5, 4)
    yield Case("a batch", (x,), longer=(draw.normal(3, 12, 4),))
    yield Case("no batch", (x[0],))


def sum_of_largest(x):
    return (x == x.amax(-1, keepdim=True)).to(x.dtype) * x


def first_of_largest(x):
    return torch.zeros_like(x).scatter(-1, x.argmax(-1, keepdim=True), 1.0) * x


def test_equal_numbers_are_tried_unless_the_text_has_none():
    task = make_exercise(inputs, sum_of_largest)
    assert status_and_evidence(task, sum_of_largest)[0] == "passed"
    status, evidence = status_and_evidence(task, first_of_largest)
    assert status == "wrong" and "a batch, with many equal numbers" in evidence
    distinct_task = make_exercise(inputs, sum_of_largest, without={"ties": "no two are equal"})
    assert status_and_evidence(distinct_task, first_of_largest)[0] == "passed"


def sums(x):
    return x.sum(-2)


def sums_of_ten(x):
    return x[..., :10, :].sum(-2)


def test_the_values_at_a_greater_length_are_compared_as_well():
    task = make_exercise(inputs, sums)
    status, evidence = status_and_evidence(task, sums_of_ten)
    assert status == "wrong" and "a batch, at a greater length" in evidence
    short_task = make_exercise(inputs, sums, without={"large": "its numbers differ by rounding"})
    assert status_and_evidence(short_task, sums_of_ten)[0] == "passed"


class Dropping(Scale):
    def __init__(self, d):
        super().__init__(d)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return super().forward(self.drop(x))


class OnlyOnceTrained(Scale):
    def forward(self, x):
        return super().forward(x) * (2 if self.training else 1)


def scale_cases(draw):
    yield Case("a batch", (draw.normal(2, 5, 4),), build=(4,), weights={"weight": draw.normal(4)})


@pytest.mark.parametrize("answer", [Dropping, OnlyOnceTrained])
def test_a_module_is_called_as_it_was_made_as_well(answer):
    task = make_exercise(scale_cases, Scale)
    status, evidence = status_and_evidence(task, answer)
    assert status == "wrong" and "a batch, in training mode" in evidence
    training_task = make_exercise(
        scale_cases, Scale, without={"training": "the text has a dropout"}
    )
    assert status_and_evidence(training_task, answer)[0] == "passed"


def append_and_sum(x, state):
    state = torch.cat([state, x], dim=-2)
    return x.softmax(-1), state, state.shape[-2]


def detach_state(x, state):
    total, state, count = append_and_sum(x, state)
    return total, state.detach(), count


def detach_input(x, state):
    return append_and_sum(x, state.detach())


def state_cases(draw):
    yield Case("a batch", (draw.normal(2, 5, 4), draw.normal(2, 3, 4)))


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        (detach_state, "On a batch: no gradient reaches state"),
        (detach_input, "On a batch: no gradient reaches state"),
    ],
)
def test_a_gradient_is_taken_of_each_of_several_results(answer, evidence):
    task = make_exercise(state_cases, append_and_sum)
    assert status_and_evidence(task, append_and_sum)[0] == "passed"
    verdict = judge(task, local(answer), seed=3)
    assert (verdict.hint, verdict.evidence) == (messages.DETACHED, evidence)


def real_row_cases(draw):
    yield Case("all real", (draw.normal(3, 4), torch.ones(3, dtype=torch.bool)))
    yield Case("none real", (draw.normal(3, 4), torch.zeros(3, dtype=torch.bool)))


def sum_of_real(x, real):
    return x[real].sum(0)


def sum_or_new_zeros(x, real):
    return sum_of_real(x, real) if real.any() else x.new_zeros(x.shape[-1])


def detached_sum(x, real):
    return sum_of_real(x.detach(), real)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (sum_or_new_zeros, (messages.CUT_OFF, "On none real: no gradient reaches x")),
        (detached_sum, (messages.DETACHED, "On all real: no gradient reaches x")),
    ],
)
def test_a_result_made_anew_where_nothing_comes_is_told_from_one_that_is_detached(answer, sentence):
    task = make_exercise(real_row_cases, sum_of_real)
    assert status_and_evidence(task, sum_of_real)[0] == "passed"
    verdict = judge(task, local(answer), seed=3)
    assert (verdict.hint, verdict.evidence) == sentence


def mean_of_real(x, real):
    return x.masked_fill(~real[..., None], 0.0).sum(-2) / real.sum(-1)[..., None]


def mean_with_nan_as_zero(x, real):
    x = torch.where(x.isnan(), 0.0, x)
    return (x * real[..., None]).sum(-2) / real.sum(-1)[..., None]


def max_of_lowered(x, real):
    return (x - 1e34 * ~real[..., None]).amax(-2)


def max_of_real(x, real):
    return x.masked_fill(~real[..., None], -torch.inf).amax(-2)


def squares_after_mask(x, real):
    return (x * real[..., None]).square().sum(-2)


def squares_before_mask(x, real):
    return (x.square() * real[..., None]).sum(-2)


def padding_cases(draw):
    yield Case("no padding", (draw.normal(2, 5, 4), torch.ones(2, 5, dtype=torch.bool)))
    yield Case("padding", (draw.normal(2, 5, 4), draw.mask(2, 5)))


@pytest.mark.parametrize(
    ("right", "wrong", "numbers"),
    [
        (mean_of_real, mean_with_nan_as_zero, WHATEVER),
        (max_of_real, max_of_lowered, FINITE),
        # in float32 the square is infinite
        (squares_after_mask, squares_before_mask, FINITE),
    ],
)
def test_anything_stands_where_the_exercise_says_that_nothing_is_read(right, wrong, numbers):
    assert status_and_evidence(make_exercise(padding_cases, right), wrong)[0] == "passed"
    task = make_exercise(padding_cases, right)
    task.unread(*numbers)(lambda x, real: {"x": ~real[..., None]})
    assert status_and_evidence(task, right)[0] == "passed"
    status, evidence = status_and_evidence(task, wrong)
    assert status == "wrong" and "padding, with arbitrary numbers where nothing is read" in evidence
