"""The gradient at each distance, and the path length from there, for several layers.

The numbers are arguments; distances.js draws them and describes them.
"""

from collections.abc import Mapping
from math import ceil, log10
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row
from attncourse.figures.numbers import format_number, require_finite

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# the number of intervals between ticks
TICKS = 4


def distances(
    gradients: Mapping[str, Tensor], steps: Mapping[str, Tensor], *, alt: str
) -> Interactive:
    """Figure: gradients or path lengths over the distance, with a cursor and its numbers below.

    For each layer, `gradients` and `steps` (path lengths, -1 where there is no path) start at
    distance 0. Gradients are divided by that at distance 1, on a log axis.
    """
    sizes = {tuple(x.shape) for x in (*gradients.values(), *steps.values())}
    if len(sizes) != 1 or list(gradients) != list(steps):
        raise ValueError(
            f"gradients of {list(gradients)}, steps of {list(steps)}, in sizes {sorted(sizes)}: "
            "each layer needs both, of one size"
        )
    ((n,),) = sizes
    if n < 3:
        raise ValueError(f"{n} distances, 0 first: a curve needs 1 and 2 as well")
    stacked = torch.stack(list(gradients.values()))
    require_finite("gradients", stacked)
    shares = [[float(f"{x:.2e}") for x in line] for line in (stacked / stacked[:, 1:2]).tolist()]
    lowest = min(x for line in shares for x in line[1:] if x > 0)
    min_exponent = -TICKS * max(ceil(-log10(lowest) / TICKS), 1)
    layer, last = Choice("layer", list(gradients)), n - 1
    rows = (
        row(
            f'{layer.option_html(i)}<svg class="swatch" aria-hidden="true">'
            f'<line class="line{i}" x2="100%" y1="50%" y2="50%"/></svg>',
            number("left", share[last], text=format_share(share[last])),
            number("path", count, text=str(count) if count >= 0 else "none"),
            attrs=layer.hover_attrs(i),
        )
        for i, share in enumerate(shares)
        for count in [list(steps.values())[i][last].item()]
    )
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {
            "shares": shares,
            "steps": [x.tolist() for x in steps.values()],
            "layers": list(gradients),
            "least": min_exponent,
            "parts": TICKS,
        },
        [Choice("show", ["gradient", "path length"]), Slider("distance", range(1, n), n - 2)],
        columns(
            f'at distance <span data-show="at">{last}</span>',
            "gradient",
            "path length",
        )
        + "".join(rows),
        alt=alt,
        picture=plot_svg(shares, min_exponent),
        within=[layer],
    )


def plot_svg(shares: list[list[float]], min_exponent: int) -> str:
    """SVG of the curves, the first of them marked, with the cursor at the last distance."""
    last = len(shares[0]) - 1
    heights = [[height(x, min_exponent) for x in line[1:]] for line in shares]
    ticks = (
        f'<line class="tick" x2="100%" y1="{100 * i / TICKS:g}%" y2="{100 * i / TICKS:g}%"/>'
        f'<text x="-.5em" y="{100 * i / TICKS:g}%" dy=".35em" text-anchor="end" data-show="tick">'
        f"{power_of_ten(min_exponent * i // TICKS)}</text>"
        for i in range(TICKS + 1)
    )
    distance_labels = (
        f'<text x="{100 * (t - 1) / (last - 1):.2f}%" y="100%" dy="1.4em" text-anchor="middle">'
        f"{t}</text>"
        for t in sorted({1, *(round(last * i / TICKS) for i in range(1, TICKS + 1))})
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
        f'<svg class="plot" aria-hidden="true">{"".join(ticks)}{"".join(distance_labels)}'
        '<line class="cursor" data-show="cursor" x1="100%" x2="100%" y2="100%"/>'
        f'<svg viewBox="0 0 {last - 1} 1" preserveAspectRatio="none" overflow="visible">'
        f'{"".join(curves)}</svg>{"".join(dots)}</svg><div class="axis">distance</div>'
    )


def height(share: float, min_exponent: int) -> float | None:
    """Distance of a share from the top of the plot, 0 to 1 on the log axis; None for 0."""
    return max(0.0, log10(share) / min_exponent) if share > 0 else None


def power_of_ten(exponent: int) -> str:
    """A power of ten with a superscript exponent; distances.js has the same function."""
    return f"10{str(exponent).translate(SUPERSCRIPTS)}" if exponent else "1"


def format_share(share: float) -> str:
    """A share in two digits, with a power of ten if small; distances.js has the same function."""
    if share >= 0.1 or share == 0:
        return format_number(share) if share else "0"
    digits, exponent = f"{share:.1e}".split("e")
    return f"{digits} · {power_of_ten(int(exponent))}"
