"""Exercise shared_heads_attention: several heads of queries share one head of keys and values."""

import torch

from attncourse.checks.around import FLOATING, add_to
from attncourse.checks.dot_product.shared import masked_softmax
from attncourse.checks.dot_product.shared.masked_softmax import softmax
from attncourse.checks.exercise import Case, Exercise
from attncourse.dot_product import attention

exercise = Exercise(
    name="shared_heads_attention",
    chapter="efficient",
    title="Heads that share their keys",
    kind="build",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Either give every head its keys and values, so that the chapter on dot products can do "
        "the rest, or give the groups an axis of their own and let them broadcast.",
        "Heads of one group stand next to each other, so each group of keys comes h / g times in a "
        "row, along the axis third from the end: repeat_interleave does that, repeat does "
        "something else. A mask then fits as it is.",
        "k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3) has a head of keys for each head "
        "of queries; the values need the same",
    ),
)


@exercise.reference
def head_by_head(q, k, v, mask=None):
    h, _, d_k = q.shape[-3:]
    allowed = torch.tensor(True) if mask is None else mask
    allowed = allowed.broadcast_to(*q.shape[:-1], k.shape[-2])
    out = []
    for i in range(h):
        group = i // (h // k.shape[-3])
        keys, values = k[..., group, :, :], v[..., group, :, :]
        scores = torch.einsum("...id,...jd->...ij", q[..., i, :, :], keys) / d_k**0.5
        scores = scores.masked_fill(~allowed[..., i, :, :], -torch.inf)
        top = scores.detach().amax(-1, keepdim=True)
        parts = (scores - top.where(top.isfinite(), 0.0)).exp()
        total = parts.sum(-1, keepdim=True)
        out.append(parts / total.where(total > 0, 1.0) @ values)
    return torch.stack(out, dim=-3)


def drawn(draw, *batch, h, g, n, m, d_k, d_v):
    return (
        draw.normal(*batch, h, n, d_k),
        draw.normal(*batch, g, m, d_k),
        draw.normal(*batch, g, m, d_v),
    )


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    # six heads in two groups or in three: i // 3 is not i % 2
    g = draw.integer(2, 3)
    # a width for which no wrong scale of those below is another wrong one, or the right one
    sizes = {"h": 6, "g": g, "n": n, "m": m, "d_k": 7, "d_v": 2}
    q, k, v = drawn(draw, 2, **sizes)
    said = f"6 heads in {g} groups, n={n}, m={m}"
    long = drawn(draw, 2, **sizes | {"h": 48, "g": 8 * g, "n": n + 16, "m": m + 16})
    yield Case(f"a batch of 2, {said}", (q, k, v), longer=long)
    yield Case(f"no batch, {said}", (q[0], k[0], v[0]))
    axes = drawn(draw, 2, 3, h=4, g=2, n=4, m=5, d_k=3, d_v=6)
    yield Case("two leading axes, 4 heads in 2 groups", axes)
    yield Case("one group for all six heads", (q, k[:, :1], v[:, :1]))
    yield Case("a group for each head", drawn(draw, 2, **sizes | {"g": 6}))
    yield Case("one head", (q[:, :1], k[:, :1], v[:, :1]))
    yield Case("scores 3600 times larger", (60 * q, 60 * k, v))
    mask = draw.mask(2, 6, n, m)
    yield Case(f"a mask for each head, {said}", (q, k, v, mask))
    # masked scores are the largest of a row, and all others far below zero
    yield Case("a mask, scores 90000 times larger", (300 * q, 300 * k, v, mask))
    yield Case("a mask of shape (6, n, m)", (q, k, v, mask[0]))
    yield Case("a mask of shape (n, m)", (q, k, v, mask[0, 0]))
    yield Case("a mask of shape (2, 1, n, m)", (q, k, v, mask[:, :1]))
    nowhere = mask.clone()
    nowhere[1, 4, 0] = False
    longer = (*long, draw.mask(2, 48, n + 16, m + 16))
    yield Case("a query that may attend nowhere", (q, k, v, nowhere), longer=longer)
    yield Case("one query and one key", (q[..., :1, :], k[..., :1, :], v[..., :1, :]))


def repeated(x, heads):
    return x.repeat_interleave(heads // x.shape[-3], dim=-3)


def attend(q, k, v, mask=None, *, spread=repeated, scale=None, way=softmax):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    k, v = spread(k, q.shape[-3]), spread(v, q.shape[-3])
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale is None else scale)
    return way(scores, mask) @ v


def by_the_chapter_on_dot_products(q, k, v, mask=None, *, spread=repeated):
    return attention(q, spread(k, q.shape[-3]), spread(v, q.shape[-3]), mask)


@exercise.valid
def keys_repeated(q, k, v, mask=None):
    return by_the_chapter_on_dot_products(q, k, v, mask)


@exercise.valid
def groups_picked_by_index(q, k, v, mask=None):
    h, g = q.shape[-3], k.shape[-3]
    group = torch.arange(h, device=q.device) * g // h
    return attend(q, k, v, mask, spread=lambda x, heads: x.index_select(-3, group))


@exercise.valid
def groups_with_an_axis_of_their_own(q, k, v, mask=None):
    g = k.shape[-3]
    grouped = q.unflatten(-3, (g, -1))
    k, v = (x.unsqueeze(-3).expand(*grouped.shape[:-2], *x.shape[-2:]) for x in (k, v))
    if mask is not None:
        mask = mask.expand(*q.shape[:-1], k.shape[-2]).unflatten(-3, (g, -1))
    return attention(grouped, k, v, mask).flatten(-4, -3)


@exercise.valid
def queries_of_a_group_one_after_the_other(q, k, v, mask=None):
    # all queries of a group meet the same keys, as if they were one longer sequence
    *batch, h, n, d = q.shape
    g, m = k.shape[-3:-1]
    if mask is not None:
        mask = mask.broadcast_to(*batch, h, n, m).reshape(*batch, g, -1, m)
    out = attention(q.reshape(*batch, g, -1, d), k, v, mask)
    return out.reshape(*batch, h, n, v.shape[-1])


@exercise.valid
def by_einsum(q, k, v, mask=None):
    *batch, h, n, d = q.shape
    g, m = k.shape[-3:-1]
    q = q.reshape(*batch, g, h // g, n, d) * d**-0.5
    scores = torch.einsum("...grid,...gjd->...grij", q, k).reshape(*batch, h, n, m)
    weights = softmax(scores, mask).unflatten(-3, (g, h // g))
    return torch.einsum("...grij,...gjc->...gric", weights, v).flatten(-4, -3)


@exercise.mutant(
    "the groups take turns: the first h / g heads in a row share the first group, then the second"
)
def interleaved(q, k, v, mask=None):
    def spread(x, heads):
        return torch.cat([x] * (heads // x.shape[-3]), dim=-3)

    return attend(q, k, v, mask, spread=spread)


@exercise.mutant("the groups are averaged: each head meets the keys of its own group only")
def mean_over_groups(q, k, v, mask=None):
    return attend(q, k, v, mask, spread=lambda x, heads: x.mean(-3, keepdim=True))


@exercise.mutant("all heads meet the first group: each has its own")
def first_group_for_all(q, k, v, mask=None):
    return attend(q, k, v, mask, spread=lambda x, heads: x[..., :1, :, :])


@exercise.mutant("h / g heads share a group: divide the number of the head by that, not by g")
def groups_of_g_heads(q, k, v, mask=None):
    group = torch.arange(q.shape[-3], device=q.device) // k.shape[-3]
    return attend(q, k, v, mask, spread=lambda x, heads: x[..., group, :, :])


def heads_left_as_they_are(x, heads):
    return x


def heads_counted_from_the_front(x, heads):
    return x.repeat_interleave(heads // x.shape[-3], dim=1)


def each_group_g_times(x, heads):
    return x.repeat_interleave(x.shape[-3], dim=-3)


def with_spread(spread, way):
    def answered(q, k, v, mask=None):
        return way(q, k, v, mask, spread=spread)

    answered.__name__ = f"{spread.__name__}_{way.__name__}"
    return answered


for one, hint in {
    heads_left_as_they_are: (
        "keys and queries differ in their heads: bring each group to all of its heads"
    ),
    heads_counted_from_the_front: (
        "the heads are counted from the front: they are the axis third from the end"
    ),
    each_group_g_times: "each group comes g times: it has h / g heads, and comes once for each",
}.items():
    # where the numbers of heads do not agree, each of the two says so in its own words
    for way in (attend, by_the_chapter_on_dot_products):
        exercise.mutant(hint)(with_spread(one, way))


@exercise.mutant("the groups are still an axis: join them with their heads to h heads again")
def groups_left_apart(q, k, v, mask=None):
    return attend(q, k, v, mask).unflatten(-3, (k.shape[-3], -1))


@exercise.mutant("the scores are not scaled: divide by sqrt(d_k)")
def unscaled(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=1)


@exercise.mutant("the scores are divided by d_k: divide once, by its square root")
def scaled_by_d_k(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=q.shape[-1])


@exercise.mutant("the mask's axes are not given: it may lack the heads, or have size 1 there")
def mask_cut_as_it_is(q, k, v, mask=None):
    g = k.shape[-3]
    mask = mask if mask is None else mask.unflatten(-3, (g, -1))
    out = attention(q.unflatten(-3, (g, -1)), k.unsqueeze(-3), v.unsqueeze(-3), mask)
    return out.flatten(-4, -3)


@exercise.mutant("all heads of a group get one mask: each of the h heads may have its own")
def mask_of_the_first_head_of_a_group(q, k, v, mask=None):
    if mask is not None:
        h = q.shape[-3]
        mask = repeated(mask.expand(*q.shape[:-1], k.shape[-2])[..., :: h // k.shape[-3], :, :], h)
    return attend(q, k, v, mask)


LOOP = "it loops over heads or groups: they are an axis, and one product serves them all"


@exercise.mutant(LOOP)
def loop_over_groups(q, k, v, mask=None):
    heads = q.chunk(k.shape[-3], dim=-3)
    masks = [None] * len(heads)
    if mask is not None:
        masks = mask.expand(*q.shape[:-1], k.shape[-2]).chunk(len(heads), dim=-3)
    groups = zip(heads, k.split(1, dim=-3), v.split(1, dim=-3), masks, strict=True)
    out = []
    for one in groups:
        out.append(attend(*one))
    return torch.cat(out, dim=-3)


@exercise.mutant("no gradient reaches the keys: nothing may be detached")
def keys_detached(q, k, v, mask=None):
    return attend(q, k.detach(), v, mask)


@exercise.mutant("the input changes: scale a copy, not q itself")
def scaled_in_place(q, k, v, mask=None):
    q /= q.shape[-1] ** 0.5
    return attend(q, k, v, mask, scale=1)


def with_softmax(way):
    def answered(q, k, v, mask=None):
        return attend(q, k, v, mask, way=way)

    answered.__name__ = way.__name__
    return answered


for one in (
    masked_softmax.softmax_over_queries,
    masked_softmax.unstable,
    masked_softmax.mask_after_the_softmax,
    masked_softmax.masked_late,
    masked_softmax.top_of_the_masked_too,
    masked_softmax.fill_with_minus_thousand,
    masked_softmax.mask_inverted,
    masked_softmax.mask_is_not_optional,
    masked_softmax.nan_for_an_empty_row,
    masked_softmax.uniform_for_an_empty_row,
):
    exercise.mutant(masked_softmax.WAYS[one])(with_softmax(one))
add_to(exercise, attend, *FLOATING)
