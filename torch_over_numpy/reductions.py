"""Functions along axes: those that reduce them, and those that keep their sizes."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.axes import axes, axis
from torch_over_numpy.dtypes import BOOL, FLOATING, bool_, int64, real_of, uint8
from torch_over_numpy.elementwise import BOTH, absolute, div, maximum, minimum, ne, sub
from torch_over_numpy.indexing import taken
from torch_over_numpy.operations import cast, computed, promoted
from torch_over_numpy.public import public
from torch_over_numpy.tensor import Tensor
from torch_over_numpy.views import narrow, squeeze

Pair = {
    name: namedtuple(name, ["values", "indices"])
    for name in ("max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax")
}
for one in Pair.values():
    one.__module__ = "torch.return_types"


def spread(g: np.ndarray, x_shape: tuple, along: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """What flows into a result, at each place that the result was made of."""
    kept = g if keepdim else np.expand_dims(g, along)
    return np.broadcast_to(kept, x_shape)


@public(*BOTH)
def sum(input, dim=None, keepdim=False, *, dtype=None):
    wanted = dtype or (int64 if input.dtype.kind < FLOATING else input.dtype)
    along = axes(dim, input.ndim)
    if wanted.kind < FLOATING and input.requires_grad:
        raise RuntimeError(f"Autograd not support dtype: {wanted.title}")

    def sum(x):
        shape = x.shape
        out = x.sum(axis=along, keepdims=keepdim, dtype=wanted.storage)
        return out, lambda g: spread(g, shape, along, keepdim)

    return computed(sum, input, dtype=wanted)


def require_floating(x: Tensor, name: str) -> None:
    if x.dtype.kind < FLOATING:
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point "
            f"or complex dtype. Got: {x.dtype.title}"
        )


@public(*BOTH)
def mean(input, dim=None, keepdim=False, *, dtype=None):
    x = cast(input, dtype or input.dtype)
    require_floating(x, "mean")
    along = axes(dim, x.ndim)
    count = float(np.prod([x.shape[i] for i in along]))
    return div(sum(x, along if x.ndim else None, keepdim), count)


@public(*BOTH)
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    return sum(without_nan(input), dim, keepdim, dtype=dtype)


@public(*BOTH)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    if input.dtype.kind < FLOATING:
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype")
    count = sum(computed(lambda x: (~np.isnan(x),), input, dtype=bool_), dim, keepdim)
    return div(nansum(input, dim, keepdim, dtype=dtype), count)


def without_nan(x: Tensor) -> Tensor:
    def zeroed(a):
        there = ~np.isnan(a)
        return np.where(there, a, 0), lambda g: np.where(there, g, 0)

    return computed(zeroed, x)


@public(*BOTH)
def prod(input, dim=None, keepdim=False, *, dtype=None):
    wanted = dtype or (int64 if input.dtype.kind < FLOATING else input.dtype)
    along = axes(dim, input.ndim)

    def prod(x):
        out = x.prod(axis=along, keepdims=keepdim, dtype=wanted.storage)

        def of_the_others(g):
            zero = x == 0
            whole = np.where(zero, 1, x).prod(axis=along, keepdims=True)
            zeros = zero.sum(axis=along, keepdims=True)
            others = np.where(zero, zeros == 1, zeros == 0) * whole / np.where(zero, 1, x)
            return spread(g, x.shape, along, keepdim) * others

        return out, of_the_others

    return computed(prod, input, dtype=wanted)


def shared_by_extremes(name: str, find: Callable) -> Callable:
    """The largest or smallest along axes, whose gradient all share that are as large, or small."""

    def function(input, dim=None, keepdim=False):
        along = axes(dim, input.ndim)
        require_places(input, along if dim not in (None, ()) else None, name)

        def rule(x):
            out = find(x, axis=along, keepdims=True)
            shape = out.shape if keepdim else tuple(np.delete(out.shape, along))

            def shared(g):
                same = x == out
                count = same.sum(axis=along, keepdims=True)
                return np.where(same, spread(g, x.shape, along, keepdim) / count, 0)

            return out.reshape(shape), shared

        rule.__name__ = name
        return computed(rule, input)

    return public(*BOTH, name=name)(function)


def require_places(x: Tensor, along: Any, name: str) -> None:
    """Raise an error where there is no number to be the largest."""
    if along is None:
        if not x._array.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                "the reduction dim with the 'dim' argument."
            )
        return
    for i in along if x.ndim else ():
        if not x.shape[i]:
            raise IndexError(f"{name}(): Expected reduction dim {i} to have non-zero size.")


amax = shared_by_extremes("amax", np.max)
amin = shared_by_extremes("amin", np.min)


def places_tensor(places: np.ndarray, x: Tensor) -> Tensor:
    return computed(lambda _: (places,), x, dtype=int64)


def extreme(name: str, find: Callable, all_of: Callable, of_two: Callable) -> Callable:
    """`max` or `min`: of two tensors, of all numbers, or along an axis, then with its places."""

    def function(input, dim: Any = None, keepdim=False, *, other=None):
        if isinstance(dim, Tensor):
            return of_two(input, dim)
        if other is not None:
            return of_two(input, other)
        if dim is None:
            return all_of(input)
        along = axis(dim, input.ndim)
        if not input.ndim:
            return pair_of_single(name, input)
        require_places(input, (along,), name)
        return pair(name, input, first_of(find, input._array, along), along, keepdim)

    return public(*BOTH, name=name)(function)


def first_of(find: Callable, array: np.ndarray, along: int) -> np.ndarray:
    """The places of the first extreme along an axis, which stays; NaN is one."""
    with np.errstate(all="ignore"):
        return np.expand_dims(find(array, axis=along), along)


def pair(name: str, x: Tensor, places: np.ndarray, along: int, keepdim: bool = True) -> Any:
    """The numbers at these places along an axis, and the places."""
    some = taken(x, places, along), places_tensor(places, x)
    return Pair[name](*(some if keepdim else (squeeze(one, along) for one in some)))


def pair_of_single(name: str, x: Tensor) -> Any:
    """The pair of a number that has no axis, which is the first of one."""
    return Pair[name](x, places_tensor(np.zeros((), np.int64), x))


max = extreme("max", np.argmax, amax, maximum)
min = extreme("min", np.argmin, amin, minimum)


def place_of(name: str, find: Callable) -> None:
    """The place of the first extreme along an axis, or among all numbers."""

    def function(input, dim=None, keepdim=False):
        if input.dtype.kind == BOOL:
            raise RuntimeError(f"{name}(): does not support bool input")
        if dim is not None:
            dim = axis(dim, input.ndim)
        if dim is None and not input._array.size:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            )
        require_places(input, () if dim is None else (dim,), name)

        def rule(x):
            if not x.ndim:
                return (np.zeros((), np.int64),)
            return (find(x, axis=dim, keepdims=keepdim),)

        return computed(rule, input, dtype=int64)

    public(*BOTH, name=name)(function)


place_of("argmax", np.argmax)
place_of("argmin", np.argmin)


def truth(name: str, ask: Callable) -> None:
    """Whether all of the numbers along some axes are true, or any."""

    def function(input, dim=None, keepdim=False):
        along = axes(dim, input.ndim)
        wanted = uint8 if input.dtype is uint8 else bool_
        return computed(lambda x: (ask(x, axis=along, keepdims=keepdim),), input, dtype=wanted)

    public(*BOTH, name=name)(function)


truth("all", np.all)
truth("any", np.any)


@public(*BOTH)
def count_nonzero(input, dim=None):
    along = axes(dim, input.ndim)
    return computed(lambda x: (np.count_nonzero(x, axis=along),), input, dtype=int64)


@public(*BOTH)
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if input.dtype.kind < FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    along = axes(dim, input.ndim)
    count = float(np.prod([input.shape[i] for i in along]))
    less = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    apart = sub(input, mean(input, along if input.ndim else None, keepdim=True))
    squares = computed(lambda x: (x * x, lambda g: 2 * g * x), apart)
    total = sum(squares, along if input.ndim else None, keepdim)
    return div(total, float(np.maximum(count - less, 0)))


@public(*BOTH)
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    def root(x):
        y = np.sqrt(x)
        return y, lambda g: np.where(y == 0, 0, g / (2 * y))

    return computed(root, var(input, dim, unbiased, keepdim, correction=correction))


@public(*BOTH, name="logsumexp")
def logsumexp(input, dim, keepdim=False):
    (input,) = promoted(input, floating=True)
    along = axes(dim, input.ndim)

    def logsumexp(x):
        top = x.max(axis=along, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0)
        out = np.log(np.exp(x - top).sum(axis=along, keepdims=True)) + top
        shape = out.shape if keepdim else tuple(np.delete(out.shape, along))

        def shares(g):
            return spread(g, x.shape, along, keepdim) * np.exp(x - out)

        return out.reshape(shape).astype(x.dtype), shares

    return computed(logsumexp, input)


def normalised(rule: Callable, input: Tensor, dim: int, dtype: Any) -> Tensor:
    """The result of a rule along an axis, of floating numbers alone."""
    x = cast(input, dtype or input.dtype)
    along = axis(dim, x.ndim)
    if x.dtype.kind < FLOATING:
        kernel = f"{rule.__name__}_lastdim_kernel_impl"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{x.dtype.title}'")
    if not x.ndim:
        return normalised(rule, x.reshape(1), 0, None).reshape(())

    def applied(a):
        return rule(a, along)

    applied.__name__ = rule.__name__
    return computed(applied, x)


@public(*BOTH, name="softmax")
def softmax_along(input, dim, dtype=None):
    def softmax(x, along):
        parts = np.exp(x - x.max(axis=along, keepdims=True, initial=-np.inf))
        out = np.ascontiguousarray(parts / parts.sum(axis=along, keepdims=True))
        return out, lambda g: out * (g - (g * out).sum(axis=along, keepdims=True))

    return normalised(softmax, input, dim, dtype)


@public(*BOTH, name="log_softmax")
def log_softmax_along(input, dim, dtype=None):
    def log_softmax(x, along):
        shifted = x - x.max(axis=along, keepdims=True, initial=-np.inf)
        out = shifted - np.log(np.exp(shifted).sum(axis=along, keepdims=True))
        return out, lambda g: g - np.exp(out) * g.sum(axis=along, keepdims=True)

    return normalised(log_softmax, input, dim, dtype)


# along an axis, from its beginning


def from_the_end(x: np.ndarray, along: int) -> np.ndarray:
    """The sum from each place to the end."""
    return np.flip(np.flip(x, along).cumsum(along), along)


@public(*BOTH)
def cumsum(input, dim, *, dtype=None):
    wanted = dtype or (int64 if input.dtype.kind < FLOATING else input.dtype)
    along = axis(dim, input.ndim)

    def cumsum(x):
        if not x.ndim:
            return x.copy(), lambda g: g
        return x.cumsum(along, dtype=wanted.storage), lambda g: from_the_end(g, along)

    return computed(cumsum, input, dtype=wanted)


@public(*BOTH)
def cumprod(input, dim, *, dtype=None):
    wanted = dtype or (int64 if input.dtype.kind < FLOATING else input.dtype)
    along = axis(dim, input.ndim)

    def cumprod(x):
        if not x.ndim:
            return x.copy(), lambda g: g
        out = x.cumprod(along, dtype=wanted.storage)

        def of_the_others(g):
            total = np.zeros_like(out)
            size = x.shape[along]
            for i in range(size):
                # the product up to each place, without the number at i
                others = np.moveaxis(x, along, 0).copy()
                others[i] = 1
                others = others.cumprod(0)
                np.moveaxis(total, along, 0)[i] = (np.moveaxis(g, along, 0)[i:] * others[i:]).sum(0)
            return total

        return out, of_the_others

    return computed(cumprod, input, dtype=wanted)


@public(*BOTH)
def logcumsumexp(input, dim):
    along = axis(dim, input.ndim)

    def logcumsumexp(x):
        if not x.ndim:
            return x.copy(), lambda g: g
        out = np.logaddexp.accumulate(x, axis=along)

        def shares(g):
            place, width = np.moveaxis(x, along, -1), np.moveaxis(out, along, -1)
            parts = np.exp(place[..., :, None] - width[..., None, :])
            later = np.triu(np.where(np.isnan(parts), 0, parts))
            return np.moveaxis((later * np.moveaxis(g, along, -1)[..., None, :]).sum(-1), -1, along)

        return out, shares

    return computed(logcumsumexp, input)


@public(*BOTH)
def cummax(input, dim):
    """The largest number so far, and its place."""
    along = axis(dim, input.ndim)
    if not input.ndim:
        return pair_of_single("cummax", input)
    x = np.moveaxis(input._array, along, 0)
    best = np.maximum.accumulate(x, axis=0)
    # the last place at which a number is the best so far
    here = np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1))
    places = np.maximum.accumulate(np.where((x == best) | np.isnan(x), here, 0), axis=0)
    return pair("cummax", input, np.moveaxis(places, 0, along), along)


@public(*BOTH)
def diff(input, n=1, dim=-1):
    for _ in range(n):
        size = input.shape[dim]
        left = size - bool(size)
        later, earlier = narrow(input, dim, size - left, left), narrow(input, dim, 0, left)
        input = (ne if input.dtype.kind == BOOL else sub)(later, earlier)
    return input


# norms


@public(*BOTH, name="norm")
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    order = 2.0 if p in ("fro", None) else p
    return vector_norm(input, order, dim, keepdim, dtype=dtype)


@public("torch.linalg")
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = cast(x, dtype or x.dtype)
    refuse_unless(ord != 0, "a norm of order 0")
    if x.dtype.kind < FLOATING:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long"
        )
    along = axes(dim, x.ndim)
    if ord in (float("inf"), float("-inf")):
        if not all(x.shape[i] for i in along):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
                "operation does not have an identity"
            )
        return (amax if ord > 0 else amin)(absolute(x), along, keepdim)

    def norm(a):
        size = np.abs(a)
        out = (size**ord).sum(axis=along, keepdims=True) ** (1 / ord)
        shape = out.shape if keepdim else tuple(np.delete(out.shape, along))

        def direction(g):
            with np.errstate(all="ignore"):
                part = np.sign(a) * (size / out) ** (ord - 1)
            part = np.where(out == 0, 0, part)
            return spread(g, a.shape, along, keepdim) * part

        return out.reshape(shape).astype(size.dtype), direction

    return computed(norm, x, dtype=real_of(x.dtype))
