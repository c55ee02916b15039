r"""Dot-product attention (chapter: dot_product).

$$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$

Source: Vaswani et al. (2017), eq. 1. The additive score: Bahdanau et al. (2015), appendix A.1.2.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def attention_weights(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch m d_k"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n m"]:
    """How much each query attends to each key; every row sums to one.

    Only a row that may attend nowhere does not: it is zeros.
    Source: Vaswani et al. (2017), eq. 1.
    """
    require_fit(q, k, mask=mask)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return masked_softmax(scores, mask)


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
    require_fit(q, k, v, mask)
    return attention_weights(q, k, mask) @ v


def additive_weights(
    q: Float[Tensor, "*batch n d_q"],
    k: Float[Tensor, "*batch m d_k"],
    w_q: Float[Tensor, "d_q hidden"],
    w_k: Float[Tensor, "d_k hidden"],
    w_v: Float[Tensor, "hidden"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n m"]:
    """Weights from a small network's score of each pair, $\\tanh(q W_q + k W_k) w_v$, in rows.

    Builds n x m x hidden numbers on the way. Source: Bahdanau et al. (2015), appendix A.1.2.
    """
    if (q.shape[-1], k.shape[-1], w_q.shape[1:], w_v.shape) != (
        w_q.shape[0], w_k.shape[0], w_k.shape[1:], w_k.shape[1:]
    ):  # fmt: skip
        sizes = {"q": q, "k": k, "w_q": w_q, "w_k": w_k, "w_v": w_v}
        raise ValueError(
            "the widths do not agree: "
            + ", ".join(f"{name}={tuple(x.shape)}" for name, x in sizes.items())
        )
    q, k = q @ w_q, k @ w_k
    require_fit(q, k, mask=mask)
    return masked_softmax(torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ w_v, mask)


def masked_softmax(
    scores: Float[Tensor, "*batch n m"], mask: Bool[Tensor, "*#batch #n #m"] | None = None
) -> Float[Tensor, "*batch n m"]:
    """Softmax over the keys that the mask allows; a row that allows none is zeros."""
    if mask is None:
        return scores.softmax(dim=-1)
    # a row of nothing but -inf leaves the softmax as NaN: the second fill makes it zeros
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    """True where query i may attend to key j: j <= i."""
    if n < 0:
        raise ValueError(f"n={n}: a sequence has at least 0 tokens")
    # later keys lie to the right: keep the lower triangle
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def padding_mask(lengths: Int[Tensor, "*batch"], n: int) -> Bool[Tensor, "*batch 1 n"]:
    """True at the keys that are words, not padding: the first `lengths` of `n` keys."""
    if not lengths.is_meta and lengths.numel() and not 0 <= lengths.min() <= lengths.max() <= n:
        raise ValueError(f"lengths={lengths.tolist()} do not lie between 0 and n={n}")
    return torch.arange(n, device=lengths.device) < lengths[..., None, None]


def require_fit(q: Tensor, k: Tensor, v: Tensor | None = None, mask: Tensor | None = None) -> None:
    """Raise ValueError or TypeError, with the sizes, where q, k, v and mask cannot go together."""
    named = {"q": q, "k": k, "v": v}
    shapes = ", ".join(f"{name}={tuple(x.shape)}" for name, x in named.items() if x is not None)
    if min(x.dim() for x in (q, k, v) if x is not None) < 2:
        raise ValueError(f"each of q, k, v needs two axes, (length, width): {shapes}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q has width {q.shape[-1]} and k has width {k.shape[-1]}: {shapes}")
    if q.shape[-1] == 0:
        raise ValueError(f"d_k=0: a query of width 0 cannot be compared with a key: {shapes}")
    if v is not None and k.shape[-2] != v.shape[-2]:
        raise ValueError(f"{k.shape[-2]} keys, but {v.shape[-2]} values: {shapes}")
    try:
        batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v) if x is not None))
    except RuntimeError:
        raise ValueError(f"the leading axes do not agree: {shapes}") from None
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean, True = may attend, not {mask.dtype}")
    wanted = (*batch, q.shape[-2], k.shape[-2])
    try:
        fits = torch.broadcast_shapes(mask.shape, wanted) == wanted
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"mask={tuple(mask.shape)} does not broadcast to {wanted}: {shapes}")
