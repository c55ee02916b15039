r"""Relative position representations (chapter: relative).

$$e_{ij} = \frac{q_i^\top (k_j + a^K_{ij})}{\sqrt{d}}, \qquad
z_i = \sum_j w_{ij} \, (v_j + a^V_{ij}), \qquad
a_{ij} = \text{row } \mathrm{clip}(j - i, -\kappa, \kappa) + \kappa \text{ of a table}$$

Source: Shaw et al. (2018), eq. 3-5. The skew: Huang et al. (2019), section 3.4.1.
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from attncourse.dot_product import masked_softmax, require_fit
from attncourse.positional import sinusoids

# queries in a block: fewer leave the matrix products too small, more leave the processor's cache
BLOCK = 128


def relative_index(
    n: int, reach: int, device: torch.device | str | None = None
) -> Int[Tensor, "n n"]:
    """For query i and key j, the row of a table that serves them.

    It is clip(j - i, -reach, reach) + reach: row 0 is far to the left, the last far to the right.
    Source: Shaw et al. (2018), section 3.2.
    """
    if n < 0 or reach < 0:
        raise ValueError(f"n={n} and reach={reach}: neither may be below 0")
    position = torch.arange(n, device=device)
    return (position - position[:, None]).clamp(-reach, reach) + reach


def relative_attention_loops(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    a_k: Float[Tensor, "rows d"] | None,
    a_v: Float[Tensor, "rows e"] | None,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """Attention whose keys and values know how far away they are, one pair at a time.

    The specification of the other forms. Source: Shaw et al. (2018), eq. 3 and 4.
    """
    a_k, a_v = fitting_tables(q, k, v, a_k, a_v, mask)
    n, m, reach = q.shape[-2], k.shape[-2], a_k.shape[0] // 2
    outputs = []
    for i in range(n):
        # the queries are the last n of the m positions
        rows = [min(max(j - (m - n + i), -reach), reach) + reach for j in range(m)]
        pairs = [(q[..., i, :] * (k[..., j, :] + a_k[rows[j]])).sum(-1) for j in range(m)]
        scores = torch.stack(pairs, dim=-1)[..., None, :] / q.shape[-1] ** 0.5
        allowed = None if mask is None else mask.expand(*mask.shape[:-2], n, m)[..., i : i + 1, :]
        weights = masked_softmax(scores, allowed)
        terms = [weights[..., j] * (v[..., j, :] + a_v[rows[j]]) for j in range(m)]
        outputs.append(torch.stack(terms).sum(0))
    return torch.stack(outputs, dim=-2)


def relative_attention_dense(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    a_k: Float[Tensor, "rows d"] | None,
    a_v: Float[Tensor, "rows e"] | None,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """The same with a vector for each pair, in two tensors of n x m x d that all heads share.

    It is how the paper's own program does it. Source: Shaw et al. (2018), eq. 5.
    """
    a_k, a_v = fitting_tables(q, k, v, a_k, a_v, mask)
    index = index_of(q, k, a_k)
    scores = q @ k.mT + torch.einsum("...id,ijd->...ij", q, a_k[index])
    weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
    return weights @ v + torch.einsum("...ij,ije->...ie", weights, a_v[index])


def relative_attention_gather(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    a_k: Float[Tensor, "rows d"] | None,
    a_v: Float[Tensor, "rows e"] | None,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """The same from products with the tables themselves, so that nothing has n x m x d numbers.

    A query meets each row of the keys' table once, and each pair looks its product up;
    the weights of all keys that share a row of the values' table are added first.
    """
    a_k, a_v = fitting_tables(q, k, v, a_k, a_v, mask)
    index = index_of(q, k, a_k)
    by_row = q @ a_k.mT
    scores = q @ k.mT + by_row.gather(-1, index.expand(*by_row.shape[:-1], -1))
    weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
    shares = weights.new_zeros(*weights.shape[:-1], len(a_v))
    shares = shares.scatter_add(-1, index.expand_as(weights), weights)
    return weights @ v + shares @ a_v


def relative_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    a_k: Float[Tensor, "rows d"] | None,
    a_v: Float[Tensor, "rows e"] | None,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """The same with the weights of 128 queries at a time, in the backward pass too.

    At a fixed reach, what it makes grows with n, not with n x m. The backward pass computes the
    weights again, and has no gradient of its own.
    The blocks are those of Dao et al. (2022), section 3.1, cut along the queries alone.
    """
    a_k, a_v = fitting_tables(q, k, v, a_k, a_v, mask)
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    # a sum over many keys, kept for the backward pass, needs more digits than 16 bits hold
    exact = torch.promote_types(q.dtype, torch.float32)
    with autocast_off(q):
        wide_q, wide_k, wide_v = (x.to(exact).expand(*batch, *x.shape[-2:]) for x in (q, k, v))
        wide_q = wide_q / q.shape[-1] ** 0.5
        if mask is not None:
            mask = mask.expand(*batch, q.shape[-2], k.shape[-2])
        z, shares = AttentionInBlocks.apply(wide_q, wide_k, wide_v, wide_q @ a_k.to(exact).mT, mask)
        return (z + shares @ a_v.to(exact)).to(q.dtype)


class AttentionInBlocks(torch.autograd.Function):
    """Attention with a bias for each query and table row, which every key of that row gets.

    Gives the mean of the values, and the share of the attention that went to each table row.
    """

    @staticmethod
    def forward(ctx, q, k, v, bias, mask):
        """Each block's softmax, of which nothing is kept."""
        ctx.batch = q.shape[:-2]
        q, k, v, bias = (x.reshape(math.prod(ctx.batch), *x.shape[-2:]) for x in (q, k, v, bias))
        z, shares = q.new_empty(*q.shape[:-1], v.shape[-1]), torch.zeros_like(bias)
        for here, band, allowed, buffers in blocks_of(q, k, bias, mask):
            weights = weights_of(q[:, here], k, bias[:, here], band, allowed, buffers)
            z[:, here] = weights @ v
            sum_by_row(weights, band, shares[:, here])
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
        with autocast_off(q):
            for here, band, allowed, buffers in blocks_of(q, k, bias, mask):
                weights = weights_of(q[:, here], k, bias[:, here], band, allowed, buffers)
                dv.baddbmm_(dz[:, here].mT, weights)
                dweights = torch.bmm(dz[:, here], v.mT, out=buffers[0])
                dscores = add_by_row(dweights, band, dbias[:, here]).mul_(weights)
                dk.baddbmm_(q[:, here].mT, dscores)
                dq[:, here] = dscores @ k
                sum_by_row(dscores, band, drows[:, here])
        dqkv = (x.view(*ctx.batch, *x.shape[1:]) for x in (dq, dk.mT, dv.mT, drows))
        return *dqkv, None


def blocks_of(q: Tensor, k: Tensor, bias: Tensor, mask: Tensor | None) -> Iterator[tuple]:
    """For each block of queries: which, the keys that some reach with their rows, mask, buffers.

    All keys to the left of the band share the first row of a table, all to the right the last.
    The two buffers, as large as the scores, are the same for all: new memory takes time.
    """
    n, m, reach = q.shape[1], k.shape[1], bias.shape[-1] // 2
    buffers = [q.new_empty(len(q), min(BLOCK, n), m) for _ in range(2)]
    for start in range(0, n, BLOCK):
        here = slice(start, min(start + BLOCK, n))
        first, last = m - n + here.start, m - n + here.stop - 1
        left, right = max(first - reach, 0), min(last + reach + 1, m)
        query = torch.arange(first, last + 1, device=q.device)
        key = torch.arange(left, right, device=q.device)
        index = (key - query[:, None]).clamp(-reach, reach) + reach
        band = left, right, index.expand(len(q), *index.shape)
        mine = [buffer[:, : len(query)] for buffer in buffers]
        yield here, band, None if mask is None else mask[..., here, :], mine


def weights_of(
    q: Tensor, k: Tensor, bias: Tensor, band: tuple, mask: Tensor | None, buffers: list[Tensor]
) -> Tensor:
    """A block's weights; the first buffer is free afterwards."""
    scores = add_by_row(torch.bmm(q, k.mT, out=buffers[0]), band, bias)
    if mask is None:
        return torch.softmax(scores, -1, out=buffers[1])
    return masked_softmax(scores.view(mask.shape), mask).view(scores.shape)


def add_by_row(x: Tensor, band: tuple, by_row: Tensor) -> Tensor:
    """x, with the number of its table row added to each key."""
    left, right, index = band
    x[..., :left] += by_row[..., :1]
    x[..., left:right] += by_row.gather(-1, index)
    x[..., right:] += by_row[..., -1:]
    return x


def sum_by_row(x: Tensor, band: tuple, by_row: Tensor) -> None:
    """Add x to the table row of each key."""
    left, right, index = band
    by_row.scatter_add_(-1, index, x[..., left:right])
    by_row[..., 0] += x[..., :left].sum(-1)
    by_row[..., -1] += x[..., right:].sum(-1)


def autocast_off(x: Tensor) -> torch.autocast:
    """A place without torch.autocast, which would take matrix products in 16 bits."""
    known = torch.amp.is_autocast_available(x.device.type)
    return torch.autocast(x.device.type if known else "cpu", enabled=False)


class RelativeAttention(nn.Module):
    """Relative attention with tables of its own, which all heads share (`attend=` of a layer).

    Without `keys` or without `values`, that table is left out, as in Shaw et al. (2018), table 3.
    """

    def __init__(self, d_h: int, reach: int, keys: bool = True, values: bool = True):
        super().__init__()
        if reach < 0 or d_h < 1:
            raise ValueError(f"reach={reach} may not be below 0, nor d_h={d_h} below 1")
        if not (keys or values):
            raise ValueError(f"keys={keys}, values={values}: nothing would know a position")
        self.a_k = nn.Parameter(torch.empty(2 * reach + 1, d_h)) if keys else None
        self.a_v = nn.Parameter(torch.empty(2 * reach + 1, d_h)) if values else None
        for table in self.parameters():
            nn.init.xavier_uniform_(table)

    def forward(
        self,
        q: Float[Tensor, "*batch n d"],
        k: Float[Tensor, "*batch m d"],
        v: Float[Tensor, "*batch m e"],
        mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    ) -> Float[Tensor, "*batch n e"]:
        """For each query, the mean of the values and of what their distance adds to them."""
        return relative_attention(q, k, v, self.a_k, self.a_v, mask)


def skew(x: Float[Tensor, "*batch n offsets"]) -> Float[Tensor, "*batch n n"]:
    """From a column for each offset, -(n-1) to n-1, to one for each key: row i moves left by n-1-i.

    It does for keys on both sides what Huang et al. (2019), section 3.4.1, do for earlier ones.
    """
    n, offsets = x.shape[-2:]
    if offsets != max(2 * n - 1, 0):
        raise ValueError(f"{n} queries have {2 * n - 1} offsets, not {offsets}")
    # with one more number in each row, rows cut as long as before start ever earlier in their query
    moved = pad(x, (1, 0)).flatten(-2)[..., n:]
    return moved.unflatten(-1, (n, offsets))[..., :n]


def causal_skew(x: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """From a column for each offset, -(n-1) to 0, to one for each key; later keys get zeros.

    Source: Huang et al. (2019), section 3.4.1.
    """
    n, offsets = x.shape[-2:]
    if offsets != n:
        raise ValueError(f"{n} queries have {n} offsets up to 0, not {offsets}")
    # what lands at later keys comes from another row: only the lower triangle is meant
    return pad(x, (1, 0)).flatten(-2)[..., n:].unflatten(-1, (n, n)).tril()


def sinusoidal_relative(
    n: int, d: int, device: torch.device | str | None = None
) -> Float[Tensor, "offsets d"]:
    """A table that nobody learns: row n-1+o holds the sinusoids of the offset o, -n < o < n.

    It has every offset there is, so nothing is clipped. Source: Dai et al. (2019), section 3.3.
    """
    if n < 1 or d < 1:
        raise ValueError(f"n={n} and d={d}: both must be at least 1")
    return sinusoids(2 * n - 1, d, device, start=1 - n)


def t5_buckets(
    n: int,
    buckets: int = 32,
    farthest: int = 128,
    bidirectional: bool = True,
    device: torch.device | str | None = None,
) -> Int[Tensor, "n n"]:
    """For query i and key j, the bucket whose learned number is added to their score.

    Half of a direction's buckets hold one distance each; the others grow as powers, so that one
    more would begin at `farthest`. The last has no end: for 32 and 128, it has all from 91 on (113
    in one direction). In one direction, all later keys are in bucket 0.
    Source: Raffel et al. (2020), section 2.1, and its program.
    """
    sides = 2 if bidirectional else 1
    near = buckets // sides // 2
    if buckets % sides or near < 1 or farthest <= near:
        raise ValueError(
            f"buckets={buckets} for {sides} directions leave {near} exact ones each, which must "
            f"be at least 1 and less than farthest={farthest}"
        )
    far = buckets // sides - near
    # the least distance of each bucket but the first; a root may come out just above a whole number
    powers = (near * (farthest / near) ** (step / far) for step in range(far))
    smallest = [*range(1, near), *(math.ceil(power - 1e-9) for power in powers)]
    position = torch.arange(n, device=device)
    offset = position - position[:, None]
    distance = offset.abs() if bidirectional else (-offset).clamp(min=0)
    bucket = torch.bucketize(distance, torch.tensor(smallest, device=device), right=True)
    return bucket + (offset > 0) * (buckets // 2) if bidirectional else bucket


def alibi_bias(
    heads: int, n: int, device: torch.device | str | None = None
) -> Float[Tensor, "heads n n"]:
    """What is added to the scores: minus the distance, steeper in the first heads.

    Head h of H, from 1, has the slope 2^(-8 h / H). Source: Press et al. (2022), section 3, for
    earlier keys; later ones get the same penalty here.
    """
    if heads < 1 or n < 0:
        raise ValueError(f"heads={heads} must be at least 1, n={n} at least 0")
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1, device=device) / heads)
    position = torch.arange(n, device=device)
    return -slopes[:, None, None] * (position - position[:, None]).abs()


def rope(
    x: Float[Tensor, "*batch n d"], positions: Int[Tensor, "*#batch n"]
) -> Float[Tensor, "*batch n d"]:
    """Each pair of neighbouring columns turned by its position times the pair's frequency.

    Turned queries and keys have dot products in which only offsets count.
    Source: Su et al. (2021), eq. 34.
    """
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"d={d} is odd: the columns are turned in pairs")
    exact = torch.promote_types(x.dtype, torch.float32)
    frequency = 10000.0 ** (-torch.arange(0, d, 2, device=x.device, dtype=exact) / d)
    angle = positions[..., None] * frequency
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def fitting_tables(
    q: Tensor, k: Tensor, v: Tensor, a_k: Tensor | None, a_v: Tensor | None, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The two tables, zeros for one left out; ValueError, with the sizes, where they do not fit."""
    require_fit(q, k, v, mask)
    given = [table for table in (a_k, a_v) if table is not None]
    if not given:
        raise ValueError("a_k and a_v are both None: without a table, use attention")
    if q.shape[-2] > k.shape[-2]:
        raise ValueError(f"{q.shape[-2]} queries cannot be the last of {k.shape[-2]} positions")
    for name, table, of, width in (("a_k", a_k, "k", k), ("a_v", a_v, "v", v)):
        if table is None:
            continue
        if table.dim() != 2 or table.shape[0] % 2 == 0:
            raise ValueError(f"{name}={tuple(table.shape)} must have 2 * reach + 1 rows")
        if table.shape[1] != width.shape[-1]:
            raise ValueError(
                f"{name}={tuple(table.shape)} has not the width of {of}={tuple(width.shape)}"
            )
    if len(given[0]) != len(given[-1]):
        raise ValueError(f"a_k has {len(given[0])} rows and a_v has {len(given[-1])}: one reach")
    a_k = q.new_zeros(len(given[0]), q.shape[-1]) if a_k is None else a_k
    a_v = v.new_zeros(len(given[0]), v.shape[-1]) if a_v is None else a_v
    return a_k, a_v


def index_of(q: Tensor, k: Tensor, table: Tensor) -> Tensor:
    """The row of the table for each query and key; the queries are the last of the positions."""
    n, m = q.shape[-2], k.shape[-2]
    return relative_index(m, len(table) // 2, q.device)[m - n :]
