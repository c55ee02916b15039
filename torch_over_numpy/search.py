"""Order and counts: sorting, the largest, different numbers, places that are true."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from torch_over_numpy.axes import axis, require_broadcast
from torch_over_numpy.dtypes import FLOATING, bool_, int64
from torch_over_numpy.elementwise import BOTH, chosen
from torch_over_numpy.operations import computed, tensor_of
from torch_over_numpy.public import public
from torch_over_numpy.reductions import Pair, pair, pair_of_single, require_places
from torch_over_numpy.tensor import Tensor
from torch_over_numpy.views import flatten, unbind


def order(array: np.ndarray, along: int, descending: bool = False) -> np.ndarray:
    """The places of the numbers in their order, equal ones as they come; NaN is the largest."""
    if not descending:
        return np.argsort(array, axis=along, kind="stable")
    backwards = np.argsort(np.flip(array, along), axis=along, kind="stable")
    return array.shape[along] - 1 - np.flip(backwards, along)


def named_where_stable(function: Callable) -> Callable:
    """The function, refusing an axis that is not named where the order is to be stable."""

    @wraps(function)
    def checked(input, *by_place, **by_name):
        if by_place and "stable" in by_name:
            raise TypeError(
                f"{function.__name__}() takes from 1 to 0 positional arguments "
                f"but {len(by_place)} were given"
            )
        return function(input, *by_place, **by_name)

    return checked


@public(*BOTH)
@named_where_stable
def sort(input, dim=-1, descending=False, *, stable=False):
    along = axis(dim, input.ndim)
    if not input.ndim:
        return pair_of_single("sort", input)
    return pair("sort", input, order(input._array, along, descending), along)


@public(*BOTH)
@named_where_stable
def argsort(input, dim=-1, descending=False, *, stable=False):
    return sort(input, dim, descending).indices


@public(*BOTH)
def topk(input, k, dim=-1, largest=True, sorted=True):
    along = axis(dim, input.ndim)
    if not input.ndim:
        return pair_of_single("topk", input)
    if not 0 <= k <= input.shape[along]:
        raise RuntimeError("selected index k out of range")
    places = np.take(order(input._array, along, largest), range(k), axis=along)
    return pair("topk", input, places, along)


@public(*BOTH)
def kthvalue(input, k, dim=-1, keepdim=False):
    along = axis(dim, input.ndim)
    if not input.ndim:
        return pair_of_single("kthvalue", input)
    require_places(input, (along,), "kthvalue")
    if not 0 < k <= input.shape[along]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {along}")
    places = np.take(order(input._array, along), [k - 1], axis=along)
    return pair("kthvalue", input, places, along, keepdim)


@public(*BOTH)
def median(input, dim=None, keepdim=False):
    if dim is None:
        flat = flatten(input)
        return kthvalue(flat, (flat.shape[0] + 1) // 2, 0).values
    along = axis(dim, input.ndim)
    found = kthvalue(input, (input.shape[along] + 1) // 2, along, keepdim)
    return Pair["median"](*found)


@public(*BOTH)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    found: Any = np.unique(
        input._array, return_inverse=return_inverse, return_counts=return_counts, axis=dim
    )
    if not (return_inverse or return_counts):
        return Tensor._of(found, input.dtype, input.device)
    values, *more = found
    if return_inverse and dim is None:
        more[0] = more[0].reshape(input.shape)
    more = [Tensor._of(np.asarray(one, np.int64), int64, input.device) for one in more]
    return (Tensor._of(values, input.dtype, input.device), *more)


@public(*BOTH)
def bincount(input, weights=None, minlength=0):
    if input.ndim != 1 or input.dtype.kind >= FLOATING or (input._array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return computed(lambda x: (np.bincount(x, minlength=minlength),), input, dtype=int64)

    def rule(x, w):
        return (np.bincount(x, w, minlength),)

    return computed(rule, input, weights.detach(), dtype=weights.dtype)


@public(*BOTH)
def nonzero(input, *, as_tuple=False):
    x = input if input.ndim or not as_tuple else input.reshape(1)
    found = computed(lambda x: (np.argwhere(x),), x, dtype=int64)
    return unbind(found, 1) if as_tuple else found


@public(*BOTH)
def argwhere(input):
    return nonzero(input)


@public(*BOTH)
def equal(input, other):
    if input.device is not other.device:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            "meta and cpu!"
        )
    return input.shape == other.shape and bool(np.array_equal(input._array, other._array))


def close(input: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")

    def rule(x, y):
        x, y = (one.astype(np.float64) if one.dtype == bool else one for one in (x, y))
        near = np.abs(x - y) <= atol + np.abs(rtol * y)
        same = (x == y) | (near & np.isfinite(x) & np.isfinite(y))
        return (same | (np.isnan(x) & np.isnan(y) if equal_nan else False),)

    require_broadcast([input.shape, other.shape])
    return computed(rule, input, other, dtype=bool_)


@public(*BOTH)
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    return close(input, other, rtol, atol, equal_nan)


@public(*BOTH)
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    return bool(close(input, other, rtol, atol, equal_nan)._array.all())


@public("torch")
def isin(elements, test_elements):
    x, y = (tensor_of(one) for one in (elements, test_elements))
    return computed(lambda a, b: (np.isin(a, b),), x, flatten(y), dtype=bool_)


@public("torch")
def searchsorted(sorted_sequence, input, *, right=False):
    def rule(a, x):
        # how many of the sequence come before
        sequence = a if a.ndim == 1 else a[..., None, :]
        return ((np.less_equal if right else np.less)(sequence, x[..., None]).sum(-1),)

    return computed(rule, sorted_sequence, tensor_of(input), dtype=int64)


@public("torch")
def bucketize(input, boundaries, *, right=False):
    return searchsorted(boundaries, input, right=right)


@public(*BOTH)
def mode(input, dim=-1, keepdim=False):
    along = axis(dim, input.ndim)
    if not input.ndim:
        return pair_of_single("mode", input)
    require_places(input, (along,), "mode")
    rows = np.moveaxis(input._array, along, -1)
    places = np.array([place_of_mode(row) for row in rows.reshape(-1, rows.shape[-1])], np.int64)
    places = np.expand_dims(places.reshape(rows.shape[:-1]), along)
    return pair("mode", input, places, along, keepdim)


def place_of_mode(row: np.ndarray) -> int:
    """The last place of the number that stands most often in a row, of several the smallest."""
    values, counts = np.unique(row, return_counts=True)
    return int(np.flatnonzero(row == values[counts.argmax()])[-1])


@public("torch")
def where(condition, input=None, other=None):
    if input is None:
        return nonzero(condition, as_tuple=True)
    if condition.dtype is not bool_:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype.title}"
        )
    return chosen(condition, input, other)


@public("torch.Tensor", name="where")
def where_method(self, condition, other):
    return where(condition, self, other)
