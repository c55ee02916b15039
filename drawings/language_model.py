"""The drawing of the chapter on a language model."""

from attncourse.data.byte_pairs import stored_pairs
from drawings.shapes import Drawing, drawing

CELL, HIGH, STEP = 42, 22, 28


@drawing
def merged_pairs() -> Drawing:
    pairs = stored_pairs()
    rows = [[pairs.bytes[token].decode() for token in row] for row in pairs.merge_steps(" nation")]
    steps = "; ".join(" ".join(row).replace(" ", "␣", 1) for row in rows)
    sheet = Drawing(
        CELL * len(rows[0]) + 8,
        STEP * len(rows),
        "The word nation with the space before it, in seven bytes, each in a box. In each row two "
        f"neighbouring boxes of the row above have become one, until there is one token: {steps}.",
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
