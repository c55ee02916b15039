r"""Dot-product attention (chapter: dot_product).

$$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$

Source: Vaswani et al. (2017), eq. 1. The additive score: Bahdanau et al. (2015), appendix A.1.2.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncourse.shapes import shaped


@shaped
def attention_weights(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch m d_k"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n m"]:
    """How much each query attends to each key; every row sums to one.

    The row of a query that may attend nowhere is zeros instead.
    Source: Vaswani et al. (2017), eq. 1.
    """
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return masked_softmax(scores, mask)


@shaped
def attention(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch m d_k"],
    v: Float[Tensor, "*batch m d_v"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n d_v"]:
    """For each query, the mean of the values under its attention weights.

    A query that may attend nowhere gets zeros.
    Source: Vaswani et al. (2017), eq. 1.
    """
    return attention_weights(q, k, mask) @ v


@shaped
def additive_weights(
    q: Float[Tensor, "*batch n d_q"],
    k: Float[Tensor, "*batch m d_k"],
    w_q: Float[Tensor, "d_q hidden"],
    w_k: Float[Tensor, "d_k hidden"],
    w_v: Float[Tensor, "hidden"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n m"]:
    """How much each query attends to each key, by the scores of a small network.

    Makes n x m x hidden numbers on the way.
    Source: Bahdanau et al. (2015), appendix A.1.2.
    """
    q, k = q @ w_q, k @ w_k
    return masked_softmax(torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ w_v, mask)


@shaped
def masked_softmax(
    scores: Float[Tensor, "*batch n m"], mask: Bool[Tensor, "*#batch #n #m"] | None = None
) -> Float[Tensor, "*batch n m"]:
    """Softmax over the keys that the mask allows; a row that allows none is zeros."""
    if mask is None:
        return scores.softmax(dim=-1)
    # a row of nothing but -inf gives NaN: the second fill makes it zeros
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    """True where query i may attend to key j: j <= i."""
    if n < 0:
        raise ValueError(f"n={n}: a sequence has at least 0 tokens")
    # later keys lie to the right: keep the lower triangle
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


@shaped
def padding_mask(lengths: Int[Tensor, "*batch"], n: int) -> Bool[Tensor, "*batch 1 n"]:
    """True at the keys that are words, not padding: the first `lengths` of `n` keys."""
    # tensors on the device meta have no numbers to look at
    known = not lengths.is_meta and lengths.numel() > 0
    if known and not 0 <= lengths.min() <= lengths.max() <= n:
        raise ValueError(f"lengths={lengths.tolist()} do not lie between 0 and n={n}")
    return torch.arange(n, device=lengths.device) < lengths[..., None, None]
