"""Which row of a table of 2k + 1 rows serves which pair of positions.

This figure clips offsets: at first here, and in clipping.js whenever a slider is moved.
"""

from pathlib import Path

import torch

from attncourse.plot.interactive import Interactive, Slider, columns, number, row


def clipping(length: int, reach: int, *, alt: str) -> Interactive:
    """The row numbers for `length` words at `reach`; sliders go from there to fewer and to others.

    The ground of a cell is the darker, the further its row stands down the table.
    """
    if length < 1 or not 0 <= reach <= length:
        raise ValueError(f"length={length}, reach={reach}: at least 1, and from 0 to the length")
    positions = torch.arange(length)
    rows = (positions - positions[:, None]).clamp(-reach, reach) + reach
    names = [f'<data data-show="name">{i}</data>' for i in positions.tolist()]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"most": length},
        [
            Slider("n", range(1, length + 1), length - 1),
            Slider("k", range(length + 1), reach),
        ],
        columns("i ↓ j →", *names)
        + "".join(
            row(
                name,
                *(number("row", one / max(2 * reach, 1), "heat", f"{one}") for one in line),
            )
            for name, line in zip(names, rows.tolist(), strict=True)
        ),
        alt=alt,
    )
