"""Scores that depend on the offset of a key alone: a line for each method, over all offsets.

The numbers are measured before they come here: offsets.js only marks those of a query and a key.
"""

from collections.abc import Mapping, Sequence
from math import ceil, floor
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row
from attncourse.figures.numbers import minus, require_finite

# the lines that offsets.css tells apart; the most parts into which ticks cut an axis
LINES, PARTS = 6, 6


def offsets(
    scores: Mapping[str, Tensor], *, alt: str, at: tuple[int, int] = (0, 0), start: int = 0
) -> Interactive:
    """For each method its n by n scores, less that at offset 0, over the offset j - i.

    Pick a method, and the positions of a query and a key, which are first those `at`: the dots are
    the scores of that query. The method of number `start` is marked first.
    """
    if not 0 < len(scores) <= LINES:
        raise ValueError(f"{len(scores)} methods, but 1 to {LINES} lines can be told apart")
    sizes = {tuple(one.shape) for one in scores.values()}
    n = next(iter(sizes))[-1]
    if sizes != {(n, n)} or n < 2:
        raise ValueError(f"scores of sizes {sorted(sizes)}: all need one, n by n, and n at least 2")
    lines = [by_offset(name, one) for name, one in scores.items()]
    method, (i, j) = Choice("method", list(scores), start), at
    low, high, step = span([x for line in lines for x in line])
    heights = [[round((high - x) / (high - low), 4) for x in line] for line in lines]
    rows = [
        row(
            method.option(m)
            + f'<svg class="swatch" aria-hidden="true"><line class="line{m}" x2="40" y1="8" '
            f'y2="8"/><path class="line{m} mark" d="M20 8h0"/></svg>',
            number("score", line[n - 1 + j - i]),
            at=method.at(m),
        )
        for m, line in enumerate(lines)
    ]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": n, "lines": lines, "heights": heights, "names": list(scores)},
        [Slider("query at", range(n), i), Slider("key at", range(n), j)],
        columns("method", f'at offset <data data-show="offset">{minus(j - i)}</data>')
        + "".join(rows),
        alt=alt,
        picture=picture_of(heights, at, start, range(low, high + 1, step)),
        within=[method],
    )


def by_offset(name: str, scores: Tensor) -> list[float]:
    """The scores for the offsets from 1 - n to n - 1, less that at 0, where pairs agree."""
    require_finite(name, scores)
    moved = (scores - scores[0, 0]).detach().cpu().double()
    line = torch.cat([moved[-1], moved[0, 1:]])
    positions = torch.arange(len(scores))
    off = (line[positions - positions[:, None] + len(scores) - 1] - moved).abs().max().item()
    if off > 1e-4:
        raise ValueError(f"{name}: two pairs of one offset have scores that are {off:.3g} apart")
    return [round(x, 6) + 0.0 for x in line.tolist()]


def span(numbers: Sequence[float]) -> tuple[int, int, int]:
    """Two whole numbers that hold all the numbers, and the step of the ticks between them."""
    low, high = floor(min(numbers)), max(ceil(max(numbers)), 1)
    step = next(
        s for e in range(99) for s in (10**e, 2 * 10**e, 5 * 10**e) if PARTS * s >= high - low
    )
    return floor(low / step) * step, ceil(high / step) * step, step


def picture_of(
    heights: Sequence[Sequence[float]], at: tuple[int, int], start: int, ticks: range
) -> str:
    """The lines, as far below the top, the dots of a query, and the cursor at its key's offset."""
    last = len(heights[0]) - 1
    n, (i, j) = last // 2 + 1, at
    levels = "".join(
        f'<line class="tick{"" if x else " zero"}" x2="100%" y1="{y}" y2="{y}"/>'
        f'<text x="-.5em" y="{y}" dy=".35em" text-anchor="end">{minus(x)}</text>'
        for x in ticks
        for y in [percent((ticks[-1] - x) / (ticks[-1] - ticks[0]))]
    )
    apart = ceil(last / PARTS)
    places = "".join(
        f'<text x="{percent((n - 1 + x) / last)}" y="100%" dy="1.4em" text-anchor="middle">'
        f"{minus(x)}</text>"
        for x in range(-((n - 1) // apart) * apart, n, apart)
    )
    x = percent((n - 1 + j - i) / last)
    drawn = dots = ""
    for m, line in enumerate(heights):
        on = " on" * (m == start)
        points = " ".join(f"{t},{y:g}" for t, y in enumerate(line))
        marks = "".join(f"M{t} {line[t]:g}h0" for t in range(n - 1 - i, 2 * n - 1 - i))
        drawn += f'<polyline class="line{m}{on}" data-show="curve" points="{points}"/>'
        drawn += f'<path class="line{m} mark{on}" data-show="mark" d="{marks}"/>'
        dots += f'<circle class="line{m}" data-show="dot" cx="{x}" '
        dots += f'cy="{percent(line[n - 1 + j - i])}" r="{7 if on else 4}"/>'
    return (
        f'<svg class="plot" aria-hidden="true">{levels}{places}'
        f'<line class="cursor" data-show="cursor" x1="{x}" x2="{x}" y2="100%"/>'
        f'<svg viewBox="0 0 {last} 1" preserveAspectRatio="none" overflow="visible">{drawn}</svg>'
        f'{dots}</svg><div class="axis">offset j − i</div>'
    )


def percent(share: float) -> str:
    """A share of the drawing's width or height; offsets.js writes the same."""
    return f"{round(100 * share, 2):g}%"
