"""Attention in a plane: words to drag, their keys beside one query, and the blend of their values.

This figure computes attention: at first here, and in view.js whenever a word or a control is moved.
What a word's point does under a pointer or the arrow keys is in start.js.
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
from attncourse.figures.numbers import require_finite, shown

HERE = Path(__file__).parent
# a point lies from LEAST to MOST on both axes, and one unit is so many of the drawing's
LEAST, MOST, UNIT = -1, 3, 60
# a key with all the weight has a disc of this radius
RADIUS = 26
HINT = "Drag a word, or move it with the arrow keys. A disc is the weight of a key."


def plane(
    x: Tensor,
    words: Sequence[str],
    axes: tuple[str, str],
    separate: tuple[Tensor, Tensor, Tensor],
    *,
    alt: str,
    query: int = 0,
) -> Interactive:
    """Queries and keys on the left, values and the output on the right.

    `x` has a row of two numbers for each word. `separate` is W_Q, W_K and W_V, by which
    queries, keys and values are made of the rows if the reader wants; else they are the rows.
    """
    require_fit(x, words, separate, query)
    x = x.detach().double().cpu()
    weight = weights(x, query)
    output = weight @ x
    return Interactive(
        HERE / "view.js",
        {
            "words": list(words),
            "axes": list(axes),
            "matrices": [one.detach().double().cpu() for one in separate],
            "unit": UNIT,
            "radius": RADIUS,
            "reach": [LEAST, MOST],
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
            f"{compared(x, words, axes, weight, query)}{blended(x, axes, weight)}</div>"
            f"{points(x)}{numbers(x, words, axes, weight, output, query)}"
        ),
        uses=[SCRIPT, HERE / "start.js"],
    )


def require_fit(x: Tensor, words: Sequence[str], separate: Sequence[Tensor], query: int) -> None:
    """Raise ValueError, with the sizes, where the parts of a plane do not go together."""
    if x.shape != (len(words), 2) or not len(x):
        raise ValueError(f"x={tuple(x.shape)} should be {(len(words), 2)}: two numbers a word")
    require_finite("x", x)
    if x.min() < LEAST or x.max() > MOST:
        raise ValueError(f"x lies from {x.min():.3g} to {x.max():.3g}, the plane {LEAST} to {MOST}")
    shapes = [tuple(one.shape) for one in separate]
    if shapes != [(2, 2)] * 3:
        raise ValueError(f"W_Q, W_K and W_V of {shapes} should each be (2, 2)")
    if not 0 <= query < len(words):
        raise ValueError(f"query={query}, but there are {len(words)} words")


def weights(x: Tensor, query: int) -> Tensor:
    """What the figure shows before anything is moved."""
    return (x @ x[query] / x.shape[1] ** 0.5).softmax(dim=0)


def drawn(at: Sequence[float]) -> tuple[float, float]:
    """A point in the units of the drawing, whose second axis runs down."""
    a, b = at
    return UNIT * a + 0.0, -UNIT * b + 0.0


def svg(axes: Sequence[str], title: str, content: str, role: str = 'aria-hidden="true"') -> str:
    """A square of the plane, with its axes."""
    low, high = LEAST * UNIT - 16, MOST * UNIT + 16
    side = high - low
    ticks = "".join(
        f"M{one} -4v8M-4 {-one}h8" for one in range(LEAST * UNIT, (MOST + 1) * UNIT, UNIT) if one
    )
    return (
        f'<figure><svg viewBox="{low} {-high} {side} {side}" {role}>'
        f'<path class="axis" d="M{low} 0H{high}M0 {-low}V{-high}{ticks}"/>'
        f'<text class="axis" x="{high}" y="15" text-anchor="end">{escape(axes[0])}</text>'
        f'<text class="axis" x="6" y="{11 - high}">{escape(axes[1])}</text>{content}</svg>'
        f"<figcaption>{title}</figcaption></figure>"
    )


def compared(
    x: Tensor, words: Sequence[str], axes: Sequence[str], weight: Tensor, query: int
) -> str:
    """The query's line, on which each key is projected, the keys with their discs, and the words.

    Where queries and keys are other than the words, a thin line leads from each word to its own.
    """
    rows, q = x.tolist(), x[query]
    ahead = (x @ q / (q @ q).clamp(min=1e-12))[:, None] * q
    feet = "".join(
        f'<path data-show="foot" class="foot" d="{between(line, key, foot)}"/>'
        for key, foot in zip(rows, ahead.tolist(), strict=True)
    )
    discs = "".join(
        f'<circle data-show="disc" class="disc" cx="{cx:.1f}" cy="{cy:.1f}" '
        f'r="{RADIUS * share**0.5:.1f}"/>'
        for (cx, cy), share in zip(map(drawn, rows), weight.tolist(), strict=True)
    )
    keys = "".join(
        f'<path data-show="key" class="key" d="{between(arrow, (0, 0), one)}"/>' for one in rows
    )
    made = '<path data-show="made" class="made" d=""/>' * (len(rows) + 1)
    handles = "".join(handle(word, axes, one) for word, one in zip(words, rows, strict=True))
    lines = (
        f'<path data-show="along" class="along" d="{along(q.tolist())}"/>{feet}{discs}{made}'
        f'<path data-show="ask" class="query" d="{between(arrow, (0, 0), rows[query])}"/>'
        f"{keys}{handles}"
    )
    given = ", ".join(
        f"{escape(word)} {number('given', one)}" for word, one in zip(words, weight, strict=True)
    )
    title = f'<b class="query">query</b> and <b class="key">keys</b>; weights: {given}'
    return svg(axes, title, lines, 'role="group" aria-label="words"')


def handle(word: str, names: Sequence[str], at: Sequence[float]) -> str:
    """A word's point, to drag or to move by keys."""
    (a, b), (x, y), (across, up, anchor) = at, drawn(at), named(at, 8)
    return (
        f'<g data-show="word" class="word" transform="translate({x:.1f} {y:.1f})" '
        f'role="slider" tabindex="0" aria-label="{escape(word)}" aria-valuemin="{LEAST}" '
        f'aria-valuemax="{MOST}" aria-valuenow="{a:g}" aria-valuetext="'
        f'{escape(names[0])} {shown(a)}, {escape(names[1])} {shown(b)}">'
        f'<circle class="hold" r="18"/><circle r="4"/>'
        f'<text data-show="label" x="{across}" y="{up}" text-anchor="{anchor}">{escape(word)}'
        "</text></g>"
    )


def named(at: Sequence[float], gap: int) -> tuple[int, int, str]:
    """Where a point's name begins: right of it and above, but where it would be cut off."""
    a, b = at
    right, above = a < MOST - 0.7, b < MOST - 0.3
    return gap if right else -gap, -8 if above else 20, "start" if right else "end"


def between(make: Callable[[Point, Point], str], tail: Point, tip: Point) -> str:
    """A line or an arrow from one point of the plane to another."""
    return make(drawn(tail), drawn(tip))


def along(q: Sequence[float]) -> str:
    """The line through the query, across the whole plane; nothing for a query of zeros."""
    length = hypot(*q)
    if not length:
        return ""
    a, b = (10 * one / length for one in q)
    return between(line, (-a, -b), (a, b))


def blended(x: Tensor, axes: Sequence[str], weight: Tensor) -> str:
    """The values, and under their weights laid head to tail; they end in the output."""
    places = torch.cat([x.new_zeros(1, 2), (weight[:, None] * x).cumsum(0)]).tolist()
    values = "".join(
        f'<path data-show="value" class="whole" d="{between(arrow, (0, 0), one)}"/>'
        for one in x.tolist()
    )
    parts = "".join(
        f'<path data-show="share" class="value" d="{between(arrow, *pair)}"/>'
        for pair in pairwise(places)
    )
    (right, top), (across, up, anchor) = drawn(places[-1]), named(places[-1], 10)
    end = (
        f'<circle data-show="end" r="6" cx="{right:.1f}" cy="{top:.1f}"/>'
        f'<text data-show="name" x="{right + across:.1f}" y="{top + up:.1f}" '
        f'text-anchor="{anchor}">output</text>'
    )
    title = '<b class="value">values</b> times weights, head to tail'
    return svg(axes, title, values + parts + end)


def points(x: Tensor) -> str:
    """Where the words are: what start.js sets, and the view reads."""
    return "".join(
        f'<input type="hidden" name="{name}{i}" value="{at:g}">'
        for i, one in enumerate(x.tolist())
        for name, at in zip("xy", one, strict=True)
    )


def numbers(
    x: Tensor,
    words: Sequence[str],
    axes: Sequence[str],
    weight: Tensor,
    output: Tensor,
    query: int,
) -> str:
    """The numbers of the drawing, folded."""
    dot = x @ x[query]
    rows = "".join(
        row(
            escape(word),
            number("dot", dot[j]),
            number("score", dot[j] / 2**0.5),
            number("weight", weight[j]),
            *(number("part", one) for one in weight[j] * x[j]),
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
    total = row("sum", "", "", "", *(number("output", one) for one in output))
    return (
        f"<details><summary>The numbers</summary><table><thead>{heading}</thead>"
        f"<tbody>{rows}</tbody><tfoot>{total}</tfoot></table></details>"
    )
