"""Arrows and lines of the figures that move, written once in Python and once in arrow.js."""

from collections.abc import Sequence
from math import hypot
from pathlib import Path

SCRIPT = Path(__file__).with_suffix(".js")
Point = Sequence[float]


def line(tail: Point, tip: Point) -> str:
    """The path of a line between two points of a drawing."""
    # a 0 without a sign
    return "".join(
        f"{move}{x + 0.0:.1f} {y + 0.0:.1f}" for move, (x, y) in zip("ML", (tail, tip), strict=True)
    )


def arrow(tail: Point, tip: Point) -> str:
    """The path of a line with two barbs at its tip; nothing for a shorter one than a pixel."""
    (x, y), (u, v) = tail, tip
    length = hypot(u - x, v - y)
    if length < 1:
        return ""
    barb = min(9, length / 2) / length
    a, b = (u - x) * barb, (v - y) * barb
    barbs = (u - a - b / 2, v - b + a / 2), (u - a + b / 2, v - b - a / 2)
    return line(tail, tip) + line(barbs[0], tip) + line(tip, barbs[1])
