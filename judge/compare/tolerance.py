"""Whether values are the same, but for rounding."""

import re
from typing import Any

import torch
from torch import Tensor

from judge.call.values import Unsendable


def close_gradients(some: tuple | None, others: tuple | None, length: int) -> bool:
    """Gradients agree; where none flows to an argument, autograd may say None or zeros."""
    if some is None or others is None:
        return some is others
    if cut_off(some, others):
        return False
    return len(some) == len(others) and all(
        close_gradient(a, b, length) for a, b in zip(some, others, strict=True)
    )


def cut_off(some: tuple | None, others: tuple | None) -> bool:
    """Whether autograd cannot go back from one result at all, and can from the other.

    Where all gradients are 0, too: `backward()` raises an error.
    """
    if not some or not others or any(one is not None for one in some):
        return False
    return any(one is not None for one in others)


def close_gradient(a: Any, b: Any, length: int) -> bool:
    if isinstance(a, Unsendable) and isinstance(b, Unsendable):
        # autograd's error names sizes and versions, which are those of one way to make a mistake
        return re.sub(r"\d+", "", a)[:80] == re.sub(r"\d+", "", b)[:80]
    if b is None:
        return a is None or (isinstance(a, Tensor) and not a.any())
    if a is None:
        return isinstance(b, Tensor) and close(torch.zeros_like(b), b, length)
    return close(a, b, length)


def close(a: Any, b: Any, length: int) -> bool:
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(close(x, y, length) for x, y in zip(a, b, strict=True))
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if (a.shape, a.dtype, a.device) != (b.shape, b.dtype, b.device):
            return False
        if a.is_meta or not a.is_floating_point():
            return a.is_meta or a.equal(b)
        # many times as fast as what follows
        if a.equal(b):
            return True
        bound = allowed(a, b, length)
        return torch.allclose(a, b, rtol=bound, atol=bound, equal_nan=True)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        near = abs(a - b) <= tolerance(torch.float64, length) * (1 + abs(b))
        return type(a) is type(b) and (near or (a != a and b != b))
    return type(a) is type(b) and a == b


def allowed(a: Tensor, b: Tensor, length: int) -> float:
    """The difference from b that is no mistake of a: less, where a was rounded on the way."""
    return (rounding if rounded_to(a, b) else tolerance)(a.dtype, length)


def differ(a: Tensor, b: Tensor, length: int) -> Tensor:
    """The places where two tensors of one shape and dtype differ by more than rounding."""
    if not a.is_floating_point():
        return a != b
    bound = allowed(a, b, length)
    return ~torch.isclose(a, b, rtol=bound, atol=bound, equal_nan=True)


def rounded_to(a: Tensor, b: Tensor) -> torch.dtype | None:
    """The smallest dtype that holds all numbers of a exactly, and not those of b."""
    # what float32 does not hold, no smaller one does
    if not holds(torch.float32, a):
        return None
    dtypes = (torch.bfloat16, torch.float16, torch.float32)
    return next((one for one in dtypes if holds(one, a) and not holds(one, b)), None)


def holds(dtype: torch.dtype, x: Tensor) -> bool:
    """Whether a dtype holds all these numbers exactly."""
    return x.to(dtype).to(x.dtype).equal(x)


def rounding(dtype: torch.dtype, length: int) -> float:
    """The difference that rounding makes: it grows with the length of the sum."""
    return 256 * torch.finfo(dtype).eps * length


def tolerance(dtype: torch.dtype, length: int) -> float:
    """The difference that is no mistake: rounding, more of it in float64 where a sum cancels."""
    return max(1e-9, rounding(dtype, length))
