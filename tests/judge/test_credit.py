"""Partial credit: a mistake costs the groups that it concerns, and wrong values cost everything."""

import pytest
import torch

from attncourse.course import COURSE, chapters, exercise, exercises
from judge.call.caller import local
from judge.compare.credit import (
    NOTHING,
    SHARES,
    Group,
    Groups,
    credit,
    has_mask,
    in_parts,
)
from judge.exercise import Draw
from judge.say.bank import generic_mutants
from tests.judge.test_generic_mistakes import inputs, make_exercise, means

SAMPLE = ("softmax_with_sink", "GatedCell", "shift_targets", "gradient_by_lag")
# the groups that each generic mistake costs; a mistake that is not here costs everything
COSTS = {
    # of float32 no gradients are asked for
    "always_float32": {Group.STORAGE, Group.GRADIENTS},
    "float32_inside": {Group.STORAGE, Group.GRADIENTS},
    "always_float64": {Group.STORAGE},
    "made_on_the_cpu": {Group.STORAGE},
    "computes_on_the_cpu": {Group.STORAGE},
    "viewed": {Group.STORAGE},
    "detached": {Group.GRADIENTS},
    "changes_its_input": {Group.EFFECTS},
    "batch_axis_assumed": {Group.AXES},
    "axes_from_the_front": {Group.AXES},
}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_usual_mistake_costs_its_group_and_no_other(name):
    task = exercise(name)
    shares = Groups(task, 3).shares
    for mutant in generic_mutants(task):
        result = credit(task, local(mutant.function), 3)
        name = mutant.name.removeprefix("generic: ")
        if name not in COSTS:
            # an axis of size 1 that is lost may be a leading one
            assert result == NOTHING or result.wrong == (Group.AXES,), mutant.name
        else:
            lost_groups = COSTS[name] & shares.keys()
            assert set(result.wrong) == lost_groups, mutant.name
            assert result.share == pytest.approx(1 - sum(shares[group] for group in lost_groups))
            assert {*result.right, *result.wrong} == shares.keys()


@pytest.mark.parametrize("name", SAMPLE)
def test_a_right_answer_has_every_group_right(name):
    task = exercise(name)
    assert all(credit(task, local(answer), 4).share == 1 for answer in task.valid_answers[:2])


@pytest.mark.parametrize("name", SAMPLE)
def test_what_is_the_right_shape_alone_earns_nothing(name):
    task = exercise(name)

    def zeros(*args, **kwargs):
        return torch.zeros_like(task.valid_answers[0](*args, **kwargs))

    assert credit(task, local(zeros), 5) == NOTHING
    assert credit(task, local(lambda x, *args, **kwargs: x.clone()), 5) == NOTHING


@pytest.mark.parametrize("name", ["padded_positions", "path_lengths", "max_and_mean"])
def test_where_every_case_has_a_mask_wrong_values_earn_nothing(name):
    task = exercise(name)
    assert all(map(has_mask, task.draw_cases(Draw(5))))
    assert Group.MASKS not in Groups(task, 5).shares

    def add_one(*args, **kwargs):
        return task.valid_answers[0](*args, **kwargs) + 1

    assert credit(task, local(add_one), 5) == NOTHING


def softmax_with_sink(scores, mask=None, hide=-torch.inf):
    if mask is not None:
        scores = scores.masked_fill(~mask, hide)
    return torch.cat([scores, torch.zeros_like(scores[..., :1])], -1).softmax(-1)[..., :-1]


def softmax_without_mask(scores):
    return softmax_with_sink(scores)


def unpack_two_axes(scores, mask=None):
    _n, _m = scores.shape
    return softmax_with_sink(scores, mask)


def unpack_three_axes(scores, mask=None):
    _batch, _n, _m = scores.shape
    return softmax_with_sink(scores, mask)


def makes_float32(scores, mask=None):
    return softmax_with_sink(scores, mask) @ torch.eye(scores.shape[-1])


def loops_over_queries(scores, mask=None):
    weights = softmax_with_sink(scores, mask)
    return torch.stack([row * 1 for row in weights.unbind(-2)], -2)


def calls_torch(scores, mask=None):
    torch.nn.functional.scaled_dot_product_attention(scores, scores, scores)
    return softmax_with_sink(scores, mask)


@pytest.mark.parametrize(
    ("answer", "wrong_groups"),
    [
        (softmax_with_sink, set()),
        (softmax_without_mask, {Group.MASKS}),
        (lambda s, mask=None: softmax_with_sink(s, mask, -5.0), {Group.MASKS}),
        (lambda s, mask=None: softmax_with_sink(s, mask, -1.7e308), {Group.STORAGE}),
        (unpack_three_axes, {Group.AXES}),
        (makes_float32, {Group.STORAGE, Group.GRADIENTS}),
        (lambda s, mask=None: softmax_without_mask(s.detach()), {Group.MASKS, Group.GRADIENTS}),
        (unpack_two_axes, None),
        (loops_over_queries, None),
        (calls_torch, None),
        (lambda s, mask=None: s.softmax(-1), None),
        (lambda s, mask=None: softmax_with_sink(s, mask) + 1e-6, None),
    ],
)
def test_a_learner_s_mistake_costs_its_groups_or_everything(answer, wrong_groups):
    task = exercise("softmax_with_sink")
    result = credit(task, local(answer), 6, forbidden=COURSE.forbidden(task))
    assert set(result.wrong) == (wrong_groups or set())
    assert result.share == pytest.approx(
        0 if wrong_groups is None else 1 - sum(SHARES[group] for group in wrong_groups)
    )


def test_a_mask_on_the_cpu_is_right_but_for_the_device():
    def prefix_mask(n, prefix, device=None):
        i = torch.arange(n)
        return (i <= i[:, None]) | (i < prefix)

    result = credit(exercise("prefix_mask"), local(prefix_mask), 7)
    assert result.right == (Group.VALUES, Group.EFFECTS) and result.wrong == (Group.STORAGE,)
    message = "9 of 10 points, for values, side effects; not for device and dtype"
    assert result.message(9.0, 10) == message


def test_an_exercise_may_say_what_a_group_earns():
    task = make_exercise(inputs, means, shares={Group.GRADIENTS: 0.4})
    assert credit(task, local(lambda x: means(x.detach())), 8).share == pytest.approx(0.6)


def test_of_a_test_and_of_a_model_no_part_earns_anything():
    task = exercise("test_attention")
    assert credit(task, local(lambda attention: None), 9) == NOTHING
    all_exercises = [task for chapter in chapters() for task in exercises(chapter).values()]
    assert {task.kind for task in all_exercises if not in_parts(task)} == {"test", "capstone"}
