r"""Keys and values made from one latent vector a token: multi-head latent attention (MLA).

$$k_{j,h} = W_K^h\, c_j, \qquad v_{j,h} = W_V^h\, c_j, \qquad
q_{i,h} \cdot k_{j,h} = \bigl({W_K^h}^{\!\top} q_{i,h}\bigr) \cdot c_j$$

The cache holds the latents $c_j$, and a small rotated key that all heads share.
Source: DeepSeek-AI (2024), DeepSeek-V2, eq. 9-19.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncourse.dot_product import masked_softmax
from attncourse.shapes import shaped
from attncourse.today.state import append_row


@shaped
def latent_attention(
    q: Float[Tensor, "*batch heads n d"],
    latents: Float[Tensor, "*batch m d_c"],
    w_k: Float[Tensor, "heads d_c d"],
    w_v: Float[Tensor, "heads d_c d_v"],
    rotary: tuple[Float[Tensor, "*batch heads n d_r"], Float[Tensor, "*batch m d_r"]] | None = None,
    mask: Bool[Tensor, "*#batch_heads #n #m"] | None = None,
) -> Float[Tensor, "*batch heads n d_v"]:
    """Attention whose keys and values are made from the latents, for each head anew.

    `rotary` has queries and keys that are rotated by their positions, the keys the same for all
    heads: their scores are added. Source: DeepSeek-AI (2024), DeepSeek-V2, eq. 10, 11 and 16-18.
    """
    k, v = latents.unsqueeze(-3) @ w_k, latents.unsqueeze(-3) @ w_v
    return latent_weights(q @ k.mT, q.shape[-1], rotary, mask) @ v


@shaped
def absorbed_latent_attention(
    q: Float[Tensor, "*batch heads n d"],
    latents: Float[Tensor, "*batch m d_c"],
    w_k: Float[Tensor, "heads d_c d"],
    w_v: Float[Tensor, "heads d_c d_v"],
    rotary: tuple[Float[Tensor, "*batch heads n d_r"], Float[Tensor, "*batch m d_r"]] | None = None,
    mask: Bool[Tensor, "*#batch_heads #n #m"] | None = None,
) -> Float[Tensor, "*batch heads n d_v"]:
    """The same as `latent_attention`, without a key or a value: the heads attend to the latents.

    The query moves into the space of the latents, and the mean of the latents out of it.
    Source: DeepSeek-AI (2024), DeepSeek-V2, section 2.1.2.
    """
    scores = (q @ w_k.mT) @ latents.unsqueeze(-3).mT
    return latent_weights(scores, q.shape[-1], rotary, mask) @ latents.unsqueeze(-3) @ w_v


def latent_weights(
    scores: Tensor, d: int, rotary: tuple[Tensor, Tensor] | None, mask: Tensor | None
) -> Tensor:
    """The weights of both forms: the rotated parts' scores are added before the softmax."""
    if rotary is not None:
        q, k = rotary
        scores, d = scores + q @ k.unsqueeze(-3).mT, d + q.shape[-1]
    return masked_softmax(scores / d**0.5, mask)


@shaped
def latent_attention_step(
    state: tuple[Float[Tensor, "*batch m d_c"], Float[Tensor, "*batch m d_r"]],
    q: Float[Tensor, "*batch heads d"],
    latent: Float[Tensor, "*batch d_c"],
    w_k: Float[Tensor, "heads d_c d"],
    w_v: Float[Tensor, "heads d_c d_v"],
    rotary: tuple[Float[Tensor, "*batch heads d_r"], Float[Tensor, "*batch d_r"]],
) -> tuple[tuple[Tensor, Tensor], Float[Tensor, "*batch heads d_v"]]:
    """One token joins the state, the latents and the rotated keys, and then attends to it.

    Source: DeepSeek-AI (2024), DeepSeek-V2, section 2.1.3.
    """
    q_rotary, k_rotary = rotary
    latents, k_rotary = append_row(state[0], latent), append_row(state[1], k_rotary)
    output = absorbed_latent_attention(
        q[..., None, :], latents, w_k, w_v, (q_rotary[..., None, :], k_rotary)
    )
    return (latents, k_rotary), output.squeeze(-2)


def latent_cache_bytes(n: int, layers: int, d_c: int, d_r: int, dtype: torch.dtype) -> int:
    """The bytes of the latents and rotated keys of n tokens in all layers, for any number of heads.

    Source: DeepSeek-AI (2024), DeepSeek-V2, table 1.
    """
    return n * layers * (d_c + d_r) * dtype.itemsize
