"""Exercise attend_in_heads: split into heads, attend in each, join."""

import torch

from attncourse.checks.dot_product.shared.masked_softmax import softmax
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.multi_head.shared import heads as ways
from attncourse.checks.multi_head.shared.heads import join, split
from attncourse.dot_product import attention

exercise = Exercise(
    name="attend_in_heads",
    chapter="multi_head",
    title="Attend in heads",
    kind="build",
    difficulty=2,
    minutes=15,
    points=15,
    hints=(
        "Heads are one more leading axis. Once q, k and v are (..., heads, length, width), "
        "attention needs no change at all; the work is in getting there and back.",
        "Cut the last axis into (heads, width), which gives (..., n, heads, width), and swap the "
        "two axes in the middle. Afterwards swap them back, and merge the last two. A mask has no "
        "axis for the heads: give it one of size 1, third from the end.",
        "q.unflatten(-1, (heads, -1)).transpose(-3, -2) splits, "
        ".transpose(-3, -2).flatten(-2) joins, and mask.unsqueeze(-3) fits every head",
    ),
)


@exercise.reference
def head_by_head(q, k, v, heads, mask=None):
    d_h, d_out = q.shape[-1] // heads, v.shape[-1] // heads
    allowed = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool) if mask is None else mask
    out = []
    for h in range(heads):
        own, values = slice(h * d_h, (h + 1) * d_h), slice(h * d_out, (h + 1) * d_out)
        scores = torch.einsum("...ic,...jc->...ij", q[..., own], k[..., own]) / d_h**0.5
        top = scores.detach().masked_fill(~allowed, -torch.inf).amax(-1, keepdim=True)
        parts = (scores - top.where(top.isfinite(), 0.0)).masked_fill(~allowed, -torch.inf).exp()
        total = parts.sum(-1, keepdim=True)
        out.append(parts / total.where(total > 0, 1.0) @ v[..., values])
    return torch.cat(out, dim=-1)


def drawn(draw, *batch, n, m, heads, d_h, d_out):
    """q, k, v and the heads that they are to be split in."""
    q, k = draw.normal(*batch, n, heads * d_h), draw.normal(*batch, m, heads * d_h)
    return q, k, draw.normal(*batch, m, heads * d_out), heads


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    # widths for which no wrong scale of those below is another wrong one, or the right one
    d_h = 5 + 2 * draw.integer(0, 1)
    sizes = {"n": n, "m": m, "heads": 3, "d_h": d_h, "d_out": 2}
    q, k, v, heads = drawn(draw, 2, **sizes)
    long = {"n": n + 16, "m": m + 16, "heads": 24, "d_h": d_h, "d_out": 2}
    said = f"n={n}, m={m}, 3 heads, d={3 * d_h}, d_v=6"
    yield Case(f"a batch of 2, {said}", (q, k, v, heads), longer=drawn(draw, 2, **long))
    yield Case(f"two matrices without a batch, {said}", (q[0], k[0], v[0], heads))
    axes = drawn(draw, 2, 3, n=4, m=5, heads=2, d_h=3, d_out=4)
    yield Case("two leading axes, 2 heads", axes)
    yield Case(f"one head, {said}", (q, k, v, 1))
    thin = drawn(draw, 2, n=n, m=m, heads=6, d_h=1, d_out=1)
    yield Case("as many heads as numbers in a row", thin)
    yield Case("scores 3600 times larger", (60 * q, 60 * k, v, heads))
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {said}", (q, k, v, heads, mask))
    yield Case(f"a mask without a batch, {said}", (q[0], k[0], v[0], heads, mask[0]))
    yield Case("one mask for the whole batch", (q, k, v, heads, mask[0]))
    three = drawn(draw, 3, **sizes)
    yield Case("a mask, a batch of 3 and 3 heads", (*three, draw.mask(3, n, m)))
    yield Case("a mask of shape (2, 1, n, m)", (*axes, draw.mask(2, 1, 4, 5)))
    yield Case("leading axes (2, 3), a mask of shape (3, n, m)", (*axes, draw.mask(3, 4, 5)))
    alike = drawn(draw, 2, 3, n=4, m=5, heads=3, d_h=3, d_out=4)
    yield Case("the same with 3 heads", (*alike, draw.mask(3, 4, 5)))
    # a hidden key outweighs all others, and those are lower than any number to fill with
    first = torch.arange(m) == 0
    positive, without = 1 + q.abs(), (~first).expand(n, m)
    high = torch.where(first[:, None], 1e3, 1.0) * (1 + k.abs())
    yield Case("a masked key with a high score", (positive, high, v, heads, without))
    far = torch.where(first[:, None], 1.0, -1e10) * (1 + k.abs())
    hidden = positive, far, v, heads, without
    yield Case("a masked key, the others far below zero", hidden, gradient=False)
    nowhere = mask.clone()
    nowhere[1, 0] = False
    longer = (*drawn(draw, 8, **long), draw.mask(8, n + 16, m + 16))
    yield Case("a query that may attend nowhere", (q, k, v, heads, nowhere), longer=longer)
    yield Case("a mask by name", (q, k, v), {"heads": heads, "mask": mask})
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1], heads))


def attend(q, k, v, heads, mask=None, *, cut=split, merge=join, scale=None, way=softmax):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    q, k, v = (cut(x, heads) for x in (q, k, v))
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale is None else scale)
    return merge(way(scores, mask if mask is None else mask.unsqueeze(-3)) @ v)


@exercise.valid
def by_view_and_permute(q, k, v, heads, mask=None):
    def cut(x, heads):
        flat = x.reshape(-1, x.size(-2), heads, x.size(-1) // heads).permute(0, 2, 1, 3)
        return flat.view(*x.shape[:-2], heads, x.size(-2), -1)

    return attend(q, k, v, heads, mask, cut=cut)


@exercise.valid
def by_chunks(q, k, v, heads, mask=None):
    return attend(
        *(q, k, v, heads, mask),
        cut=lambda x, heads: torch.stack(x.tensor_split(heads, dim=-1), dim=-3),
        merge=lambda x: torch.cat(x.unbind(-3), dim=-1),
    )


@exercise.valid
def by_einsum_without_a_swap(q, k, v, heads, mask=None):
    q, k, v = (x.unflatten(-1, (heads, x.shape[-1] // heads)) for x in (q, k, v))
    scores = torch.einsum("...ihc,...jhc->...hij", q, k) * q.shape[-1] ** -0.5
    weights = softmax(scores, mask if mask is None else mask[..., None, :, :])
    return torch.einsum("...hij,...jhc->...ihc", weights, v).flatten(-2)


@exercise.valid
def heads_in_front(q, k, v, heads, mask=None):
    # the mask then needs no axis of its own: it lacks a leading one
    q, k, v = (x.unflatten(-1, (heads, -1)).movedim(-2, 0) for x in (q, k, v))
    weights = softmax(q @ k.mT / q.shape[-1] ** 0.5, mask)
    return (weights @ v).movedim(0, -2).flatten(-2)


@exercise.valid
def scaled_before_it_is_split(q, k, v, heads, mask=None):
    return attend(q * (heads / q.shape[-1]) ** 0.5, k, v, heads, mask, scale=1)


ways.add_softmaxes(
    exercise,
    lambda way, q, k, v, heads, mask=None: attend(q, k, v, heads, mask, way=way),
)
ways.add_to(
    exercise,
    lambda cut, merge, q, k, v, heads, mask=None: attend(
        q, k, v, heads, mask, cut=cut, merge=merge
    ),
)


@exercise.mutant("the scale is that of the whole width: a head's score has d / heads terms")
def scaled_by_the_whole_width(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, scale=q.shape[-1] ** 0.5)


@exercise.mutant("the scores are not scaled: divide by the root of a head's width")
def unscaled(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, scale=1)


@exercise.mutant("the scores are divided by a head's width, not by its square root")
def scaled_without_the_root(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, scale=q.shape[-1] // heads)


@exercise.mutant("the scale is taken from the width of the values: it is that of the keys")
def scaled_by_the_values(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, scale=(v.shape[-1] // heads) ** 0.5)


@exercise.mutant("the scale is the number of heads: it is the width of one, d / heads")
def scaled_by_the_heads(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, scale=heads**0.5)


@exercise.mutant("the scale is a fixed number: it follows the width of a head")
def hard_coded_scale(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, scale=8)


@exercise.mutant("there is one head only: split q, k and v before the scores are taken")
def a_single_head(q, k, v, heads, mask=None):
    return attend(q, k, v, 1, mask)


@exercise.mutant("the heads are averaged: put their outputs side by side")
def heads_averaged(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, merge=lambda x: x.mean(-3))


@exercise.mutant("the heads are added up: put their outputs side by side")
def heads_added(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, merge=lambda x: x.sum(-3))


@exercise.mutant("the heads are still apart: join them, (..., n, d_v)")
def not_joined(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, merge=lambda x: x)


@exercise.mutant("the softmax runs over the heads: each head has a softmax over the keys")
def softmax_over_the_heads(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask, way=lambda scores, mask: softmax(scores, mask, axis=-3))


@exercise.mutant("the mean is of the keys: weigh the values")
def keys_for_values(q, k, v, heads, mask=None):
    return attend(q, k, k, heads, mask)


MASK = "the mask lines up with the heads instead of the batch: give it an axis for the heads"


@exercise.mutant(MASK)
def mask_without_an_axis_for_the_heads(q, k, v, heads, mask=None):
    def way(scores, given):
        return softmax(scores, mask)

    return attend(q, k, v, heads, mask, way=way)


@exercise.mutant("the mask has no axis for the heads: give it one of size 1, third from the end")
def mask_as_it_is(q, k, v, heads, mask=None):
    return join(attention(split(q, heads), split(k, heads), split(v, heads), mask))


@exercise.mutant(
    "the mask may lack leading axes: its axis for the heads is always third from the end"
)
def mask_axis_where_axes_agree(q, k, v, heads, mask=None):
    def way(scores, given):
        return softmax(scores, given if mask is None or mask.dim() == q.dim() else mask)

    return attend(q, k, v, heads, mask, way=way)


@exercise.mutant("the mask's new axis is counted from the front: count from the end, unsqueeze(-3)")
def mask_axis_counted_from_the_front(q, k, v, heads, mask=None):
    def way(scores, given):
        return softmax(scores, mask if mask is None else mask.unsqueeze(1))

    return attend(q, k, v, heads, mask, way=way)


@exercise.mutant("the mask's new axis is at the wrong place: it is third from the end")
def mask_axis_at_the_queries(q, k, v, heads, mask=None):
    def way(scores, given):
        return softmax(scores, mask if mask is None else mask.unsqueeze(-2))

    return attend(q, k, v, heads, mask, way=way)


@exercise.mutant(
    "the masks are repeated in another order than the heads: those of one sentence come together"
)
def masks_in_another_order(q, k, v, heads, mask=None):
    def way(scores, given):
        flat = scores.flatten(0, -3)
        one = mask if mask is None else mask.expand(*q.shape[:-1], k.shape[-2]).flatten(0, -3)
        return softmax(flat, mask if mask is None else one.repeat(heads, 1, 1)).view_as(scores)

    return attend(q, k, v, heads, mask, way=way)


@exercise.mutant("the mask holds in the first head only: it holds in each")
def mask_in_the_first_head(q, k, v, heads, mask=None):
    def way(scores, given):
        if mask is None:
            return softmax(scores)
        later = torch.arange(heads, device=mask.device)[:, None, None] > 0
        return softmax(scores, given | later)

    return attend(q, k, v, heads, mask, way=way)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, v, heads, mask=None):
    _, _, d = q.shape
    return attend(q, k, v, heads, mask, scale=(d // heads) ** 0.5)


@exercise.mutant("it takes as many keys as queries for granted: n and m differ")
def keys_split_like_the_queries(q, k, v, heads, mask=None):
    def cut(x, heads):
        *batch, n, _ = q.shape
        return x.reshape(*batch, n, heads, -1).transpose(-3, -2)

    return attend(q, k, v, heads, mask, cut=cut)


@exercise.mutant("the values are as wide as the queries for it: d_v may be another width")
def values_split_like_the_queries(q, k, v, heads, mask=None):
    d_h = q.shape[-1] // heads
    return attend(
        q, k, v, heads, mask, cut=lambda x, h: split(x, h).unflatten(-1, (1, d_h))[..., 0, :]
    )


@exercise.mutant("v has its own width: d_v // heads")
def values_cut_by_the_width_of_the_keys(q, k, v, heads, mask=None):
    d_h = q.shape[-1] // heads
    values = torch.stack(v.split(d_h, dim=-1)[:heads], dim=-3)
    return attend(q, k, v, heads, mask, cut=lambda x, h: values if x is v else split(x, h))


@exercise.mutant("it loops over the heads: they are an axis, and one product serves them all")
def loop_over_heads(q, k, v, heads, mask=None):
    parts = (x.chunk(heads, dim=-1) for x in (q, k, v))
    out = []
    for one in zip(*parts, strict=True):
        out.append(attend(*one, 1, mask))
    return torch.cat(out, dim=-1)


@exercise.mutant("no gradient reaches the scores: nothing may be detached")
def weights_detached(q, k, v, heads, mask=None):
    return attend(q.detach(), k.detach(), v, heads, mask)


@exercise.mutant("the input changes: scale a copy, not q itself")
def scaled_in_place(q, k, v, heads, mask=None):
    q /= (q.shape[-1] // heads) ** 0.5
    return attend(q, k, v, heads, mask, scale=1)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(q, k, v, heads, mask=None):
    return attend(q.float(), k.float(), v.float(), heads, mask)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(q, k, v, heads, mask=None):
    return attend(q, k, v, heads, mask) + torch.zeros(v.shape[-1], dtype=q.dtype, device="cpu")
