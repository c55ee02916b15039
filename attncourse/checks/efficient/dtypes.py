"""What goes wrong with dtypes and devices, whatever the formula."""

from collections.abc import Callable

import torch

from attncourse.checks.exercise import Exercise, is_floating

INSIDE = "you compute in float32: stay in the dtype of the inputs"
ALWAYS = "the result is always float32: keep the dtype of the inputs"
ON_THE_CPU = "a new tensor is made on the CPU: give it the device of an input"


def each(result, change):
    """The change made to a tensor, or to each of several."""
    return tuple(map(change, result)) if isinstance(result, tuple) else change(result)


def narrow(value):
    return value.float() if is_floating(value) else value


def add_to(exercise: Exercise, answer: Callable, floating: bool = True) -> None:
    """Give the exercise the right answer with each mistake; `floating` where its result is."""

    def always_float32(*args):
        return answer(*map(narrow, args))

    def float32_inside(*args):
        dtype = args[0].dtype
        return each(answer(*map(narrow, args)), lambda x: x.to(dtype))

    def added_on_the_cpu(*args):
        zeros = {"device": "cpu"}
        return each(answer(*args), lambda x: x + torch.zeros(x.shape, dtype=x.dtype, **zeros))

    if floating:
        exercise.mutant(ALWAYS)(always_float32)
        exercise.mutant(INSIDE)(float32_inside)
    exercise.mutant(ON_THE_CPU)(added_on_the_cpu)
