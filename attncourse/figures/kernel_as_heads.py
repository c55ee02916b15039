"""A kernel of three taps as three heads, each of which attends to one offset.

The first state is computed here, later ones in kernel_as_heads.js.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row

OFFSETS = (-1, 0, 1)


def kernel_as_heads(
    length: int,
    kernels: Mapping[str, Sequence[float]],
    sharpness: Sequence[float],
    *,
    alt: str,
    position: int = 0,
    start: int = 0,
) -> Interactive:
    """Figure: weights of three heads for one query, their sum times the taps, and the kernel.

    `kernels` have three taps each. The reader chooses the kernel, the query's position, and alpha
    from `sharpness`, at first the one of index `start`.
    """
    if not kernels or any(len(taps) != len(OFFSETS) for taps in kernels.values()):
        raise ValueError(f"kernels={dict(kernels)}: each must have {len(OFFSETS)} taps")
    positions = torch.arange(length, dtype=torch.float64)
    offset = torch.tensor(OFFSETS)[:, None]
    taps = torch.tensor([*kernels.values()], dtype=torch.float64)
    weights = (-sharpness[start] * (positions - position - offset).square()).softmax(-1)
    true = torch.where(positions - position == offset, taps[0, :, None], 0.0).sum(0)
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": length, "kernels": taps, "offsets": OFFSETS},
        [
            Choice("kernel", list(kernels)),
            Slider("alpha", sharpness, start),
            Slider("query", range(length), position),
        ],
        columns("key", *map(str, range(length)))
        + "".join(
            row(f"head {name}", *(number("weight", w, "up") for w in line))
            for name, line in zip(("−1", "0", "+1"), weights, strict=True)
        )
        + row("together", *(number("sum", x, "signed") for x in taps[0] @ weights))
        + row("kernel", *(number("true", x, "signed") for x in true)),
        alt=alt,
    )
