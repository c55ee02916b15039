"""The skew, from a column per offset to one per key; and a fixed table of sinusoids.

Source: Huang et al. (2019), section 3.4.1; Dai et al. (2019), section 3.3.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from attncourse.positional import sinusoids
from attncourse.shapes import shaped


@shaped
def skew(x: Float[Tensor, "*batch n offsets"]) -> Float[Tensor, "*batch n n"]:
    """From a column per offset, -(n-1) to n-1, to one per key: row i moves n-1-i left.

    Huang et al. (2019), section 3.4.1, have it for earlier keys, Bello et al.
    (2019) for all.
    """
    n, offsets = x.shape[-2:]
    if offsets != max(2 * n - 1, 0):
        raise ValueError(f"{n} queries have {2 * n - 1} offsets, not {offsets}")
    # one more number in each row: each re-cut row starts one entry further left
    moved = pad(x, (1, 0)).flatten(-2)[..., n:]
    return moved.unflatten(-1, (n, offsets))[..., :n]


@shaped
def causal_skew(x: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """From a column per offset, -(n-1) to 0, to a column per key; later keys get zeros.

    Source: Huang et al. (2019), section 3.4.1.
    """
    n = x.shape[-1]
    # what lands on later keys belongs to the next query: keep the lower triangle
    return pad(x, (1, 0)).flatten(-2)[..., n:].unflatten(-1, (n, n)).tril()


def sinusoidal_relative(
    n: int, d: int, device: torch.device | str | None = None
) -> Float[Tensor, "offsets d"]:
    """A fixed table: row n-1+o holds the sinusoids of the offset o, -n < o < n.

    Every offset has a row, so nothing is clipped. Source: Dai et al. (2019),
    section 3.3.
    """
    if n < 1 or d < 1:
        raise ValueError(f"n={n} and d={d}: both must be at least 1")
    return sinusoids(2 * n - 1, d, device, start=1 - n)
