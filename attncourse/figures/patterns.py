"""Attention masks, and their numbers of pairs: full, causal, window, Longformer, BigBird.

The first state is computed here, later ones in patterns.js.
"""

from pathlib import Path

import torch

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row

PATTERNS = ("full", "causal", "window", "Longformer", "BigBird")
# random keys per query in BigBird
RANDOM_KEYS = 2


def patterns(length: int, width: int, *, alt: str) -> Interactive:
    """Figure: a dot for each allowed pair of `length` tokens, at first Longformer's mask.

    Token 0 is the global one; the random keys of BigBird are drawn once, from a fixed seed.
    """
    if length < 2 or not 1 <= width <= length or width % 2 == 0:
        raise ValueError(f"length={length}, width={width}: at least 2, and odd up to the length")
    position = torch.arange(length)
    allowed = (position - position[:, None]).abs() <= width // 2
    allowed = allowed | (position == 0) | (position[:, None] == 0)
    orders = torch.rand(length, length, generator=torch.Generator().manual_seed(0)).argsort()
    names = [f'<data data-show="name">{i}</data>' for i in position.tolist()]
    widths = range(1, length + 1, 2)
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"most": length, "random": RANDOM_KEYS, "orders": orders},
        [
            Choice("pattern", PATTERNS, PATTERNS.index("Longformer")),
            Slider("n", range(2, length + 1), length - 2),
            Slider("width", widths, widths.index(width)),
        ],
        columns("i ↓ j →", *names)
        + "".join(
            row(name, *(number("pair", allows, "heat", "•" if allows else "") for allows in line))
            for name, line in zip(names, allowed.tolist(), strict=True)
        ),
        alt=alt,
    )
