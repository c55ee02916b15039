"""Tensors put together, repeated, turned over, shifted, and filled up at their edges."""

from collections.abc import Callable
from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.axes import axes, axis, index_along, sizes_in
from torch_over_numpy.dtypes import int64
from torch_over_numpy.elementwise import BOTH
from torch_over_numpy.indexing import items
from torch_over_numpy.operations import cast, computed, result_type
from torch_over_numpy.public import public
from torch_over_numpy.tensor import Tensor, known_device
from torch_over_numpy.views import clone_of, flatten, in_shape, unsqueeze
from torch_over_numpy.views import diagonal as diagonal_of


def require_tensors(tensors: Any, name: str) -> list[Tensor]:
    some = [*tensors]
    for i, one in enumerate(some):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(one).__name__}"
            )
    if not some:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return some


@public("torch")
def cat(tensors, dim=0):
    given = require_tensors(tensors, "torch.cat(): expected a non-empty list of Tensors, and")
    if any(not one.ndim for one in given):
        place = next(i for i, one in enumerate(given) if not one.ndim)
        raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    wanted = result_type(*given)
    # as torch does, what has one axis without a number is left out
    some = [one for one in given if one.shape != (0,)] or given[:1]
    along = axis(dim, some[0].ndim)
    for place, one in enumerate(some):
        if one.ndim != some[0].ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {some[0].ndim} and {one.ndim}"
            )
        for i, (own, other) in enumerate(zip(some[0].shape, one.shape, strict=True)):
            if i != along and own != other:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {along}. Expected size {own} "
                    f"but got size {other} for tensor number {place} in the list."
                )
    return joined([cast(one, wanted) for one in some], along)


def joined(some: list[Tensor], along: int) -> Tensor:
    ends = np.cumsum([one.shape[along] for one in some])

    def part(end, size):
        index = index_along(along, slice(end - size, end))
        return lambda g: g[index]

    def cat(*arrays):
        sizes = [one.shape[along] for one in arrays]
        return np.concatenate(arrays, along), *map(part, ends, sizes)

    return computed(cat, *some)


for word in ("concat", "concatenate"):
    public("torch", name=word)(cat)


@public("torch")
def stack(tensors, dim=0):
    some = require_tensors(tensors, "stack")
    for place, one in enumerate(some):
        if one.shape != some[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(some[0].shape)} at "
                f"entry 0 and {list(one.shape)} at entry {place}"
            )
    return cat([unsqueeze(one, dim) for one in some], dim)


@public("torch")
def hstack(tensors):
    some = [one if one.ndim else unsqueeze(one, 0) for one in tensors]
    return cat(some, 0 if some[0].ndim == 1 else 1)


@public("torch")
def vstack(tensors):
    return cat([one if one.ndim > 1 else in_shape(one, (1, -1)) for one in tensors], 0)


@public("torch.Tensor")
def repeat(self, *repeats):
    times = sizes_in(repeats)
    if len(times) < self.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )

    def repeat(x):
        shape = (1,) * (len(times) - x.ndim) + x.shape
        parts = tuple(size for pair in zip(times, shape, strict=True) for size in pair)
        own = x.shape

        def summed(g):
            return g.reshape(parts).sum(axis=tuple(range(0, 2 * len(times), 2))).reshape(own)

        return np.tile(x, times), summed

    return computed(repeat, self)


@public(*BOTH)
def tile(input, *dims):
    times = sizes_in(dims)
    return repeat(input, *(1,) * (input.ndim - len(times)), *times)


@public(*BOTH)
def repeat_interleave(input, repeats, dim=None):
    x = flatten(input) if dim is None else input
    along = axis(dim or 0, x.ndim)
    times = repeats._array if isinstance(repeats, Tensor) else repeats
    places = np.repeat(np.arange(x.shape[along]), times)
    return items(x, index_along(along, places))


@public(*BOTH)
def flip(input, *dims):
    given = sizes_in(dims)
    along = axes(given, input.ndim) if given else ()
    return computed(lambda x: (np.flip(x, along).copy(), lambda g: np.flip(g, along)), input)


@public(*BOTH)
def roll(input, shifts, dims=None):
    if not input._array.size:
        return clone_of(input)
    several = isinstance(shifts, (tuple, list))
    steps = tuple(shifts) if several else (shifts,)
    along = None if dims is None else axes(dims, input.ndim)
    if along is not None and len(steps) != len(along):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(along)}"
        )
    given = steps if along is not None else steps[0]
    back = tuple(-step for step in steps) if along is not None else -steps[0]
    return computed(lambda x: (np.roll(x, given, along), lambda g: np.roll(g, back, along)), input)


def triangle(name: str, cut: Callable) -> Callable:
    """A function that leaves one side of the diagonal, and puts 0 on the other."""

    def function(input, diagonal=0):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return computed(lambda x: (cut(x, diagonal), lambda g: cut(g, diagonal)), input)

    return public(*BOTH, name=name)(function)


tril = triangle("tril", np.tril)
triu = triangle("triu", np.triu)


@public(*BOTH)
def diag(input, diagonal=0):
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return clone_of(diagonal_of(input, diagonal))


@public(*BOTH)
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    one, other = axis(dim1, input.ndim + 1), axis(dim2, input.ndim + 1)

    def diag_embed(x):
        size = x.shape[-1] + abs(offset)
        out = np.zeros((*x.shape[:-1], size, size), x.dtype)
        rows = np.arange(x.shape[-1]) + max(-offset, 0)
        columns = rows + offset
        out[..., rows, columns] = x
        ends = (-2, -1), (one, other)
        out = np.moveaxis(out, *ends)
        return out.copy(), lambda g: np.moveaxis(g, *ends[::-1])[..., rows, columns]

    return computed(diag_embed, input)


@public("torch")
def block_diag(*tensors):
    wanted = result_type(*tensors)
    whole = sum(x.shape[-1] for x in tensors)
    rows, before = [], 0
    for x in tensors:
        rows.append(pad(cast(x, wanted), (before, whole - before - x.shape[-1])))
        before += x.shape[-1]
    return cat(rows, 0)


@public("torch.nn.utils.rnn")
def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    longest = max(map(len, sequences))
    rows = [
        pad(one, (0, 0) * (one.ndim - 1) + (0, longest - len(one)), value=padding_value)
        for one in sequences
    ]
    return stack(rows, 0 if batch_first else 1)


@public("torch.nn.functional")
def pad(input, pad, mode="constant", value=None):
    refuse_unless(mode == "constant", f"torch.nn.functional.pad(mode={mode!r})")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {input.ndim}"
        )
    ends = [*zip(pad[::2], pad[1::2], strict=True)][::-1]
    widths = [(0, 0)] * (input.ndim - len(ends)) + ends
    for size, (before, after) in zip(input.shape, widths, strict=True):
        if size + min(before, 0) + min(after, 0) < 0 or size + before + after < 0:
            raise RuntimeError(
                f"The input size {size}, plus negative padding {before} and {after}, resulted in a "
                "negative output size, which is invalid."
            )
    filling = 0.0 if value is None else value

    def constant_pad_nd(x):
        inner = tuple(
            slice(max(-a, 0), size + min(b, 0))
            for size, (a, b) in zip(x.shape, widths, strict=True)
        )
        wide = [(max(a, 0), max(b, 0)) for a, b in widths]
        out = np.pad(x[inner], wide, constant_values=x.dtype.type(filling))
        shape = x.shape

        def cut(g):
            back = np.zeros(shape, g.dtype)
            outer = tuple(slice(a, size - b) for size, (a, b) in zip(g.shape, wide, strict=True))
            back[inner] = g[outer]
            return back

        return out, cut

    return computed(constant_pad_nd, input)


@public("torch.nn.functional")
def one_hot(tensor, num_classes=-1):
    if tensor.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    count = num_classes if num_classes >= 0 else int(tensor._array.max()) + 1
    if (tensor._array < 0).any():
        raise RuntimeError("Class values must be non-negative.")
    if tensor._array.size and tensor._array.max() >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return computed(lambda x: (x[..., None] == np.arange(count),), tensor, dtype=int64)


@public("torch")
def meshgrid(*tensors, indexing="ij"):
    some = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = tuple(x.shape[0] if x.ndim else 1 for x in some)
    refuse_unless(indexing == "ij", f"torch.meshgrid(indexing={indexing!r})")

    def along(i):
        return (-1,) + (1,) * (len(some) - 1 - i)

    return tuple(in_shape(x, along(i)).expand(shape) for i, x in enumerate(some))


@public("torch")
def cartesian_prod(*tensors):
    return stack([flatten(one) for one in meshgrid(*tensors)], 1)


@public("torch")
def tril_indices(row, col, offset=0, *, dtype=None, device=None):
    return indices_of(np.tril_indices(row, offset, col), dtype, device)


@public("torch")
def triu_indices(row, col, offset=0, *, dtype=None, device=None):
    return indices_of(np.triu_indices(row, offset, col), dtype, device)


def indices_of(pair: Any, dtype: Any, device: Any) -> Tensor:
    wanted = dtype or int64
    return Tensor._of(wanted.stored(np.stack(pair)), wanted, known_device(device))
