"""The multi-head attentions that a learner's test meets: right ones, and wrong ones made of one."""

import torch

from attncourse.course.dot_product.exercises.shared import attentions
from attncourse.course.multi_head.exercises.shared.heads import join, split
from judge.implementations import spoiled


def plain(q, k, v, heads, mask=None):
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(-3, -2) for x in (q, k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        mask = mask.unsqueeze(-3)
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return (weights @ v).transpose(-3, -2).flatten(-2)


def by_einsum(q, k, v, heads, mask=None):
    q, k, v = (x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads) for x in (q, k, v))
    scores = torch.einsum("...ihc,...jhc->...hij", q * q.shape[-1] ** -0.5, k)
    if mask is not None:
        scores = torch.where(mask[..., None, :, :], scores, torch.finfo(scores.dtype).min)
    out = torch.einsum("...hij,...jhc->...hci", torch.softmax(scores, dim=-1), v)
    out = out.flatten(-3, -2).mT
    return out if mask is None else (out.mT * mask.any(dim=-1)[..., None, :]).mT


def head_by_head(q, k, v, heads, mask=None):
    out = []
    for a, b, c in zip(*(x.chunk(heads, dim=-1) for x in (q, k, v)), strict=True):
        scores = (a / a.shape[-1] ** 0.25) @ (b / b.shape[-1] ** 0.25).transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e30)
        parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        parts = parts if mask is None else parts * mask
        out.append(parts @ c / parts.sum(dim=-1, keepdim=True).clamp(min=1e-9))
    return torch.cat(out, dim=-1)


RIGHT = {
    "a right function": plain,
    "a right function, by einsum, whose result is not contiguous": by_einsum,
    "a right function, one head after the other": head_by_head,
}
SPLIT = "x.unflatten(-1, (heads, -1)).transpose(-3, -2)"
VIEWED = "x.reshape(*x.shape[:-2], heads, x.shape[-2], -1)"
WIDTH = "q.shape[-1] ** 0.5"
SOFTMAX = "scores.softmax(dim=-1)"
FILL = "-torch.inf"
EMPTY_ROW = "weights.masked_fill(~mask, 0.0)"
HEAD_AXIS = "mask = mask.unsqueeze(-3)"
JOIN = ".transpose(-3, -2).flatten(-2)"
END = f"(weights @ v){JOIN}"
# the masks of all sentences one after the other, as often as there are heads
REPEATED = "mask.reshape(-1, *mask.shape[-2:]).repeat(heads, 1, 1).reshape(*q.shape[:-1], -1)"
FIRST = "(torch.arange(heads) < max(1, heads - 1))[:, None, None]"
# what each wrong one does, and the pieces of the plain one with what takes their place
WRONG = spoiled(END) | {does: attentions.WRONG[does] for does in (
    "forgets to scale", "scales by the width of the values", "takes the softmax over the queries",
    "works only with as many queries as keys", "overflows for large scores", "averages the keys",
    "ignores the mask", "works only with a mask", "scales only without a mask",
)} | {
    "splits the sequence instead of the width": (SPLIT, VIEWED),
    "gives each head numbers from all over a row": (
        SPLIT, "x.unflatten(-1, (-1, heads)).movedim(-1, -3)",
        JOIN, ".movedim(-3, -1).flatten(-2)"),
    "joins the heads by a reshape alone": (
        END, "(weights @ v).reshape(*v.shape[:-3], q.shape[-2], -1)"),
    "joins the heads number by number": (JOIN, ".movedim(-3, -1).flatten(-2)"),
    "joins the heads in reverse order": (END, f"(weights @ v).flip(-3){JOIN}"),
    "has only one head": (SPLIT, "x.unsqueeze(-3)"),
    "always splits into two heads": ("(heads, -1)", "(2, -1)"),
    "always splits into three heads": ("(heads, -1)", "(3, -1)"),
    "averages the heads": (JOIN, ".mean(-3).repeat_interleave(heads, dim=-1)"),
    "lets all heads use the weights of the first": (END, f"(weights[..., :1, :, :] @ v){JOIN}"),
    "leaves out the first head": (END, f"(weights @ v * {FIRST}.flip(0)){JOIN}"),
    "leaves out the last head": (END, f"(weights @ v * {FIRST}){JOIN}"),
    "scales by the whole width": (WIDTH, "(heads * q.shape[-1]) ** 0.5"),
    "divides by the width of a head": (WIDTH, "q.shape[-1]"),
    "takes the softmax over the heads": (SOFTMAX, "scores.softmax(dim=-3)"),
    "is right only without a batch": (SOFTMAX, "scores.softmax(dim=2)"),
    "works only with a batch": ("q @ k.mT", 'torch.einsum("...bhid,...bhjd->...bhij", q, k)'),
    "uses the first sentence's keys for all sentences": (
        "k.mT", "(k if k.dim() < 4 else k[:1]).mT"),
    "uses the last sentence's keys for all sentences": (
        "k.mT", "(k if k.dim() < 4 else k[-1:]).mT"),
    "lines up the mask with the heads": (HEAD_AXIS, "mask = mask"),
    "counts the mask's axes from the front": (HEAD_AXIS, "mask = mask.unsqueeze(1)"),
    "uses the first sentence's mask for all sentences": (
        HEAD_AXIS, "mask = mask[(0,) * (mask.dim() - 2)]"),
    "uses the sentences' masks in reverse order": (
        HEAD_AXIS, f"{HEAD_AXIS}\n        mask = mask.flip(0) if mask.dim() > 3 else mask"),
    "repeats the masks in the wrong order": (HEAD_AXIS, f"mask = {REPEATED}"),
    "uses the first query's mask for all queries": (HEAD_AXIS, "mask = mask[..., None, :1, :]"),
    "uses the last query's mask for all queries": (HEAD_AXIS, "mask = mask[..., None, -1:, :]"),
    "masks only the first head": (
        HEAD_AXIS, f"{HEAD_AXIS} | (torch.arange(heads) > 0)[:, None, None]"),
    "inverts the mask": (HEAD_AXIS, "mask = ~mask.unsqueeze(-3)"),
    "fills masked scores with 0": (FILL, "0.0", EMPTY_ROW, "weights * mask.any(-1, keepdim=True)"),
    "masks after the softmax": (FILL, "scores"),
    "gives NaN to a query that may attend nowhere": (EMPTY_ROW, "weights"),
    "lets a query that may attend nowhere attend everywhere": (FILL, "-1e30", EMPTY_ROW, "weights"),
    "gives only zeros if one query may attend nowhere": (
        EMPTY_ROW, "weights.masked_fill(~mask.any(dim=-1).all(), 0.0)"),
    "is right with at most one leading axis": (
        SOFTMAX, "scores.softmax(dim=-1 if scores.dim() < 5 else -2)"),
    "is off by one percent": (JOIN, f"{JOIN} * 1.01"),
    "changes a query that may attend nowhere": (
        "mask = mask.unsq", "q *= mask.any(-1)[..., None, :, None]\n        mask = mask.unsq"),
    "changes q": ("q @ k.mT", "q.mul_(2) @ k.mT / 2"),
    "changes k": ("k.mT", "k.mul_(2).mT / 2"),
    "changes v": ("weights @ v", "weights @ v.mul_(2) / 2"),
    "changes the mask": (HEAD_AXIS, "mask = ~mask.logical_not_().unsqueeze(-3)"),
}  # fmt: skip


def inputs(*batch, heads, sizes=(4, 5, 6, 2), large=1000.0, dtype=torch.float64, seed=0):
    """q, k and v for so many heads; the scores of the first query are large."""
    generator = torch.Generator().manual_seed(seed)
    n, m, d_h, d_out = sizes
    shapes = (n, heads * d_h), (m, heads * d_h), (m, heads * d_out)
    q, k, v = (torch.randn(*batch, *s, generator=generator, dtype=dtype) for s in shapes)
    q[..., 0, :] *= large
    return q, k, v


def in_heads(q, k, v, mask=None, *, heads, cut=split, merge=join, **changes):
    """Multi-head attention once more."""
    mask = mask if mask is None else mask.unsqueeze(-3)
    return merge(attentions.formula(*(cut(x, heads) for x in (q, k, v)), mask, **changes))
