"""Attention to fewer keys: to mixtures (Linformer), or by landmarks (Nystroem)."""

import torch
from jaxtyping import Float
from torch import Tensor

from attncourse.dot_product import attention, attention_weights
from attncourse.shapes import require_tokens, shaped


@shaped
def linformer_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m d_v"],
    e: Float[Tensor, "r m"],
    f: Float[Tensor, "r m"],
) -> Float[Tensor, "*batch n d_v"]:
    """Attention to r mixtures of the m keys, with as many mixtures of the values.

    The mixtures are learned for one length m. Source: Wang et al. (2020), eq. 7.
    """
    require_tokens(q, k)
    return attention(q, e @ k, f @ v)


@shaped
def nystrom_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m d_v"],
    landmarks: int,
    steps: int = 6,
) -> Float[Tensor, "*batch n d_v"]:
    """Attention whose weights are estimated from landmarks, the means of segments.

    The paper also adds a convolution of the values to the output.
    Source: Xiong et al. (2021).
    """
    require_tokens(q, k)
    if not 1 <= landmarks <= min(q.shape[-2], k.shape[-2]):
        raise ValueError(
            f"landmarks={landmarks} must be at least 1, and no more than the "
            f"{q.shape[-2]} queries or the {k.shape[-2]} keys"
        )
    few_q, few_k = (segment_means(x, landmarks) for x in (q, k))
    middle = iterative_pinv(attention_weights(few_q, few_k), steps)
    return attention_weights(q, few_k) @ (middle @ attention(few_q, k, v))


def segment_means(
    x: Float[Tensor, "*batch n d"], segments: int
) -> Float[Tensor, "*batch segments d"]:
    """The means of so many segments of tokens, whose lengths differ by at most 1."""
    return torch.stack([part.mean(-2) for part in x.tensor_split(segments, dim=-2)], dim=-2)


@shaped
def iterative_pinv(a: Float[Tensor, "*batch r r"], steps: int = 6) -> Float[Tensor, "*batch r r"]:
    """The pseudoinverse, from products alone; each step cubes what is missing.

    Many more steps than are needed enlarge the rounding again.
    Source: Razavi et al. (2014), as Xiong et al. (2021) use it.
    """
    column_sum, row_sum = (a.abs().sum(dim).amax(-1)[..., None, None] for dim in (-2, -1))
    y, one = a.mT / (column_sum * row_sum), torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    for _ in range(steps):
        ay = a @ y
        y = y @ (13 * one - ay @ (15 * one - ay @ (7 * one - ay))) / 4
    return y
