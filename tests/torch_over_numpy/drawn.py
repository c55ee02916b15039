"""Drawn arguments of calls, as plain data, and what a call of a library comes to with them."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

FLOATING = "float64", "float32"
HALF = "bfloat16", "float16"
WHOLE = "int64", "int32", "uint8"
ALL = (*FLOATING, *WHOLE, "bool")
# how a tensor lies in memory: by rows, by columns, as every second number, one for many places
LAYOUTS = "rows", "columns", "steps", "expanded"


@dataclass(frozen=True)
class T:
    """A tensor to be made by either library: its dtype, numbers and layout."""

    dtype: str
    shape: tuple[int, ...]
    numbers: tuple = field(repr=False, default=())
    layout: str = "rows"

    def made(self, library: Any) -> Any:
        numbers = np.array(self.numbers).reshape(self.shape).tolist()
        made = library.tensor(numbers, dtype=getattr(library, self.dtype)).reshape(self.shape)
        return made

    def placed(self, made: Any) -> Any:
        """The tensor in its layout."""
        if self.layout == "columns" and made.dim() > 1:
            return made.mT.contiguous().mT
        if self.layout == "steps" and made.dim():
            return made.repeat_interleave(2, -1)[..., ::2]
        if self.layout == "expanded" and made.dim():
            return made[..., :1].expand(made.shape) if made.shape[-1] else made
        return made


# small ones, of which products and sums are exact in any dtype, some equal, some special
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 3.0, -0.25, 7.0])
ODD = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, float("inf"), -float("inf"), float("nan")])


def values(dtype: str, odd: bool = False) -> st.SearchStrategy:
    if dtype == "bool":
        return st.booleans()
    if dtype in WHOLE:
        return st.integers(0, 9) if dtype == "uint8" else st.integers(-9, 9)
    return ODD if odd else NUMBERS | st.floats(-4, 4, width=16, allow_subnormal=False)


@st.composite
def tensors(
    draw, dtypes=ALL, shapes=None, low=0, high=3, odd=False, layouts=LAYOUTS, numbers=None,
    unique=False,
):  # fmt: skip
    """A tensor of few axes, each of size 0 to 4, mostly of different ones."""
    dtype = draw(st.sampled_from(dtypes))
    sizes = st.lists(st.sampled_from([2, 3, 4, 1, 0]), min_size=low, max_size=high).map(tuple)
    shape = draw(shapes if shapes is not None else sizes)
    count = int(np.prod(shape))
    of = values(dtype, odd) if numbers is None else numbers
    found = draw(st.lists(of, min_size=count, max_size=count, unique=unique))
    return T(dtype, tuple(shape), tuple(found), draw(st.sampled_from(layouts)))


def results(value: Any) -> Any:
    """What a call returned, as plain data: dtype, shape and numbers of each tensor."""
    if hasattr(value, "dtype") and hasattr(value, "detach"):
        plain = value.detach()
        name = str(plain.dtype)
        exact = name.removeprefix("torch.") in (*FLOATING, *ALL, "complex64", "complex128")
        return name, tuple(plain.shape), np.array((plain if exact else plain.float()).tolist())
    if isinstance(value, (list, tuple)):
        return [results(one) for one in value]
    return str(value) if str(value).startswith("torch.") else value


def outcome(library: Any, path: str, args: tuple, kwargs: dict, gradients: bool = True) -> tuple:
    """What a call comes to: its results, and the arguments and gradients after it, or the error."""
    made = [one.made(library) if isinstance(one, T) else one for one in args]
    specs = [one if isinstance(one, T) else None for one in args]
    leaves = [
        (spec, one)
        for spec, one in zip(specs, made, strict=True)
        if spec and spec.dtype in FLOATING and gradients
    ]
    for _, one in leaves:
        one.requires_grad_()
    passed = [
        spec.placed(one.clone() if gradients and spec.dtype in FLOATING else one) if spec else one
        for spec, one in zip(specs, made, strict=True)
    ]
    passed = [plain(library, one) for one in passed]
    named = {name: plain(library, one) for name, one in kwargs.items()}
    try:
        with warnings.catch_warnings(action="ignore"):
            value = call(library, path, passed, named)
    except Exception as error:
        return "error", type(error).__name__, str(error)
    after = [results(one) for one in passed]
    found = results(value)
    return "returned", found, after, flowed(library, value, leaves) if leaves else None


def plain(library: Any, one: Any) -> Any:
    """An argument that is plain data, in which a dtype is named."""
    if isinstance(one, T):
        return one.placed(one.made(library))
    if isinstance(one, list):
        return [plain(library, each) for each in one]
    if isinstance(one, tuple) and any(isinstance(each, (T, Dtype)) for each in one):
        return tuple(plain(library, each) for each in one)
    return getattr(library, one.name) if isinstance(one, Dtype) else one


@dataclass(frozen=True)
class Dtype:
    name: str


def call(library: Any, path: str, args: list, kwargs: dict) -> Any:
    """The result of the function, or of the method of the first argument."""
    if path.startswith("torch.Tensor."):
        found = getattr(args[0], path.removeprefix("torch.Tensor."))
        return found(*args[1:], **kwargs) if callable(found) else found
    found = library
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found(*args, **kwargs)


def flowed(library: Any, value: Any, leaves: list) -> Any:
    """The gradients of all floating results, or the error that taking them ends in."""
    some = value if isinstance(value, (list, tuple)) else [value]
    floating = [
        x
        for x in some
        if hasattr(x, "requires_grad") and x.requires_grad and x.dtype.is_floating_point
    ]
    if not floating:
        return None
    try:
        total = sum((x.double() * cotangent(library, x)).sum() for x in floating)
        found = library.autograd.grad(total, [one for _, one in leaves], allow_unused=True)
    except Exception as error:
        return "error", type(error).__name__
    return [results(one) for one in found]


def cotangent(library: Any, x: Any) -> Any:
    """Numbers that are all different, so that no direction hides."""
    return library.linspace(-1, 2, x.numel(), dtype=library.float64).cos().reshape(x.shape)


def alike(one: Any, other: Any, bound: float = 1e-6) -> bool:
    """Whether two results are the same, but for rounding."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and np.allclose(one, other, bound, bound, equal_nan=True)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        same = len(one) == len(other)
        return same and all(alike(a, b, bound) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.allclose(one, other, bound, bound, equal_nan=True))
    return type(one) is type(other) and one == other
