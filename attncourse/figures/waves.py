"""The sinusoids of positions, and the dot product of each with the one that is picked.

This figure computes sinusoids: at first here, and in waves.js whenever a control is moved.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row

# so many numbers of a position fit on a phone
SHOWN = 4


def waves(
    n: int, widths: Sequence[int], *, alt: str, position: int = 0, start: int = 0
) -> Interactive:
    """The first numbers of positions 0 to n - 1: pick a position, and the width d of all.

    The last column is the dot product of each position with the one picked, over all d numbers,
    as a share of d / 2. The width of number `start` and `position` are shown first.
    """
    if not widths or any(d < SHOWN or d % 2 for d in widths):
        raise ValueError(f"widths={list(widths)}: each must be even, and at least {SHOWN}")
    pick = Choice("position", [str(t) for t in range(n)], position)
    width, d = Slider("d", widths, start), widths[start]
    p = rows(n, d)
    share = p @ p[position] / (d / 2)
    names = (f"p<sub>{c}</sub>" for c in range(SHOWN))
    product = f'product\u00a0/ <span data-show="half">{d // 2}</span>'
    table = [
        row(
            pick.option(t),
            *(number("wave", x, "signed") for x in p[t, :SHOWN]),
            f'<span data-show="offset">{with_sign(t - position)}</span>',
            number("share", share[t], "bar"),
            at=pick.at(t),
        )
        for t in range(n)
    ]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": n, "count": SHOWN},
        [width],
        columns("t ↓", *names, "offset", product) + "".join(table),
        alt=alt,
    )


def rows(n: int, d: int) -> Tensor:
    """What the figure shows before any control is moved."""
    frequency = 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(n)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def with_sign(x: int) -> str:
    """A whole number as an offset; waves.js writes the same."""
    return f"{x:+d}".replace("-", "−") if x else "0"
