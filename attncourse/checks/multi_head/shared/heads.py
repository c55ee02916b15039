"""Splitting a width into heads and joining it again, and the softmax of each: right and wrong."""

import torch

from attncourse.checks.dot_product.shared import masked_softmax


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


VIEWED = (
    "the sequence is cut instead of the width: cut the last axis into (heads, width) first, then "
    "swap two axes"
)
INTERLEAVED = (
    "a head takes every so many numbers of a row: the first head has the first d / heads of them"
)
JOINED = (
    "the heads are joined without a swap: bring the heads next to the width, then merge the two"
)
# how to split, how to join, and what is wrong with the two
CUTS = {
    (viewed, join): VIEWED,
    (viewed, joined_by_reshape): VIEWED,
    (interleaved, join): INTERLEAVED,
    (interleaved, joined_interleaved): INTERLEAVED,
    (split, joined_by_reshape): JOINED,
    (split, joined_interleaved): "the heads are joined number by number: all of the first head "
    "comes before the second",
}


def minus_infinity_times_the_mask(scores, mask=None):
    return scores.softmax(-1) if mask is None else (scores + (~mask) * -torch.inf).softmax(-1)


def large_number_alone(scores, mask=None):
    return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(-1)


def large_number_and_zeros(scores, mask=None):
    weights = large_number_alone(scores, mask)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def large_number_added(scores, mask=None):
    return (scores if mask is None else scores + (~mask) * -1e9).softmax(-1)


EMPTY = "fill with -inf, since scores may be lower than a large number; and zeros where no key is"
# of the ways to a masked softmax, those that may go wrong anew once there are heads
SOFTMAXES = {
    way: masked_softmax.WAYS[way]
    for way in (
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
} | {
    minus_infinity_times_the_mask: "-inf times 0 is NaN: use masked_fill",
    large_number_and_zeros: masked_softmax.SMALL,
    large_number_alone: EMPTY,
    large_number_added: EMPTY,
}


def first_key_hidden(q, k):
    """Positive queries, keys of which the first has a high score, keys of which all others have one
    lower than any number to fill with, and the mask that hides the first.
    """
    first = torch.arange(k.shape[-2]) == 0
    high = torch.where(first[:, None], 1e3, 1.0) * (1 + k.abs())
    far = torch.where(first[:, None], 1.0, -1e10) * (1 + k.abs())
    return 1 + q.abs(), high, far, (~first).expand(q.shape[-2], -1)
