r"""Positions, in the sentence and in its tree (chapter: positional).

$$p_{t,2i} = \sin(t / 10000^{2i/d}), \qquad p_{t,2i+1} = \cos(t / 10000^{2i/d})$$

Source: Vaswani et al. (2017), section 3.5. Positions in a tree: after Wang et al. (2019).
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse.shapes import shaped


def sinusoids(
    n: int,
    d: int,
    device: torch.device | str | None = None,
    *,
    start: int = 0,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "n d"]:
    """A row for each position from start on, in which sines and cosines alternate.

    The last column of an odd width is a sine.
    Source: Vaswani et al. (2017), section 3.5.
    """
    if n < 0 or d < 1:
        raise ValueError(f"n={n}, d={d}: n must be at least 0 and d at least 1")
    # float32 has few digits left for the fraction of a turn of a far position
    exact = {"device": device, "dtype": torch.float64}
    position = torch.arange(start, start + n, **exact)
    frequency = 10000 ** (-torch.arange(0, d, 2, **exact) / d)
    angle = position[:, None] * frequency
    rows = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
    return rows[:, :d].to(dtype or torch.get_default_dtype())


class SinusoidalEncoding(nn.Module):
    """Adds the sinusoids to x, at any length.

    Source: Vaswani et al. (2017), section 3.5.
    """

    def __init__(self, d: int):
        super().__init__()
        self.d = d

    @shaped
    def forward(
        self, x: Float[Tensor, "*batch n {self.d}"], start: int = 0
    ) -> Float[Tensor, "*batch n {self.d}"]:
        """x plus a row for each of its positions; the first of them is `start`."""
        n = x.shape[-2]
        return x + sinusoids(n, self.d, x.device, start=start, dtype=x.dtype)


class LearnedEncoding(nn.Module):
    """Adds to x a learned row for each position; a table of max_n rows ends there.

    Source: Gehring et al. (2017), section 3.1.
    """

    def __init__(self, max_n: int, d: int):
        super().__init__()
        self.d = d
        # as large as the sinusoids: the mean of their squares is 1/2
        self.table = nn.Parameter(torch.randn(max_n, d) / 2**0.5)

    @shaped
    def forward(
        self, x: Float[Tensor, "*batch n {self.d}"], start: int = 0
    ) -> Float[Tensor, "*batch n {self.d}"]:
        """x plus a row for each of its positions; the first of them is `start`."""
        end, rows = start + x.shape[-2], len(self.table)
        if not 0 <= start <= end <= rows:
            positions = f"positions {start} to {end - 1}"
            raise ValueError(f"x has {positions}, but the table has {rows} rows")
        return x + self.table[start:end]


class MLPEncoding(nn.Module):
    """Adds to x what a small network makes of the number of each position.

    It takes any length, but nothing has taught it positions beyond training.
    """

    def __init__(self, d: int, hidden: int):
        super().__init__()
        self.d = d
        self.hidden, self.out = nn.Linear(1, hidden), nn.Linear(hidden, d)

    @shaped
    def forward(
        self, x: Float[Tensor, "*batch n {self.d}"], start: int = 0
    ) -> Float[Tensor, "*batch n {self.d}"]:
        """x plus a row for each of its positions; the first of them is `start`."""
        end = start + x.shape[-2]
        position = torch.arange(start, end, device=x.device, dtype=x.dtype)
        return x + self.out(torch.tanh(self.hidden(position[:, None])))


@shaped
def ancestors(parents: Int[Tensor, "*batch n"]) -> Bool[Tensor, "*batch n n"]:
    """True at [t, u] where token u is token t or above it.

    parents[t] is the token above t, or -1 at a root.
    """
    require_parents(parents)
    n = parents.shape[-1]
    place = torch.arange(n, device=parents.device)
    above = ((parents[..., None] == place) | (place[:, None] == place)).float()
    # what is above its ancestors is above a token: each step sees twice as far up
    for _ in range(n.bit_length()):
        above = (above @ above).clamp(max=1)
    require_roots(parents, above > 0)
    return above > 0


def tree_depth(parents: Int[Tensor, "*batch n"]) -> Int[Tensor, "*batch n"]:
    """How many tokens are above each token in its tree: 0 at a root.

    Source: Wang et al. (2019), absolute structural positions.
    """
    return (ancestors(parents).sum(-1) - 1).to(parents.dtype)


def tree_distance(parents: Int[Tensor, "*batch n"]) -> Int[Tensor, "*batch n n"]:
    """The number of edges between tokens t and u in the tree, with the sign of u - t.

    From tree to tree, the path leads over one more node, above all roots.
    Signed distances are from Wang et al. (2019), who make them of the two depths;
    here the edges are counted.
    """
    above = ancestors(parents).float()
    count, shared = above.sum(-1), above @ above.mT
    # the path has one edge for each token that is above only one of t and u; each is above itself
    edges = count[..., :, None] + count[..., None, :] - 2 * shared
    place = torch.arange(parents.shape[-1], device=parents.device)
    return (edges * (place - place[:, None]).sign()).to(parents.dtype)


def require_parents(parents: Int[Tensor, "*batch n"]) -> None:
    """Raise ValueError, with the index, where a parent is neither -1 nor one of the tokens."""
    n = parents.shape[-1]
    # a tensor without numbers has no parent that could be wrong
    outside = [] if parents.is_meta else ((parents < -1) | (parents >= n)).nonzero().tolist()
    if outside:
        index = outside[0]
        parent = parents[tuple(index)].item()
        raise ValueError(
            f"parents{index} is {parent}, but it must be from 0 to {n - 1}, or -1 at a root"
        )


def require_roots(
    parents: Int[Tensor, "*batch n"], is_ancestor: Bool[Tensor, "*batch n n"]
) -> None:
    """Raise ValueError, with the token, where the chain of parents contains a cycle."""
    has_root = (is_ancestor & (parents < 0)[..., None, :]).any(-1)
    rootless = [] if parents.is_meta else (~has_root).nonzero().tolist()
    if rootless:
        index = rootless[0]
        tree = parents[tuple(index[:-1])].tolist()
        raise ValueError(
            f"parents={tree}: the path up from token {index[-1]} ends in a cycle, not at a root"
        )
