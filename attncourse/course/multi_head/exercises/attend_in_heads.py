"""Exercise attend_in_heads: split into heads, attend in each, join."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import softmax
from attncourse.course.multi_head.exercises.shared import heads as ways
from attncourse.course.multi_head.exercises.shared.heads import join, split
from attncourse.dot_product import attention
from judge import messages, variants
from judge.exercise import Case, Exercise

FROM_THE_FRONT = (
    "the mask's new axis is counted from the front: count it from the end, with unsqueeze(-3)"
)
exercise = Exercise.read(
    __name__,
    generic_hints={
        "loops": "you loop over the heads: they are an axis, and one product handles all of them",
        "axes_from_the_front": FROM_THE_FRONT,
    },
)


exercise.reference(ways.head_by_head)


def draw_inputs(draw, *batch, n, m, heads, d_h, d_out):
    """q, k, v and the heads that they are to be split in."""
    q, k = draw.normal(*batch, n, heads * d_h), draw.normal(*batch, m, heads * d_h)
    return q, k, draw.normal(*batch, m, heads * d_out), heads


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    # widths for which no wrong scale of those below is another wrong one, or the right one
    d_h = 5 + 2 * draw.integer(0, 1)
    sizes = {"n": n, "m": m, "heads": 3, "d_h": d_h, "d_out": 2}
    q, k, v, heads = draw_inputs(draw, 2, **sizes)
    longer_sizes = {"n": n + 16, "m": m + 16, "heads": 24, "d_h": d_h, "d_out": 2}
    description = f"n={n}, m={m}, 3 heads, d={3 * d_h}, d_v=6"
    yield Case(
        f"a batch of 2, {description}",
        (q, k, v, heads),
        longer=draw_inputs(draw, 2, **longer_sizes),
    )
    yield Case(f"two matrices without a batch, {description}", (q[0], k[0], v[0], heads))
    two_axes = draw_inputs(draw, 2, 3, n=4, m=5, heads=2, d_h=3, d_out=4)
    yield Case("two leading axes, 2 heads", two_axes)
    yield Case(f"one head, {description}", (q, k, v, 1))
    width_1 = draw_inputs(draw, 2, n=n, m=m, heads=6, d_h=1, d_out=1)
    yield Case("as many heads as numbers in a row", width_1)
    large = 1e12 * q, 1e13 * k, v, heads
    yield Case("scores 10^25 times larger", large, gradient=False)
    # the first number of each head takes the same from every score
    low_q, low_k = q.clone(), k.clone()
    low_q[..., ::d_h], low_k[..., ::d_h] = 1.0, -3000.0
    yield Case("all scores near -1000", (low_q, low_k, v, heads))
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {description}", (q, k, v, heads, mask))
    yield Case(f"a mask without a batch, {description}", (q[0], k[0], v[0], heads, mask[0]))
    yield Case("one mask for the whole batch", (q, k, v, heads, mask[0]))
    batch_of_3 = draw_inputs(draw, 3, **sizes)
    yield Case("a mask, a batch of 3 and 3 heads", (*batch_of_3, draw.mask(3, n, m)))
    yield Case("a mask of shape (2, 1, n, m)", (*two_axes, draw.mask(2, 1, 4, 5)))
    yield Case("leading axes (2, 3), a mask of shape (3, n, m)", (*two_axes, draw.mask(3, 4, 5)))
    three_heads = draw_inputs(draw, 2, 3, n=4, m=5, heads=3, d_h=3, d_out=4)
    yield Case("the same with 3 heads", (*three_heads, draw.mask(3, 4, 5)))
    yield Case("a mask of shape (2, 3, n, m), 3 heads", (*three_heads, draw.mask(2, 3, 4, 5)))
    positive_q, high_first_k, low_other_k, not_first = ways.first_key_hidden(q, k)
    yield Case("a masked key with a high score", (positive_q, high_first_k, v, heads, not_first))
    low_others = positive_q, low_other_k, v, heads, not_first
    yield Case("a masked key, the others far below zero", low_others, gradient=False)
    mask_with_empty_row = mask.clone()
    mask_with_empty_row[1, 0] = False
    longer_masked = (*draw_inputs(draw, 8, **longer_sizes), draw.mask(8, n + 16, m + 16))
    yield Case(
        "a query that may attend nowhere",
        (q, k, v, heads, mask_with_empty_row),
        longer=longer_masked,
    )
    yield Case("no query may attend anywhere", (q, k, v, heads, mask & False))
    yield Case("a mask by name", (q, k, v), {"heads": heads, "mask": mask})
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1], heads))


@exercise.valid
def plain(q, k, v, heads, mask=None):
    q, k, v = (split(x, heads) for x in (q, k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        mask = mask.unsqueeze(-3)
    weights = softmax(scores, mask)
    return join(weights @ v)


@exercise.valid
def by_einsum_without_a_swap(q, k, v, heads, mask=None):
    q, k, v = (x.unflatten(-1, (heads, x.shape[-1] // heads)) for x in (q, k, v))
    scores = torch.einsum("...ihc,...jhc->...hij", q, k) * q.shape[-1] ** -0.5
    weights = softmax(scores, mask if mask is None else mask[..., None, :, :])
    return torch.einsum("...hij,...jhc->...ihc", weights, v).flatten(-2)


variants.right(exercise,
    "q, k, v = (torch.stack(x.tensor_split(heads, dim=-1), dim=-3) for x in (q, k, v))\n"
    "return torch.cat((weights @ v).unbind(-3), dim=-1)",
    "q, k, v = (\n    x.reshape(-1, x.size(-2), heads, x.size(-1) // heads).permute(0, 2, 1, 3)\n"
    "    .reshape(*x.shape[:-2], heads, x.size(-2), -1) for x in (q, k, v))",
    # the mask then needs no axis of its own: it lacks a leading one
    "q, k, v = (x.unflatten(-1, (heads, -1)).movedim(-2, 0) for x in (q, k, v))\n"
    "if mask is not None: pass\n"
    "return (weights @ v).movedim(0, -2).flatten(-2)",
    ("(q, k, v))", "(q * (heads / q.shape[-1]) ** 0.5, k, v))", " / q.shape[-1] ** 0.5", ""),
)  # fmt: skip
variants.calling(exercise, "softmax", ways.SOFTMAXES | ways.LOW)
variants.calling(exercise, ("split", "join"), ways.CUTS)
variants.wrong(exercise, {
    "the scale comes from the whole width: use the width of one head, d / heads":
        "scores = q @ k.mT / (heads * q.shape[-1]) ** 0.5",
    "the scores are not scaled: divide them by the square root of a head's width":
        "scores = q @ k.mT",
    "you divide the scores by a head's width: divide them by its square root instead":
        "scores = q @ k.mT / q.shape[-1]",
    "the scale comes from the width of the values: use the width of the keys":
        "scores = q @ k.mT / v.shape[-1] ** 0.5",
    "the scale comes from the number of heads: use the width of one head, d / heads":
        "scores = q @ k.mT / heads**0.5",
    "the scale is a fixed number: compute it from the width of a head": "scores = q @ k.mT / 8",
    "there's only one head: split q, k and v before you compute the scores": [
        ("(x, heads)", "(x, 1)"),
        ("(x, heads)", "(x, 1)", "q.shape[-1] ** 0.5", "(q.shape[-1] // heads) ** 0.5")],
    "you average the heads: put their outputs side by side": "return (weights @ v).mean(-3)",
    "you sum over the heads: put their outputs side by side": "return (weights @ v).sum(-3)",
    "the heads are still apart: join them, so that the shape is (..., n, d_v)":
        "return weights @ v",
    "the softmax runs over the heads: in each head, run it over the keys":
        "weights = softmax(scores, mask, axis=-3)",
    "you average the keys: average the values instead": ("(q, k, v))", "(q, k, k))"),
    "the mask lines up with the heads instead of the batch: give it an axis for the heads": (
        "mask.unsqueeze(-3)", "mask"),
    "a mask that lacks leading axes gets no axis for the heads: always add one, third from the "
    "end": (
        "mask is not None", "mask is not None and mask.dim() == q.dim() - 1"),
    FROM_THE_FRONT: [
        ("is not None", "is not None and mask.dim() > 2", "unsqueeze(-3)", "unsqueeze(1)"),
        ("unsqueeze(-3)", "unsqueeze(max(0, mask.dim() - 2) and 1)")],
    "the mask's new axis is in the wrong place: it should be third from the end": (
        "unsqueeze(-3)", "unsqueeze(-2)"),
    "the copies of the masks are in the wrong order: keep the copies of each sentence's mask "
    "together": [
        ("mask.unsqueeze(-3)", "mask.expand(*q.shape[:-3], -1, -1).flatten(0, -3)"
         ".repeat(heads, 1, 1).view_as(scores)"),
        # the heads come before the sentences, and the masks do not
        ("mask.unsqueeze(-3)", "mask.expand(*q.shape[:-3], -1, -1).flatten(0, -3)"
         ".repeat_interleave(heads, 0).unflatten(0, (heads, -1)).transpose(0, 1)"
         ".reshape(scores.shape)")],
    "softmax without an axis picks one itself: tell it to run over the keys, dim=-1": [
        "weights = softmax(scores, mask, axis=0 if scores.dim() == 3 else 1)",
        *("hidden = scores if mask is None else scores.masked_fill(~mask, -torch.inf)\n"
          f"weights = hidden.softmax(0 if scores.dim() == 3 else 1){after}"
          for after in ("", ".nan_to_num(0.0)"))],
    "you apply the mask only in the first head: apply it in every head": (
        "unsqueeze(-3)",
        "unsqueeze(-3) | (torch.arange(heads, device=mask.device) > 0)[:, None, None]"),
    "your code assumes as many keys as queries: n and m may differ":
        "q, k, v = (x.reshape(*q.shape[:-1], heads, -1).transpose(-3, -2) for x in (q, k, v))",
    "your code assumes that values are as wide as queries: d_v may differ from d":
        "width = q.shape[-1] // heads\n"
        "q, k, v = (split(x, heads).unflatten(-1, (1, width))[..., 0, :] for x in (q, k, v))",
    "you don't split v: give each head its own part of the values":
        "q, k, v = (*(split(x, heads) for x in (q, k)), v.unsqueeze(-3))",
    "you split v into parts as wide as those of q: make them d_v // heads wide":
        "width = q.shape[-1] // heads\n"
        "q, k, v = (torch.stack(x.split(width, dim=-1)[:heads], dim=-3) for x in (q, k, v))",
    messages.CUT_OFF:
        "if mask is not None and not mask.any():\n"
        "    return join(torch.zeros_like(q @ k.mT) @ v).detach()\n"
        "scores = q @ k.mT / q.shape[-1] ** 0.5",
    "the input changes: scale a copy, not q itself": "scores = q.div_(q.shape[-1] ** 0.5) @ k.mT",
    "no gradient reaches the scores: don't detach anything": ("q @ k.mT", "(q @ k.mT).detach()"),
})  # fmt: skip


@exercise.mutant("the mask has no axis for the heads: give it one of size 1, third from the end")
def mask_as_it_is(q, k, v, heads, mask=None):
    return join(attention(split(q, heads), split(k, heads), split(v, heads), mask))
