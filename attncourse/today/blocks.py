r"""Blocks of keys chosen by their mean (MoBA), and three branches with gates (NSA).

$$s_{tb} = q_t \cdot \frac{1}{|b|} \sum_{j \in b} k_j, \qquad
z_t = \sum_{c \in \{\text{pooled}, \text{chosen}, \text{recent}\}} \sigma(g_t^c)\, z_t^c$$

Neither needs a loss of its own: the choice is made with the keys that attention reads.
Source: Lu et al. (2025), eq. 3-6; Yuan et al. (2025), section 3.3.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from attncourse.dot_product import attention, causal_mask, masked_softmax
from attncourse.shapes import shaped
from attncourse.today.pooled import pooled_mask
from attncourse.today.selected import choose_keys, selected_mask


@shaped
def block_mask(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    size: int,
    count: int,
    mask: Bool[Tensor, "*#batch 1 n"] | None = None,
) -> Bool[Tensor, "*batch n n"]:
    """True at the earlier tokens of the `count` blocks that a query chooses by their mean key.

    Its own block is always among them, up to the query. The mask leaves padding out, of the means
    too. Source: Lu et al. (2025), eq. 3-6.
    """
    if size < 1:
        raise ValueError(f"size={size}: a block has at least 1 token")
    n = q.shape[-2]
    kept = q.new_ones(1, n, dtype=torch.bool) if mask is None else mask
    places = torch.arange(-(-n // size), device=q.device)
    own = torch.arange(n, device=q.device)[:, None] // size
    # which block each token is in, one row for each block
    members = kept & (own.mT == places[:, None])
    mean_keys = (members.to(k.dtype) @ k) / members.sum(-1, keepdim=True).clamp(min=1)
    scores = (q @ mean_keys.mT).masked_fill(own == places, torch.inf)
    blocks = selected_mask(choose_keys(scores, count, places <= own), len(places))
    return blocks.repeat_interleave(size, dim=-1)[..., :n] & causal_mask(n, q.device) & kept


@shaped
def block_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    size: int,
    count: int,
    mask: Bool[Tensor, "*#batch 1 n"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """Causal attention to the blocks of keys that each query chooses (MoBA).

    Source: Lu et al. (2025), eq. 2-6.
    """
    return attention(q, k, v, block_mask(q, k, size, count, mask))


@shaped
def three_branches(
    q: Float[Tensor, "*batch heads n d"],
    k: Float[Tensor, "*batch #heads n d"],
    v: Float[Tensor, "*batch #heads n e"],
    pooled_k: Float[Tensor, "*batch #heads blocks d"],
    pooled_v: Float[Tensor, "*batch #heads blocks e"],
    gates: Float[Tensor, "*batch heads n 3"],
    size: int,
    width: int,
    count: int,
) -> Float[Tensor, "*batch heads n e"]:
    """Causal attention to pooled blocks, to the tokens of chosen blocks, and to recent ones (NSA).

    The weights of the pooled blocks choose: the `count` blocks with the largest, all heads summed.
    The sigmoids of the gates add the branches up. The source pools blocks that overlap, has keys
    for each branch, and always chooses the first and the last blocks.
    Source: Yuan et al. (2025), section 3.3.
    """
    n, blocks = q.shape[-2], pooled_k.shape[-2]
    recent, complete = pooled_mask(n, size, width, q.device).split((n, n // size), dim=-1)
    if blocks != n // size:
        raise ValueError(f"{blocks} pooled keys, but {n} tokens have {n // size} blocks of {size}")
    weights = masked_softmax(q @ pooled_k.mT / q.shape[-1] ** 0.5, complete)
    index = choose_keys(weights.detach().sum(-3), count, complete)
    chosen = selected_mask(index, blocks).repeat_interleave(size, dim=-1)
    chosen = pad(chosen, (0, n - chosen.shape[-1]), value=False).unsqueeze(-3)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    branches = [
        weights @ pooled_v,
        *(masked_softmax(scores, seen) @ v for seen in (chosen, recent)),
    ]
    return (gates.sigmoid()[..., None, :] * torch.stack(branches, dim=-1)).sum(-1)
