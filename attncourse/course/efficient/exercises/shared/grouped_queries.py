"""The grouped attentions that a learner's test meets: right ones, and wrong ones made of one."""

import torch

from attncourse.course.dot_product.exercises.shared import attentions
from judge.implementations import not_contiguous, spoiled


def plain(q, k, v, mask=None):
    heads = q.shape[-3]
    k, v = (x.repeat_interleave(heads // x.shape[-3], dim=-3) for x in (k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
    return weights @ v


def with_an_axis_for_the_groups(q, k, v, mask=None):
    *batch, h, n, d = q.shape
    g, m = k.shape[-3:-1]
    q = q.reshape(*batch, g, h // g, n, d) * d**-0.5
    scores = torch.einsum("...grid,...gjd->...grij", q, k).reshape(*batch, h, n, m)
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1).reshape(*batch, g, h // g, n, m)
    out = torch.einsum("...grij,...gjc->...gric", weights, v).reshape(*batch, h, n, v.shape[-1])
    return out if mask is None else torch.where(mask.any(dim=-1, keepdim=True), out, 0.0)


def head_by_head(q, k, v, mask=None):
    h, out = q.shape[-3], []
    for i in range(h):
        group = i * k.shape[-3] // h
        a, b, c = q[..., i, :, :], k[..., group, :, :], v[..., group, :, :]
        scores = (a / a.shape[-1] ** 0.25) @ (b / b.shape[-1] ** 0.25).transpose(-2, -1)
        if mask is not None:
            seen = mask.expand(*q.shape[:-1], k.shape[-2])[..., i, :, :]
            scores = scores.masked_fill(~seen, -1e30)
        parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        parts = parts if mask is None else parts * seen
        out.append(parts @ c / parts.sum(dim=-1, keepdim=True).clamp(min=1e-9))
    return torch.stack(out, dim=-3)


RIGHT = {
    "a right function": plain,
    "a right function, with an axis for the groups": with_an_axis_for_the_groups,
    "a right function, one head after the other": head_by_head,
    "a right function, whose result is not contiguous": not_contiguous("weights @ v"),
}
SPREAD, MEAN = "x.repeat_interleave(heads // x.shape[-3], dim=-3)", "weights @ v"
START, SOFTMAX = "heads = q.shape[-3]", "scores.softmax(dim=-1)"
# what is wrong with heads as it is without them
SAME = (
    "forgets to scale", "divides by d_k", "scales by the width of the values",
    "takes the softmax over the queries", "works only with as many queries as keys",
    "overflows for large scores", "averages the keys", "scales by the number of keys",
    "scales by the number of queries", "scales by a fixed 8", "inverts the mask",
    "ignores the mask", "works only with a mask", "masks after the softmax", "changes q",
    "changes the mask", "gives NaN to a query that may attend nowhere",
    "lets a query that may attend nowhere attend everywhere",
    "gives only zeros if one query may attend nowhere",
    "uses the first query's mask for all queries", "uses the last query's mask for all queries",
    "scales only without a mask",
)  # fmt: skip
# what each wrong one does, and the edits that make it of the plain one
WRONG = spoiled(MEAN) | {does: attentions.WRONG[does] for does in SAME} | {
    "gives the groups to the heads in turn": (
        SPREAD, "torch.cat([x] * (heads // x.shape[-3]), dim=-3)"),
    "averages the groups": (SPREAD, "x.mean(dim=-3, keepdim=True)"),
    "lets all heads use the first group": (SPREAD, "x[..., :1, :, :]"),
    "cannot share: it wants a group for each head": (SPREAD, "x"),
    "knows no number of groups but two": (SPREAD, "x.repeat_interleave(heads // 2, dim=-3)"),
    "knows no group but those of two heads": (SPREAD, "x.repeat_interleave(2, dim=-3)"),
    "knows no group of more than two heads": (
        SPREAD, "x[..., (torch.arange(heads) // min(2, heads // x.shape[-3]))"
        ".clamp(max=x.shape[-3] - 1), :, :]"),
    "knows no group but those of three heads": (SPREAD, "x.repeat_interleave(3, dim=-3)"),
    "shares the keys, and gives the values in turn": (
        START, f"{START}\n    v = torch.cat([v] * (heads // v.shape[-3]), dim=-3)"),
    "takes the first group's keys for all heads": (START, f"{START}\n    k = k[..., :1, :, :]"),
    "shares the values, and gives the keys in turn": (
        START, f"{START}\n    k = torch.cat([k] * (heads // k.shape[-3]), dim=-3)"),
    "cannot do without a batch": ("q @ k.mT", 'torch.einsum("...bhid,...bhjd->...bhij", q, k)'),
    "is right with one batch axis only": ("dim=-3)", "dim=1)"),
    "is right with at most one leading axis": (
        SOFTMAX, "scores.softmax(dim=-1 if scores.dim() < 5 else -2)"),
    "averages the outputs of a group": (
        START, "heads, groups = q.shape[-3], k.shape[-3]",
        MEAN, "(weights @ v).unflatten(-3, (groups, -1)).mean(-3)"
              ".repeat_interleave(heads // groups, dim=-3)"),
    "takes the softmax over the heads": (SOFTMAX, "scores.softmax(dim=-3)"),
    "takes the first sentence's keys for all": (
        SPREAD, f"(x if x.dim() < 4 else x[:1]).{SPREAD[2:]}"),
    "takes the last sentence's keys for all": (
        SPREAD, f"(x if x.dim() < 4 else x[-1:]).{SPREAD[2:]}"),
    "takes the first sentence's mask for all": attentions.if_masked(
        "mask[(0,) * (mask.dim() - 3)]"),
    "takes the sentences' masks in reverse": attentions.if_masked(
        "mask.flip(0) if mask.dim() > 3 else mask"),
    "takes the heads' masks in reverse": attentions.if_masked("mask.flip(-3)"),
    "takes one head's mask for all": (
        START, f"{START}\n    if mask is not None:\n"
               "        mask = mask.broadcast_to(*q.shape[:-1], k.shape[-2])[..., :1, :, :]"),
    "changes k": (START, f"{START}\n    k.mul_(2)", "k.mT", "k.mT / 2"),
    "changes v": (START, f"{START}\n    v.mul_(2)", MEAN, "weights @ v / 2"),
}  # fmt: skip
