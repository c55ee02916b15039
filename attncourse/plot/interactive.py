"""The component: numbers, controls, and a view that computes in the page what the figure shows.

A view is a JavaScript function in a file of its own. It takes the numbers and the state of the
controls, and gives new content for every slot of that name; `number` makes a slot. Where no script
runs, the figure is the table that it begins as.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path

import torch
from torch import Tensor

HERE = Path(__file__)


@dataclass(frozen=True)
class Choice:
    """One of a few options, picked by click or arrow key; the view gets its index."""

    name: str
    options: Sequence[str]
    start: int = 0

    def option(self, index: int) -> str:
        """The button of one option; a row of the table that holds it is also picked by pointing."""
        name, checked = escape(self.name), " checked" if index == self.start else ""
        button = f'<input type="radio" name="{name}" value="{index}"{checked} hidden>'
        return f"<label>{button}{escape(self.options[index])}</label>"

    def html(self) -> str:
        """All the options, under their name."""
        options = "".join(map(self.option, range(len(self.options))))
        return f"<fieldset><legend>{escape(self.name)}</legend>{options}</fieldset>"


@dataclass(frozen=True)
class Slider:
    """One number of a row of them; the view gets the number."""

    name: str
    values: Sequence[float]
    start: int = 0

    def html(self) -> str:
        """The slider, and beside it the number."""
        name, values = escape(self.name), " ".join(map(str, self.values))
        return (
            f'<label>{name} <input type="range" name="{name}" max="{len(self.values) - 1}" '
            f'value="{self.start}" data-values="{values}"><b aria-hidden="true"></b></label>'
        )


@dataclass(frozen=True)
class Switch:
    """On or off; the view gets true or false."""

    name: str
    start: bool = True

    def html(self) -> str:
        """The box to tick."""
        name, checked = escape(self.name), " checked" if self.start else ""
        return f'<label><input type="checkbox" name="{name}"{checked}>{name}</label>'


class Interactive:
    """A table whose numbers follow its controls, and the words that stand for it."""

    def __init__(
        self,
        view: Path,
        data: Mapping[str, object],
        controls: Sequence[Choice | Slider | Switch],
        table: str,
        *,
        alt: str,
    ):
        if not alt.strip():
            raise ValueError("alt is empty: say in words what the figure shows")
        self.view, self.data, self.controls = view, data, controls
        self.table, self.alt = table, alt

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        style, start, view = (
            path.read_text("utf-8").strip()
            for path in (HERE.with_suffix(".css"), HERE.with_suffix(".js"), self.view)
        )
        # nothing in the numbers may end the script element
        data = json.dumps(self.data, default=listed, separators=(",", ":")).replace("<", r"\u003c")
        controls = "".join(control.html() for control in self.controls)
        body = (
            f'<form autocomplete="off"><div class="controls" hidden>{controls}</div>'
            f'<div class="scroll"><table>{self.table}</table></div>'
            f'<p data-show="said" aria-live="polite"></p></form>'
        )
        name = sha256(f"{view}{data}{body}".encode()).hexdigest()[:8]
        # JupyterLab keeps the arrow keys to itself without that attribute
        return (
            f'<div class="attncourse-figure" data-figure="{name}" role="group" '
            f'aria-label="{escape(self.alt)}" data-lm-suppress-shortcuts="true">'
            f"<style>\n{style}\n</style>{body}"
            f'<script>\n({start})("{name}", {data}, {view})\n</script></div>'
        )


def columns(*names: str) -> str:
    """The top row of a table."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<tr>{cells}</tr>"


def row(name: str, *cells: str) -> str:
    """A row of a table."""
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def number(slot: str, value: float | Tensor, look: str = "") -> str:
    """A slot that holds a number: plain, or with a `bar` below it, or on a ground of `heat`."""
    drawn = f' class="{look}" style="--value:{value:.3f}"' if look else ""
    return f'<data data-show="{slot}"{drawn}>{shown(float(value))}</data>'


def shown(value: float) -> str:
    """The number as figures show it."""
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def listed(tensor: Tensor) -> list:
    """The tensor as lists, each number in the fewest digits that give it back."""
    tensor = tensor.detach().cpu()
    if not tensor.is_floating_point():
        return tensor.int().tolist()
    wide = tensor if tensor.dtype == torch.float64 else tensor.float()
    return wide.numpy().astype(str).astype(float).tolist()
