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
    # it begins with the table for both directions, which has one column less than it has room for
    offsets = [f"{offset}".replace("-", "−") for offset in range(1 - length, length)]
    places = [*map(str, range(len(offsets))), ""]
    rows = (
        row(
            f'<data data-show="line">query {i}</data>',
            *(number("entry", (i + 1) / length, "signed", offset) for offset in offsets),
            number("entry", 0, "signed", ""),
        )
        for i in range(length)
    )
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"n": length},
        [Choice("direction", ["both", "causal"]), Choice("step", STEPS)],
        columns(
            '<data data-show="corner">column</data>',
            *(f'<data data-show="column">{place}</data>' for place in places),
        )
        + "".join(rows),
        alt=alt,
    )
