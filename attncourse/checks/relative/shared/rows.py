"""Which row of the table serves a pair, right and wrong, for exercises that look rows up."""

from collections.abc import Callable

import torch
from torch import Tensor

from attncourse.checks.exercise import Exercise

# the hint for each wrong way to number the rows
WAYS: dict[Callable, str] = {}
# those that differ from the right rows only where a cache holds earlier positions
CACHED: set[Callable] = set()


def add_to(exercise: Exercise, answer: Callable, *, cached: bool = False) -> None:
    """Give the exercise, for each wrong way, the wrong answer that `answer(way)` makes of it."""
    for way, hint in WAYS.items():
        if cached or way not in CACHED:
            made = answer(way)
            made.__name__ = way.__name__
            exercise.mutant(hint)(made)


def wrong(hint: str, *, cached: bool = False) -> Callable[[Callable], Callable]:
    def keep(way: Callable) -> Callable:
        WAYS[way] = hint
        if cached:
            CACHED.add(way)
        return way

    return keep


def sentence_by_sentence(function: Callable, matrices: int = 1) -> Callable:
    """The answer that calls `function` for one matrix after the other; so many arguments are."""

    def loop_over_sentences(*args: Tensor) -> Tensor:
        flat = [x.reshape(-1, *x.shape[-2:]) for x in args[:matrices]]
        made = [function(*one, *args[matrices:]) for one in zip(*flat, strict=True)]
        return torch.stack(made).reshape(*args[0].shape[:-2], *made[0].shape)

    return loop_over_sentences


def offsets(n, m, device=None, *, first=None):
    """Key minus query; the first query stands at m - n, unless `first` says otherwise."""
    i = torch.arange(n, device=device) + (m - n if first is None else first)
    return torch.arange(m, device=device) - i[:, None]


def rows(n, m, reach, device=None, **where):
    """The right rows: clipped to the reach, then counted from 0."""
    return offsets(n, m, device, **where).clamp(-reach, reach) + reach


@wrong("the offset is taken the other way round: it is key minus query")
def query_minus_key(n, m, reach, device=None):
    return (-offsets(n, m, device)).clamp(-reach, reach) + reach


@wrong("left and right share a row: an offset has a sign, so take no absolute value")
def without_a_sign(n, m, reach, device=None):
    return offsets(n, m, device).abs().clamp(max=reach) + reach


@wrong(
    "the bounds -reach and reach are those of the offset: once reach is added, a row lies between "
    "0 and 2 reach"
)
def clipped_after_the_shift(n, m, reach, device=None):
    return (offsets(n, m, device) + reach).clamp(-reach, reach)


@wrong("the positions are clipped, not their difference: subtract first, then clip")
def positions_clipped(n, m, reach, device=None):
    i = torch.arange(m - n, m, device=device).clamp(max=reach)
    return torch.arange(m, device=device).clamp(max=reach) - i[:, None] + reach


@wrong("all keys to the left get one row: clip the offset at -reach, not at 0")
def left_side_lost(n, m, reach, device=None):
    return offsets(n, m, device).clamp(0, reach) + reach


@wrong("all keys to the right get one row: clip the offset at reach, not at 0")
def right_side_lost(n, m, reach, device=None):
    return offsets(n, m, device).clamp(-reach, 0) + reach


LAST_ROW = "the table has 2 reach + 1 rows: far to the right it is the last one, row 2 reach"


@wrong(LAST_ROW)
def last_row_never_used(n, m, reach, device=None):
    return (offsets(n, m, device) + reach).clamp(0, max(2 * reach - 1, 0))


@wrong(LAST_ROW)
def far_right_before_the_middle(n, m, reach, device=None):
    offset = offsets(n, m, device)
    return torch.where(offset > reach, max(reach - 1, 0), offset.clamp(min=-reach) + reach)


@wrong(
    "offset 0 is row reach, not row reach + 1: rows count from 0, or the queries stand one too "
    "early"
)
def one_row_too_far(n, m, reach, device=None):
    return (offsets(n, m, device) + 1).clamp(-reach, reach) + reach


@wrong(
    "offset 0 is row reach, not row reach - 1: rows count from 0, or the queries stand one too late"
)
def one_row_short(n, m, reach, device=None):
    return (offsets(n, m, device) - 1).clamp(-reach, reach) + reach


NOT_SHIFTED = "row 0 is offset -reach: add reach, or what lies to the left has a row below 0"


@wrong(NOT_SHIFTED)
def not_shifted(n, m, reach, device=None):
    return offsets(n, m, device).clamp(-reach, reach)


@wrong(NOT_SHIFTED)
def left_side_at_the_end(n, m, reach, device=None):
    # where an index below 0 counts from the end of the table
    return offsets(n, m, device).clamp(-reach, reach) % (2 * reach + 1)


@wrong("offsets beyond the reach wrap around: they share the first or the last row instead")
def wrapped_around(n, m, reach, device=None):
    return (offsets(n, m, device) + reach) % (2 * reach + 1)


@wrong("the first row is for all that is far, on either side: far right is the last row")
def far_keys_in_row_zero(n, m, reach, device=None):
    offset = offsets(n, m, device)
    return torch.where(offset.abs() > reach, 0, offset + reach)


@wrong("the middle row is for all that is far: beyond the reach it is the first or the last row")
def far_keys_in_the_middle(n, m, reach, device=None):
    offset = offsets(n, m, device)
    return torch.where(offset.abs() > reach, 0, offset) + reach


CLIP = (
    "row numbers leave the table: offsets are clipped on both sides, to a reach of (rows - 1) / 2"
)


@wrong(CLIP)
def not_clipped(n, m, reach, device=None):
    return offsets(n, m, device) + reach


@wrong(CLIP)
def clipped_on_the_right_only(n, m, reach, device=None):
    return offsets(n, m, device).clamp(max=reach) + reach


@wrong(CLIP)
def clipped_on_the_left_only(n, m, reach, device=None):
    return offsets(n, m, device).clamp(min=-reach) + reach


SHORT = "the reach shifts the rows however short the sequence is: do not cut it to the length"


@wrong(SHORT)
def reach_cut_to_the_queries(n, m, reach, device=None):
    return rows(n, m, min(reach, n - 1), device)


@wrong(SHORT, cached=True)
def reach_cut_to_the_keys(n, m, reach, device=None):
    return rows(n, m, min(reach, m - 1), device)


@wrong("each row counts from its first key: subtract the position of the query")
def query_forgotten(n, m, reach, device=None):
    return offsets(1, m, device, first=0).clamp(max=reach).expand(n, m) + reach


@wrong("the cache is ignored: the queries are the last n of the m positions", cached=True)
def queries_at_the_front(n, m, reach, device=None):
    return rows(n, m, reach, device, first=0)


@wrong("the cache counts with the wrong sign: the first query stands at m - n", cached=True)
def cache_subtracted(n, m, reach, device=None):
    return rows(n, m, reach, device, first=n - m)


@wrong("the queries stand one position too late: the first stands at m - n", cached=True)
def one_position_late(n, m, reach, device=None):
    return rows(n, m, reach, device, first=m - n + (m > n))


@wrong("every query stands at the end: the first stands at m - n, the last at m - 1", cached=True)
def all_at_the_last_position(n, m, reach, device=None):
    offset = torch.arange(m, device=device) - (m - 1)
    return offset.clamp(-reach, reach).expand(n, m) + reach
