"""Relative attention in blocks of queries: what it makes grows with n, not with n x m.

The backward pass computes each block's weights again, as in Dao et al. (2022), section 3.1; the
blocks are cut along the queries alone.
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

# queries in a block: fewer leave the matrix products too small, more leave the processor's cache
BLOCK = 128


class Band(NamedTuple):
    """The keys within `max_distance` of some query of a block, and their rows of a table.

    All keys to the left of the band share the first row, all to the right the last.
    """

    left: int
    right: int
    rows: Int[Tensor, "batch block band"]


class Block(NamedTuple):
    """A block of queries: its place, its band, its mask, and two buffers as large as its scores."""

    here: slice
    band: Band
    mask: Bool[Tensor, "*batch block m"] | None
    buffers: list[Float[Tensor, "batch block m"]]


class BlockwiseRelativeAttention(torch.autograd.Function):
    """Attention with a bias for each query and table row, which every key of that row gets.

    Gives the mean of the values, and the share of the attention that went to each table row.
    """

    @staticmethod
    def forward(ctx, q, k, v, bias, mask):
        """Each block's softmax, of which nothing is kept."""
        ctx.batch = q.shape[:-2]
        q, k, v, bias = (x.reshape(math.prod(ctx.batch), *x.shape[-2:]) for x in (q, k, v, bias))
        z, shares = q.new_empty(*q.shape[:-1], v.shape[-1]), torch.zeros_like(bias)
        for block in blocks_of(q, k, bias, mask):
            weights = weights_of(q, k, bias, block)
            z[:, block.here] = weights @ v
            sum_by_row(weights, block.band, shares[:, block.here])
        ctx.save_for_backward(q, k, v, bias, mask, z, shares)
        return tuple(x.view(*ctx.batch, *x.shape[1:]) for x in (z, shares))

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):  # pyright: ignore[reportIncompatibleMethodOverride]
        """Each block's weights once more, and what they hand back."""
        q, k, v, bias, mask, z, shares = ctx.saved_tensors
        dz, dshares = (dx.reshape(x.shape) for dx, x in zip(grads, (z, shares), strict=True))
        # what the softmax takes off: the mean, under the weights, of the gradients at the weights
        dbias = dshares - (dz * z).sum(-1, True) - (dshares * shares).sum(-1, True)
        dq, drows = torch.empty_like(q), torch.zeros_like(bias)
        # queries times keys is the faster way around for these products, so they are transposed
        dk, dv = (x.new_zeros(len(x), x.shape[2], x.shape[1]) for x in (k, v))
        with no_autocast(q):
            for block in blocks_of(q, k, bias, mask):
                here, weights = block.here, weights_of(q, k, bias, block)
                dv.baddbmm_(dz[:, here].mT, weights)
                dweights = torch.bmm(dz[:, here], v.mT, out=block.buffers[0])
                dscores = add_by_row(dweights, block.band, dbias[:, here]).mul_(weights)
                dk.baddbmm_(q[:, here].mT, dscores)
                dq[:, here] = dscores @ k
                sum_by_row(dscores, block.band, drows[:, here])
        dqkv = (x.view(*ctx.batch, *x.shape[1:]) for x in (dq, dk.mT, dv.mT, drows))
        return *dqkv, None


def blocks_of(q: Tensor, k: Tensor, bias: Tensor, mask: Tensor | None) -> Iterator[Block]:
    """The queries in blocks; they are the last of the positions of the keys."""
    n, m, max_distance = q.shape[1], k.shape[1], bias.shape[-1] // 2
    # the same memory for all blocks: new memory takes time
    buffers = [q.new_empty(len(q), min(BLOCK, n), m) for _ in range(2)]
    for start in range(0, n, BLOCK):
        here = slice(start, min(start + BLOCK, n))
        first, last = m - n + here.start, m - n + here.stop - 1
        left, right = max(first - max_distance, 0), min(last + max_distance + 1, m)
        query = torch.arange(first, last + 1, device=q.device)
        key = torch.arange(left, right, device=q.device)
        rows = (key - query[:, None]).clamp(-max_distance, max_distance) + max_distance
        band = Band(left, right, rows.expand(len(q), *rows.shape))
        mine = [buffer[:, : len(query)] for buffer in buffers]
        yield Block(here, band, None if mask is None else mask[..., here, :], mine)


def weights_of(q: Tensor, k: Tensor, bias: Tensor, block: Block) -> Tensor:
    """A block's weights, in its second buffer or in new memory; the first is free afterwards."""
    scores = torch.bmm(q[:, block.here], k.mT, out=block.buffers[0])
    scores = add_by_row(scores, block.band, bias[:, block.here])
    if block.mask is None:
        return torch.softmax(scores, -1, out=block.buffers[1])
    return masked_softmax(scores.view(block.mask.shape), block.mask).view(scores.shape)


def add_by_row(x: Tensor, band: Band, by_row: Tensor) -> Tensor:
    """x, with the number of its table row added to each key."""
    left, right, rows = band
    x[..., :left] += by_row[..., :1]
    x[..., left:right] += by_row.gather(-1, rows)
    x[..., right:] += by_row[..., -1:]
    return x


def sum_by_row(x: Tensor, band: Band, by_row: Tensor) -> None:
    """Add x to the table row of each key."""
    left, right, rows = band
    by_row.scatter_add_(-1, rows, x[..., left:right])
    by_row[..., 0] += x[..., :left].sum(-1)
    by_row[..., -1] += x[..., right:].sum(-1)
