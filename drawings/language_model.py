"""The drawing of the chapter on a language model."""

from collections.abc import Iterator
from itertools import pairwise
from math import inf

from attncourse.data.byte_pairs import merge, stored_pairs
from drawings.shapes import Drawing, drawing

CELL, HIGH, STEP = 42, 22, 28


def rows_of(word: str) -> Iterator[list[str]]:
    """The pieces of a word as its pairs are merged, one after another."""
    pairs = stored_pairs()
    tokens = [*word.encode()]
    while True:
        yield [pairs.bytes[token].decode() for token in tokens]
        pair = min(pairwise(tokens), key=lambda pair: pairs.merges.get(pair, inf), default=None)
        if pair not in pairs.merges:
            return
        tokens = merge(tokens, pair, pairs.merges[pair])


@drawing
def merged_pairs() -> Drawing:
    rows = [*rows_of(" nation")]
    told = "; ".join(" ".join(row).replace(" ", "␣", 1) for row in rows)
    sheet = Drawing(
        CELL * len(rows[0]) + 8,
        STEP * len(rows),
        "The word nation with the space before it, in seven bytes, each in a box. In each row two "
        f"neighbouring boxes of the row above have become one, until there is one token: {told}.",
    )
    for i, row in enumerate(rows):
        x, above = 4, rows[i - 1] if i else row
        for piece in row:
            wide = CELL * len(piece)
            new = piece not in above
            sheet.box(
                x + 2,
                STEP * i + 3,
                wide - 4,
                HIGH,
                piece.replace(" ", "␣"),
                "key" if new else "plain",
            )
            x += wide
    return sheet
