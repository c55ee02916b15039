"""Attention in the plane, with draggable words: query and keys, and the weighted sum of values.

The first state is computed here, later ones in view.js; start.js moves the words.
"""

from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from math import hypot
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.arrow import SCRIPT, Point, arrow, line
from attncourse.figures.explorer import TEMPERATURES
from attncourse.figures.interactive import Button, Choice, Interactive, Slider, columns, number, row
from attncourse.figures.numbers import format_number, require_finite

FOLDER = Path(__file__).parent
# the range of both axes, and the SVG units of one unit
LOW, HIGH, UNIT = -1, 3, 60
# radius of the disc of a key with weight 1
RADIUS = 26
HINT = "Drag a word, or move it with the arrow keys. The area of a disc is the weight of its key."


def plane(
    x: Tensor,
    words: Sequence[str],
    axes: tuple[str, str],
    separate: tuple[Tensor, Tensor, Tensor],
    *,
    alt: str,
    query: int = 0,
) -> Interactive:
    """Figure: queries and keys on the left, values and the output on the right.

    `x` has a row of two numbers for each word. Queries, keys and values are the rows themselves
    or, if the reader chooses so, their products with W_Q, W_K and W_V, given as `separate`.
    """
    require_consistent(x, words, separate, query)
    x = x.detach().double().cpu()
    weight = initial_weights(x, query)
    output = weight @ x
    return Interactive(
        FOLDER / "view.js",
        {
            "words": list(words),
            "axes": list(axes),
            "matrices": [matrix.detach().double().cpu() for matrix in separate],
            "unit": UNIT,
            "radius": RADIUS,
            "reach": [LOW, HIGH],
        },
        [
            Choice("query", words, query),
            Choice("query and key", ("the same", "separate")),
            Slider("temperature", TEMPERATURES, TEMPERATURES.index(1)),
            Button("put the words back"),
        ],
        "",
        alt=alt,
        picture=(
            f'<div class="hint" hidden>{HINT}</div><div class="both">'
            f"{queries_keys_svg(x, words, axes, weight, query)}{values_svg(x, axes, weight)}</div>"
            f"{position_inputs(x)}{numbers_details(x, words, axes, weight, output, query)}"
        ),
        scripts=[SCRIPT, FOLDER / "start.js"],
    )


def require_consistent(
    x: Tensor, words: Sequence[str], separate: Sequence[Tensor], query: int
) -> None:
    """Raise ValueError, with the sizes, where the arguments of `plane` do not fit each other."""
    if x.shape != (len(words), 2) or not len(x):
        raise ValueError(f"x={tuple(x.shape)} should be {(len(words), 2)}: two numbers a word")
    require_finite("x", x)
    if x.min() < LOW or x.max() > HIGH:
        raise ValueError(f"x lies from {x.min():.3g} to {x.max():.3g}, the plane {LOW} to {HIGH}")
    shapes = [tuple(matrix.shape) for matrix in separate]
    if shapes != [(2, 2)] * 3:
        raise ValueError(f"W_Q, W_K and W_V of {shapes} should each be (2, 2)")
    if not 0 <= query < len(words):
        raise ValueError(f"query={query}, but there are {len(words)} words")


def initial_weights(x: Tensor, query: int) -> Tensor:
    """Attention weights of the first state."""
    return (x @ x[query] / x.shape[1] ** 0.5).softmax(dim=0)


def svg_point(point: Sequence[float]) -> tuple[float, float]:
    """A point in SVG coordinates, whose y axis points down."""
    a, b = point
    return UNIT * a + 0.0, -UNIT * b + 0.0


def plane_svg(
    axes: Sequence[str], title: str, content: str, role: str = 'aria-hidden="true"'
) -> str:
    """HTML figure of the plane with its axes and this content."""
    low, high = LOW * UNIT - 16, HIGH * UNIT + 16
    side = high - low
    ticks = "".join(
        f"M{tick} -4v8M-4 {-tick}h8" for tick in range(LOW * UNIT, (HIGH + 1) * UNIT, UNIT) if tick
    )
    return (
        f'<figure><svg viewBox="{low} {-high} {side} {side}" {role}>'
        f'<path class="axis" d="M{low} 0H{high}M0 {-low}V{-high}{ticks}"/>'
        f'<text class="axis" x="{high - 8}" y="18" text-anchor="end">{escape(axes[0])}</text>'
        f'<text class="axis" x="8" y="{20 - high}">{escape(axes[1])}</text>{content}</svg>'
        f"<figcaption>{title}</figcaption></figure>"
    )


def queries_keys_svg(
    x: Tensor, words: Sequence[str], axes: Sequence[str], weight: Tensor, query: int
) -> str:
    """The left plane: the query, the keys projected on its line, their discs, and the words.

    With separate projections, a thin line leads from each word to its query or key.
    """
    rows, q = x.tolist(), x[query]
    projections = (x @ q / (q @ q).clamp(min=1e-12))[:, None] * q
    feet = "".join(
        f'<path data-show="foot" class="foot" d="{path_between(line, key, foot)}"/>'
        for key, foot in zip(rows, projections.tolist(), strict=True)
    )
    discs = "".join(
        f'<circle data-show="disc" class="disc" cx="{cx:.1f}" cy="{cy:.1f}" '
        f'r="{RADIUS * share**0.5:.1f}"/>'
        for (cx, cy), share in zip(map(svg_point, rows), weight.tolist(), strict=True)
    )
    keys = "".join(
        f'<path data-show="key" class="key" d="{path_between(arrow, (0, 0), row)}"/>'
        for row in rows
    )
    projection_lines = '<path data-show="made" class="made" d=""/>' * (len(rows) + 1)
    handles = "".join(
        word_handle(word, axes, value) for word, value in zip(words, rows, strict=True)
    )
    lines = (
        f'<path data-show="along" class="along" d="{query_line(q.tolist())}"/>{feet}{discs}'
        f"{projection_lines}"
        f'<path data-show="ask" class="query" d="{path_between(arrow, (0, 0), rows[query])}"/>'
        f"{keys}{handles}"
    )
    weight_list = ", ".join(
        f"{escape(word)} {number('given', value)}"
        for word, value in zip(words, weight, strict=True)
    )
    title = f'<b class="query">query</b> and <b class="key">keys</b>; weights: {weight_list}'
    return plane_svg(axes, title, lines, 'role="group" aria-label="words"')


def word_handle(word: str, names: Sequence[str], point: Sequence[float]) -> str:
    """SVG of a word's point, movable by pointer or arrow keys."""
    (a, b), (x, y), (dx, dy, anchor) = point, svg_point(point), label_position(point, 8)
    return (
        f'<g data-show="word" class="word" transform="translate({x:.1f} {y:.1f})" '
        f'role="slider" tabindex="0" aria-label="{escape(word)}" aria-valuemin="{LOW}" '
        f'aria-valuemax="{HIGH}" aria-valuenow="{a:g}" aria-valuetext="'
        f'{escape(names[0])} {format_number(a)}, {escape(names[1])} {format_number(b)}">'
        f'<circle class="hold" r="18"/><circle r="4"/>'
        f'<text data-show="label" x="{dx}" y="{dy}" text-anchor="{anchor}">{escape(word)}'
        "</text></g>"
    )


def label_position(point: Sequence[float], gap: int) -> tuple[int, int, str]:
    """Offset and anchor of a point's label: above right, unless it would be cut off there."""
    a, b = point
    fits_right, fits_above = a < HIGH - 0.7, b < HIGH - 0.3
    return gap if fits_right else -gap, -8 if fits_above else 20, "start" if fits_right else "end"


def path_between(make: Callable[[Point, Point], str], tail: Point, tip: Point) -> str:
    """SVG path of a line or an arrow between two points of the plane."""
    return make(svg_point(tail), svg_point(tip))


def query_line(q: Sequence[float]) -> str:
    """SVG path of the line through the query and the origin; empty for a zero query."""
    length = hypot(*q)
    if not length:
        return ""
    a, b = (10 * x / length for x in q)
    return path_between(line, (-a, -b), (a, b))


def values_svg(x: Tensor, axes: Sequence[str], weight: Tensor) -> str:
    """The right plane: the values, and the weighted values head to tail, up to the output."""
    path = torch.cat([x.new_zeros(1, 2), (weight[:, None] * x).cumsum(0)]).tolist()
    values = "".join(
        f'<path data-show="value" class="whole" d="{path_between(arrow, (0, 0), value)}"/>'
        for value in x.tolist()
    )
    weighted_values = "".join(
        f'<path data-show="share" class="value" d="{path_between(arrow, *pair)}"/>'
        for pair in pairwise(path)
    )
    (right, top), (dx, dy, anchor) = svg_point(path[-1]), label_position(path[-1], 10)
    end = (
        f'<circle data-show="end" r="6" cx="{right:.1f}" cy="{top:.1f}"/>'
        f'<text data-show="name" x="{right + dx:.1f}" y="{top + dy:.1f}" '
        f'text-anchor="{anchor}">output</text>'
    )
    title = '<b class="value">values</b> times weights, head to tail'
    return plane_svg(axes, title, values + weighted_values + end)


def position_inputs(x: Tensor) -> str:
    """Hidden inputs with the words' coordinates, set by start.js and read by the view."""
    return "".join(
        f'<input type="hidden" name="{name}{i}" value="{coordinate:g}">'
        for i, point in enumerate(x.tolist())
        for name, coordinate in zip("xy", point, strict=True)
    )


def numbers_details(
    x: Tensor,
    words: Sequence[str],
    axes: Sequence[str],
    weight: Tensor,
    output: Tensor,
    query: int,
) -> str:
    """Collapsible HTML table of the figure's numbers."""
    dot = x @ x[query]
    rows = "".join(
        row(
            escape(word),
            number("dot", dot[j]),
            number("score", dot[j] / 2**0.5),
            number("weight", weight[j]),
            *(number("part", product) for product in weight[j] * x[j]),
        )
        for j, word in enumerate(words)
    )
    heading = columns(
        "key",
        "q·k",
        "score / temperature",
        "weight",
        *(f"weight × {escape(axis)}" for axis in axes),
    )
    total = row("sum", "", "", "", *(number("output", total) for total in output))
    return (
        f"<details><summary>The numbers</summary><table><thead>{heading}</thead>"
        f"<tbody>{rows}</tbody><tfoot>{total}</tfoot></table></details>"
    )
