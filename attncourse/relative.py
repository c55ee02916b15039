r"""Relative position representations (chapter: relative).

$$e_{ij} = \frac{q_i^\top (k_j + a^K_{ij})}{\sqrt{d}}, \qquad
z_i = \sum_j w_{ij} \, (v_j + a^V_{ij}), \qquad
a_{ij} = \text{row } \mathrm{clip}(j - i, -\kappa, \kappa) + \kappa \text{ of a table}$$

Source: Shaw et al. (2018), eq. 3-5. The skew: Huang et al. (2019), section 3.4.1.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from attncourse.dot_product import masked_softmax
from attncourse.kernels.relative import BlockwiseRelativeAttention
from attncourse.positional import sinusoids
from attncourse.precision import upcast
from attncourse.shapes import shaped


def relative_index(
    n: int, max_distance: int, device: torch.device | str | None = None
) -> Int[Tensor, "n n"]:
    """For query i and key j, the row of the table that serves them.

    It is clip(j - i, -max_distance, max_distance) + max_distance: row 0 serves the
    keys far to the left, the last row those far to the right.
    Source: Shaw et al. (2018), section 3.2.
    """
    if n < 0 or max_distance < 0:
        raise ValueError(f"n={n} and max_distance={max_distance}: neither may be negative")
    position = torch.arange(n, device=device)
    return (position - position[:, None]).clamp(-max_distance, max_distance) + max_distance


@shaped
def relative_attention_loops(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    a_k: Float[Tensor, "rows d"] | None,
    a_v: Float[Tensor, "rows e"] | None,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """Relative attention, one pair at a time: the specification of the other forms.

    Source: Shaw et al. (2018), eq. 3 and 4.
    """
    a_k, a_v = both_tables(q, k, v, a_k, a_v)
    n, m, most = q.shape[-2], k.shape[-2], a_k.shape[0] // 2
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], n, m)
    outputs = []
    for i in range(n):
        # the queries are the last n of the m positions
        offsets = [j - (m - n + i) for j in range(m)]
        rows = [min(max(o, -most), most) + most for o in offsets]
        pairs = [(q[..., i, :] * (k[..., j, :] + a_k[rows[j]])).sum(-1) for j in range(m)]
        scores = torch.stack(pairs, dim=-1)[..., None, :] / q.shape[-1] ** 0.5
        allowed = None if mask is None else mask[..., i : i + 1, :]
        weights = masked_softmax(scores, allowed)
        terms = [weights[..., j] * (v[..., j, :] + a_v[rows[j]]) for j in range(m)]
        outputs.append(torch.stack(terms).sum(0))
    return torch.stack(outputs, dim=-2)


@shaped
def relative_attention_dense(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    a_k: Float[Tensor, "rows d"] | None,
    a_v: Float[Tensor, "rows e"] | None,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """Relative attention with a vector for each pair.

    Builds two tensors of n x m x d numbers, which all heads share, as the paper's
    own code does.
    Source: Shaw et al. (2018), eq. 5.
    """
    a_k, a_v = both_tables(q, k, v, a_k, a_v)
    index = index_of(q, k, a_k)
    scores = q @ k.mT + torch.einsum("...id,ijd->...ij", q, a_k[index])
    weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
    return weights @ v + torch.einsum("...ij,ije->...ie", weights, a_v[index])


@shaped
def relative_attention_gather(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    a_k: Float[Tensor, "rows d"] | None,
    a_v: Float[Tensor, "rows e"] | None,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """Relative attention from n x m numbers per head.

    Each query is multiplied with each row of the keys' table once, and each pair
    looks its product up; weights whose keys share a row of the values' table are
    added before the product.
    Source: Shaw et al. (2018), eq. 3 and 4.
    """
    a_k, a_v = both_tables(q, k, v, a_k, a_v)
    index = index_of(q, k, a_k)
    by_row = q @ a_k.mT
    scores = q @ k.mT + by_row.gather(-1, index.expand(*by_row.shape[:-1], -1))
    weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
    shares = weights.new_zeros(*weights.shape[:-1], len(a_v))
    shares = shares.scatter_add(-1, index.expand_as(weights), weights)
    return weights @ v + shares @ a_v


@shaped
@upcast
def relative_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    a_k: Float[Tensor, "rows d"] | None,
    a_v: Float[Tensor, "rows e"] | None,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """Relative attention in blocks of 128 queries.

    At a fixed max_distance, its tensors grow with n + m, not with n x m, because
    the backward pass computes each block's weights again. There are no second
    derivatives. It computes in float32 at least. Source: Shaw et al. (2018), eq. 3
    and 4; blocks of queries: Rabe & Staats (2021).
    """
    a_k, a_v = both_tables(q, k, v, a_k, a_v)
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    q, k, v = (x.expand(*batch, *x.shape[-2:]) for x in (q / q.shape[-1] ** 0.5, k, v))
    if mask is not None:
        mask = mask.expand(*batch, q.shape[-2], k.shape[-2])
    z, shares = BlockwiseRelativeAttention.apply(q, k, v, q @ a_k.mT, mask)
    return z + shares @ a_v


class RelativeAttention(nn.Module):
    """Relative attention with learned tables that all heads share.

    A multi-head layer takes it as `attend=`. `keys=False` or `values=False` leaves
    that table out, as in Shaw et al. (2018), table 3.
    """

    # two sequences have no offsets between them
    by_offset = True

    def __init__(self, d_h: int, max_distance: int, keys: bool = True, values: bool = True):
        super().__init__()
        if max_distance < 0 or d_h < 1:
            raise ValueError(
                f"max_distance={max_distance} may not be negative, and d_h={d_h} must be at least 1"
            )
        if not (keys or values):
            raise ValueError(f"keys={keys}, values={values}: without a table, use attention")
        self.a_k = nn.Parameter(torch.empty(2 * max_distance + 1, d_h)) if keys else None
        self.a_v = nn.Parameter(torch.empty(2 * max_distance + 1, d_h)) if values else None
        for table in self.parameters():
            nn.init.xavier_uniform_(table)

    def forward(
        self,
        q: Float[Tensor, "*batch n d"],
        k: Float[Tensor, "*batch m d"],
        v: Float[Tensor, "*batch m e"],
        mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    ) -> Float[Tensor, "*batch n e"]:
        """For each query, the weighted mean of values and their vectors from the table."""
        return relative_attention(q, k, v, self.a_k, self.a_v, mask)


@shaped
def skew(x: Float[Tensor, "*batch n offsets"]) -> Float[Tensor, "*batch n n"]:
    """From a column per offset, -(n-1) to n-1, to one per key: row i moves n-1-i left.

    Huang et al. (2019), section 3.4.1, have it for earlier keys, Bello et al.
    (2019) for all.
    """
    n, offsets = x.shape[-2:]
    if offsets != max(2 * n - 1, 0):
        raise ValueError(f"{n} queries have {2 * n - 1} offsets, not {offsets}")
    # one more number in each row: each re-cut row starts one entry further left
    moved = pad(x, (1, 0)).flatten(-2)[..., n:]
    return moved.unflatten(-1, (n, offsets))[..., :n]


@shaped
def causal_skew(x: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """From a column per offset, -(n-1) to 0, to a column per key; later keys get zeros.

    Source: Huang et al. (2019), section 3.4.1.
    """
    n, offsets = x.shape[-2:]
    if offsets != n:
        raise ValueError(f"{n} queries have {n} offsets up to 0, not {offsets}")
    # what lands on later keys belongs to the next query: keep the lower triangle
    return pad(x, (1, 0)).flatten(-2)[..., n:].unflatten(-1, (n, n)).tril()


def sinusoidal_relative(
    n: int, d: int, device: torch.device | str | None = None
) -> Float[Tensor, "offsets d"]:
    """A fixed table: row n-1+o holds the sinusoids of the offset o, -n < o < n.

    Every offset has a row, so nothing is clipped. Source: Dai et al. (2019),
    section 3.3.
    """
    if n < 1 or d < 1:
        raise ValueError(f"n={n} and d={d}: both must be at least 1")
    return sinusoids(2 * n - 1, d, device, start=1 - n)


def t5_buckets(
    n: int,
    num_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
    device: torch.device | str | None = None,
) -> Int[Tensor, "n n"]:
    """For query i and key j, the bucket whose learned number is added to their score.

    Half of a direction's buckets hold one distance each. The others widen
    geometrically, so that one more would begin at `max_distance`. The last bucket
    has no end: for 32 and 128 it holds all distances from 91 on (from 113 in one
    direction). In one direction, later keys are in bucket 0.
    Source: Raffel et al. (2020), section 2.1, and their code.
    """
    sides = 2 if bidirectional else 1
    near = num_buckets // sides // 2
    if num_buckets % sides or near < 1 or max_distance <= near:
        raise ValueError(
            f"num_buckets={num_buckets} for {sides} directions leave {near} exact buckets each; "
            f"that must be a whole number from 1 to below max_distance={max_distance}"
        )
    far = num_buckets // sides - near
    # where each bucket but the first begins; a root may lie just above a whole number
    powers = (near * (max_distance / near) ** (step / far) for step in range(far))
    smallest = [*range(1, near), *(math.ceil(power - 1e-9) for power in powers)]
    position = torch.arange(n, device=device)
    offset = position - position[:, None]
    distance = offset.abs() if bidirectional else (-offset).clamp(min=0)
    bucket = torch.bucketize(distance, torch.tensor(smallest, device=device), right=True)
    return bucket + (offset > 0) * (num_buckets // 2) if bidirectional else bucket


def alibi_bias(
    heads: int, n: int, device: torch.device | str | None = None
) -> Float[Tensor, "heads n n"]:
    """What is added to the scores: minus the distance times the slope of the head.

    Head h of H, counted from 1, has the slope 2^(-8 h / H).
    Source: Press et al. (2022), section 3, for earlier keys; later keys get the
    same penalty, as the authors suggest for encoders.
    """
    if heads < 1 or n < 0:
        raise ValueError(f"heads={heads} must be at least 1, n={n} at least 0")
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1, device=device) / heads)
    position = torch.arange(n, device=device)
    return -slopes[:, None, None] * (position - position[:, None]).abs()


@shaped
def rope(
    x: Float[Tensor, "*batch n d"],
    positions: Int[Tensor, "*#batch n"],
    base: float = 10000.0,
    scale: float = 1.0,
) -> Float[Tensor, "*batch n d"]:
    """Pairs of neighbouring columns, rotated by position times the pair's frequency.

    Dot products of rotated queries and keys depend on positions through offsets
    alone. A `scale` of s rotates all pairs s times as slowly: position interpolation,
    Chen et al. (2023).
    Source: Su et al. (2021), eq. 34.
    """
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"d={d} is odd: the columns are rotated in pairs")
    if base <= 0 or scale <= 0:
        raise ValueError(f"base={base} and scale={scale}: both must be above 0")
    exact = torch.promote_types(x.dtype, torch.float32)
    frequency = base ** (-torch.arange(0, d, 2, device=x.device, dtype=exact) / d) / scale
    angle = positions[..., None] * frequency
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def both_tables(
    q: Tensor, k: Tensor, v: Tensor, a_k: Tensor | None, a_v: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The two tables, zeros for one that is None; ValueError where they do not fit.

    The queries are the last of the keys' positions, and a table has
    2 * max_distance + 1 rows.
    """
    tables = {name: x for name, x in (("a_k", a_k), ("a_v", a_v)) if x is not None}
    if not tables:
        raise ValueError("a_k and a_v are both None: without a table, use attention")
    if q.shape[-2] > k.shape[-2]:
        raise ValueError(f"{q.shape[-2]} queries cannot be the last of {k.shape[-2]} positions")
    for name, table in tables.items():
        if len(table) % 2 == 0:
            raise ValueError(f"{name}={tuple(table.shape)} must have 2 * max_distance + 1 rows")
    rows = len(next(iter(tables.values())))
    a_k = q.new_zeros(rows, q.shape[-1]) if a_k is None else a_k
    return a_k, v.new_zeros(rows, v.shape[-1]) if a_v is None else a_v


def index_of(q: Tensor, k: Tensor, table: Tensor) -> Tensor:
    """The row of the table for each query and key; the queries are the last of the positions."""
    n, m = q.shape[-2], k.shape[-2]
    return relative_index(m, len(table) // 2, q.device)[m - n :]
