"""The attentions that a learner's test meets: right ones and, made of the first, wrong ones."""

import torch

from judge.implementations import not_contiguous, spoiled
from judge.variants import every


def plain(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
    return weights @ v


def renormalised(q, k, v, mask=None):
    scores = torch.einsum("...id,...jd->...ij", q * q.shape[-1] ** -0.5, k)
    if mask is None:
        return torch.einsum("...ij,...jd->...id", torch.softmax(scores, dim=-1), v)
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(torch.where(mask, scores, lowest), dim=-1) * mask
    total = weights.sum(dim=-1, keepdim=True)
    return torch.einsum("...ij,...jd->...id", weights / torch.where(total > 0, total, 1.0), v)


def divided_last(q, k, v, mask=None):
    scores = (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).transpose(-2, -1)
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e30)
    parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    out = parts @ v / parts.sum(dim=-1, keepdim=True)
    return out if mask is None else torch.where(mask.any(dim=-1, keepdim=True), out, 0.0)


RIGHT = {
    "a right attention": plain,
    "a right attention, by einsum": renormalised,
    "a right attention that divides last": divided_last,
    "a right attention whose result is not contiguous": not_contiguous("weights @ v"),
}
SCALED = "q @ k.mT / q.shape[-1] ** 0.5"
SOFTMAX = "scores.softmax(dim=-1)"
START, FILL = f"scores = {SCALED}", "-torch.inf"
EMPTY_ROW = ".masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)"
MASKED_TO_ZERO = EMPTY_ROW, ".masked_fill(~mask, 0.0)"
MEAN = "weights @ v"


def if_masked(change: str) -> tuple[str, str]:
    """The edit that makes this of a mask before it is used."""
    return START, f"mask = mask if mask is None else {change}\n    {START}"


# what each wrong attention does, and the edits that make it of the plain one
WRONG = spoiled(MEAN) | {
    "forgets to scale": (SCALED, "q @ k.mT"),
    "divides by d_k": (SCALED, "q @ k.mT / q.shape[-1]"),
    "scales by the width of the values": (SCALED, "q @ k.mT / v.shape[-1] ** 0.5"),
    "scales by the number of keys": (SCALED, "q @ k.mT / k.shape[-2] ** 0.5"),
    "scales by the number of queries": (SCALED, "q @ k.mT / q.shape[-2] ** 0.5"),
    "scales by a fixed 8": (SCALED, "q @ k.mT / 8"),
    "takes the softmax over the queries": (SOFTMAX, "scores.softmax(dim=-2)"),
    "is right only without a batch": (SOFTMAX, "scores.softmax(dim=1)"),
    "is right only with one batch axis": (SOFTMAX, "scores.softmax(dim=2)"),
    "is right with at most one leading axis": (
        SOFTMAX, "scores.softmax(dim=-1 if scores.dim() < 4 else -2)"),
    "works only with a batch": ("q @ k.mT", 'torch.einsum("...bid,...bjd->...bij", q, k)'),
    "uses the first sentence's keys for all sentences": (
        "k.mT", "(k if k.dim() < 3 else k[:1]).mT"),
    "uses the last sentence's keys for all sentences": (
        "k.mT", "(k if k.dim() < 3 else k[-1:]).mT"),
    "works only with as many queries as keys": ("k.mT", "k.view_as(q).mT"),
    "overflows for large scores": (SOFTMAX, "scores.exp() / scores.exp().sum(-1, keepdim=True)"),
    "subtracts the largest score of a row only if it is above 0": (
        SOFTMAX, "(scores - scores.amax(dim=-1, keepdim=True).clamp(min=0)).exp()\n"
        "    weights = weights / weights.sum(dim=-1, keepdim=True)"),
    "replaces scores below 0 by 0": (SCALED, f"({SCALED}).relu()"),
    "cuts scores off at 50": (SCALED, f"({SCALED}).clamp(-50, 50)"),
    "always hides later keys": (SCALED, f"{SCALED} - 1e30 * torch.ones_like(q @ k.mT).triu(1)"),
    "averages the keys": (MEAN, "weights @ k"),
    "returns the weights": (MEAN, "weights"),
    "transposes its result": (MEAN, "(weights @ v).mT"),
    "inverts the mask": (every("~mask"), "mask", "mask.any", "mask.all"),
    "ignores the mask": (every("mask is not None"), "False"),
    "works only with a mask": (every("mask is not None"), "True"),
    "uses the first sentence's mask for all sentences": if_masked("mask[(0,) * (mask.dim() - 2)]"),
    "uses the first head's mask for all heads": if_masked(
        "mask if mask.dim() < 4 else mask[:, :1]"),
    "ignores the mask in float32": if_masked("mask | (q.dtype == torch.float32)"),
    "ignores the mask in float64": if_masked("mask | (q.dtype == torch.float64)"),
    "uses the sentences' masks in reverse order": if_masked(
        "mask.flip(0) if mask.dim() > 2 else mask"),
    "uses the first query's mask for all queries": if_masked("mask[..., :1, :]"),
    "uses the last query's mask for all queries": if_masked("mask[..., -1:, :]"),
    "scales only without a mask": (SCALED, f"{SCALED[:-3]}(0.5 if mask is None else 0)"),
    "fills masked scores with 0": (FILL, "0.0"),
    "fills masked scores with -5": (FILL, "-5.0"),
    "fills masked scores with -1000, then sets their weights to 0": (FILL, "-1e3", *MASKED_TO_ZERO),
    "fills masked scores with -10000, then sets their weights to 0": (
        FILL, "-1e4", *MASKED_TO_ZERO),
    "masks after the softmax": (FILL, "scores", ".any(dim=-1, keepdim=True)", ""),
    "gives NaN to a query that may attend nowhere": (EMPTY_ROW, ""),
    "lets a query that may attend nowhere attend everywhere": (EMPTY_ROW, "", FILL, "-1e30"),
    "gives only zeros if one query may attend nowhere": (
        EMPTY_ROW, ".masked_fill(~mask.any(dim=-1).all(), 0.0)"),
    "changes q": (f"scores = {SCALED}", "q /= q.shape[-1] ** 0.5\n    scores = q @ k.mT"),
    "changes a query that may attend nowhere": if_masked(
        "mask.where(q.mul_(mask.any(dim=-1, keepdim=True)).isfinite().all(), mask)"),
    "changes q when there is a mask": (
        f"return {MEAN}", f"q *= 1 if mask is None else 2\n    return {MEAN}"),
    "returns float32 when there is a mask": (
        f"return {MEAN}", f"return {MEAN} if mask is None else ({MEAN}).float()"),
    "changes k": (f"scores = {SCALED}", "k /= q.shape[-1] ** 0.5\n    scores = q @ k.mT"),
    "changes v": (MEAN, "weights @ v.mul_(2) / 2"),
    "changes the mask": ("(~mask,", "(mask.logical_not_(),", "~mask.any", "mask.all"),
}  # fmt: skip


def inputs(*batch, sizes=(4, 5, 6, 2), large=1000.0, low=-30.0, dtype=torch.float64, seed=0):
    """q, k and v; the scores of the first query are large, all those of the last far below 0."""
    generator = torch.Generator().manual_seed(seed)
    n, m, d_k, d_v = sizes
    shapes = (n, d_k), (m, d_k), (m, d_v)
    q, k, v = (torch.randn(*batch, *s, generator=generator, dtype=dtype) for s in shapes)
    q[..., 0, :] *= large
    # each key has a first number above 1, and the last query has no other
    k[..., 0] = 1 + k[..., 0].abs()
    q[..., -1, :] = 0
    q[..., -1, 0] = low * large
    return q, k, v


def some_keys(*shape, empty=1):
    """A mask that leaves out one key of three, others in each row, and all in the row `empty`."""
    order = torch.rand(shape, generator=torch.Generator().manual_seed(1)).argsort(dim=-1)
    mask = order % 3 != 1
    mask[..., empty : empty + 1, :] = False
    return mask


def close(got, want):
    """The same shape, dtype and numbers but for rounding."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    bound = torch.finfo(want.dtype).eps ** 0.5
    assert torch.allclose(got, want, rtol=bound, atol=bound)


def close_to_row_means(got, q, k, v, allowed):
    """Assert that each query has its mean of the values, from the allowed keys alone."""
    parts = (x.reshape(-1, *x.shape[-2:]) for x in (got, q, k, v, allowed))
    for out, query, key, value, mask in zip(*parts, strict=True):
        for i, allowed_keys in enumerate(mask):
            weights = (key[allowed_keys] @ query[i] / query.shape[-1] ** 0.5).softmax(0)
            close(out[i], weights @ value[allowed_keys])


def formula(q, k, v, mask=None, *, scale=None, least=1.0):
    """Attention once more. The largest part of a row is 1, so a sum below 1 is an empty row's."""
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale is None else scale)
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    scores = scores.masked_fill(~allowed, -1e30)
    parts = (scores - scores.amax(-1, keepdim=True)).exp() * allowed
    return parts / parts.sum(-1, keepdim=True).clamp(min=least) @ v
