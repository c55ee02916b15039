"""The receptive field of an output: the inputs with a path through the layers to it.

The first state is computed here, later ones in receptive.js.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row

KINDS = ("kernel or window", "dilated kernel", "no window")


def receptive(
    length: int,
    layers: int,
    widths: Sequence[int],
    *,
    alt: str,
    position: int = 0,
    start: int = 0,
) -> Interactive:
    """Figure: the positions of each layer that lead to an output, darker for more paths.

    The reader chooses the kind of layer, the width, at first that of index `start`, and the output.
    In layer l = 0, 1, ... of dilated kernels, the taps are 2^l apart.
    """
    if not widths or any(width < 1 or width % 2 == 0 for width in widths):
        raise ValueError(f"widths={list(widths)}: each must be odd, and at least 1")
    if not 0 <= position < length:
        raise ValueError(f"position={position}, but the positions are 0 to {length - 1}")
    width = Slider("width", widths, start)
    paths = paths_to(position, length, layers, widths[start])
    names = ["output", *(f"layer {layer}" for layer in range(layers - 1, 0, -1)), "input"]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": length, "layers": layers},
        [
            Choice("layers", KINDS),
            width,
            Slider("output", range(length), position),
        ],
        columns("place", *map(str, range(length)))
        + "".join(
            row(name, *(number("path", share, "signed", "•" if share else "·") for share in line))
            for name, line in zip(names, paths, strict=True)
        ),
        alt=alt,
    )


def paths_to(position: int, length: int, layers: int, width: int) -> Tensor:
    """Number of paths to the output from each position of each layer, as a share of the largest."""
    indices = torch.arange(length)
    step = ((indices - indices[:, None]).abs() <= width // 2).double()
    paths = [(indices == position).double()]
    for _ in range(layers):
        paths.append(paths[-1] @ step)
    return torch.stack([counts / counts.max() for counts in paths])
