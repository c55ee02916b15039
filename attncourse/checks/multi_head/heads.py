"""Splitting a width in heads and joining it again, right and wrong, for exercises that do both."""

from collections.abc import Callable

from attncourse.checks.dot_product import masked_softmax
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
JOINED = (
    "the heads are joined without a swap: bring the heads next to the width, then merge the two"
)
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

# of the ways to a masked softmax, those that may go wrong anew once there are heads
SOFTMAXES = (
    masked_softmax.times_the_rows_with_a_key,
    masked_softmax.by_its_formula,
    masked_softmax.scores_only,
    masked_softmax.softmax_over_queries,
    masked_softmax.unstable,
    masked_softmax.masked_late,
    masked_softmax.mask_after_the_softmax,
    masked_softmax.mask_ignored,
    masked_softmax.mask_inverted,
    masked_softmax.mask_is_not_optional,
    masked_softmax.zero_fill,
    masked_softmax.fill_with_minus_thousand,
    masked_softmax.nan_for_an_empty_row,
    masked_softmax.uniform_for_an_empty_row,
    masked_softmax.nan_gradient_for_an_empty_row,
)


def add_softmaxes(exercise: Exercise, answer: Callable) -> None:
    """Give the exercise `answer(softmax, *args)` for each of them, right or wrong."""
    for way in SOFTMAXES:

        def answered(*args, way=way, **kwargs):
            return answer(way, *args, **kwargs)

        answered.__name__ = way.__name__
        hint = masked_softmax.WAYS[way]
        keep = exercise.valid if hint is None else exercise.mutant(hint)
        keep(answered)


def add_to(exercise: Exercise, answer: Callable) -> None:
    """Give the exercise `answer(split, join, *args)` for each wrong way to split and join."""
    for name, (cut, merge, hint) in WRONG.items():

        def answered(*args, cut=cut, merge=merge, **kwargs):
            return answer(cut, merge, *args, **kwargs)

        answered.__name__ = name
        exercise.mutant(hint)(answered)
