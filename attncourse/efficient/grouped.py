"""Groups of heads that share their keys and values, and so need a smaller cache."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncourse.dot_product import attention
from attncourse.shapes import require_tokens, shaped


@shaped
def grouped_query_attention(
    q: Float[Tensor, "*batch heads n d"],
    k: Float[Tensor, "*batch groups m d"],
    v: Float[Tensor, "*batch groups m d_v"],
    mask: Bool[Tensor, "*#batch_heads #n #m"] | None = None,
) -> Float[Tensor, "*batch heads n d_v"]:
    """Attention in which neighbouring heads share keys and values in groups.

    Source: Ainslie et al. (2023), section 2.2; one group: Shazeer (2019), section 3.
    """
    heads, groups, n = q.shape[-3], k.shape[-3], q.shape[-2]
    if not groups or heads % groups:
        raise ValueError(f"heads={heads} is not a multiple of groups={groups}")
    require_tokens(q, k)
    # heads that share keys: their queries can stand in one long row
    stacked = q.unflatten(-3, (groups, -1)).flatten(-3, -2)
    mask = None if mask is None else mask_of_groups(q, k, mask)
    return attention(stacked, k, v, mask).unflatten(-2, (-1, n)).flatten(-4, -3)


@shaped
def mask_of_groups(
    q: Float[Tensor, "*batch_heads n d"],
    k: Float[Tensor, "*batch_groups m d"],
    mask: Bool[Tensor, "*#batch_heads #n #m"],
) -> Bool[Tensor, "*#batch_groups queries m"]:
    """The mask for all queries of each group, in the order of their heads."""
    mask = mask.expand(torch.broadcast_shapes(mask.shape, (*q.shape[-3:-1], k.shape[-2])))
    return mask.unflatten(-3, (k.shape[-3], -1)).flatten(-3, -2)


def cache_bytes(n: int, layers: int, groups: int, d: int, dtype: torch.dtype) -> int:
    """The bytes of the keys and values of n tokens, of width d, in all groups of all layers.

    Source: Ainslie et al. (2023); one group: Shazeer (2019), section 3.
    """
    return 2 * n * layers * groups * d * dtype.itemsize
