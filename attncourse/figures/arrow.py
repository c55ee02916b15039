"""SVG paths of arrows and lines; arrow.js has the same functions."""

from collections.abc import Sequence
from math import hypot
from pathlib import Path

SCRIPT = Path(__file__).with_suffix(".js")
Point = Sequence[float]


def line(tail: Point, tip: Point) -> str:
    """SVG path of a line between two points."""
    # adding 0.0 turns -0.0 into 0.0
    return "".join(
        f"{move}{x + 0.0:.1f} {y + 0.0:.1f}" for move, (x, y) in zip("ML", (tail, tip), strict=True)
    )


def arrow(tail: Point, tip: Point) -> str:
    """SVG path of an arrow; empty if it is shorter than a pixel."""
    (x, y), (u, v) = tail, tip
    length = hypot(u - x, v - y)
    if length < 1:
        return ""
    barb = min(9, length / 2) / length
    a, b = (u - x) * barb, (v - y) * barb
    barbs = (u - a - b / 2, v - b + a / 2), (u - a + b / 2, v - b - a / 2)
    return line(tail, tip) + line(barbs[0], tip) + line(tip, barbs[1])
