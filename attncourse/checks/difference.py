"""How a tensor differs from the right one of the same shape and dtype: a pattern, and where."""

from collections.abc import Callable

import torch
from torch import Tensor

NUMBERS = "the shape is right, the numbers are not"
# along which axis, counted from the end: what one place along it is called
ROWS = {-2: "row", -1: "column"}


def pattern(got: Tensor, want: Tensor, same: Callable[[Tensor, Tensor], bool]) -> str:
    """What was done to all numbers at once, where that explains the difference."""
    if got.dtype == torch.bool:
        return "True and False have changed places" if got.equal(~want) else NUMBERS
    if want.numel() < 2 or not (want.double().isfinite().all() and got.double().isfinite().all()):
        return NUMBERS
    if want.dim() > 1 and want.shape[-1] == want.shape[-2] and same(got, want.mT):
        return "the shape and the numbers are right, but rows and columns have changed places"
    for axis, name in ROWS.items():
        if want.dim() >= -axis and same(got, want.flip(axis)):
            return f"the numbers are right, but the {name}s come in reverse order"
    at = want.abs().argmax()
    factor, shift = got.flatten()[at] / want.flatten()[at], (got - want).flatten()[at]
    if want.any() and not got.any():
        return "every number is 0"
    if want.any() and (want != want.flatten()[0]).any():
        if same(got, -want):
            return "each number has the wrong sign"
        times = f"{factor.item():.4g}"
        # so near to the right ones, rounding is the better word for it
        # no integer of another meaning, such as a place, is a multiple but by chance
        if got.is_floating_point() and times != "1" and same(got.double(), factor.double() * want):
            return f"each number is {times} times the right one"
        if same(got, want + shift):
            more = "larger" if shift > 0 else "smaller"
            return f"each number is {abs(shift.item()):.4g} {more} than the right one"
    return NUMBERS


def where(differ: Tensor) -> str:
    """How many of the places differ, and the row or column that holds them, if one does."""
    count = int(differ.sum())
    if differ.numel() == 1:
        return ""
    said = f"{count} of {differ.numel()} differ"
    for axis, name in ROWS.items():
        if differ.dim() >= -axis and differ.shape[axis] > 1:
            others = [one for one in range(differ.dim()) if one != differ.dim() + axis]
            places = (differ.any(dim=others) if others else differ).nonzero().flatten().tolist()
            if len(places) == 1:
                return f"{said}, all in {name} {places[0]}"
    return said
