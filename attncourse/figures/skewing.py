"""The skew, step by step: a table by offset becomes a table by key without an index.

The first state is computed here, later positions of the cells in skewing.js.
"""

from pathlib import Path

from attncourse.figures.interactive import Choice, Interactive
from attncourse.figures.numbers import format_integer

STEPS = ("table", "pad", "drop", "reshape", "cut")


def skewing(length: int, *, alt: str) -> Interactive:
    """Figure: the entries of `length` queries as sliding cells, labelled by their offset.

    The background of a cell is the stronger, the later its query.
    """
    if length < 1:
        raise ValueError(f"length={length}: there is no query")
    # the first state is the table for both directions; one more column is free for the padding
    offsets = [*map(format_integer, range(1 - length, length))]
    queries = range(length)
    cells = [cell(x, i, name, (i + 1) / length) for i in queries for x, name in enumerate(offsets)]
    cells += [cell(-1, i, "pad", 0, " off") for i in queries]
    cells += [cell(x, i, "•", 0, " off") for i in queries for x in range(i + 1, length)]
    names = [
        f'<data data-show="column" class="head" style="--x:{x};--y:-1">{text}</data>'
        for x, text in enumerate([*map(str, range(len(offsets))), ""])
    ]
    lines = [
        f'<data data-show="{slot}" class="label" style="--x:0;--y:{y}">{text}</data>'
        for y, slot, text in [
            (-1, "corner", "column"),
            *((i, "line", f"query {i}") for i in queries),
        ]
    ]
    rows = " ".join(f"Row {i}: {', '.join(offsets)}." for i in queries)
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": length},
        [Choice("direction", ["both", "causal"]), Choice("step", STEPS)],
        "",
        alt=alt,
        picture=f'<div class="board" role="img" aria-label="{rows}" data-show="board" '
        f'style="--n:{length}">{"".join([*names, *lines, *cells])}</div>',
    )


def cell(x: float, y: float, text: str, share: float, look: str = "") -> str:
    """HTML of a cell at column x, row y; skewing.js writes the same style."""
    style = f"--share:{share:g};--x:{x:g};--y:{y:g}"
    return f'<data data-show="entry" class="entry{look}" style="{style}">{text}</data>'
