"""The softmax over the keys that a mask allows, right and wrong, for exercises that end in one."""

from collections.abc import Callable

import torch

from attncourse.checks.exercise import Exercise

# the hint for each way to compute it, None for a right one
WAYS: dict[Callable, str | None] = {}


def add_to(exercise: Exercise, answer: Callable) -> None:
    """Give the exercise `answer(way, *args)` for each way, among its right or its wrong answers."""
    for way, hint in WAYS.items():

        def answered(*args, way=way, **kwargs):
            return answer(way, *args, **kwargs)

        answered.__name__ = way.__name__
        keep = exercise.valid if hint is None else exercise.mutant(hint)
        keep(answered)


def right(way: Callable) -> Callable:
    WAYS[way] = None
    return way


def wrong(hint: str) -> Callable[[Callable], Callable]:
    def keep(way: Callable) -> Callable:
        WAYS[way] = hint
        return way

    return keep


def softmax(scores, mask=None, *, fill=-torch.inf, axis=-1):
    """The masked softmax, with the places where a wrong one departs from it as arguments."""
    if mask is None:
        return scores.softmax(axis)
    weights = scores.masked_fill(~mask, fill).softmax(axis)
    # what a poor fill leaves on masked keys stays, but for rows that have no key at all
    return weights.masked_fill(~(mask if fill == -torch.inf else mask.any(-1, keepdim=True)), 0.0)


@right
def filled_twice(scores, mask=None):
    return softmax(scores, mask)


@right
def by_a_module(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -torch.inf)
    return torch.nn.Softmax(dim=-1)(scores).nan_to_num(0.0)


@right
def times_the_rows_with_a_key(scores, mask=None):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    weights = torch.softmax(torch.where(mask, scores, -1e30), dim=-1)
    return weights * mask.any(dim=-1, keepdim=True)


@right
def masked_before_and_after(scores, mask=None):
    if mask is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)


@right
def in_log_space(scores, mask=None):
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e30)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@right
def by_its_formula(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    top = scores.detach().amax(-1, keepdim=True)
    parts = (scores - top.where(top.isfinite(), 0.0)).exp()
    total = parts.sum(-1, keepdim=True)
    return parts / total.where(total > 0, 1.0)


@right
def with_an_early_way_out(scores, mask=None):
    scores = scores.clone()
    if mask is None or mask.all():
        return scores.softmax(-1)
    scores[~mask.expand_as(scores)] = -torch.inf
    return scores.softmax(-1).where(mask, 0.0)


@wrong("these are the scores: the softmax over the keys is missing")
def scores_only(scores, mask=None):
    return scores if mask is None else scores.masked_fill(~mask, 0.0)


@wrong("these are the logarithms of the weights: take the softmax, not log_softmax")
def logarithms(scores, mask=None):
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).log_softmax(-1)


@wrong("the softmax runs over the queries: each row, over the keys, must sum to one")
def softmax_over_queries(scores, mask=None):
    return softmax(scores, mask, axis=-2)


@wrong("the softmax runs over the whole matrix: each row must sum to one by itself")
def softmax_over_everything(scores, mask=None):
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return scores.flatten(-2).softmax(-1).view_as(scores)


UNSTABLE = "exp of the scores is too large or too small: take the largest score of a row away first"


@wrong(UNSTABLE)
def unstable(scores, mask=None):
    parts = scores.exp() if mask is None else scores.exp() * mask
    weights = parts / parts.sum(-1, keepdim=True)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@wrong(UNSTABLE)
def unstable_with_a_floor(scores, mask=None):
    parts = scores.exp() if mask is None else scores.exp() * mask
    return parts / parts.sum(-1, keepdim=True).clamp(min=1e-30)


@wrong("the largest score taken away is that of the whole tensor: each row has its own")
def one_top_for_all(scores, mask=None):
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    parts = (scores - scores.detach().max()).exp()
    return parts / parts.sum(-1, keepdim=True).clamp(min=1e-30)


LATE = "a masked key with a far larger score leaves 0 to the others: mask before you compare scores"


@wrong(LATE)
def masked_late(scores, mask=None):
    weights = scores.softmax(-1) if mask is None else scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)


@wrong(LATE)
def masked_late_without_a_floor(scores, mask=None):
    weights = scores.softmax(-1) if mask is None else scores.softmax(-1) * mask
    weights = weights / weights.sum(-1, keepdim=True)
    return weights if mask is None else weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


@wrong(LATE)
def top_of_the_masked_too(scores, mask=None):
    parts = (scores - scores.detach().amax(-1, keepdim=True)).exp()
    parts = parts if mask is None else parts * mask
    return parts / parts.sum(-1, keepdim=True).clamp(min=1e-30)


@wrong("exp of a masked score overflows, and its gradient is NaN: mask before exp")
def masked_after_exp(scores, mask=None):
    if mask is None:
        return scores.softmax(-1)
    top = scores.masked_fill(~mask, -1e30).amax(-1, keepdim=True)
    parts = torch.where(mask, (scores - top).exp(), 0.0)
    return parts / parts.sum(-1, keepdim=True).clamp(min=1e-30)


@wrong("the mask comes after the softmax, so the rows no longer sum to one")
def mask_after_the_softmax(scores, mask=None):
    return scores.softmax(-1) if mask is None else scores.softmax(-1) * mask


@wrong("the mask is ignored")
def mask_ignored(scores, mask=None):
    return softmax(scores)


@wrong("the mask is upside down: True means may attend")
def mask_inverted(scores, mask=None):
    return softmax(scores, None if mask is None else ~mask)


@wrong("without a mask it fails: mask=None means that every key may be attended")
def mask_is_not_optional(scores, mask=None):
    return softmax(scores, ~~mask)


@wrong("a masked score of 0 still gets weight, since exp(0) = 1: fill with -inf")
def zero_fill(scores, mask=None):
    return softmax(scores, mask, fill=0.0)


SMALL = "the fill is not small enough to mask a score, since others may be lower: fill with -inf"


@wrong(SMALL)
def fill_with_minus_ten(scores, mask=None):
    return softmax(scores, mask, fill=-10.0)


@wrong(SMALL)
def fill_with_minus_thousand(scores, mask=None):
    return softmax(scores, mask, fill=-1e3)


@wrong(SMALL)
def fill_with_minus_ten_thousand(scores, mask=None):
    return softmax(scores, mask, fill=-1e4)


@wrong("no float32 is as small as this fill, so float32 scores fail: fill with -inf")
def smallest_float64(scores, mask=None):
    return softmax(scores, mask, fill=torch.finfo(torch.float64).min)


@wrong("the mask as float64 makes float32 weights float64: multiply with the boolean mask itself")
def mask_as_float64(scores, mask=None):
    return softmax(scores, mask) if mask is None else softmax(scores, mask) * mask.double()


@wrong("a query that may attend nowhere gets NaN: it should get zeros")
def nan_for_an_empty_row(scores, mask=None):
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)


@wrong("a query that may attend nowhere attends everywhere: it should get zeros")
def uniform_for_an_empty_row(scores, mask=None):
    return (scores if mask is None else scores.masked_fill(~mask, -1e30)).softmax(-1)


@wrong("an empty row has a NaN gradient: replace a masked score, do not add -inf to it")
def nan_gradient_for_an_empty_row(scores, mask=None):
    if mask is None:
        return scores.softmax(-1)
    return (scores + torch.where(mask, 0.0, -torch.inf)).softmax(-1).nan_to_num(0.0)


@wrong("with a mask it needs a batch axis: any leading axes, or none, should work")
def mask_of_three_axes(scores, mask=None):
    if mask is not None:
        batch, n, m = scores.shape
        mask = mask.expand(batch, n, m)
    return softmax(scores, mask)


@wrong("the mask is reshaped: leave its axes alone, then one of size 1 broadcasts")
def mask_reshaped(scores, mask=None):
    n, m = scores.shape[-2:]
    mask = mask if mask is None else mask.reshape(-1, n, m)
    return softmax(scores.reshape(-1, n, m), mask).reshape(scores.shape)


@wrong("it asks row by row which is empty: mask.any(dim=-1) asks all of them at once")
def loop_over_empty_rows(scores, mask=None):
    if mask is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(~mask, -1e30).softmax(-1)
    empty = ~mask.expand_as(scores).any(-1).flatten()
    for i, row in enumerate(weights.flatten(0, -2)):
        if empty[i]:
            row.zero_()
    return weights
