"""The skew, step by step: how a table by offset becomes a table by key without an index.

This figure moves entries: at first here, and in skewing.js whenever another step is chosen.
"""

from pathlib import Path

from attncourse.plot.interactive import Choice, Interactive, columns, number, row

STEPS = ("table", "pad", "reshape", "cut")


def skewing(length: int, *, alt: str) -> Interactive:
    """The entries of `length` queries, named by their offset, on the ground of their query."""
    if length < 1:
        raise ValueError(f"length={length}: there is no query")
    # it begins with the table for both directions; the step that needs most room has 2n columns
    wide, high, offsets = 2 * length, length + 1, range(1 - length, length)

    def cell(i: int, c: int) -> str:
        known = i < length and c < len(offsets)
        text = f"{offsets[c]}".replace("-", "−") if known else ""
        return number("entry", (i + 1) / length if known else 0, "heat", text)

    names = [
        f'<data data-show="column">{c if c < len(offsets) else ""}</data>' for c in range(wide)
    ]
    rows = (
        row(
            f'<data data-show="line">{f"query {i}" if i < length else ""}</data>',
            *(cell(i, c) for c in range(wide)),
        )
        for i in range(high)
    )
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": length},
        [Choice("direction", ["both", "causal"]), Choice("step", STEPS)],
        columns('<data data-show="corner">column</data>', *names) + "".join(rows),
        alt=alt,
    )
