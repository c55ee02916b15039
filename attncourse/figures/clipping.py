"""The row of the table of 2k + 1 rows for each pair of positions, by clipped offset.

The first state is computed here, later ones in clipping.js.
"""

from pathlib import Path

import torch

from attncourse.figures.interactive import Interactive, Slider, columns, number, row


def clipping(length: int, max_distance: int, *, alt: str) -> Interactive:
    """Figure: the table row of each pair of `length` words, with sliders for both arguments.

    The background of a cell is the stronger, the larger its row number.
    """
    if length < 1 or not 0 <= max_distance <= length:
        raise ValueError(
            f"length={length}, max_distance={max_distance}: at least 1, and from 0 to the length"
        )
    positions = torch.arange(length)
    rows = (positions - positions[:, None]).clamp(-max_distance, max_distance) + max_distance
    names = [f'<data data-show="name">{i}</data>' for i in positions.tolist()]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"most": length},
        [
            Slider("n", range(1, length + 1), length - 1),
            Slider("k", range(length + 1), max_distance),
        ],
        columns("i ↓ j →", *names)
        + "".join(
            row(
                name,
                *(
                    number("row", row_index / max(2 * max_distance, 1), "signed", f"{row_index}")
                    for row_index in line
                ),
            )
            for name, line in zip(names, rows.tolist(), strict=True)
        ),
        alt=alt,
    )
