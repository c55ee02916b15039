"""The functions of torch.nn.functional that answers call."""

import math
from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.dtypes import FLOATING, finfo, float64
from torch_over_numpy.elementwise import (
    add,
    clamp_min,
    div,
    erf,
    mul,
    neg,
    pow,
    sigmoid,
    sqrt,
    square,
    sub,
    tanh,
)
from torch_over_numpy.indexing import items, taken
from torch_over_numpy.joining import pad
from torch_over_numpy.linalg import einsum, matmul
from torch_over_numpy.operations import computed
from torch_over_numpy.public import public
from torch_over_numpy.random import GLOBAL
from torch_over_numpy.reductions import (
    log_softmax_along,
    mean,
    softmax_along,
    sum,
    vector_norm,
)
from torch_over_numpy.tensor import Tensor
from torch_over_numpy.views import unsqueeze

HERE = "torch.nn.functional"


@public(HERE)
def softmax(input, dim=None, *, dtype=None):
    refuse_unless(dim is not None, "torch.nn.functional.softmax without dim")
    return softmax_along(input, dim, dtype)


@public(HERE)
def log_softmax(input, dim=None, *, dtype=None):
    refuse_unless(dim is not None, "torch.nn.functional.log_softmax without dim")
    return log_softmax_along(input, dim, dtype)


@public(HERE)
def elu(input, alpha=1.0):
    def elu(x):
        below = alpha * np.expm1(np.minimum(x, 0))
        return np.where(x > 0, x, below), lambda g: g * np.where(x > 0, 1, below + alpha)

    return computed(elu, input)


@public(HERE)
def gelu(input, approximate="none"):
    if approximate == "tanh":
        inner = mul(math.sqrt(2 / math.pi), add(input, mul(0.044715, pow(input, 3))))
        return mul(mul(0.5, input), add(tanh(inner), 1))
    return mul(mul(input, 0.5), add(erf(div(input, math.sqrt(2))), 1))


@public(HERE)
def silu(input):
    return mul(input, sigmoid(input))


@public(HERE)
def linear(input, weight, bias=None):
    out = matmul(input, weight.mT if weight.ndim > 1 else weight)
    return out if bias is None else add(out, bias)


@public(HERE)
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    wanted = tuple(normalized_shape)
    if input.shape[-len(wanted) :] != wanted:
        shown = ", ".join(map(str, wanted))
        raise RuntimeError(
            f"Given normalized_shape=[{shown}], expected input with shape [*, {shown}], but got "
            f"input of size{list(input.shape)}"
        )
    along = tuple(range(-len(wanted), 0))
    centred = sub(input, mean(input, along, keepdim=True))
    spread = sqrt(add(mean(square(centred), along, keepdim=True), eps))
    out = div(centred, spread)
    out = out if weight is None else mul(out, weight)
    return out if bias is None else add(out, bias)


@public(HERE)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    along = tuple(range(-len(tuple(normalized_shape)), 0))
    least = finfo(input.dtype).eps if eps is None else eps
    out = div(input, sqrt(add(mean(square(input), along, keepdim=True), least)))
    return out if weight is None else mul(out, weight)


@public(HERE)
def normalize(input, p=2.0, dim=1, eps=1e-12):
    return div(input, clamp_min(vector_norm(input, p, dim, keepdim=True), eps))


@public(HERE)
def embedding(input, weight, padding_idx=None):
    if input.dtype.kind >= FLOATING:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got torch.{input.type().removeprefix('torch.')} instead (while "
            "checking arguments for embedding)"
        )
    rows = input._array
    if rows.size and (rows.min() < 0 or rows.max() >= len(weight)):
        raise IndexError("index out of range in self")
    found = items(weight, (rows,))
    if padding_idx is None:
        return found
    counted = (rows != padding_idx % len(weight))[..., None]
    return computed(lambda x: (x.copy(), lambda g: g * counted), found)


@public(HERE)
def dropout(input, p=0.5, training=True):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or not p:
        return input
    kept = GLOBAL.uniform(input._array.size, float64).reshape(input.shape) >= p
    factor = kept / (1 - p) if p < 1 else np.zeros(input.shape)
    return computed(lambda x: (x * factor, lambda g: g * factor), input)


@public(HERE)
def nll_loss(input, target, *, ignore_index=-100, reduction="mean"):
    classes = 0 if input.ndim == 1 else 1
    counted = target._array != ignore_index
    if ((target._array < 0) | (target._array >= input.shape[classes]))[counted].any():
        wrong = target._array[counted]
        beyond = wrong[(wrong < 0) | (wrong >= input.shape[classes])]
        raise IndexError(f"Target {beyond.flat[0]} is out of bounds.")
    places = np.expand_dims(np.where(counted, target._array, 0), classes)
    losses = neg(taken(input, places, classes)).squeeze(classes)
    losses = computed(
        lambda x: (np.where(counted, x, 0), lambda g: np.where(counted, g, 0)), losses
    )
    if reduction == "none":
        return losses
    total = sum(losses)
    return div(total, float(counted.sum())) if reduction == "mean" else total


@public(HERE)
def cross_entropy(input, target, *, ignore_index=-100, reduction="mean"):
    refuse_unless(target.dtype.kind < FLOATING, "torch.nn.functional.cross_entropy with shares")
    classes = 0 if input.ndim == 1 else 1
    logarithms = log_softmax_along(input, classes)
    expected = input.shape[:classes] + input.shape[classes + 1 :]
    if target.shape != expected:
        if target.ndim == len(expected) and target.shape[:1] != expected[:1]:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                f"({target.shape[0]})."
            )
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")
    return nll_loss(logarithms, target, ignore_index=ignore_index, reduction=reduction)


@public(HERE, "torch")
def conv1d(input, weight, bias=None, stride=1, padding=0):
    step, edge = (x[0] if isinstance(x, tuple) else x for x in (stride, padding))
    if edge == "same":
        whole = weight.shape[-1] - 1
        edges = (whole // 2, whole - whole // 2)
    else:
        edges = (0, 0) if edge == "valid" else (edge, edge)
    windows = pad(input, edges).unfold(-1, weight.shape[-1], step)
    out = einsum("...cnk,dck->...dn", windows, weight)
    return out if bias is None else add(out, unsqueeze(bias, -1))


@public(HERE)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    lengths = [clamp_min(vector_norm(x, 2, dim), eps) for x in (x1, x2)]
    return div(sum(mul(x1, x2), dim), mul(*lengths))


def pair_of(value: Any) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


@public(HERE)
def max_pool2d(input, kernel_size, stride=None, padding=0):
    high, wide = pair_of(kernel_size)
    down, right = pair_of(stride or kernel_size)
    above, beside = pair_of(padding)
    filled = pad(input, (beside, beside, above, above), value=-math.inf)
    windows = filled.unfold(-2, high, down).unfold(-2, wide, right)
    return windows.amax((-2, -1))


@public(HERE)
def interpolate(input, size: Any = None, scale_factor=None, mode="nearest", align_corners=None):
    refuse_unless(
        input.ndim == 3 and mode in ("nearest", "linear"),
        f"torch.nn.functional.interpolate(mode={mode!r}) of {input.ndim} axes",
    )
    old = input.shape[-1]
    new = size if scale_factor is None else math.floor(old * scale_factor)
    new = new[0] if isinstance(new, (tuple, list)) else new
    if new < 1:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got W: {new}")
    shares = np.zeros((old, new), input._array.dtype)
    places = places_between(old, new, mode, bool(align_corners), scale_factor)
    for i, place in enumerate(places):
        low = min(int(place), old - 1)
        shares[low, i] += 1 - (place - low)
        shares[min(low + 1, old - 1), i] += place - low
    return matmul(input, Tensor._of(shares, input.dtype, input.device))


def places_between(
    old: int, new: int, mode: str, align_corners: bool, scale: float | None
) -> list[float]:
    """For each new place, where it lies among the old ones."""
    if align_corners:
        return [i * (old - 1) / max(new - 1, 1) for i in range(new)]
    step = 1 / scale if scale else old / new
    if mode == "nearest":
        return [min(math.floor(i * step), old - 1) for i in range(new)]
    return [min(max((i + 0.5) * step - 0.5, 0), old - 1) for i in range(new)]
