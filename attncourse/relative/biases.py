"""Score biases that depend on the distance alone: T5's buckets, ALiBi's slopes."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor


def t5_buckets(
    n: int,
    num_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
    device: torch.device | str | None = None,
) -> Int[Tensor, "n n"]:
    """For query i and key j, the bucket whose learned number is added to their score.

    Half of a direction's buckets hold one distance each. The others widen
    geometrically, so that one more would begin at `max_distance`. The last bucket
    has no end: for 32 and 128 it holds all distances from 91 on (from 113 in one
    direction). In one direction, later keys are in bucket 0.
    Source: Raffel et al. (2020), section 2.1, and their code.
    """
    sides = 2 if bidirectional else 1
    exact = num_buckets // sides // 2
    if num_buckets % sides or exact < 1 or max_distance <= exact:
        raise ValueError(
            f"num_buckets={num_buckets} for {sides} directions leave {exact} exact buckets each; "
            f"that must be a whole number from 1 to below max_distance={max_distance}"
        )
    growing = num_buckets // sides - exact
    # where each bucket but the first begins; a root may lie just above a whole number
    roots = (exact * (max_distance / exact) ** (step / growing) for step in range(growing))
    begins = [*range(1, exact), *(math.ceil(root - 1e-9) for root in roots)]
    position = torch.arange(n, device=device)
    offset = position - position[:, None]
    distance = offset.abs() if bidirectional else (-offset).clamp(min=0)
    bucket = torch.bucketize(distance, torch.tensor(begins, device=device), right=True)
    if bidirectional:
        bucket = bucket + (offset > 0) * (num_buckets // 2)
    return bucket


def alibi_bias(
    heads: int,
    n: int,
    device: torch.device | str | None = None,
    *,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "heads n n"]:
    """What is added to the scores: minus the distance times the slope of the head.

    Head h of H, counted from 1, has the slope 2^(-8 h / H), at any H.
    Source: Press et al. (2022), section 3, for earlier keys; later keys get the
    same penalty, as the authors suggest for encoders.
    """
    if heads < 1 or n < 0:
        raise ValueError(f"heads={heads} must be at least 1, n={n} at least 0")
    dtype = dtype or torch.get_default_dtype()
    wide = torch.promote_types(dtype, torch.float32)
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1, device=device, dtype=wide) / heads)
    position = torch.arange(n, device=device)
    return (-slopes[:, None, None] * (position - position[:, None]).abs()).to(dtype)
