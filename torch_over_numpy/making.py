"""New tensors: of numbers that are given, of equal ones, of ranges; and copies elsewhere."""

from typing import Any

import numpy as np

from torch_over_numpy.axes import axis, sizes_in
from torch_over_numpy.dtypes import (
    DTYPES,
    OTHER_NAMES,
    bool_,
    dtype,
    get_default_dtype,
    int64,
    of_number,
    promote_types,
)
from torch_over_numpy.elementwise import BOTH
from torch_over_numpy.modes import NEW, dispatched
from torch_over_numpy.operations import cast, computed, viewed
from torch_over_numpy.public import public
from torch_over_numpy.tensor import CPU, DefaultDevice, Tensor, device, dtype_of, known_device
from torch_over_numpy.views import NUMBERS


def new(array: Any, dtype: dtype, place: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor that no other shares, made of numbers of NumPy's."""
    where = known_device(place)
    made = dispatched(NEW, lambda: Tensor._of(dtype.stored(array), dtype, where))
    return made.requires_grad_() if requires_grad else made


def numbers_in(data: Any) -> Any:
    """The numbers in lists and tensors, as NumPy takes them."""
    if isinstance(data, Tensor):
        return data._array
    if isinstance(data, (list, tuple)):
        return [numbers_in(one) for one in data]
    return data


def inferred(data: Any) -> dtype:
    """The dtype of the numbers in lists, however deep."""
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return dtype_of(np.asarray(data))
    if isinstance(data, (list, tuple)):
        found = None
        for one in data:
            found = inferred(one) if found is None else promote_types(found, inferred(one))
        return found or get_default_dtype()
    if isinstance(data, (bool, int, float, complex)):
        return of_number(data)
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


@public("torch")
def tensor(data, *, dtype=None, device=None, requires_grad=False):
    wanted = dtype or inferred(data)
    place = device or (data.device if isinstance(data, Tensor) else None)
    try:
        array = np.array(numbers_in(data), dtype=wanted.storage)
    except ValueError as error:
        raise ValueError(f"expected sequence of equal length: {error}") from None
    return new(array, wanted, place, requires_grad)


@public("torch")
def as_tensor(data, dtype=None, device=None):
    if isinstance(data, Tensor):
        return to(data, dtype=dtype, device=device)
    if isinstance(data, np.ndarray) and (dtype is None or dtype is dtype_of(data)):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


@public("torch")
def asarray(obj, *, dtype=None, device=None, copy=None):
    return tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)


@public("torch")
def from_numpy(ndarray):
    own = dtype_of(ndarray)
    return Tensor._of(own.stored(ndarray), own, CPU)


@public("torch")
def frombuffer(buffer, *, dtype):
    if dtype in NUMBERS:
        return Tensor._of(NUMBERS[dtype](np.frombuffer(buffer, np.uint16)), dtype, CPU)
    return Tensor._of(np.frombuffer(buffer, dtype.storage), dtype, CPU)


def filled(name: str, value: Any) -> None:
    """`zeros`, `ones` and `empty`, their likes, and those that follow a tensor's dtype."""

    @public("torch", name=name)
    def function(*size, dtype=None, device=None, requires_grad=False):
        wanted = dtype or get_default_dtype()
        array = np.full(checked_sizes(sizes_in(size)), value, wanted.storage)
        return new(array, wanted, device, requires_grad)

    @public("torch", name=f"{name}_like")
    def like_function(input, *, dtype=None, device=None, requires_grad=False):
        wanted = dtype or input.dtype
        array = np.full_like(input._array, value, wanted.storage)
        return new(array, wanted, device or input.device, requires_grad)

    @public("torch.Tensor", name=f"new_{name}")
    def new_function(self, *size, dtype=None, device=None, requires_grad=False):
        wanted = dtype or self.dtype
        array = np.full(checked_sizes(sizes_in(size)), value, wanted.storage)
        return new(array, wanted, device or self.device, requires_grad)


def checked_sizes(sizes: tuple) -> tuple:
    for size in sizes:
        if not isinstance(size, (int, np.integer)):
            raise TypeError(f"expected an int for a size, but got {type(size).__name__}")
        if size < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {size}: {list(sizes)}"
            )
    return sizes


for word, value in {"zeros": 0, "ones": 1, "empty": 0}.items():
    filled(word, value)


@public("torch")
def full(size, fill_value, *, dtype=None, device=None, requires_grad=False):
    wanted = dtype or inferred(fill_value)
    array = np.full(sizes_in((size,)), numbers_in(fill_value), wanted.storage)
    return new(array, wanted, device, requires_grad)


@public("torch")
def full_like(input, fill_value, *, dtype=None, device=None, requires_grad=False):
    wanted = dtype or input.dtype
    array = np.full_like(input._array, numbers_in(fill_value), wanted.storage)
    return new(array, wanted, device or input.device, requires_grad)


@public("torch.Tensor")
def new_full(self, size, fill_value, *, dtype=None, device=None):
    array = np.full(sizes_in((size,)), numbers_in(fill_value))
    return new(array, dtype or self.dtype, device or self.device)


@public("torch.Tensor")
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return tensor(
        data,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
    )


@public("torch")
def eye(n, m=None, *, dtype=None, device=None, requires_grad=False):
    wanted = dtype or get_default_dtype()
    return new(np.eye(n, m, dtype=wanted.storage), wanted, device, requires_grad)


@public("torch")
def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    first, last = (0, start) if end is None else (start, end)
    first, last, step = (x.item() if isinstance(x, Tensor) else x for x in (first, last, step))
    if not step or (last - first) * step < 0:
        raise RuntimeError(
            "step must be nonzero"
            if not step
            else "upper bound and lower bound inconsistent with step sign"
        )
    whole = all(isinstance(x, int) for x in (first, last, step))
    wanted = dtype or (int64 if whole else get_default_dtype())
    count = int(np.ceil((last - first) / step))
    numbers = first + np.arange(count) * step
    return new(numbers, wanted, device, requires_grad)


@public("torch")
def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    wanted = dtype or get_default_dtype()
    first, last = (x.item() if isinstance(x, Tensor) else x for x in (start, end))
    return new(np.linspace(first, last, steps), wanted, device, requires_grad)


@public("torch")
def logspace(start, end, steps, base=10.0, *, dtype=None, device=None):
    wanted = dtype or get_default_dtype()
    return new(np.logspace(start, end, steps, base=base), wanted, device)


# elsewhere, or in another dtype


@public("torch.Tensor")
def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False):
    for one in args:
        if isinstance(one, Tensor):
            dtype, device = one.dtype, one.device
        elif isinstance(one, type(int64)):
            dtype = one
        elif not isinstance(one, bool) and one is not None:
            device = one
    place = self.device if device is None else known_device(device)
    moved = self if place is self.device else moved_to(self, place)
    out = cast(moved, dtype or self.dtype)
    return out.clone() if copy and out is self else out


def moved_to(x: Tensor, place: device) -> Tensor:
    def to_copy(a):
        return np.array(a, order="K"), lambda g: g

    made = computed(to_copy, x)
    made.device = place
    return made


@public("torch.Tensor")
def cpu(self):
    return to(self, device="cpu")


def convert(name: str, wanted: dtype) -> None:
    @public("torch.Tensor", name=name)
    def function(self):
        return cast(self, wanted)


for word, wanted in {**OTHER_NAMES, "bool": bool_, "bfloat16": DTYPES["bfloat16"]}.items():
    convert(word, wanted)


@public("torch.Tensor", name="type")
def type_method(self, dtype=None):
    if dtype is None:
        return f"torch.{self.dtype.title}Tensor"
    return cast(self, dtype)


@public("torch.Tensor")
def type_as(self, other):
    return to(self, other)


@public(*BOTH)
def detach(input):
    made = viewed(input, lambda a: a.view())
    made._base, made._node = None, None
    return made


# out of tensors


@public("torch.Tensor")
def tolist(self):
    return self._array.tolist()


@public("torch.Tensor")
def numpy(self, *, force=False):
    if force:
        return self._array
    if self.is_meta:
        raise TypeError(
            "can't convert meta device type tensor to numpy. numpy() is not supported for tensor "
            "subclasses. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return self._array


@public(*BOTH)
def numel(input):
    return int(input._array.size)


@public("torch.Tensor")
def dim(self):
    return self._array.ndim


@public("torch.Tensor")
def size(self, dim=None):
    return self.shape if dim is None else self.shape[axis(dim, self.ndim)]


@public("torch.Tensor")
def storage_offset(self):
    base = self._base._array if self._base is not None else self._array
    return (self._array.ctypes.data - base.ctypes.data) // self._array.itemsize


@public("torch")
def is_tensor(obj):
    return isinstance(obj, Tensor)


@public("torch")
def set_default_device(device):
    DefaultDevice.device = CPU if device is None else known_device(device)


@public("torch")
def get_default_device():
    return DefaultDevice.device
