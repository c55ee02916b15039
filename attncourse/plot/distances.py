"""What is left of a gradient at each distance, and how long the path from there is, by layer.

The numbers are measured before they come here: distances.js only picks them and puts them in words.
"""

from collections.abc import Mapping, Sequence
from math import log10
from pathlib import Path

import torch
from torch import Tensor

from attncourse.plot.interactive import Choice, Interactive, Slider, columns, number, row
from attncourse.plot.numbers import require_finite

# the power of ten at which the ground of a cell ends
LEAST = -16
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def distances(
    gradients: Mapping[str, Tensor],
    steps: Mapping[str, Tensor],
    columns_at: Sequence[int],
    *,
    alt: str,
) -> Interactive:
    """For each layer the gradient at each distance, 0 first, and the steps on its path (-1: none).

    The table has some of the distances, and the slider all from 1 on. Gradients are shares of that
    at distance 1; the stronger the ground, the more is left, or the shorter is the path.
    """
    sizes = {tuple(one.shape) for one in (*gradients.values(), *steps.values())}
    if len(sizes) != 1 or list(gradients) != list(steps):
        raise ValueError(
            f"gradients of {list(gradients)}, steps of {list(steps)}, in sizes {sorted(sizes)}: "
            "each layer needs both, of one size"
        )
    ((n,),) = sizes
    if not columns_at or not 1 <= min(columns_at) <= max(columns_at) < n:
        raise ValueError(f"columns_at={list(columns_at)}, but distances go from 1 to {n - 1}")
    every = torch.stack(list(gradients.values()))
    require_finite("gradients", every)
    shares = [[float(f"{x:.2e}") for x in line] for line in (every / every[:, 1:2]).tolist()]
    layer = Choice("layer", list(gradients))
    rows = (
        row(layer.option(i), *(cell(share[t]) for t in columns_at))
        for i, share in enumerate(shares)
    )
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {
            "shares": shares,
            "steps": [one.tolist() for one in steps.values()],
            "layers": list(gradients),
            "columns": list(columns_at),
            "least": LEAST,
        },
        [
            Choice("show", ["gradient", "path length"]),
            Slider("distance", range(1, n), columns_at[-1] - 1),
        ],
        columns("layer ↓ distance →", *map(str, columns_at)) + "".join(rows),
        alt=alt,
    )


def cell(share: float) -> str:
    """The power of ten nearest to a share; distances.js writes the same."""
    if share == 0:
        return number("cell", 0, "heat", "0")
    exponent = round(log10(share))
    ground = min(max(1 - exponent / LEAST, 0), 1)
    text = f"10{str(exponent).translate(RAISED)}" if exponent else "1"
    return number("cell", ground, "heat", text)
