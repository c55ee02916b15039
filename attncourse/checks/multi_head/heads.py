"""Splitting a width in heads and joining it again, right and wrong, for exercises that do both."""

from collections.abc import Callable

from attncourse.checks.exercise import Exercise


def split(x, heads):
    """(..., n, d) as (..., heads, n, d / heads): each head has neighbouring numbers of a row."""
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def join(x):
    """(..., heads, n, d_h) as (..., n, heads * d_h)."""
    return x.transpose(-3, -2).flatten(-2)


def viewed(x, heads):
    *batch, n, d = x.shape
    return x.reshape(*batch, heads, n, d // heads)


def interleaved(x, heads):
    return x.unflatten(-1, (-1, heads)).movedim(-1, -3)


def joined_by_reshape(x):
    *batch, heads, n, d_h = x.shape
    return x.reshape(*batch, n, heads * d_h)


def joined_interleaved(x):
    return x.movedim(-3, -1).flatten(-2)


VIEWED = "the rows are cut up: split the last axis in (heads, width) first, then swap two axes"
INTERLEAVED = (
    "a head takes every so many numbers of a row: the first head has the first d / heads of them"
)
JOINED = "the heads are joined without a swap: bring the heads next to the width, then merge the two"
WRONG = {
    "split_by_a_view": (viewed, join, VIEWED),
    "split_and_joined_by_a_view": (viewed, joined_by_reshape, VIEWED),
    "split_interleaved": (interleaved, join, INTERLEAVED),
    "split_and_joined_interleaved": (interleaved, joined_interleaved, INTERLEAVED),
    "joined_by_a_reshape": (split, joined_by_reshape, JOINED),
    "joined_interleaved": (
        split,
        joined_interleaved,
        "the heads are joined number by number: all of the first head comes before the second",
    ),
}


def add_to(exercise: Exercise, answer: Callable) -> None:
    """Give the exercise `answer(split, join, *args)` for each wrong way to split and join."""
    for name, (cut, merge, hint) in WRONG.items():

        def answered(*args, cut=cut, merge=merge, **kwargs):
            return answer(cut, merge, *args, **kwargs)

        answered.__name__ = name
        exercise.mutant(hint)(answered)
