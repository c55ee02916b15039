"""Mistakes that an answer may make whatever it computes, made around one that is right."""

from collections.abc import Callable

import torch
from torch import Tensor

from attncourse.checks.exercise import Exercise, is_floating


def cast(args, kwargs, dtype):
    """The arguments, their floating tensors in that dtype."""
    return (
        [x.to(dtype) if is_floating(x) else x for x in args],
        {name: x.to(dtype) if is_floating(x) else x for name, x in kwargs.items()},
    )


def each(result, change):
    """What `change` makes of a tensor, or of each of several."""
    return change(result) if isinstance(result, Tensor) else tuple(map(change, result))


def always(dtype, answer, args, kwargs):
    args, kwargs = cast(args, kwargs, dtype)
    return answer(*args, **kwargs)


def always_float32(answer, *args, **kwargs):
    return always(torch.float32, answer, args, kwargs)


def always_float64(answer, *args, **kwargs):
    return always(torch.float64, answer, args, kwargs)


def float32_inside(answer, *args, **kwargs):
    dtype = next(x.dtype for x in args if is_floating(x))
    return each(always(torch.float32, answer, args, kwargs), lambda x: x.to(dtype))


def detached(answer, *args, **kwargs):
    return answer(*args, **kwargs).detach()


def made_on_the_cpu(answer, *args, **kwargs):
    return each(answer(*args, **kwargs), lambda x: x + torch.zeros_like(x, device="cpu"))


def changed_in_place(answer, *args, **kwargs):
    args[0].mul_(1 + 1e-9)
    return answer(*args, **kwargs)


def batch_axis_assumed(answer, *args, **kwargs):
    _, _, _ = args[0].shape
    return answer(*args, **kwargs)


def batch_and_heads_assumed(answer, *args, **kwargs):
    _, _, _, _ = args[0].shape
    return answer(*args, **kwargs)


BATCH = "it needs a batch axis: any leading axes, or none, should work"
HINTS = {
    always_float32: "the result is always float32: keep the dtype of the inputs",
    always_float64: "the result is always float64: keep the dtype of the inputs",
    float32_inside: "you compute in float32: stay in the dtype of the inputs",
    detached: "no gradient flows back: nothing may be detached",
    made_on_the_cpu: "a new tensor is made on the CPU: give it the device of an input",
    changed_in_place: "an input changes: work on a new tensor",
    batch_axis_assumed: BATCH,
    batch_and_heads_assumed: BATCH,
}
FLOATING = (always_float32, float32_inside, made_on_the_cpu)
USUAL = (always_float32, always_float64, float32_inside, made_on_the_cpu, changed_in_place)


def add_to(exercise: Exercise, answer: Callable, *ways: Callable) -> None:
    """Give the exercise these mistakes, made around the right `answer`."""
    for way in ways:

        def answered(*args, way=way, **kwargs):
            return way(answer, *args, **kwargs)

        answered.__name__ = way.__name__
        exercise.mutant(HINTS[way])(answered)
