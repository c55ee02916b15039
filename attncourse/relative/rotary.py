"""Queries and keys that are rotated by their positions: RoPE."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncourse.shapes import shaped


@shaped
def rope(
    x: Float[Tensor, "*batch n d"],
    positions: Int[Tensor, "*#batch n"],
    base: float = 10000.0,
    scale: float = 1.0,
) -> Float[Tensor, "*batch n d"]:
    """Pairs of neighbouring columns, rotated by position times the pair's frequency.

    Dot products of rotated queries and keys depend on positions through offsets
    alone. A `scale` of s rotates all pairs s times as slowly: position interpolation,
    Chen et al. (2023).
    Source: Su et al. (2021), eq. 34.
    """
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"d={d} is odd: the columns are rotated in pairs")
    if base <= 0 or scale <= 0:
        raise ValueError(f"base={base} and scale={scale}: both must be above 0")
    wide = torch.promote_types(x.dtype, torch.float32)
    frequency = base ** (-torch.arange(0, d, 2, device=x.device, dtype=wide) / d) / scale
    angle = positions[..., None] * frequency
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
