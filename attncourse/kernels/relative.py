"""Relative attention in blocks of queries: its memory grows with n, not with n x m.

The backward pass recomputes each block's weights, as in Dao et al. (2022), section 3.1; blocks
run along the queries alone.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from attncourse.dot_product import masked_softmax
from attncourse.precision import no_autocast

# queries per block: fewer make the matrix products too small, more exceed the processor's cache
BLOCK = 128


class Band(NamedTuple):
    """The keys within `max_distance` of some query of a block, and their rows of a table.

    All keys to the left of the band share the first row, all to the right the last.
    """

    first_key: int
    end_key: int
    rows: Int[Tensor, "batch block band"]


class Block(NamedTuple):
    """A block of queries: its slice, band and mask, and two buffers of the size of its scores."""

    span: slice
    band: Band
    mask: Bool[Tensor, "*batch block m"] | None
    buffers: list[Float[Tensor, "batch block m"]]


class BlockwiseRelativeAttention(torch.autograd.Function):
    """Attention with a bias for each query and table row, shared by the keys of that row.

    Returns the weighted means of the values, and each query's total weight on each table row.
    """

    @staticmethod
    def forward(ctx, q, k, v, bias, mask):
        """Both outputs, block by block; no weights are saved."""
        ctx.batch = q.shape[:-2]
        q, k, v, bias = (x.reshape(math.prod(ctx.batch), *x.shape[-2:]) for x in (q, k, v, bias))
        z, shares = q.new_empty(*q.shape[:-1], v.shape[-1]), torch.zeros_like(bias)
        for block in query_blocks(q, k, bias, mask):
            weights = block_weights(q, k, bias, block)
            z[:, block.span] = weights @ v
            sum_by_row(weights, block.band, shares[:, block.span])
        ctx.save_for_backward(q, k, v, bias, mask, z, shares)
        return tuple(x.view(*ctx.batch, *x.shape[1:]) for x in (z, shares))

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gradients, from recomputed weights."""
        q, k, v, bias, mask, z, shares = ctx.saved_tensors
        dz, dshares = (dx.reshape(x.shape) for dx, x in zip(grads, (z, shares), strict=True))
        # the softmax backward subtracts the weighted mean of the gradients of the weights
        dbias = dshares - (dz * z).sum(-1, True) - (dshares * shares).sum(-1, True)
        dq, drows = torch.empty_like(q), torch.zeros_like(bias)
        # computed transposed, because these products are faster so
        dk, dv = (x.new_zeros(len(x), x.shape[2], x.shape[1]) for x in (k, v))
        with no_autocast(q):
            for block in query_blocks(q, k, bias, mask):
                span, weights = block.span, block_weights(q, k, bias, block)
                dv.baddbmm_(dz[:, span].mT, weights)
                dweights = torch.bmm(dz[:, span], v.mT, out=block.buffers[0])
                dscores = add_by_row(dweights, block.band, dbias[:, span]).mul_(weights)
                dk.baddbmm_(q[:, span].mT, dscores)
                dq[:, span] = dscores @ k
                sum_by_row(dscores, block.band, drows[:, span])
        dqkv = (x.view(*ctx.batch, *x.shape[1:]) for x in (dq, dk.mT, dv.mT, drows))
        return *dqkv, None


def query_blocks(q: Tensor, k: Tensor, bias: Tensor, mask: Tensor | None) -> Iterator[Block]:
    """The blocks of queries, which are the last n of the m positions of the keys."""
    n, m, max_distance = q.shape[1], k.shape[1], bias.shape[-1] // 2
    # one buffer for all blocks, because allocation takes time
    buffers = [q.new_empty(len(q), min(BLOCK, n), m) for _ in range(2)]
    for start in range(0, n, BLOCK):
        span = slice(start, min(start + BLOCK, n))
        first, last = m - n + span.start, m - n + span.stop - 1
        first_key, end_key = max(first - max_distance, 0), min(last + max_distance + 1, m)
        query = torch.arange(first, last + 1, device=q.device)
        key = torch.arange(first_key, end_key, device=q.device)
        rows = (key - query[:, None]).clamp(-max_distance, max_distance) + max_distance
        band = Band(first_key, end_key, rows.expand(len(q), *rows.shape))
        block_buffers = [buffer[:, : len(query)] for buffer in buffers]
        yield Block(span, band, None if mask is None else mask[..., span, :], block_buffers)


def block_weights(q: Tensor, k: Tensor, bias: Tensor, block: Block) -> Tensor:
    """Attention weights of a block; overwrites both buffers, and may return the second."""
    scores = torch.bmm(q[:, block.span], k.mT, out=block.buffers[0])
    scores = add_by_row(scores, block.band, bias[:, block.span])
    if block.mask is None:
        return torch.softmax(scores, -1, out=block.buffers[1])
    return masked_softmax(scores.view(block.mask.shape), block.mask).view(scores.shape)


def add_by_row(x: Tensor, band: Band, by_row: Tensor) -> Tensor:
    """Add to x, in place, the number of each key's table row."""
    first_key, end_key, rows = band
    x[..., :first_key] += by_row[..., :1]
    x[..., first_key:end_key] += by_row.gather(-1, rows)
    x[..., end_key:] += by_row[..., -1:]
    return x


def sum_by_row(x: Tensor, band: Band, by_row: Tensor) -> None:
    """Add x to `by_row`, in place, at each key's table row."""
    first_key, end_key, rows = band
    by_row.scatter_add_(-1, rows, x[..., first_key:end_key])
    by_row[..., 0] += x[..., :first_key].sum(-1)
    by_row[..., -1] += x[..., end_key:].sum(-1)
