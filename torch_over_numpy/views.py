"""Other shapes of the same numbers: views that share memory, and copies where there is none."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.axes import axes, axis, index_along, require_broadcast, sizes_in
from torch_over_numpy.dtypes import bfloat16, complex_of, dtype, float16, real_of, unrounded
from torch_over_numpy.elementwise import BOTH
from torch_over_numpy.operations import computed, require_writable, viewed
from torch_over_numpy.public import public
from torch_over_numpy.tensor import Size, Tensor

NOT_A_VIEW = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans "
    "across two contiguous subspaces). Use .reshape(...) instead."
)


def clone_of(x: Tensor) -> Tensor:
    """The same numbers in memory of their own, which lie by rows."""
    return computed(lambda a: (np.array(a, order="C"), lambda g: g), x)


@public(*BOTH)
def clone(input, *, memory_format=None):
    # as torch's: a tensor that fills its memory keeps the order in which it lies there
    order = "C" if memory_format is not None else "K"
    return computed(lambda a: (np.array(a, order=order), lambda g: g), input)


@public("torch.Tensor")
def contiguous(self):
    return self if self._array.flags.c_contiguous else clone_of(self)


@public("torch.Tensor")
def is_contiguous(self):
    return bool(self._array.flags.c_contiguous)


@public("torch.Tensor")
def stride(self, dim=None):
    steps = tuple(step // self._array.itemsize for step in self._array.strides)
    return steps if dim is None else steps[axis(dim, self.ndim)]


# shapes


def full_shape(sizes: tuple, count: int) -> tuple:
    """The sizes, with -1 replaced by what is left; RuntimeError where they do not fit."""
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = prod(size for size in sizes if size != -1)
    fits = known == count if -1 not in sizes else (count % known == 0 if known else False)
    if -1 in sizes and known == 0 and count == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if not fits:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")
    return tuple(count // known if size == -1 else size for size in sizes)


def is_view(array: np.ndarray, shape: tuple) -> bool:
    """Whether the numbers can take that shape where they lie."""
    return not array.size or np.may_share_memory(array.reshape(shape), array)


@public("torch.Tensor")
def view(self, *shape):
    if len(shape) == 1 and isinstance(shape[0], dtype):
        return reinterpreted(self, shape[0])
    wanted = full_shape(sizes_in(shape), self._array.size)
    if not is_view(self._array, wanted):
        raise RuntimeError(NOT_A_VIEW)
    return viewed(self, lambda a: a.reshape(wanted))


@public("torch.Tensor")
def view_as(self, other):
    return view(self, other.shape)


def in_shape(x: Tensor, shape: tuple) -> Tensor:
    """The tensor in that shape, as a view where it can be one."""
    wanted = full_shape(shape, x._array.size)
    if wanted == x.shape:
        return viewed(x, lambda a: a.view())
    source = x if is_view(x._array, wanted) else clone_of(x)
    return viewed(source, lambda a: a.reshape(wanted))


@public("torch", name="reshape")
def reshape(input, shape):
    return in_shape(input, sizes_in((shape,)))


@public("torch.Tensor", name="reshape")
def reshape_method(self, *shape):
    return in_shape(self, sizes_in(shape or ((),)))


@public("torch.Tensor")
def reshape_as(self, other):
    return in_shape(self, other.shape)


@public(*BOTH)
def flatten(input, start_dim=0, end_dim=-1):
    first, last = axis(start_dim, input.ndim), axis(end_dim, input.ndim)
    if not input.ndim:
        return in_shape(input, (1,))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    sizes = input.shape
    return in_shape(input, (*sizes[:first], prod(sizes[first : last + 1]), *sizes[last + 1 :]))


@public(*BOTH)
def ravel(input):
    return flatten(contiguous(input))


@public(*BOTH)
def unflatten(input, dim, sizes):
    along = axis(dim, input.ndim)
    whole, parts = input.shape[along], tuple(sizes)
    known = prod(one for one in parts if one != -1)
    if (known != whole and -1 not in parts) or (-1 in parts and (not known or whole % known)):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {along} "
            f"({whole}) in the input tensor"
        )
    parts = full_shape(parts, whole)
    return view(input, (*input.shape[:along], *parts, *input.shape[along + 1 :]))


# the order of axes


@public("torch", name="permute")
def permute(input, dims):
    order = axes(tuple(dims), input.ndim) if dims else ()
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not "
            f"equal to len(dims) = {len(order)}"
        )
    return viewed(input, lambda a: a.transpose(order))


@public("torch.Tensor", name="permute")
def permute_method(self, *dims):
    return permute(self, sizes_in(dims))


@public(*BOTH)
def transpose(input, dim0, dim1):
    one, other = axis(dim0, input.ndim), axis(dim1, input.ndim)
    if not input.ndim:
        return viewed(input, lambda a: a.view())
    return viewed(input, lambda a: a.swapaxes(one, other))


public(*BOTH, name="swapaxes")(transpose)


@public(*BOTH)
def t(input):
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return viewed(input, lambda a: a.T)


@public("torch.Tensor")
def t_(self):
    refuse_unless(self._base is None, "torch.Tensor.t_ of a view")
    require_writable(self)
    turned = t(self)
    self._array, self._node = turned._array, turned._node
    self._version.count += 1
    return self


@public(*BOTH)
def movedim(input, source, destination):
    before, after = axes(source, input.ndim), axes(destination, input.ndim)
    return viewed(input, lambda a: np.moveaxis(a, before, after))


public(*BOTH, name="moveaxis")(movedim)


def transposed(self):
    if self.ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self.ndim}-D tensor."
        )
    return viewed(self, lambda a: a.swapaxes(-1, -2))


def turned_round(self):
    return viewed(self, lambda a: a.T)


for word, function in {"mT": transposed, "T": turned_round}.items():
    setattr(Tensor, word, property(function))


# axes of size 1


@public(*BOTH)
def unsqueeze(input, dim):
    along = axis(dim, input.ndim + 1)
    return viewed(input, lambda a: np.expand_dims(a, along))


@public(*BOTH)
def squeeze(input, dim=None):
    along = axes(dim, input.ndim)
    gone = tuple(i for i in along if input.ndim and input.shape[i] == 1)
    return viewed(input, lambda a: a.squeeze(gone) if gone else a.view())


@public("torch.Tensor")
def expand(self, *sizes):
    wanted = sizes_in(sizes)
    extra = len(wanted) - self.ndim
    if extra < 0:
        raise RuntimeError(
            f"expand(torch.{{}}{list(self.shape)}, size={list(wanted)}): the number of sizes "
            f"provided ({len(wanted)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({self.ndim})"
        )
    own = (*[None] * extra, *self.shape)
    for i, (size, new) in enumerate(zip(own, wanted, strict=True)):
        if size not in (None, 1, new) and new != -1:
            raise RuntimeError(
                f"The expanded size of the tensor ({new}) must match the existing size ({size}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(wanted)}.  Tensor sizes: "
                f"{list(self.shape)}"
            )
    shape = tuple(size if new == -1 else new for size, new in zip(own, wanted, strict=True))
    return viewed(self, lambda a: broadcast(a, shape), overlaps=True)


def broadcast(array: np.ndarray, shape: tuple) -> np.ndarray:
    """The array in a larger shape, in which one number stands at many places."""
    out = np.broadcast_to(array, shape)
    # written into it cannot be, but what is taken from it for one place can
    return np.lib.stride_tricks.as_strided(array, out.shape, out.strides)


@public("torch.Tensor")
def expand_as(self, other):
    return expand(self, other.shape)


@public("torch")
def broadcast_to(input, size):
    return expand(input, size)


public("torch.Tensor", name="broadcast_to")(expand)


@public("torch")
def broadcast_tensors(*tensors):
    shape = require_broadcast([x.shape for x in tensors])
    return tuple(expand(x, shape) for x in tensors)


@public("torch")
def broadcast_shapes(*shapes):
    return Size(require_broadcast([x if isinstance(x, tuple) else (x,) for x in shapes]))


# parts


def sliced(x: Tensor, along: int, part: Any, made_with_others: str = "") -> Tensor:
    """The part of a tensor along an axis."""
    index = (*index_along(along, part), ...)
    return viewed(x, lambda a: a[index], made_with_others=made_with_others)


@public(*BOTH)
def select(input, dim, index):
    along = axis(dim, input.ndim)
    size = input.shape[along]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {along}"
        )
    return sliced(input, along, int(index))


@public(*BOTH)
def narrow(input, dim, start, length):
    along = axis(dim, input.ndim)
    first = int(start) + (input.shape[along] if start < 0 else 0)
    if not 0 <= first <= first + length <= input.shape[along]:
        if not -input.shape[along] <= start <= input.shape[along]:
            raise IndexError(
                "start out of range (expected to be in range of "
                f"[{-input.shape[along]}, {input.shape[along]}], but got {start})"
            )
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[along]})."
        )
    return sliced(input, along, slice(first, first + length))


@public(*BOTH)
def unbind(input, dim=0):
    along = axis(dim, input.ndim)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(sliced(input, along, i, "Unbind") for i in range(input.shape[along]))


@public(*BOTH)
def split(tensor, split_size_or_sections, dim=0):
    along, given = axis(dim, tensor.ndim), split_size_or_sections
    whole = tensor.shape[along]
    if isinstance(given, int):
        if not given and whole:
            raise RuntimeError(
                "split_size can only be 0 if dimension size is 0, but got dimension size of "
                f"{whole}"
            )
        ends = [*range(given, whole, given), whole] if whole else [0]
    else:
        ends = np.cumsum(given).tolist()
        if sum(given) != whole:
            raise RuntimeError(
                "split_with_sizes expects split_sizes to sum exactly to "
                f"{whole} (input tensor's size at dimension {along}), but got "
                f"split_sizes={list(given)}"
            )
    return parts_at(tensor, along, ends)


def parts_at(x: Tensor, along: int, ends: list[int]) -> tuple[Tensor, ...]:
    """The parts of a tensor that end there, each where the one before it ends."""
    pairs = zip([0, *ends], ends, strict=False)
    return tuple(sliced(x, along, slice(start, end), "Split") for start, end in pairs)


@public(*BOTH)
def chunk(input, chunks, dim=0):
    whole = input.shape[axis(dim, input.ndim)]
    if not whole:
        return tuple(narrow(input, dim, 0, 0) for _ in range(chunks))
    return split(input, -(-whole // chunks), dim)


@public(*BOTH)
def tensor_split(input, indices_or_sections, dim=0):
    along, given = axis(dim, input.ndim), indices_or_sections
    whole = input.shape[along]
    if isinstance(given, int):
        sizes = [whole // given + (i < whole % given) for i in range(given)]
        return parts_at(input, along, np.cumsum(sizes).tolist())
    return parts_at(input, along, [*given, whole])


@public(*BOTH)
def diagonal(input, offset=0, dim1=0, dim2=1):
    one, other = axis(dim1, input.ndim), axis(dim2, input.ndim)
    if one == other:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")

    def take(a):
        out = np.diagonal(a, offset, one, other)
        # NumPy's own may not be written into
        out.flags.writeable = a.flags.writeable
        return out

    return viewed(input, take)


@public("torch.Tensor")
def unfold(self, dimension, size, step):
    along = axis(dimension, self.ndim)
    if size > self.shape[along]:
        raise RuntimeError(
            f"maximum size for tensor at dimension {along} is {self.shape[along]} but size is "
            f"{size}"
        )

    def take(a):
        windows = np.lib.stride_tricks.sliding_window_view(a, size, along, writeable=True)
        return windows[index_along(along, slice(None, None, step))]

    return viewed(self, take, overlaps=True)


@public(*BOTH)
def as_strided(input, size, stride, storage_offset=0):
    """The places of memory, so far apart along each axis."""

    def take(a):
        flat = a.reshape(-1)[storage_offset:]
        steps = tuple(step * a.itemsize for step in stride)
        return np.lib.stride_tricks.as_strided(flat, tuple(size), steps)

    return viewed(input, take, overlaps=True)


# complex numbers as pairs, and other numbers of the same bits


@public("torch")
def view_as_complex(input):
    def rule(a):
        def pairs(g):
            return np.stack([g.real, g.imag], -1)

        return a[..., 0] + 1j * a[..., 1], pairs

    return computed(rule, input, dtype=complex_of(input.dtype))


@public("torch")
def view_as_real(input):
    def rule(a):
        return np.stack([a.real, a.imag], -1), lambda g: g[..., 0] + 1j * g[..., 1]

    return computed(rule, input, dtype=real_of(input.dtype))


def reinterpreted(x: Tensor, other: dtype) -> Tensor:
    """The bits of the numbers, taken for numbers of another dtype."""
    bits = BITS.get(x.dtype, as_they_are)
    if other.rounded is not unrounded:
        return Tensor._of(NUMBERS[other](np.ascontiguousarray(bits(x._array))), other, x.device)
    return Tensor._of(np.ascontiguousarray(bits(x._array)).view(other.storage), other, x.device)


def as_they_are(array: np.ndarray) -> np.ndarray:
    return array


def upper_half(array: np.ndarray) -> np.ndarray:
    return (array.view(np.uint32) >> 16).astype(np.uint16)


def with_upper_half(bits: np.ndarray) -> np.ndarray:
    return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


BITS: dict[dtype, Callable] = {
    float16: lambda array: array.astype(np.float16),
    bfloat16: upper_half,
}
NUMBERS: dict[dtype, Callable] = {
    float16: lambda bits: bits.view(np.float16).astype(np.float32),
    bfloat16: with_upper_half,
}
