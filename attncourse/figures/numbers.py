"""Numbers: how every figure shows them, and how they travel into the page."""

import math

import torch
from torch import Tensor


def shown(value: float) -> str:
    """The number in two digits, as Python and torch print it: an exact tie goes to the even one."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    # from here on a page writes an exponent
    digits = repr(value) if abs(value) >= 1e21 else f"{value:.2f}"
    return digits.replace("-0.00", "0.00").replace("-", "−")


def minus(x: int) -> str:
    """A whole number with a proper minus; the scripts of the figures write the same."""
    return f"{x}".replace("-", "−")


def require_finite(name: str, tensor: Tensor) -> None:
    """Raise ValueError, with the first place, where the tensor holds NaN or an infinity."""
    for place in (~tensor.isfinite()).nonzero().tolist():
        value = tensor[tuple(place)].item()
        raise ValueError(f"{name}{place} is {value}, but the figure needs finite numbers")


def listed(tensor: object) -> list | dict[str, object]:
    """A tensor for JSON: each number in the fewest digits from which the page restores it."""
    if not isinstance(tensor, Tensor):
        kind = type(tensor).__name__
        raise TypeError(f"the numbers of a figure are tensors, lists and text, but got {kind}")
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bool:
        return tensor.int().tolist()
    if not tensor.is_floating_point():
        return tensor.tolist()
    bits = 1 - round(math.log2(torch.finfo(tensor.dtype).eps))
    numbers = tensor.double().tolist()
    return numbers if bits == 53 else {"bits": bits, "numbers": fewest(numbers, bits)}


def fewest(x, bits: int):
    """A number, or lists of them, in the fewest digits that `restored` makes into it."""
    if isinstance(x, list):
        return [fewest(y, bits) for y in x]
    if not math.isfinite(x):
        return x
    tries = (float(f"{x:.{digits}e}") for digits in range(17))
    return next(y for y in tries if restored(y, bits) == x)


def restored(x: float, bits: int) -> float:
    """The nearest number of so many significant bits; interactive.js does the same."""
    wide = x * (2 ** (53 - bits) + 1)
    return wide - (wide - x)
