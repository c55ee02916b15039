"""Scores that depend on the offset alone: a curve over all offsets for each method.

The numbers are arguments; offsets.js marks those of a query and a key.
"""

from collections.abc import Mapping, Sequence
from math import ceil, floor
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row
from attncourse.figures.numbers import format_integer, require_finite

# the number of line styles in offsets.css; the most intervals between ticks of an axis
MAX_LINES, MAX_INTERVALS = 6, 6


def offsets(
    scores: Mapping[str, Tensor], *, alt: str, at: tuple[int, int] = (0, 0), start: int = 0
) -> Interactive:
    """Figure: n by n scores of several methods, minus that at offset 0, over the offset j - i.

    The reader picks a method, first that of index `start`, and the positions of a query and a key,
    first those `at`; dots mark the scores of that query.
    """
    if not 0 < len(scores) <= MAX_LINES:
        raise ValueError(f"{len(scores)} methods, but 1 to {MAX_LINES} lines can be told apart")
    sizes = {tuple(x.shape) for x in scores.values()}
    n = next(iter(sizes))[-1]
    if sizes != {(n, n)} or n < 2:
        raise ValueError(f"scores of sizes {sorted(sizes)}: all need one, n by n, and n at least 2")
    lines = [scores_by_offset(name, x) for name, x in scores.items()]
    method, (i, j) = Choice("method", list(scores), start), at
    low, high, step = axis_range([x for line in lines for x in line])
    heights = [[round((high - x) / (high - low), 4) for x in line] for line in lines]
    rows = [
        row(
            method.option_html(m)
            + f'<svg class="swatch" aria-hidden="true"><line class="line{m}" x2="40" y1="8" '
            f'y2="8"/><path class="line{m} mark" d="M20 8h0"/></svg>',
            number("score", line[n - 1 + j - i]),
            attrs=method.hover_attrs(m),
        )
        for m, line in enumerate(lines)
    ]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": n, "lines": lines, "heights": heights, "names": list(scores)},
        [Slider("query at", range(n), i), Slider("key at", range(n), j)],
        columns("method", f'at offset <data data-show="offset">{format_integer(j - i)}</data>')
        + "".join(rows),
        alt=alt,
        picture=plot_svg(heights, at, start, range(low, high + 1, step)),
        within=[method],
    )


def scores_by_offset(name: str, scores: Tensor) -> list[float]:
    """The scores at offsets 1 - n to n - 1, minus that at 0; ValueError if pairs disagree."""
    require_finite(name, scores)
    relative_scores = (scores - scores[0, 0]).detach().cpu().double()
    line = torch.cat([relative_scores[-1], relative_scores[0, 1:]])
    positions = torch.arange(len(scores))
    deviation = (
        (line[positions - positions[:, None] + len(scores) - 1] - relative_scores)
        .abs()
        .max()
        .item()
    )
    if deviation > 1e-4:
        raise ValueError(
            f"{name}: two pairs of one offset have scores that are {deviation:.3g} apart"
        )
    return [round(x, 6) + 0.0 for x in line.tolist()]


def axis_range(numbers: Sequence[float]) -> tuple[int, int, int]:
    """Integer limits of an axis for these numbers, and the step of its ticks."""
    low, high = floor(min(numbers)), max(ceil(max(numbers)), 1)
    step = next(
        s
        for e in range(99)
        for s in (10**e, 2 * 10**e, 5 * 10**e)
        if MAX_INTERVALS * s >= high - low
    )
    return floor(low / step) * step, ceil(high / step) * step, step


def plot_svg(
    heights: Sequence[Sequence[float]], query_and_key: tuple[int, int], start: int, ticks: range
) -> str:
    """SVG of the curves, from their heights below the top, a query's dots, and the cursor."""
    last = len(heights[0]) - 1
    n, (i, j) = last // 2 + 1, query_and_key
    levels = "".join(
        f'<line class="tick{"" if x else " zero"}" x2="100%" y1="{y}" y2="{y}"/>'
        f'<text x="-.5em" y="{y}" dy=".35em" text-anchor="end">{format_integer(x)}</text>'
        for x in ticks
        for y in [percent((ticks[-1] - x) / (ticks[-1] - ticks[0]))]
    )
    spacing = ceil(last / MAX_INTERVALS)
    offset_labels = "".join(
        f'<text x="{percent((n - 1 + x) / last)}" y="100%" dy="1.4em" text-anchor="middle">'
        f"{format_integer(x)}</text>"
        for x in range(-((n - 1) // spacing) * spacing, n, spacing)
    )
    x = percent((n - 1 + j - i) / last)
    curves = dots = ""
    for m, line in enumerate(heights):
        chosen_class = " on" * (m == start)
        points = " ".join(f"{t},{y:g}" for t, y in enumerate(line))
        marks = "".join(f"M{t} {line[t]:g}h0" for t in range(n - 1 - i, 2 * n - 1 - i))
        curves += f'<polyline class="line{m}{chosen_class}" data-show="curve" points="{points}"/>'
        curves += f'<path class="line{m} mark{chosen_class}" data-show="mark" d="{marks}"/>'
        dots += f'<circle class="line{m}" data-show="dot" cx="{x}" '
        dots += f'cy="{percent(line[n - 1 + j - i])}" r="{7 if chosen_class else 4}"/>'
    return (
        f'<svg class="plot" aria-hidden="true">{levels}{offset_labels}'
        f'<line class="cursor" data-show="cursor" x1="{x}" x2="{x}" y2="100%"/>'
        f'<svg viewBox="0 0 {last} 1" preserveAspectRatio="none" overflow="visible">{curves}</svg>'
        f'{dots}</svg><div class="axis">offset j − i</div>'
    )


def percent(share: float) -> str:
    """A share of the plot's width or height in percent; offsets.js has the same function."""
    return f"{round(100 * share, 2):g}%"
