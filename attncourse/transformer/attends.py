"""Attention functions for the heads of a block: each is called as attend(q, k, v, mask).

In self-attention, the n queries are the last of the m positions: all of them in training, the new
ones with a cache. `one_sequence` marks those that need queries and keys of one sequence; `cache` is
the class of their cache.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attncourse.dot_product import attention, masked_softmax
from attncourse.efficient import longformer_mask
from attncourse.linear import linear_attention
from attncourse.relative import alibi_bias, rope, t5_buckets
from attncourse.shapes import shaped
from attncourse.transformer.cache import KeyValueCache, LinearState

# shapes that most of them share
Queries = Float[Tensor, "*batch n d"]
Keys = Float[Tensor, "*batch_k m d"]
Values = Float[Tensor, "*batch_k m e"]
Mask = Bool[Tensor, "*#batch #n #m"] | None
Output = Float[Tensor, "*batch n e"]


class Causal(nn.Module):
    """Causal form of another `attend`: keys after a query are masked.

    Source: Vaswani et al. (2017), section 3.2.3.
    """

    one_sequence, cache = True, KeyValueCache

    def __init__(self, attend: Callable[..., Tensor] = attention):
        super().__init__()
        require_maskable(attend)
        self.attend = attend

    @shaped
    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask = None) -> Output:
        """Output of `attend` under a causal mask."""
        positions = torch.arange(k.shape[-2], device=q.device)
        earlier = positions <= rows_of_queries(positions[:, None], q, k)
        return self.attend(q, k, v, mask=earlier if mask is None else mask & earlier)


class CausalLinearAttention(nn.Module):
    """Causal linear attention, whose cache is a state of fixed size.

    Source: Katharopoulos et al. (2020), eq. 9-12 and 16-20.
    """

    one_sequence, cache = True, LinearState

    def forward(
        self,
        q: Queries,
        k: Float[Tensor, "*batch_k n d"],
        v: Float[Tensor, "*batch_k n e"],
        mask: Bool[Tensor, "*#batch 1 n"] | None = None,
    ) -> Output:
        """Causal linear attention."""
        return linear_attention(q, k, v, causal=True, mask=mask)


class RotaryAttention(nn.Module):
    """Attention between queries and keys that are rotated by their positions (RoPE).

    Source: Su et al. (2021), section 3.2.2.
    """

    one_sequence = True

    def __init__(self, base: float = 10000.0, attend: Callable[..., Tensor] = attention):
        super().__init__()
        self.base, self.attend = base, attend

    @shaped
    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask = None) -> Output:
        """Attention with rotated queries and keys."""
        positions = torch.arange(k.shape[-2], device=q.device)
        q = rope(q, rows_of_queries(positions[:, None], q, k)[:, 0], self.base)
        return self.attend(q, rope(k, positions, self.base), v, mask=mask)


class BiasedAttention(nn.Module):
    """Attention with `bias(m, like)`, a number for each head and pair, added to the scores."""

    one_sequence = True

    def __init__(self, heads: int):
        super().__init__()
        self.heads = heads

    def bias(self, m: int, like: Tensor) -> Float[Tensor, "{self.heads} m m"]:
        """The bias for m positions, on the device and in the dtype of `like`."""
        raise NotImplementedError

    @shaped
    def forward(
        self,
        q: Float[Tensor, "*batch {self.heads} n d"],
        k: Float[Tensor, "*batch {self.heads} m d"],
        v: Float[Tensor, "*batch {self.heads} m e"],
        mask: Bool[Tensor, "*#batch_heads #n #m"] | None = None,
    ) -> Float[Tensor, "*batch {self.heads} n e"]:
        """The weighted mean of the values, under softmax(q k^T / sqrt(d) + bias)."""
        bias = rows_of_queries(self.bias(k.shape[-2], q), q, k)
        return masked_softmax(q @ k.mT / q.shape[-1] ** 0.5 + bias, mask) @ v


class ALiBiAttention(BiasedAttention):
    """Attention whose scores are lowered with the distance, in each head at a rate of its own.

    Source: Press et al. (2022), section 3.
    """

    def bias(self, m: int, like: Tensor) -> Float[Tensor, "{self.heads} m m"]:
        """Minus the distance times the slope of the head."""
        return alibi_bias(self.heads, m, like.device, dtype=like.dtype)


class T5Attention(BiasedAttention):
    """Attention with a learned number for each head and bucket of distances.

    T5 itself does not divide the scores by sqrt(d). Source: Raffel et al. (2020), section 2.1.
    """

    def __init__(
        self,
        heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ):
        super().__init__(heads)
        self.bucketing = num_buckets, max_distance, bidirectional
        self.table = nn.Parameter(torch.zeros(heads, num_buckets))

    def bias(self, m: int, like: Tensor) -> Float[Tensor, "{self.heads} m m"]:
        """For each pair, the learned number of its bucket."""
        return self.table[:, t5_buckets(m, *self.bucketing, device=like.device)].to(like.dtype)


class WindowedAttention(nn.Module):
    """Attention to a window of `width` keys around each query.

    All scores are computed, and those outside are masked.
    Source: Beltagy et al. (2020), section 3.1.
    """

    one_sequence = True

    def __init__(self, width: int, attend: Callable[..., Tensor] = attention):
        super().__init__()
        require_maskable(attend)
        self.width, self.attend = width, attend

    @shaped
    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask = None) -> Output:
        """Output of `attend` under a window mask of width // 2 keys on each side."""
        in_window = rows_of_queries(longformer_mask(k.shape[-2], self.width, device=q.device), q, k)
        return self.attend(q, k, v, mask=in_window if mask is None else mask & in_window)


def rows_of_queries(x: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """The last n of the m rows of x: those of the queries' positions."""
    n, m = q.shape[-2], k.shape[-2]
    if n > m:
        raise ValueError(f"{n} queries cannot be the last of {m} positions")
    return x[..., m - n :, :]


def require_maskable(attend: Callable[..., Tensor]) -> None:
    """Raise ValueError where `attend` cannot hide a key from some of the queries."""
    while (inner := getattr(attend, "attend", None)) is not None:
        attend = inner
    if attend is linear_attention or isinstance(attend, CausalLinearAttention):
        raise ValueError(
            "linear attention has one state for all queries, so that no key can be hidden from "
            "some of them: to hide later keys, use CausalLinearAttention() alone"
        )
