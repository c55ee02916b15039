"""Shapes and dtypes stand once, in a signature: `shaped` makes errors of what does not fit it.

A named axis has one size in a whole call; `#n` may also be 1; `1` and `{self.d_model}` are that
number; a dimension, whose name begins with d, is at least 1. The leading axes `*batch` of several
arguments broadcast, as in torch, and `*#batch` must broadcast to what those make.
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
    return x.dtype == torch.bool


def is_whole(x: Tensor) -> bool:
    return not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)


KINDS = {
    Float: ("floating point", Tensor.is_floating_point),
    Bool: ("boolean, True = may attend", is_boolean),
    Int: ("integers", is_whole),
}


def shaped(function: Function) -> Function:
    """The function, which compares its tensors with their annotations at each call.

    It raises ValueError for a shape, TypeError for a dtype, with the names and the numbers.
    """
    parameters = [*inspect.signature(function).parameters.values()]
    annotated = [
        (place, one.name, part, expected)
        for place, one in enumerate(parameters)
        for part, expected in expected_of(one.name, one.annotation)
    ]
    flags = [(place, one.name) for place, one in enumerate(parameters) if one.annotation is bool]

    def fit(args: tuple, kwargs: dict) -> None:
        for place, name in flags:
            require_no_tensor(name, args[place] if place < len(args) else kwargs.get(name))
        sizes, batches = {}, {}
        for place, name, part, expected in annotated:
            if place < len(args) or name in kwargs:
                x = args[place] if place < len(args) else kwargs[name]
                x = x if part is None or x is None else x[part]
                if x is not None or not expected.optional:
                    expected.compare(x, sizes, batches, args)

    @functools.wraps(function)
    def shaped_function(*args, **kwargs):
        try:
            fit(args, kwargs)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{function.__qualname__}: {error}") from None
        return function(*args, **kwargs)

    return shaped_function  # pyright: ignore[reportReturnType]


def expected_of(name: str, annotation: Any, optional: bool = False) -> Iterator[tuple]:
    """Each tensor that an annotation describes, after its place in a tuple, None if in none."""
    options = get_args(annotation)
    if get_origin(annotation) is tuple:
        for i, option in enumerate(options):
            yield from ((i, one) for _, one in expected_of(f"{name}[{i}]", option, optional))
    elif type(None) in options:
        (option,) = (option for option in options if option is not type(None))
        yield from expected_of(name, option, optional=True)
    elif getattr(annotation, "dtype", None) in KINDS:
        yield None, Expected(name, annotation, optional)


class Expected:
    """What a signature says of one tensor."""

    def __init__(self, name: str, annotation: Any, optional: bool):
        self.name, self.optional = name, optional
        self.kind, self.is_kind = KINDS[annotation.dtype]
        self.axes, self.fixed, self.leading, words = [], [], None, []
        for i, text in enumerate(texts := annotation.dim_str.split()):
            axis, differs = text.lstrip("*#").strip("{}"), "#" in text
            # behind the leading axes, a place counts from the end
            place = i if self.leading is None else i - len(texts)
            words.append(f"{axis} or 1" if differs else axis)
            if text.startswith("*"):
                self.leading = axis, differs, slice(i, i + 1 - len(texts) or None)
                words[-1] = "..."
            elif axis.isdigit() or "." in axis:
                self.fixed.append((place, axis))
            else:
                self.axes.append((place, axis, differs))
        self.least, self.text = len(self.axes) + len(self.fixed), f"({', '.join(words)})"

    def compare(self, x: Any, sizes: dict, batches: dict, args: tuple) -> None:
        """Raise ValueError or TypeError where x is not this, or does not go with what came before.

        `sizes` and `batches` are what the call's tensors have given the names so far.
        """
        if not isinstance(x, Tensor):
            raise TypeError(f"{self.name} is a {type(x).__name__}, not a tensor")
        if not self.is_kind(x):
            raise TypeError(f"{self.name} must be {self.kind}, not {x.dtype}")
        if len(x.shape) < self.least or (self.leading is None and len(x.shape) > self.least):
            raise ValueError(f"{self.name}={tuple(x.shape)} should be {self.text}")
        for place, axis, may_be_1 in self.axes:
            size = x.shape[place]
            if size == 1 and may_be_1:
                continue
            known, other, y = sizes.setdefault(axis, (size, self, x))
            if size != known:
                raise ValueError(
                    f"{self.name} has {axis}={size}, but {other.name} has {axis}={known}: "
                    f"{other.said(y)}, {self.said(x)}"
                )
            if size == 0 and axis.startswith("d"):
                raise ValueError(f"{axis}=0, but a dimension is at least 1: {self.said(x)}")
        for place, axis in self.fixed:
            size = int(axis) if axis.isdigit() else attrgetter(axis.partition(".")[2])(args[0])
            if x.shape[place] != size:
                wanted = axis if axis.isdigit() else f"{axis}={size}"
                raise ValueError(f"{x.shape[place]} stands where {wanted} should: {self.said(x)}")
        if self.leading is not None:
            self.compare_leading(x, batches, *self.leading)

    def compare_leading(
        self, x: Tensor, batches: dict, name: str, adds_none: bool, where: slice
    ) -> None:
        """Raise ValueError where the leading axes do not go with those that came before."""
        mine = x.shape[where]
        batch, other, y = batches.setdefault(name, (mine, self, x))
        # no leading axes go with any
        if mine == batch or not mine:
            return
        try:
            joint = torch.broadcast_shapes(batch, mine)
        except RuntimeError:
            joint = None
        if joint is None or (adds_none and joint != batch):
            raise ValueError(
                f"the leading axes of {self.name}, {tuple(mine)}, do not broadcast "
                f"{'to' if adds_none else 'with'} {tuple(batch)}: {other.said(y)}, {self.said(x)}"
            )
        batches[name] = joint, self, x

    def said(self, x: Tensor) -> str:
        return f"{self.name}={tuple(x.shape)} is {self.text}"


def require_no_tensor(name: str, value: object) -> None:
    """Raise TypeError, with the shape, where a flag is a tensor: it was meant for a mask."""
    if isinstance(value, Tensor):
        raise TypeError(f"{name} is a tensor, {tuple(value.shape)}: give a mask by name, mask=")


def require_tokens(q: Tensor, k: Tensor) -> None:
    """Raise ValueError, with the lengths, where there is no query or no key."""
    n, m = q.shape[-2], k.shape[-2]
    if not (n and m):
        raise ValueError(f"{n} queries and {m} keys: an empty sequence has nothing to attend to")
