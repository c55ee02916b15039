"""The windowed attentions that a learner's test meets: right ones and, made of the first, wrong."""

from typing import NamedTuple

import torch

from attncourse.course.dot_product.exercises.shared import attentions
from judge.implementations import not_contiguous, spoiled


def plain(q, k, v, width, causal=False):
    n = q.shape[-2]
    left, right = (width - 1, 0) if causal else (width // 2, width // 2)
    offset = torch.arange(n) - torch.arange(n)[:, None]
    near = (offset >= -left) & (offset <= right)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~near, -torch.inf).softmax(dim=-1)
    return weights @ v


def by_windows(q, k, v, width, causal=False):
    n, left = q.shape[-2], width - 1 if causal else width // 2
    key = torch.arange(n)[:, None] + torch.arange(width) - left
    at = key.clamp(0, n - 1)
    scores = torch.einsum("...id,...icd->...ic", q * q.shape[-1] ** -0.5, k[..., at, :])
    weights = torch.where(key == at, scores, -1e30).softmax(dim=-1)
    return torch.einsum("...ic,...icd->...id", weights, v[..., at, :])


def query_by_query(q, k, v, width, causal=False):
    out = []
    for i in range(q.shape[-2]):
        last = i if causal else i + width // 2
        near = slice(max(0, last - width + 1), last + 1)
        scores = k[..., near, :] @ q[..., i, :, None] / q.shape[-1] ** 0.5
        out.append((scores.softmax(dim=-2) * v[..., near, :]).sum(dim=-2))
    return torch.stack(out, dim=-2)


RIGHT = {
    "a right windowed attention": plain,
    "a right windowed attention, by windows": by_windows,
    "a right windowed attention, query by query": query_by_query,
    "a right windowed attention, its result not contiguous": not_contiguous("weights @ v"),
    "a right windowed attention, which takes no symmetric window of even width": (
        "    left,", "    assert causal or width % 2\n    left,"),
}  # fmt: skip
SIDES = "(width - 1, 0) if causal else (width // 2, width // 2)"
CAUSAL = "(width - 1, 0)"
SYMMETRIC = "(width // 2, width // 2)"
OFFSET = "torch.arange(n) - torch.arange(n)[:, None]"
SCORES = "q @ k.mT / q.shape[-1] ** 0.5"
SOFTMAX = "scores.masked_fill(~near, -torch.inf).softmax(dim=-1)"
MEAN = "weights @ v"
PADDED = "torch.nn.functional.pad({}, (0, 0, left, right))"
# what each wrong attention does, and the edits that make it of the plain one
WRONG = spoiled(MEAN) | {
    "reaches the whole width to each side": (SYMMETRIC, "(width, width)"),
    "loses the ends of a symmetric window": (SYMMETRIC, "(max(width // 2 - 1, 0),) * 2"),
    "is causal even if not asked": (SYMMETRIC, CAUSAL),
    "is never causal": (CAUSAL, SYMMETRIC),
    "has a causal window that is one too long": (CAUSAL, "(width, 0)"),
    "keeps half of a causal window": (CAUSAL, "(width // 2, 0)"),
    "rounds an even causal width down": (CAUSAL, "((width - 1) // 2 * 2, 0)"),
    "looks ahead where it should be causal": (CAUSAL, "(0, width - 1)"),
    "has no window, but for the causal order": (SIDES, "(n, 0) if causal else (n, n)"),
    "looks to both sides where the width is 1": (SYMMETRIC, "(max(width // 2, 1),) * 2"),
    "looks back where the causal width is 1": (CAUSAL, "(max(width - 1, 1), 0)"),
    "joins the two ends": (OFFSET, f"({OFFSET} + n // 2) % n - n // 2"),
    "attends to zeros beyond the ends": (
        OFFSET, "torch.arange(-left, n + right) - torch.arange(n)[:, None]",
        "k.mT", f"{PADDED.format('k')}.mT",
        MEAN, f"weights @ {PADDED.format('v')}"),
    "masks after the softmax": (SOFTMAX, "scores.softmax(dim=-1) * near"),
    "fails for a symmetric window far beyond the length": (
        OFFSET, f"{OFFSET} + torch.zeros(1 if causal else 2 * n - width).sum().long()"),
    "fails for a causal window far beyond the length": (
        OFFSET, f"{OFFSET} + torch.zeros(2 * n - width if causal else 1).sum().long()"),
    "forgets to scale": (SCORES, "q @ k.mT"),
    "scales by the width of the values": (SCORES, "q @ k.mT / v.shape[-1] ** 0.5"),
    "overflows for large scores": (
        SOFTMAX, "scores.exp() * near / (scores.exp() * near).sum(-1, keepdim=True)"),
    "exchanges queries and keys": (SCORES, "k @ q.mT / q.shape[-1] ** 0.5"),
    "takes the length from the first axis": ("q.shape[-2]", "q.shape[0]"),
    "takes the length from the second axis": ("q.shape[-2]", "q.shape[q.dim() > 2]"),
    "averages the keys": (MEAN, "weights @ k"),
    "is right only without a batch": (SOFTMAX, SOFTMAX.replace("dim=-1", "dim=1")),
    "is right only with one batch axis": ("k.mT", "k.transpose(1, 2)"),
    "cannot do without a batch": ("q @ k.mT", 'torch.einsum("...bid,...bjd->...bij", q, k)'),
    "can do with one leading axis at most": ("k.mT", "k.transpose(min(k.dim() - 2, 1), -1)"),
    "takes the first sentence's keys for all": ("k.mT", "(k if k.dim() < 3 else k[:1]).mT"),
    "takes the last sentence's keys for all": ("k.mT", "(k if k.dim() < 3 else k[-1:]).mT"),
    "changes q": (f"scores = {SCORES}", "q /= q.shape[-1] ** 0.5\n    scores = q @ k.mT"),
    "changes k": (f"scores = {SCORES}", "k /= q.shape[-1] ** 0.5\n    scores = q @ k.mT"),
    "changes v": (MEAN, "weights @ v.mul_(2) / 2"),
}  # fmt: skip


class Trial(NamedTuple):
    """A call that a test makes."""

    batch: tuple
    dtype: torch.dtype
    width: int
    causal: bool


# what a test needs: both kinds of window, an even one, each of width 1 and far beyond the length;
# no leading axis, one and two, and each dtype
TRIALS = (
    Trial((), torch.float64, 3, False),
    Trial((2,), torch.float32, 5, False),
    Trial((), torch.float32, 3, True),
    Trial((2, 3), torch.float64, 4, True),
    Trial((2,), torch.float64, 21, False),
    Trial((), torch.float64, 21, True),
    Trial((2,), torch.float64, 1, False),
    Trial((2,), torch.float64, 1, True),
)


def inputs(*batch, sizes=(7, 6, 2), large=1000.0, dtype=torch.float64, seed=0):
    """q, k and v; the scores of the query in the middle are large."""
    generator = torch.Generator().manual_seed(seed)
    n, d_k, d_v = sizes
    shapes = (n, d_k), (n, d_k), (n, d_v)
    q, k, v = (torch.randn(*batch, *s, generator=generator, dtype=dtype) for s in shapes)
    q[..., n // 2, :] *= large
    return q, k, v


def formula(q, k, v, width, causal=False):
    """Attention once more, under a mask that is a band."""
    before, after = (width - 1, 0) if causal else (width // 2, width // 2)
    band = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(-before).tril(after)
    return attentions.formula(q, k, v, band)
