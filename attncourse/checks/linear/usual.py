"""Mistakes that an answer may make whatever it computes, made of one that is right."""

from collections.abc import Callable

import torch
from torch import Tensor

from attncourse.checks.exercise import Exercise, is_floating


def cast(values, dtype):
    return tuple(x.to(dtype) if is_floating(x) else x for x in values)


def each(result, change):
    """What `change` makes of a tensor, or of each of several."""
    return change(result) if isinstance(result, Tensor) else tuple(map(change, result))


def always_float32(answer, *args):
    return answer(*cast(args, torch.float32))


def always_float64(answer, *args):
    return answer(*cast(args, torch.float64))


def float32_inside(answer, *args):
    return each(answer(*cast(args, torch.float32)), lambda x: x.to(args[0].dtype))


def tensor_on_the_cpu(answer, *args):
    return each(answer(*args), lambda x: x + torch.zeros(1, dtype=x.dtype, device="cpu"))


def changed_in_place(answer, *args):
    args[0].mul_(1 + 1e-9)
    return answer(*args)


def batch_axis_assumed(answer, *args):
    _, _, _ = args[0].shape
    return answer(*args)


def batch_and_heads_assumed(answer, *args):
    _, _, _, _ = args[0].shape
    return answer(*args)


WRONG = {
    always_float32: "the result is always float32: keep the dtype of the inputs",
    always_float64: "the result is always float64: keep the dtype of the inputs",
    float32_inside: "you compute in float32: stay in the dtype of the inputs",
    tensor_on_the_cpu: "a new tensor is made on the CPU: give it the device of an input",
    changed_in_place: "an input changes: work on a new tensor",
}
BATCH = "it needs a batch axis: any leading axes, or none, should work"


def add_to(
    exercise: Exercise, answer: Callable, batched: Callable[..., object] = batch_axis_assumed
) -> None:
    """Give the exercise the right answer with each of these mistakes."""
    for mistake, hint in (WRONG | {batched: BATCH}).items():

        def answered(*args, mistake=mistake):
            return mistake(answer, *args)

        answered.__name__ = mistake.__name__
        exercise.mutant(hint)(answered)
