"""`upcast` computes in float32 at least: in 16 bits, a long sum soon stops growing."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

Function = TypeVar("Function", bound=Callable)


def upcast(function: Function) -> Function:
    """Decorator that runs the function in float32 at least, without torch.autocast.

    All tensors are cast to the widest of their dtypes and float32. The output is cast back to the
    dtype of `v`; a returned state, which is a tuple, stays in the wide dtype.
    """
    v_index = [*inspect.signature(function).parameters].index("v")

    @functools.wraps(function)
    def upcast_function(*args, **kwargs):
        v = args[v_index] if v_index < len(args) else kwargs["v"]
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
    """Whether x is a tensor of a floating-point dtype."""
    return isinstance(x, Tensor) and x.is_floating_point()


def no_autocast(x: Tensor) -> torch.autocast:
    """Context without torch.autocast, which would compute matrix products in 16 bits."""
    is_available = torch.amp.is_autocast_available(x.device.type)
    return torch.autocast(x.device.type if is_available else "cpu", enabled=False)
