"""Splitting a width into heads and joining it again, and the softmax of each: right and wrong."""

import torch

from attncourse.course.dot_product.exercises.shared import masked_softmax as masked
from judge.variants import edited


def split(x, heads):
    """(..., n, d) as (..., heads, n, d / heads): each head has neighbouring numbers of a row."""
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def join(x):
    """(..., heads, n, d_h) as (..., n, heads * d_h)."""
    return x.transpose(-3, -2).flatten(-2)


def head_by_head(q, k, v, heads, mask=None):
    """Attention in each head, whose numbers are neighbours in a row."""
    out = []
    for a, b, c in zip(*(x.tensor_split(heads, dim=-1) for x in (q, k, v)), strict=True):
        scores = torch.einsum("...ic,...jc->...ij", a, b) / a.shape[-1] ** 0.5
        out.append(masked.by_its_formula(scores, mask) @ c)
    return torch.cat(out, dim=-1)


SPLIT, JOIN = "x.unflatten(-1, (heads, -1)).transpose(-3, -2)", "x.transpose(-3, -2).flatten(-2)"
viewed = edited(split, SPLIT, "x.reshape(*x.shape[:-2], heads, x.shape[-2], -1)")
interleaved = edited(split, SPLIT, "x.unflatten(-1, (-1, heads)).movedim(-1, -3)")
joined_by_reshape = edited(join, JOIN, "x.reshape(*x.shape[:-3], x.shape[-2], -1)")
joined_interleaved = edited(join, JOIN, "x.movedim(-3, -1).flatten(-2)")
VIEWED = (
    "you split the sequence instead of the width: split the last axis into (heads, width) first, "
    "then swap two axes"
)
INTERLEAVED = (
    "each head takes numbers from all over a row: the first head should have the first d / heads "
    "numbers"
)
JOINED = "you join the heads without a swap: move their axis next to the width, then merge the two"
# how to split, how to join, and what is wrong with the two
CUTS = {
    (viewed, join): VIEWED,
    (viewed, joined_by_reshape): VIEWED,
    (interleaved, join): INTERLEAVED,
    (interleaved, joined_interleaved): INTERLEAVED,
    (split, joined_by_reshape): JOINED,
    (split, joined_interleaved): "the heads' numbers are interleaved: put all numbers of the first "
    "head before those of the second",
}


minus_infinity_times_the_mask = edited(
    masked.softmax, masked.MASKED, "(scores + (~mask) * -torch.inf)", masked.ZEROS, ""
)
# of the ways to a masked softmax, those that may go wrong anew once there are heads
SOFTMAXES = {way: masked.WAYS[way] for way in (
    masked.times_the_rows_with_a_key, masked.by_its_formula, masked.scores_only,
    masked.softmax_over_queries, masked.unstable, masked.masked_late, masked.mask_after_the_softmax,
    masked.mask_ignored, masked.mask_inverted, masked.mask_is_not_optional, masked.zero_fill,
    masked.fill_with_minus_thousand, masked.nan_for_an_empty_row, masked.uniform_for_an_empty_row,
    masked.nan_gradient_for_an_empty_row, masked.large_fill_and_zeros,
    masked.large_fill_alone, masked.large_number_added,
)} | {
    minus_infinity_times_the_mask: "-inf times 0 is NaN: use masked_fill instead of a product",
}  # fmt: skip
# where a case has low scores alone, without a mask
LOW = {masked.top_not_below_zero: masked.WAYS[masked.top_not_below_zero]}


def first_key_hidden(q, k):
    """Positive queries; keys of which the first weighs most, or all others less than any number to
    fill with; and the mask that hides the first.
    """
    first = torch.arange(k.shape[-2]) == 0
    high = torch.where(first[:, None], 1e3, 1.0) * (1 + k.abs())
    far = torch.where(first[:, None], 1.0, -1e25) * (1 + k.abs())
    return 1 + q.abs(), high, far, (~first).expand(q.shape[-2], -1)
