"""Shaw's relative positions: a table of vectors for keys and values, in four forms.

Source: Shaw et al. (2018), eq. 3-5.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse.dot_product import masked_softmax
from attncourse.kernels.relative import BlockwiseRelativeAttention
from attncourse.precision import upcast
from attncourse.shapes import shaped

# shapes that all forms share
Queries = Float[Tensor, "*batch n d"]
Keys = Float[Tensor, "*batch m d"]
Values = Float[Tensor, "*batch m e"]
KeyTable = Float[Tensor, "rows d"] | None
ValueTable = Float[Tensor, "rows e"] | None
Mask = Bool[Tensor, "*#batch #n #m"] | None
Output = Float[Tensor, "*batch n e"]


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


def both_tables(
    q: Queries, k: Keys, v: Values, a_k: KeyTable, a_v: ValueTable
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
    if a_k is None:
        a_k = q.new_zeros(rows, q.shape[-1])
    if a_v is None:
        a_v = v.new_zeros(rows, v.shape[-1])
    return a_k, a_v


def index_of(q: Tensor, k: Tensor, table: Tensor) -> Tensor:
    """The row of the table for each query and key; the queries are the last of the positions."""
    n, m = q.shape[-2], k.shape[-2]
    return relative_index(m, len(table) // 2, q.device)[m - n :]


@shaped
def relative_attention_loops(
    q: Queries, k: Keys, v: Values, a_k: KeyTable, a_v: ValueTable, mask: Mask = None
) -> Output:
    """Relative attention, one pair at a time: the specification of the other forms.

    Source: Shaw et al. (2018), eq. 3 and 4.
    """
    a_k, a_v = both_tables(q, k, v, a_k, a_v)
    n, m, max_distance = q.shape[-2], k.shape[-2], len(a_k) // 2
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], n, m)
    outputs = []
    for i in range(n):
        # the queries are the last n of the m positions
        offsets = [j - (m - n + i) for j in range(m)]
        rows = [min(max(o, -max_distance), max_distance) + max_distance for o in offsets]
        products = [(q[..., i, :] * (k[..., j, :] + a_k[rows[j]])).sum(-1) for j in range(m)]
        scores = torch.stack(products, dim=-1)[..., None, :] / q.shape[-1] ** 0.5
        allowed = None if mask is None else mask[..., i : i + 1, :]
        weights = masked_softmax(scores, allowed)
        terms = [weights[..., 0, j, None] * (v[..., j, :] + a_v[rows[j]]) for j in range(m)]
        outputs.append(torch.stack(terms).sum(0))
    return torch.stack(outputs, dim=-2)


@shaped
def relative_attention_dense(
    q: Queries, k: Keys, v: Values, a_k: KeyTable, a_v: ValueTable, mask: Mask = None
) -> Output:
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
    q: Queries, k: Keys, v: Values, a_k: KeyTable, a_v: ValueTable, mask: Mask = None
) -> Output:
    """Relative attention from n x m numbers per head.

    Each query is multiplied with each row of the keys' table once, and each pair
    looks its product up; weights whose keys share a row of the values' table are
    added before the product.
    Source: Shaw et al. (2018), eq. 3 and 4.
    """
    a_k, a_v = both_tables(q, k, v, a_k, a_v)
    by_row = q @ a_k.mT
    index = index_of(q, k, a_k).expand(*by_row.shape[:-1], -1)
    scores = q @ k.mT + by_row.gather(-1, index)
    weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
    shares = weights.new_zeros(*weights.shape[:-1], len(a_v))
    shares = shares.scatter_add(-1, index.expand_as(weights), weights)
    return weights @ v + shares @ a_v


@shaped
@upcast
def relative_attention(
    q: Queries, k: Keys, v: Values, a_k: KeyTable, a_v: ValueTable, mask: Mask = None
) -> Output:
    """Relative attention in blocks of 128 queries.

    At a fixed max_distance, its tensors grow with n + m, not with n x m, because
    the backward pass computes each block's weights again. There are no second
    derivatives. It computes in float32 at least. Source: Shaw et al. (2018), eq. 3
    and 4; blocks of queries: Rabe & Staats (2021).
    """
    a_k, a_v = both_tables(q, k, v, a_k, a_v)
    q = q / q.shape[-1] ** 0.5
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    q, k, v = (x.expand(*batch, *x.shape[-2:]) for x in (q, k, v))
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
    one_sequence = True

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
