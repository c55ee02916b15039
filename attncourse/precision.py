"""Sums in float32 at least, whatever the inputs: in 16 bits, a long sum soon stops growing."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

Function = TypeVar("Function", bound=Callable)


def upcast(function: Function) -> Function:
    """The function, in float32 at least and outside torch.autocast; its output is like `v`.

    Its tensors get one dtype, the widest of theirs and float32. An output alone or after a state
    gets the dtype of the values `v` again; a state, which is a tuple, keeps its digits.
    """
    place = [*inspect.signature(function).parameters].index("v")

    @functools.wraps(function)
    def upcast_function(*args, **kwargs):
        v = args[place] if place < len(args) else kwargs["v"]
        floating = [x for x in (*args, *kwargs.values()) if is_floating(x)]
        dtype = functools.reduce(torch.promote_types, (x.dtype for x in floating), torch.float32)
        args = (x.to(dtype) if is_floating(x) else x for x in args)
        kwargs = {name: x.to(dtype) if is_floating(x) else x for name, x in kwargs.items()}
        with no_autocast(v):
            match function(*args, **kwargs):
                case Tensor() as output:
                    return output.to(v.dtype)
                case (tuple() as state, Tensor() as output):
                    return state, output.to(v.dtype)
                case state:
                    return state

    return upcast_function  # pyright: ignore[reportReturnType]


def is_floating(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def no_autocast(x: Tensor) -> torch.autocast:
    """A place without torch.autocast, which would take matrix products in 16 bits."""
    known = torch.amp.is_autocast_available(x.device.type)
    return torch.autocast(x.device.type if known else "cpu", enabled=False)
