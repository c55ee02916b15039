"""Exact attention, one block of queries and keys at a time, by an online softmax."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncourse.shapes import require_tokens, shaped


@shaped
def online_softmax_update(
    mu: Float[Tensor, "*batch n 1"],
    ell: Float[Tensor, "*batch n 1"],
    z: Float[Tensor, "*batch n d_v"],
    scores: Float[Tensor, "*batch n block"],
    v: Float[Tensor, "*#batch block d_v"],
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest score and the sums of exponentials and of values, one block later.

    Source: Milakov & Gimelshein (2018), algorithm 3, for the first two; with the
    values, Rabe & Staats (2021).
    """
    # the maximum cancels in the end, so it needs no gradient
    new = torch.maximum(mu, scores.detach().amax(dim=-1, keepdim=True))
    fade, parts = (mu - new).exp(), (scores - new).exp()
    return new, fade * ell + parts.sum(-1, keepdim=True), fade * z + parts @ v


@shaped
def flash_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m d_v"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    causal: bool = False,
    block: int = 128,
) -> Float[Tensor, "*batch n d_v"]:
    """Attention, exactly, from the scores of one block of queries and keys at a time.

    If causal, the queries are the last of the positions, and blocks of later keys
    are left out. Source: Dao et al. (2022); in this order, and with one division at
    the end, Dao (2023).
    """
    require_tokens(q, k)
    n, m, d_v = q.shape[-2], k.shape[-2], v.shape[-1]
    if block < 1 or (causal and n > m):
        raise ValueError(f"block={block} must be at least 1, and if causal, n={n} at most m={m}")
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    mask = None if mask is None else mask.expand(*mask.shape[:-2], n, m)
    # not -inf, which subtracted from itself gives NaN
    lowest = torch.finfo(q.dtype).min
    outputs = []
    for rows in slices(n, block):
        size = rows.stop - rows.start
        mu = q.new_full((*batch, size, 1), lowest)
        ell = q.new_zeros(*batch, size, 1)
        z = q.new_zeros(*batch, size, d_v)
        for columns in slices(m - n + rows.stop if causal else m, block):
            scores = block_scores(q, k, mask, causal, rows, columns)
            mu, ell, z = online_softmax_update(mu, ell, z, scores, v[..., columns, :])
        # the largest score adds 1 to the sum: it is 0 only where a query may attend nowhere
        outputs.append(z / ell.clamp(min=1))
    return torch.cat(outputs, dim=-2)


def block_scores(
    q: Tensor, k: Tensor, mask: Tensor | None, causal: bool, rows: slice, columns: slice
) -> Tensor:
    """The scores of a block of queries and keys, -inf where one may not attend to the other."""
    scores = q[..., rows, :] @ k[..., columns, :].mT / q.shape[-1] ** 0.5
    if causal:
        # the first query of the block stands so far after the first key
        ahead = k.shape[-2] - q.shape[-2] + rows.start - columns.start
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(ahead + 1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores if mask is None else scores.masked_fill(~mask[..., rows, columns], -torch.inf)


def slices(length: int, block: int) -> list[slice]:
    """The slices of the blocks of a sequence; the last may be shorter."""
    return [slice(start, min(start + block, length)) for start in range(0, length, block)]
