"""Tensors in square brackets: parts that are views, and the places that other tensors name."""

from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.axes import axis, index_along, require_broadcast
from torch_over_numpy.dtypes import BOOL, FLOATING, INTEGER, bool_, uint8
from torch_over_numpy.elementwise import BOTH
from torch_over_numpy.graph import summed_to
from torch_over_numpy.operations import (
    cast,
    computed,
    snapshot,
    tensor_of,
    viewed,
    written,
)
from torch_over_numpy.public import public
from torch_over_numpy.tensor import Tensor
from torch_over_numpy.views import diagonal, expand, flatten


def as_tuple(index: Any) -> tuple:
    """The index as one for each axis; a list is one only where it holds no slices."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and any(isinstance(one, (slice, Tensor)) for one in index):
        return tuple(index)
    return (index,)


def is_number(one: Any) -> bool:
    """Whether an index takes one place of an axis, as a number or a tensor without axes."""
    if isinstance(one, Tensor):
        return not one.ndim and one.dtype.kind == INTEGER
    return isinstance(one, (int, np.integer)) and not isinstance(one, (bool, np.bool_))


def places(one: Any) -> np.ndarray:
    """An index of many places, as NumPy takes it."""
    if isinstance(one, (bool, np.bool_)):
        return np.array(one)
    if not isinstance(one, Tensor):
        array = np.array(one if not isinstance(one, range) else [*one])
        return array.astype(np.int64) if not array.size else array
    if one.dtype is uint8:
        return one._array.astype(bool)
    if one.dtype.kind >= FLOATING:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return one._array


def axes_taken(one: Any) -> int:
    """How many axes of a tensor an index stands for."""
    if one is None or isinstance(one, (bool, np.bool_)) or one is Ellipsis:
        return 0
    if isinstance(one, Tensor) and one.dtype in (bool_, uint8):
        return one.ndim
    return np.ndim(one) if isinstance(one, list) and is_mask(one) else 1


def is_mask(one: list) -> bool:
    return np.array(one).dtype == bool


def split_index(x: Tensor, index: Any) -> tuple[tuple, tuple]:
    """The index in two steps: the part that is a view, then the places in it, if any are named."""
    given = as_tuple(index)
    count = sum(map(axes_taken, given))
    if count > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
    if sum(one is Ellipsis for one in given) == 0:
        given = (*given, Ellipsis)
    basic: list = []
    named: list = []
    along = 0
    for one in given:
        if one is Ellipsis:
            free = x.ndim - count
            basic += [slice(None)] * free
            named += [slice(None)] * free
            along += free
        elif one is None:
            basic.append(None)
            named.append(slice(None))
        elif is_number(one):
            basic.append(place(x, along, int(number(one))))
            along += 1
        elif isinstance(one, slice):
            basic.append(plain_slice(one))
            named.append(slice(None))
            along += 1
        else:
            taken = axes_taken(one)
            basic += [slice(None)] * taken
            named.append(checked_places(x, along, one))
            along += taken
    has_places = any(not isinstance(one, slice) for one in named)
    return tuple(basic), tuple(named) if has_places else ()


def place(x: Tensor, along: int, number: int) -> int:
    size = x.shape[along]
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for dimension {along} with size {size}")
    return number


def plain_slice(one: slice) -> slice:
    ends = (None if end is None else int(number(end)) for end in (one.start, one.stop, one.step))
    start, stop, step = ends
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero")
    return slice(start, stop, step)


def number(one: Any) -> Any:
    return one._array if isinstance(one, Tensor) else one


def checked_places(x: Tensor, along: int, one: Any) -> np.ndarray:
    """The places along an axis, or those of a mask; IndexError where there are none such."""
    array = places(one)
    if array.dtype == bool:
        sizes = x.shape[along : along + array.ndim]
        for i, (own, its) in enumerate(zip(array.shape, sizes, strict=True)):
            if own != its:
                raise IndexError(
                    f"The shape of the mask {list(array.shape)} at index {i} does not match the "
                    f"shape of the indexed tensor {list(x.shape)} at index {along + i}"
                )
        return array
    if array.dtype.kind == "f":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    size = x.shape[along]
    beyond = array[(array < -size) | (array >= size)]
    if beyond.size:
        raise IndexError(
            f"index {beyond.flat[0]} is out of bounds for dimension {along} with size {size}"
        )
    return array


def require_index_broadcast(named: tuple) -> None:
    """Raise IndexError where the places of several axes do not broadcast."""
    shapes = [one.shape for one in named if not isinstance(one, slice) and one.dtype != bool]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        said = ", ".join(str(list(shape)) for shape in shapes)
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes " + said
        ) from None


def items(x: Tensor, named: tuple, *index_tensors: Tensor) -> Tensor:
    """A copy of the numbers at these places, which tensors may have named."""
    require_index_broadcast(named)
    shape = x.shape

    def index(a, *_):
        def put(g):
            out = np.zeros(shape, g.dtype)
            np.add.at(out, named, g)
            return out

        return np.array(a[named], order="C"), put

    return computed(index, x, *index_tensors)


def taken(x: Tensor, places: np.ndarray, along: int) -> Tensor:
    """The numbers at these places along an axis."""
    return items(x, at(places, along))


def at(places: np.ndarray, along: int) -> tuple[np.ndarray, ...]:
    """The index of places along one axis, which are where they are along the others."""
    index = [*np.ix_(*map(np.arange, places.shape))]
    index[along] = places
    return tuple(index)


def getitem(self, index):
    basic, named = split_index(self, index)
    require_places_on_its_device(self, index)
    part = viewed(self, lambda a: a[(*basic, ...)])
    if not named:
        return part
    index_tensors = [one for one in as_tuple(index) if isinstance(one, Tensor)]
    return items(part, named, *(one for one in index_tensors if one.device is self.device))


def require_places_on_its_device(x: Tensor, index: Any) -> None:
    """Raise RuntimeError for places on another device than the CPU and the tensor's own."""
    for one in as_tuple(index):
        if isinstance(one, Tensor) and one.is_meta and not x.is_meta:
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
            )


def setitem(self, index, value):
    basic, named = split_index(self, index)
    require_places_on_its_device(self, index)
    part = viewed(self, lambda a: a[(*basic, ...)])
    part = self if all(one == slice(None) for one in basic) else part
    new = tensor_of(value, self.dtype)
    if new.device != self.device and new.ndim:
        new = new.to(self.device)
    if named:
        new = with_items(snapshot(part), named, new)
    elif new.ndim > part.ndim:
        shape = without_leading_ones(new.shape, part.shape)
        new = viewed(new, lambda a: a.reshape(shape))
    elif new.ndim and new.shape != part.shape:
        new = expand(new, part.shape)
    written(part, new)


def without_leading_ones(shape: tuple, there: tuple) -> tuple:
    """The shape of what is written, as it broadcasts to the shape that it is written into."""
    own = shape
    while len(own) > len(there) and own[0] == 1:
        own = own[1:]
    try:
        fits = np.broadcast_shapes(own, there) == there
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing "
            f"result of shape {list(there)}"
        )
    return own


def with_items(x: Tensor, named: tuple, value: Tensor, accumulate: bool = False) -> Tensor:
    """The numbers of a tensor, with others at these places, or added to those there."""
    require_index_broadcast(named)
    shape = without_leading_ones(value.shape, x._array[named].shape)

    def index_put(a, b):
        out, given = a.copy(), b.shape
        if accumulate:
            np.add.at(out, named, b.reshape(shape))
        else:
            out[named] = b.reshape(shape)

        def of_the_rest(g):
            if accumulate:
                return g
            left = g.copy()
            left[named] = 0
            return left

        return out, of_the_rest, lambda g: summed_to(g[named], shape).reshape(given)

    return computed(index_put, x, value)


@public(*BOTH)
def index_put(input, indices, values, accumulate=False):
    if values.dtype is not input.dtype:
        raise RuntimeError("Index put requires the source and destination dtypes match")
    _, named = split_index(input, tuple(indices))
    return with_items(input, named, values, accumulate)


@public(*BOTH)
def index_select(input, dim, index):
    along = axis(dim, input.ndim)
    if index.dtype.kind != INTEGER:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    return items(input, index_along(along, checked_places(input, along, index)))


@public(*BOTH)
def index_add(input, dim, index, source, *, alpha=1):
    if source.dtype is not input.dtype:
        raise RuntimeError("index_add_(): self and source expected to have the same dtype")
    along = axis(dim, input.ndim)
    named = index_along(along, checked_places(input, along, index))
    value = source if alpha == 1 else source * alpha
    return with_items(input, named, value, accumulate=True)


@public(*BOTH)
def index_fill(input, dim, index, value):
    along = axis(dim, input.ndim)
    named = index_along(along, checked_places(input, along, index))
    return with_items(input, named, tensor_of(value, input.dtype))


@public(*BOTH)
def index_copy(input, dim, index, source):
    along = axis(dim, input.ndim)
    return with_items(input, index_along(along, checked_places(input, along, index)), source)


@public(*BOTH)
def masked_select(input, mask):
    shape = require_broadcast([input.shape, mask.shape])
    return items(expand(input, shape), (np.broadcast_to(mask._array, shape),))


@public(*BOTH)
def masked_scatter(input, mask, source):
    there = np.broadcast_to(mask._array, input.shape)
    count = int(there.sum())

    def masked_scatter(a, b):
        out = a.copy()
        out[there] = b.ravel()[:count]
        given = b.shape

        def of_the_source(g):
            flat = np.zeros(int(np.prod(given)), g.dtype)
            flat[:count] = g[there]
            return flat.reshape(given)

        return out, lambda g: np.where(there, 0, g), of_the_source

    if source.dtype is not input.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes")
    return computed(masked_scatter, input, source)


def along_axis(input: Tensor, dim: int, index: Tensor) -> tuple[int, tuple]:
    """The axis, and the places that an index of as many axes names along it."""
    along = axis(dim, input.ndim)
    if index.dtype.kind == BOOL or index.dtype.kind >= FLOATING:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if index.ndim != input.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    array, size = index._array, input.shape[along] if input.ndim else 1
    beyond = array[(array < 0) | (array >= size)]
    if beyond.size:
        raise RuntimeError(
            f"index {beyond.flat[0]} is out of bounds for dimension {along} with size {size}"
        )
    return along, at(array, along) if array.ndim else ()


@public(*BOTH)
def gather(input, dim, index):
    along, named = along_axis(input, dim, index)
    for i, (own, its) in enumerate(zip(input.shape, index.shape, strict=True)):
        if i != along and its > own:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(index.shape)} to be no "
                f"larger than self {list(input.shape)} apart from dimension {along}"
            )
    return items(input, named, index)


@public(*BOTH)
def take_along_dim(input, indices, dim=None):
    if dim is None:
        return take_along_dim(flatten(input), flatten(indices), 0)
    along = axis(dim, input.ndim)
    if indices.dtype.kind == BOOL or indices.dtype.kind >= FLOATING:
        raise RuntimeError("take_along_dim(): Expected index to have dtype of int64")
    others = [(*x.shape[:along], 1, *x.shape[along + 1 :]) for x in (input, indices)]
    shape = require_broadcast(others)
    own, its = ((*shape[:along], x.shape[along], *shape[along + 1 :]) for x in (input, indices))
    return gather(expand(input, own), along, expand(indices, its))


def scattered(x: Tensor, dim: int, index: Tensor, source: Any, accumulate: bool = False) -> Tensor:
    """The numbers of a tensor, into which others are put, or added, along an axis."""
    _, named = along_axis(x, dim, index)
    if isinstance(source, Tensor) and source.dtype is not x.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    value, part = tensor_of(source, x.dtype), tuple(map(slice, index.shape))
    value = viewed(value, lambda b: b[part]) if value.ndim else value
    return with_items(x, named, value, accumulate)


@public(*BOTH)
def scatter(input, dim, index, src=None, *, value=None):
    return scattered(input, dim, index, value if src is None else src)


@public(*BOTH)
def scatter_add(input, dim, index, src):
    return scattered(input, dim, index, src, accumulate=True)


@public(*BOTH)
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    _, named = along_axis(input, dim, index)
    refuse_unless(reduce in REDUCE, f"torch.scatter_reduce(reduce={reduce!r})")
    if reduce == "sum" and include_self:
        return scattered(input, dim, index, src, accumulate=True)
    refuse_unless(not (input.requires_grad or src.requires_grad), "a gradient of scatter_reduce")
    combine, start = REDUCE[reduce]

    def rule(a, b):
        out = a.copy()
        if not include_self:
            out[named] = start(a.dtype)
        combine.at(out, named, b[tuple(map(slice, index.shape))])
        return (out,)

    return computed(rule, input, src)


def least(dtype: np.dtype) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def most(dtype: np.dtype) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


REDUCE = {
    "sum": (np.add, lambda dtype: 0),
    "prod": (np.multiply, lambda dtype: 1),
    "amax": (np.maximum, least),
    "amin": (np.minimum, most),
}


@public("torch.Tensor")
def fill_diagonal_(self, fill_value):
    written(diagonal(self), tensor_of(fill_value, self.dtype))
    return self


@public("torch.Tensor")
def copy_(self, src):
    return written(self, cast(src.to(self.device), self.dtype))


@public("torch.Tensor")
def fill_(self, value):
    return written(self, tensor_of(value, self.dtype))


@public("torch.Tensor")
def zero_(self):
    return fill_(self, 0)
