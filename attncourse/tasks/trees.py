"""Relative positions of two kinds: in the sentence, and in its dependency tree."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse.dot_product import masked_softmax
from attncourse.positional import tree_distance
from attncourse.relative import relative_index


class TreeAttention(nn.Module):
    """Relative attention by the signed distance in the tree and, if asked for, by the offset.

    Both are clipped to `max_distance`. With `offsets`, each pair of a distance and an offset has
    its own row. `parents`, (batch, n), is set before each call, for heads of that batch.
    Source: Shaw et al. (2018), section 3.1, for any labelled relation; Wang et al. (2019),
    section 3.2, for the distance in the tree.
    """

    one_sequence = True
    parents: Int[Tensor, "batch n"]

    def __init__(self, d_h: int, max_distance: int, offsets: bool = False):
        super().__init__()
        self.max_distance, self.offsets = max_distance, offsets
        rows = (2 * max_distance + 1) ** (2 if offsets else 1)
        self.a_k, self.a_v = (nn.Parameter(torch.empty(rows, d_h)) for _ in range(2))
        for table in self.parameters():
            nn.init.xavier_uniform_(table)

    def index(self) -> Int[Tensor, "batch n n"]:
        """For each two tokens of a sentence, their row of the tables."""
        most = self.max_distance
        index = tree_distance(self.parents).clamp(-most, most) + most
        if self.offsets:
            n = self.parents.shape[-1]
            index = index * (2 * most + 1) + relative_index(n, most, self.parents.device)
        return index

    def forward(
        self,
        q: Float[Tensor, "batch heads n d"],
        k: Float[Tensor, "batch heads n d"],
        v: Float[Tensor, "batch heads n e"],
        mask: Bool[Tensor, "batch #heads #n n"] | None = None,
    ) -> Float[Tensor, "batch heads n e"]:
        """For each query, the weighted mean of values and of the relations' vectors."""
        index = self.index()[:, None].expand(-1, q.shape[1], -1, -1)
        scores = q @ k.mT + (q @ self.a_k.mT).gather(-1, index)
        weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
        shares = weights.new_zeros(*q.shape[:-1], len(self.a_v)).scatter_add(-1, index, weights)
        return weights @ v + shares @ self.a_v
