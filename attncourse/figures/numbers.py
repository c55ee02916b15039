"""Numbers in the figures: as text, and as JSON."""

import math

import torch
from torch import Tensor


def format_number(value: float) -> str:
    """The number with two decimals, ties rounded to even; interactive.js has the same function."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    # from here on, JavaScript writes an exponent
    digits = repr(value) if abs(value) >= 1e21 else f"{value:.2f}"
    return digits.replace("-0.00", "0.00").replace("-", "−")


def format_integer(x: int) -> str:
    """An integer with a typographic minus; the scripts of the figures have the same function."""
    return f"{x}".replace("-", "−")


def require_finite(name: str, tensor: Tensor) -> None:
    """Raise ValueError, with the first index, where the tensor holds NaN or an infinity."""
    for index in (~tensor.isfinite()).nonzero().tolist():
        value = tensor[tuple(index)].item()
        raise ValueError(f"{name}{index} is {value}, but the figure needs finite numbers")


def to_json(tensor: object) -> list | dict[str, object]:
    """A tensor for json.dumps, with the fewest digits from which the page restores each number."""
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
    return numbers if bits == 53 else {"bits": bits, "numbers": shortest_digits(numbers, bits)}


def shortest_digits(x, bits: int):
    """A number, or nested lists, with the fewest digits that `round_to_bits` restores."""
    if isinstance(x, list):
        return [shortest_digits(y, bits) for y in x]
    if not math.isfinite(x):
        return x
    candidates = (float(f"{x:.{digits}e}") for digits in range(17))
    return next(y for y in candidates if round_to_bits(y, bits) == x)


def round_to_bits(x: float, bits: int) -> float:
    """The nearest number with `bits` significant bits; interactive.js has the same function."""
    wide = x * (2 ** (53 - bits) + 1)
    return wide - (wide - x)
