"""Tensors as text, as torch shows them."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import floor

import numpy as np

from torch_over_numpy.dtypes import FLOATING, Default, bool_, int64
from torch_over_numpy.tensor import Tensor

BEGIN = "tensor("
INFINITE = float("inf"), -float("inf")


class Options:
    """How numbers are shown."""

    precision, threshold, edgeitems, linewidth = 4, 1000, 3, 80
    sci_mode: bool | None = None


@contextmanager
def printoptions(**options) -> Iterator[None]:
    """Within it, numbers are shown in this way."""
    names = "precision", "threshold", "edgeitems", "linewidth", "sci_mode"
    before = {name: getattr(Options, name) for name in names}
    for name, value in options.items():
        setattr(Options, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(Options, name, value)


class Form:
    """The form that all numbers of a tensor have: whether there are points, and the width."""

    def __init__(self, array: np.ndarray, is_floating: bool):
        self.is_floating, self.whole, self.scientific = is_floating, True, False
        # of what is no number, or 0, the width does not count
        telling = array[np.isfinite(array) & (array != 0)] if is_floating else array
        if is_floating and telling.size:
            sizes = np.abs(telling.astype(np.float64))
            large, small = sizes.max(), sizes.min()
            self.whole = bool((sizes == np.ceil(sizes)).all())
            wide = large / small > 1000 or large > 1e8 or small < 1e-4
            self.scientific = wide if Options.sci_mode is None else Options.sci_mode
        self.width = max(map(len, map(self.shown, telling.ravel().tolist())), default=1)

    def shown(self, number: float) -> str:
        if not self.is_floating:
            return str(number)
        if self.scientific:
            return f"{number:.{Options.precision}e}"
        if self.whole:
            return f"{number:.0f}" if number != number or number in INFINITE else f"{number:.0f}."
        return f"{number:.{Options.precision}f}"

    def padded(self, number: float) -> str:
        return self.shown(number).rjust(self.width)


def rows(array: np.ndarray, form: Form, indent: int, is_summary: bool) -> str:
    """The numbers in brackets, a line for each row."""
    if not array.ndim:
        return form.padded(array.item())
    edge = Options.edgeitems
    cut = is_summary and len(array) > 2 * edge
    if array.ndim == 1:
        shown = [form.padded(one) for one in array.tolist()]
        if cut:
            shown = [*shown[:edge], " ...", *shown[-edge:]]
        a_line = max(1, floor((Options.linewidth - indent) / (form.width + 2)))
        lines = [shown[i : i + a_line] for i in range(0, len(shown), a_line)] or [[]]
        return "[" + (",\n" + " " * (indent + 1)).join(map(", ".join, lines)) + "]"
    if cut:
        parts = [rows(one, form, indent + 1, is_summary) for one in array[:edge]] + ["..."]
        parts += [rows(one, form, indent + 1, is_summary) for one in array[-edge:]]
    else:
        parts = [rows(one, form, indent + 1, is_summary) for one in array]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def edges(array: np.ndarray) -> np.ndarray:
    """The numbers that a summary shows."""
    edge = Options.edgeitems
    for i in range(array.ndim):
        if array.shape[i] > 2 * edge:
            places = [*range(edge), *range(-edge, 0)]
            array = np.take(array, places, axis=i)
    return array


def text_of(self) -> str:
    suffixes = []
    if self.is_meta:
        suffixes.append(f"device='{self.device}'")
    usual = {bool_, int64, Default.dtype}
    if self.dtype not in usual or not self._array.size:
        if self._array.size or self.dtype is not Default.dtype:
            suffixes.append(f"dtype={self.dtype}")
    if not self._array.size:
        if self.ndim != 1:
            suffixes.insert(0, f"size={tuple(self.shape)}")
        shown = "[]"
    else:
        is_summary = self._array.size > Options.threshold
        form = Form(edges(self._array) if is_summary else self._array, self.dtype.kind >= FLOATING)
        shown = rows(self._array, form, len(BEGIN), is_summary)
    if self.grad_fn is not None:
        suffixes.append(f"grad_fn=<{self.grad_fn.name}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    text, length = BEGIN + shown, len(shown.rpartition("\n")[2]) + 1
    for one in suffixes:
        if length + len(one) + 2 > Options.linewidth:
            text += ",\n" + " " * len(BEGIN) + one
            length = len(BEGIN) + len(one)
        else:
            text += ", " + one
            length += len(one) + 2
    return text + ")"


Tensor.__repr__ = text_of
Tensor.__str__ = text_of
