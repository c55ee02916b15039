"""What is left of a gradient at each distance, and how long the path from there is, by layer.

The numbers are measured before they come here: distances.js only draws them and puts them in words.
"""

from collections.abc import Mapping
from math import ceil, log10
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row
from attncourse.figures.numbers import require_finite, shown

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# the parts into which lines cut the drawing
PARTS = 4


def distances(
    gradients: Mapping[str, Tensor], steps: Mapping[str, Tensor], *, alt: str
) -> Interactive:
    """For each layer the gradient at each distance, 0 first, and the steps on its path (-1: none).

    A curve for each layer, over the distances from 1 on, and a cursor at one of them, whose numbers
    stand below. Gradients are shares of that at distance 1, on a log axis.
    """
    sizes = {tuple(one.shape) for one in (*gradients.values(), *steps.values())}
    if len(sizes) != 1 or list(gradients) != list(steps):
        raise ValueError(
            f"gradients of {list(gradients)}, steps of {list(steps)}, in sizes {sorted(sizes)}: "
            "each layer needs both, of one size"
        )
    ((n,),) = sizes
    if n < 3:
        raise ValueError(f"{n} distances, 0 first: a curve needs 1 and 2 as well")
    every = torch.stack(list(gradients.values()))
    require_finite("gradients", every)
    shares = [[float(f"{x:.2e}") for x in line] for line in (every / every[:, 1:2]).tolist()]
    lowest = min(x for line in shares for x in line[1:] if x > 0)
    least = -PARTS * max(ceil(-log10(lowest) / PARTS), 1)
    layer, last = Choice("layer", list(gradients)), n - 1
    rows = (
        row(
            f'{layer.option(i)}<svg class="swatch" aria-hidden="true">'
            f'<line class="line{i}" x2="100%" y1="50%" y2="50%"/></svg>',
            number("left", share[last], text=told(share[last])),
            number("path", count, text=str(count) if count >= 0 else "none"),
            at=layer.at(i),
        )
        for i, share in enumerate(shares)
        for count in [list(steps.values())[i][last].item()]
    )
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {
            "shares": shares,
            "steps": [one.tolist() for one in steps.values()],
            "layers": list(gradients),
            "least": least,
            "parts": PARTS,
        },
        [Choice("show", ["gradient", "path length"]), Slider("distance", range(1, n), n - 2)],
        columns(
            f'at distance <span data-show="at">{last}</span>',
            "gradient",
            "path length",
        )
        + "".join(rows),
        alt=alt,
        picture=picture_of(shares, least),
        within=[layer],
    )


def picture_of(shares: list[list[float]], least: int) -> str:
    """The curves of the shares, the first of them marked, and the cursor at the last distance."""
    last = len(shares[0]) - 1
    heights = [[height(x, least) for x in line[1:]] for line in shares]
    ticks = (
        f'<line class="tick" x2="100%" y1="{100 * i / PARTS:g}%" y2="{100 * i / PARTS:g}%"/>'
        f'<text x="-.5em" y="{100 * i / PARTS:g}%" dy=".35em" text-anchor="end" data-show="tick">'
        f"{power(least * i // PARTS)}</text>"
        for i in range(PARTS + 1)
    )
    places = (
        f'<text x="{100 * (t - 1) / (last - 1):.2f}%" y="100%" dy="1.4em" text-anchor="middle">'
        f"{t}</text>"
        for t in sorted({1, *(round(last * i / PARTS) for i in range(1, PARTS + 1))})
    )
    curves = (
        f'<polyline data-show="curve" class="line{i}{" on" * (i == 0)}" points="'
        + " ".join(f"{t},{y:.3f}" for t, y in enumerate(line) if y is not None)
        + '"/>'
        for i, line in enumerate(heights)
    )
    dots = (
        f'<circle data-show="dot" cx="100%" cy="{100 * (line[-1] or 0):.1f}%" '
        f'r="{0 if line[-1] is None else 6 if i == 0 else 4}"/>'
        for i, line in enumerate(heights)
    )
    return (
        f'<svg class="plot" aria-hidden="true">{"".join(ticks)}{"".join(places)}'
        '<line class="cursor" data-show="cursor" x1="100%" x2="100%" y2="100%"/>'
        f'<svg viewBox="0 0 {last - 1} 1" preserveAspectRatio="none" overflow="visible">'
        f'{"".join(curves)}</svg>{"".join(dots)}</svg><div class="axis">distance</div>'
    )


def height(share: float, least: int) -> float | None:
    """How far below the top of the drawing a share stands, from 0 to 1, as in distances.js."""
    return max(0.0, log10(share) / least) if share > 0 else None


def power(exponent: int) -> str:
    """A power of ten; distances.js writes the same."""
    return f"10{str(exponent).translate(RAISED)}" if exponent else "1"


def told(share: float) -> str:
    """A share in two digits; distances.js writes the same."""
    if share >= 0.1 or share == 0:
        return shown(share) if share else "0"
    digits, exponent = f"{share:.1e}".split("e")
    return f"{digits} · {power(int(exponent))}"
