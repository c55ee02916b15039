r"""A gate on the output of attention, and sinks: two ways for a head to say nothing.

$$z'_i = \sigma(W_g x_i) \odot z_i, \qquad
a_{ij} = \frac{e^{s_{ij}}}{e^{b} + \sum_{j'} e^{s_{ij'}}}$$

Weights that sum to 1 have to go somewhere. A gate near 0 throws away what was read; a sink, one
learned score $b$ a head, takes weight and gives nothing.
Source: the gate: Qiu et al. (2025), eq. 5; the sink: OpenAI (2025), after Xiao et al. (2024).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncourse.shapes import shaped


@shaped
def gated_output(
    z: Float[Tensor, "*batch n d"], gate: Float[Tensor, "*#batch n #d"]
) -> Float[Tensor, "*batch n d"]:
    """The outputs of the heads, each times the sigmoid of its gate, before they are joined.

    A gate for each number, or one for each row, that is for each head and token.
    Source: Qiu et al. (2025), eq. 5.
    """
    return gate.sigmoid() * z


@shaped
def sink_weights(
    scores: Float[Tensor, "*batch n m"],
    sink: Float[Tensor, "*#batch"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n m"]:
    """Softmax over the keys and one more score, the sink, whose weight is left out.

    Rows sum to less than 1. A sink of -inf takes nothing. A row without any key is zeros.
    Source: OpenAI (2025), section 2.2.
    """
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    sinks = sink[..., None, None].to(scores.dtype).expand(*scores.shape[:-1], 1)
    weights = torch.cat([scores, sinks], dim=-1).softmax(dim=-1)[..., :-1]
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@shaped
def sink_attention(
    q: Float[Tensor, "*batch heads n d"],
    k: Float[Tensor, "*batch heads m d"],
    v: Float[Tensor, "*batch heads m e"],
    sink: Float[Tensor, "heads"],
    mask: Bool[Tensor, "*#batch_heads #n #m"] | None = None,
) -> Float[Tensor, "*batch heads n e"]:
    """Attention in which each head has a sink.

    Source: OpenAI (2025), section 2.2.
    """
    return sink_weights(q @ k.mT / q.shape[-1] ** 0.5, sink, mask) @ v


def first_token_weight(weights: Float[Tensor, "*batch n m"]) -> Float[Tensor, "*batch"]:
    """The mean weight of the first key, over all queries but the first, which may see no other.

    Source: Xiao et al. (2024), section 3.1.
    """
    n, m = weights.shape[-2:]
    if n < 2 or m < 1:
        raise ValueError(f"{n} queries and {m} keys: the mean is over queries after the first")
    return weights[..., 1:, 0].mean(-1)
