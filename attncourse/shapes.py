"""`shaped` checks the tensors of a call against the shapes and dtypes in the signature.

A named axis has the same size in all arguments of a call; `#n` may also be 1; `1` and
`{self.d_model}` are that number; an axis whose name begins with d has at least size 1. The leading
axes `*batch` of several arguments broadcast, as in torch; `*#batch` must broadcast to their shape.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_origin

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Function = TypeVar("Function", bound=Callable)


def is_boolean(x: Tensor) -> bool:
    """Whether x has the dtype torch.bool."""
    return x.dtype == torch.bool


def is_integer(x: Tensor) -> bool:
    """Whether x has an integer dtype other than torch.bool."""
    return not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)


KINDS = {
    Float: ("floating point", Tensor.is_floating_point),
    Bool: ("boolean, True = may attend", is_boolean),
    Int: ("integers", is_integer),
}


def shaped(function: Function) -> Function:
    """Decorator that checks the function's tensors against their jaxtyping annotations.

    A call with a wrong shape raises ValueError, one with a wrong dtype TypeError; the message has
    the names and sizes.
    """
    parameters = [*inspect.signature(function).parameters.values()]
    tensors = [
        (i, parameter.name, item, spec)
        for i, parameter in enumerate(parameters)
        for item, spec in tensor_specs(parameter.name, parameter.annotation)
    ]
    flags = [
        (i, parameter.name)
        for i, parameter in enumerate(parameters)
        if parameter.annotation is bool
    ]

    def check_arguments(args: tuple, kwargs: dict) -> None:
        for i, name in flags:
            require_no_tensor(name, args[i] if i < len(args) else kwargs.get(name))
        sizes, batches = {}, {}
        for i, name, item, spec in tensors:
            if i < len(args) or name in kwargs:
                x = args[i] if i < len(args) else kwargs[name]
                x = x if item is None or x is None else x[item]
                if x is not None or not spec.optional:
                    spec.check(x, sizes, batches, args)

    @functools.wraps(function)
    def shaped_function(*args, **kwargs):
        try:
            check_arguments(args, kwargs)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{function.__qualname__}: {error}") from None
        return function(*args, **kwargs)

    return shaped_function  # pyright: ignore[reportReturnType]


def tensor_specs(name: str, annotation: Any, optional: bool = False) -> Iterator[tuple]:
    """Index and spec of each tensor in an annotation; the index is None outside a tuple."""
    options = get_args(annotation)
    if get_origin(annotation) is tuple:
        for i, option in enumerate(options):
            yield from ((i, spec) for _, spec in tensor_specs(f"{name}[{i}]", option, optional))
    elif type(None) in options:
        (option,) = (option for option in options if option is not type(None))
        yield from tensor_specs(name, option, optional=True)
    elif getattr(annotation, "dtype", None) in KINDS:
        yield None, TensorSpec(name, annotation, optional)


class TensorSpec:
    """The dtype and axes that a signature demands of one tensor."""

    def __init__(self, name: str, annotation: Any, optional: bool):
        self.name, self.optional = name, optional
        self.kind, self.is_kind = KINDS[annotation.dtype]
        self.axes, self.fixed, self.leading, shape = [], [], None, []
        for i, text in enumerate(texts := annotation.dim_str.split()):
            axis, broadcasts = text.lstrip("*#").strip("{}"), "#" in text
            # after the leading axes, an index counts from the end
            index = i if self.leading is None else i - len(texts)
            shape.append(f"{axis} or 1" if broadcasts else axis)
            if text.startswith("*"):
                self.leading = axis, broadcasts, slice(i, i + 1 - len(texts) or None)
                shape[-1] = "..."
            elif axis.isdigit() or "." in axis:
                self.fixed.append((index, axis))
            else:
                self.axes.append((index, axis, broadcasts))
        self.min_axes, self.text = len(self.axes) + len(self.fixed), f"({', '.join(shape)})"

    def check(self, x: Any, sizes: dict, batches: dict, args: tuple) -> None:
        """Raise ValueError or TypeError where x contradicts the spec or an earlier argument.

        `sizes` and `batches` map axis names to the sizes in this call's earlier arguments.
        """
        if not isinstance(x, Tensor):
            raise TypeError(f"{self.name} is a {type(x).__name__}, not a tensor")
        if not self.is_kind(x):
            raise TypeError(f"{self.name} must be {self.kind}, not {x.dtype}")
        if len(x.shape) < self.min_axes or (self.leading is None and len(x.shape) > self.min_axes):
            raise ValueError(f"{self.name}={tuple(x.shape)} should be {self.text}")
        for index, axis, may_be_1 in self.axes:
            size = x.shape[index]
            if size == 1 and may_be_1:
                continue
            known_size, earlier, y = sizes.setdefault(axis, (size, self, x))
            if size != known_size:
                raise ValueError(
                    f"{self.name} has {axis}={size}, but {earlier.name} has {axis}={known_size}: "
                    f"{earlier.describe(y)}, {self.describe(x)}"
                )
            if size == 0 and axis.startswith("d"):
                raise ValueError(f"{axis}=0, but a dimension is at least 1: {self.describe(x)}")
        for index, axis in self.fixed:
            size = int(axis) if axis.isdigit() else attrgetter(axis.partition(".")[2])(args[0])
            if x.shape[index] != size:
                expected = axis if axis.isdigit() else f"{axis}={size}"
                raise ValueError(
                    f"{x.shape[index]} stands where {expected} should: {self.describe(x)}"
                )
        if self.leading is not None:
            self.check_leading(x, batches, *self.leading)

    def check_leading(
        self, x: Tensor, batches: dict, name: str, adds_none: bool, axes: slice
    ) -> None:
        """Raise ValueError where the leading axes do not broadcast with earlier arguments."""
        batch_shape = x.shape[axes]
        batch, earlier, y = batches.setdefault(name, (batch_shape, self, x))
        # no leading axes go with any
        if batch_shape == batch or not batch_shape:
            return
        try:
            joint = torch.broadcast_shapes(batch, batch_shape)
        except RuntimeError:
            joint = None
        if joint is None or (adds_none and joint != batch):
            raise ValueError(
                f"the leading axes of {self.name}, {tuple(batch_shape)}, do not broadcast "
                f"{'to' if adds_none else 'with'} {tuple(batch)}: "
                f"{earlier.describe(y)}, {self.describe(x)}"
            )
        batches[name] = joint, self, x

    def describe(self, x: Tensor) -> str:
        """The shape of x beside the expected one, for messages."""
        return f"{self.name}={tuple(x.shape)} is {self.text}"


def require_no_tensor(name: str, value: object) -> None:
    """Raise TypeError, with the shape, if a flag is a tensor, such as a mask by position."""
    if isinstance(value, Tensor):
        raise TypeError(f"{name} is a tensor, {tuple(value.shape)}: give a mask by name, mask=")


def require_tokens(q: Tensor, k: Tensor) -> None:
    """Raise ValueError, with the lengths, where there is no query or no key."""
    n, m = q.shape[-2], k.shape[-2]
    if not (n and m):
        raise ValueError(f"{n} queries and {m} keys: an empty sequence has nothing to attend to")
