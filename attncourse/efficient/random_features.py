"""Random features, whose dot products are on average exponentials of scores (Performer).

Source: Choromanski et al. (2021).
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attncourse.shapes import require_tokens, shaped


def orthogonal_random_matrix(
    rows: int, d: int, generator: torch.Generator
) -> Float[Tensor, "rows d"]:
    """Normal vectors of variance 1, in sets of d that are orthogonal to each other.

    Source: Choromanski et al. (2021), section 2.4.
    """
    if rows < 1 or d < 1:
        raise ValueError(f"rows={rows} and d={d}: both must be at least 1")
    shape = (2, -(-rows // d), d, d)
    to_turn, to_measure = torch.randn(shape, generator=generator, device=generator.device)
    turned, triangle = torch.linalg.qr(to_turn)
    # with these signs, all rotations are equally likely
    turned = turned * triangle.diagonal(dim1=-2, dim2=-1).sign()[..., None, :]
    return (turned * to_measure.norm(dim=-1, keepdim=True)).flatten(0, 1)[:rows]


@shaped
def log_positive_features(
    x: Float[Tensor, "*batch n d"], w: Float[Tensor, "r d"]
) -> Float[Tensor, "*batch n r"]:
    r"""Logarithms of features whose product is $e^{q \cdot k / \sqrt d}$ on average.

    Source: Choromanski et al. (2021), lemma 1.
    """
    r, d = w.shape
    x = x / d**0.25
    return x @ w.mT - x.square().sum(-1, keepdim=True) / 2 - math.log(r) / 2


@shaped
def performer_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m d_v"],
    w: Float[Tensor, "r d"],
) -> Float[Tensor, "*batch n d_v"]:
    """Each feature takes a mean of the values, and each query a mean of these.

    This is the ratio of the paper's two sums, as two softmaxes that cannot overflow.
    Source: Choromanski et al. (2021), eq. 4 and lemma 1.
    """
    require_tokens(q, k)
    if len(w) < 1:
        raise ValueError(f"w={tuple(w.shape)} has no rows: it needs at least 1 feature")
    log_phi_q, log_phi_k = log_positive_features(q, w), log_positive_features(k, w)
    means = log_phi_k.softmax(dim=-2).mT @ v
    return (log_phi_q + log_phi_k.logsumexp(dim=-2, keepdim=True)).softmax(dim=-1) @ means
