"""Sinusoidal encodings of positions, and the dot product of each with the chosen one.

The first state is computed here, later ones in waves.js.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row

# numbers per position that fit on a phone
COLUMNS = 4


def waves(
    n: int, widths: Sequence[int], *, alt: str, position: int = 0, start: int = 0
) -> Interactive:
    """Figure: the first numbers of each encoding, with choices of a position and the width d.

    The last column is the dot product of each position with the one picked, over all d numbers,
    as a share of d / 2. The width of number `start` and `position` are shown first.
    """
    if not widths or any(d < COLUMNS or d % 2 for d in widths):
        raise ValueError(f"widths={list(widths)}: each must be even, and at least {COLUMNS}")
    pick = Choice("position", [str(t) for t in range(n)], position)
    width, d = Slider("d", widths, start), widths[start]
    p = encodings(n, d)
    share = p @ p[position] / (d / 2)
    names = (f"p<sub>{c}</sub>" for c in range(COLUMNS))
    product = f'product\u00a0/ <span data-show="half">{d // 2}</span>'
    table = [
        row(
            pick.option_html(t),
            *(number("wave", x, "signed") for x in p[t, :COLUMNS]),
            f'<span data-show="offset">{format_offset(t - position)}</span>',
            number("share", share[t], "bar"),
            attrs=pick.hover_attrs(t),
        )
        for t in range(n)
    ]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": n, "count": COLUMNS},
        [width],
        columns("t ↓", *names, "offset", product) + "".join(table),
        alt=alt,
    )


def encodings(n: int, d: int) -> Tensor:
    """Sinusoidal encodings, (n, d), in float64."""
    frequency = 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(n)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def format_offset(x: int) -> str:
    """An integer with its sign, or 0; waves.js has the same function."""
    return f"{x:+d}".replace("-", "−") if x else "0"
