"""What the claims of linear attention share: inputs, and how much a state recalls."""

from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import normalize

from attncourse.course.dot_product.claims import normal
from attncourse.dot_product import attention
from attncourse.linear import delta_write, gated_write, linear_attention, taylor_features


def inputs(g: torch.Generator, n: int, d: int) -> list[Tensor]:
    """q, k and v, in float64."""
    return [normal(g, n, d).double() for _ in "qkv"]


def max_abs_diff(x: Tensor, y: Tensor) -> float:
    """The largest difference between two tensors."""
    return (x - y).abs().max().item()


def meta_inputs(n: int, d: int = 64, heads: int = 8) -> list[Tensor]:
    """q, k and v as shapes without numbers, for counting."""
    return [torch.empty(heads, n, d, device="meta") for _ in "qkv"]


def recall_error(weights: Tensor) -> float:
    """How far the n answers are from the n values, in mean squares, if values are drawn at random.

    Weights that are the identity recall everything: 0. Zeros recall nothing: 1.
    """
    return ((weights - torch.eye(len(weights)).to(weights)) ** 2).sum().item() / len(weights)


def recalled(g: torch.Generator, n: int, d: int = 16) -> dict[str, float]:
    """The error of each kind of attention when each of n stored keys asks for its own value."""
    k = normalize(normal(g, n, d).double(), dim=-1)
    # as sharp a question as one likes: softmax takes the key that fits best
    q, v = 1000 * k, torch.eye(n).to(k)
    return {
        "elu + 1": recall_error(linear_attention(q, k, v)),
        "three terms of exp": recall_error(linear_attention(q, k, v, feature_map=taylor_features)),
        "softmax": recall_error(attention(q, k, v)),
    }


def error_by_age(g: torch.Generator, n: int, d: int = 16, draws: int = 20) -> dict[str, Tensor]:
    """The error of recall for each of n stored keys of norm 1, the newest first."""
    k = normalize(normal(g, draws, n, d).double(), dim=-1)
    values = torch.eye(n).to(k)
    ones, faded = k.new_ones(draws), k.new_full((draws, 1), 0.9)
    rules = {
        "sum": partial(gated_write, gate=ones[:, None]),
        "all gates 0.9": partial(gated_write, gate=faded),
        "delta rule": partial(delta_write, beta=ones),
    }
    errors = {}
    for name, write in rules.items():
        S = k.new_zeros(draws, d, n)
        for k_i, v_i in zip(k.unbind(1), values, strict=True):
            S = write(S, k_i, v_i.expand(draws, n))
        errors[name] = ((k @ S - values) ** 2).sum(-1).mean(0).flip(0)
    return errors
