"""A device that is not the CPU, for machines without one: its tensors hold their numbers here.

It goes by the name of torch's meta device. What a GPU would refuse, it refuses: an operation on
tensors of two devices, or NumPy's on one of its own. Values can be read, as from a GPU.
"""

import contextlib
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .torch_internals import (
    TorchDispatchMode,
    in_place,
    leaves,
    mapped,
    meta_computes,
    on_wrappers,
    wrapping,
)

DEVICE = "meta"
INDEXED = "index", "index_put", "index_put_", "_index_put_impl_"
# what torch lets tensors of two devices do
MIXED = *INDEXED, "copy_", "_to_copy"
INDEXING = {torch.Tensor.__getitem__, torch.Tensor.__setitem__}
NEW_TENSOR = torch.Tensor.new_tensor
# torch makes their tensors without their numbers, where the device is meta
FROM_NUMBERS = {torch.tensor, torch.as_tensor, torch.asarray, NEW_TENSOR}


class FakeDeviceTensor(torch.Tensor):
    """A tensor that says it is on another device, and holds its numbers in one on the CPU."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held):
        made = wrapping(cls, held, DEVICE)
        made.held = held
        return made

    def tolist(self):
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        return computed(operation, args, kwargs or {})


class Computing:
    """What `ComputeMode` does; a mode whose own method it were would load torch's compiler."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return computed(operation, args, kwargs or {})


class ComputeMode(Computing, TorchDispatchMode):
    """Lets every operation see the other device."""


class FactoryMode(TorchFunctionMode):
    """Lets tensors be made of numbers on the other device."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in INDEXING and is_there(args[0]):
            x, index, *value = args
            several = index if isinstance(index, tuple) else (index,)
            args = (x, tuple(map(indices, several)), *value)
        if function not in FROM_NUMBERS:
            return function(*args, **kwargs)
        # what is in a list is read from a GPU, number by number
        args = tuple(mapped(to_cpu, x, FakeDeviceTensor) if is_list(x) else x for x in args)
        given = [x for x in args[:1] if isinstance(x, torch.Tensor)]
        device = kwargs.get("device", given[0].device if given else "cpu")
        if torch.device(device).type != DEVICE or (given and function is not NEW_TENSOR):
            return function(*args, **kwargs)
        return function(*args, **kwargs | {"device": "cpu"}).to(DEVICE)


@contextlib.contextmanager
def computing():
    """Within it, torch's meta device is one that computes."""
    if meta_computes():
        yield
        return
    with FactoryMode(), ComputeMode():
        yield


def moved_there(number):
    """A tensor with these numbers on the device."""
    return number.to(DEVICE) if meta_computes() else FakeDeviceTensor(number)


def indices(one):
    # of an empty list torch makes a tensor of float32, which is no index
    kind = torch.int64 if isinstance(one, list) and not one else None
    return torch.tensor(one, dtype=kind) if isinstance(one, list) else one


def is_list(x):
    return isinstance(x, (list, tuple))


def is_there(x):
    return isinstance(x, torch.Tensor) and x.device.type == DEVICE


def computed(operation, args, kwargs):
    """What an operation gives, computed on the CPU; RuntimeError where a GPU would raise one."""
    name = operation.overloadpacket.__name__
    given = [x for x in leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    there = any(map(is_there, given))
    # a single number may be on the CPU; so may indices, but not those into a tensor on the CPU
    apart = [x for x in given if x.dim() and not is_there(x)]
    if there and apart and (name not in MIXED or (name in INDEXED and not is_there(args[0]))):
        raise RuntimeError(
            "expected all tensors to be on the same device, "
            "but found two: that of the inputs and cpu"
        )
    if kwargs.get("device") is not None:
        there = torch.device(kwargs["device"]).type == DEVICE
        kwargs = kwargs | {"device": "cpu"}
    # forward derivatives are zeros without memory at first, which a tensor here must have
    if name == "_efficientzerotensor":
        operation = torch.ops.aten.zeros.default
    on_cpu: Any = mapped(to_cpu, (args, kwargs), torch.Tensor)
    result = operation(*on_cpu[0], **on_cpu[1])
    if in_place(operation):
        # what was written into is what is returned
        pairs = [*zip(leaves(on_cpu), leaves((args, kwargs)), strict=True)]
        if any(is_there(outer) and inner.shape != outer.shape for inner, outer in pairs):
            on_wrappers(operation, args, kwargs)
        written = {id(inner): outer for inner, outer in pairs}
        return mapped(lambda x: written.get(id(x), x), result, torch.Tensor)
    return mapped(FakeDeviceTensor, result, torch.Tensor) if there else result


def to_cpu(x):
    """A tensor's numbers on the CPU; zeros for one that has none."""
    if isinstance(x, FakeDeviceTensor):
        return x.held
    return torch.zeros(x.shape, dtype=x.dtype) if is_there(x) else x
