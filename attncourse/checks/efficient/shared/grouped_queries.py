"""The grouped attentions that a learner's test meets: right ones, and wrong ones made of one."""

from itertools import product

import torch

from attncourse.checks.dot_product.shared.attentions import close, formula, some_keys


def plain(q, k, v, mask=None):
    heads = q.shape[-3]
    k, v = (x.repeat_interleave(heads // x.shape[-3], dim=-3) for x in (k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
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
}
SPREAD = "x.repeat_interleave(heads // x.shape[-3], dim=-3)"
WIDTH = "q.shape[-1] ** 0.5"
SOFTMAX = "scores.softmax(dim=-1)"
FILL = "-torch.inf"
EMPTY_ROW = "weights.masked_fill(~mask, 0.0)"
MEAN = "weights @ v"
# what each wrong one does, and the edits that make it of the plain one
WRONG = {
    "gives the groups to the heads in turn": [
        (SPREAD, "torch.cat([x] * (heads // x.shape[-3]), dim=-3)"),
    ],
    "averages the groups": [(SPREAD, "x.mean(dim=-3, keepdim=True)")],
    "lets all heads use the first group": [(SPREAD, "x[..., :1, :, :]")],
    "cannot share: it wants a group for each head": [(SPREAD, "x")],
    "knows no group but those of two heads": [(SPREAD, "x.repeat_interleave(2, dim=-3)")],
    "knows no group but those of three heads": [(SPREAD, "x.repeat_interleave(3, dim=-3)")],
    "shares the keys, and gives the values in turn": [
        (
            "k, v = (x.repeat",
            "v = torch.cat([v] * (heads // v.shape[-3]), dim=-3)\n    k, v = (x.repeat",
        ),
    ],
    "is right with one batch axis only": [("dim=-3)", "dim=1)")],
    "is right with at most one leading axis": [
        (SOFTMAX, "scores.softmax(dim=-1 if scores.dim() < 5 else -2)"),
    ],
    "averages the outputs of a group": [
        (
            MEAN,
            "(weights @ v).unflatten(-3, (groups, -1)).mean(-3)"
            ".repeat_interleave(heads // groups, dim=-3)",
        ),
        ("heads = q.shape[-3]", "heads, groups = q.shape[-3], k.shape[-3]"),
    ],
    "forgets to scale": [(f" / {WIDTH}", "")],
    "divides by d_k": [(WIDTH, "q.shape[-1]")],
    "scales by the width of the values": [(WIDTH, "v.shape[-1] ** 0.5")],
    "takes the softmax over the queries": [(SOFTMAX, "scores.softmax(dim=-2)")],
    "takes the softmax over the heads": [(SOFTMAX, "scores.softmax(dim=-3)")],
    "wants as many queries as keys": [("k.mT", "k.view_as(q).mT")],
    "overflows for large scores": [(SOFTMAX, "scores.exp() / scores.exp().sum(-1, keepdim=True)")],
    "averages the keys": [(MEAN, "weights @ k")],
    "always returns float32": [(MEAN, "(weights @ v).float()")],
    "always returns float64": [(MEAN, "(weights @ v).double()")],
    "takes one head's mask for all": [
        (
            "heads = q.shape[-3]",
            "heads = q.shape[-3]\n    if mask is not None:\n"
            "        mask = mask.broadcast_to(*q.shape[:-1], k.shape[-2])[..., :1, :, :]",
        ),
    ],
    "takes the mask the other way round": [("~mask", "mask")],
    "ignores the mask": [("mask is not None", "False")],
    "cannot do without a mask": [("mask is not None", "True")],
    "masks after the softmax": [(FILL, "scores")],
    "gives NaN where a query may attend nowhere": [(EMPTY_ROW, "weights")],
    "attends everywhere where a query may attend nowhere": [
        (FILL, "-1e30"),
        (EMPTY_ROW, "weights"),
    ],
    "changes q": [("q @ k.mT", "q.mul_(2) @ k.mT / 2")],
    "changes k": [("k, v = (x.repeat", "k.mul_(2)\n    k, v = (x.repeat"), ("k.mT", "k.mT / 2")],
    "changes v": [
        ("k, v = (x.repeat", "v.mul_(2)\n    k, v = (x.repeat"),
        (MEAN, "weights @ v / 2"),
    ],
    "changes the mask": [
        ("scores.masked_fill(~mask", "scores.masked_fill(mask.logical_not_()"),
        ("weights.masked_fill(~mask", "weights.masked_fill(mask"),
    ],
}

# what a test needs at least: leading axes and none, each dtype, more than one head a group
BATCHES = ((), (2, 2))
DTYPES = (torch.float64, torch.float32)
HEADS = ((6, 2), (6, 3))


def inputs(*batch, heads, sizes=(4, 5, 6, 2), large=1000.0, dtype=torch.float64, seed=0):
    """q, k and v for so many heads and groups; the scores of the first query are large."""
    generator = torch.Generator().manual_seed(seed)
    n, m, d_k, d_v = sizes
    h, g = heads
    shapes = (h, n, d_k), (g, m, d_k), (g, m, d_v)
    q, k, v = (torch.randn(*batch, *s, generator=generator, dtype=dtype) for s in shapes)
    q[..., 0, :] *= large
    return q, k, v


def each_its_own(heads, groups):
    return [i // (heads // groups) for i in range(heads)]


def in_groups(q, k, v, mask=None, *, pick=each_its_own, **changes):
    """Grouped attention once more; `pick` says which group each head takes."""
    group = pick(q.shape[-3], k.shape[-3])
    return formula(q, k[..., group, :, :], v[..., group, :, :], mask, **changes)


def examine(
    grouped,
    *,
    batches=BATCHES,
    dtypes=DTYPES,
    heads=HEADS,
    draw=inputs,
    masks=(None, some_keys),
    want=in_groups,
    agree=close,
    unchanged="qkvm",
):
    """The right test, with the places where a bad one departs from it as arguments."""
    trials = zip(batches, dtypes, heads, strict=True)
    for (batch, dtype, sizes), make in product(trials, masks):
        q, k, v = draw(*batch, heads=sizes, dtype=dtype)
        mask = make and make(*batch, sizes[0], q.shape[-2], k.shape[-2])
        before = [x if x is None else x.clone() for x in (q, k, v, mask)]
        got = grouped(q, k, v, mask)
        agree(got, want(*before))
        for name, now, then in zip("qkvm", (q, k, v, mask), before, strict=True):
            assert name not in unchanged or now is None or now.equal(then)
