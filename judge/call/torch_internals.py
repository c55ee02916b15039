"""All that is used of torch's private parts, which a new torch may change without a word.

It is sent into the learner's process with the driver, so it imports torch alone.
"""

import functools
import sys

import torch
from torch import _tensor_str
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "TorchDispatchMode", "compiler_is_loaded", "in_place", "is_view", "leaves", "mapped",
    "meta_computes", "on_wrappers", "shown_plainly", "wrapping",
]  # fmt: skip


def is_view(operation):
    """Whether an operation that a dispatch mode sees gives back memory that was there before."""
    return any(returned.alias_info for returned in operation._schema.returns)


def in_place(operation):
    """Whether an operation that a dispatch mode sees writes into what it is given."""
    return operation._schema.is_mutable


def wrapping(kind, held, device):
    """A tensor of a subclass, on that device, with the sizes of another but no numbers."""
    return torch.Tensor._make_wrapper_subclass(
        kind,
        held.shape,
        strides=held.stride(),
        storage_offset=held.storage_offset(),
        dtype=held.dtype,
        device=torch.device(device),
    )


def on_wrappers(operation, args, kwargs):
    """Give tensors of a subclass the sizes that an operation such as squeeze_ leaves."""
    with torch._C._DisableTorchDispatch():
        operation(*args, **kwargs)


@functools.cache
def meta_computes():
    """Whether the meta device holds numbers: torch's does not, that of the page's torch does."""
    try:
        return torch.ones(1, device="meta").tolist() == [1]
    except RuntimeError:
        return False


def compiler_is_loaded():
    """Whether torch.compile may have compiled something in this process."""
    return "torch._dynamo" in sys.modules


def shown_plainly():
    """Within it, tensors are shown as 0.0001 and not as 1.0000e-04."""
    return _tensor_str.printoptions(sci_mode=False, linewidth=100)


def leaves(value):
    """What tuples, lists and dictionaries hold, however deep, from left to right."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (tuple, list)):
        return [value]
    return [leaf for one in value for leaf in leaves(one)]


def mapped(function, value, kind=object):
    """The same tuples, lists and dictionaries with the function of each leaf of that kind."""
    if isinstance(value, dict):
        return {name: mapped(function, one, kind) for name, one in value.items()}
    if isinstance(value, (tuple, list)):
        made = [mapped(function, one, kind) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return function(value) if isinstance(value, kind) else value
