"""The drawings of the chapter on attention today."""

from collections.abc import Iterable

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing

TOKENS, LEFT, STEP, WIDE, HIGH = 12, 152, 26, 14, 36


@drawing
def what_a_query_sees() -> Drawing:
    sheet = Drawing(
        476,
        344,
        "Five rows over the same twelve tokens. Full attention: twelve keys kept and read. Latent "
        "vectors: twelve, each about a third as high. Chosen keys: twelve kept, tokens 2, 7 and 12 "
        "read. Pooled keys: three, each as wide as four tokens, and the last four tokens. State: "
        "one matrix.",
    )
    for x, number in zip(coordinates(LEFT + WIDE / 2, STEP, TOKENS), range(1, 13), strict=True):
        sheet.text(x, 14, str(number), size=0.85)
    rows = (
        ("full attention", "12 kept, 12 read"),
        ("latent vectors", "12 kept, 12 read"),
        ("chosen keys", "12 kept, 3 read"),
        ("pooled keys", "7 kept, 7 read"),
        ("a state", "always 16 numbers"),
    )
    ys = coordinates(34, 62, len(rows))
    for y, (name, numbers) in zip(ys, rows, strict=True):
        sheet.text(4, y + 10, name, anchor="start")
        sheet.text(4, y + 30, numbers, anchor="start", size=0.85)
    keys(sheet, ys[0], range(TOKENS))
    keys(sheet, ys[1] + 11, range(TOKENS), high=12)
    keys(sheet, ys[2], (1, 6, 11))
    unread(sheet, ys[2], {*range(TOKENS)} - {1, 6, 11})
    for x in coordinates(LEFT, 4 * STEP, 3):
        sheet.outline("key", x, ys[3] - 8, 3 * STEP + WIDE, 14)
    keys(sheet, ys[3] + 12, range(8, TOKENS))
    sheet.matrix("plain", LEFT + 11 * STEP + WIDE - 44, ys[4], 4, 4, 11)
    sheet.arrow((LEFT, ys[4] + 22), (LEFT + 11 * STEP + WIDE - 50, ys[4] + 22))
    return sheet


def keys(sheet: Drawing, y: float, tokens: Iterable[int], high: float = HIGH) -> None:
    """Draw the keys of these tokens, which the query reads."""
    for token in tokens:
        sheet.outline("key", LEFT + STEP * token, y, WIDE, high)


def unread(sheet: Drawing, y: float, tokens: Iterable[int]) -> None:
    """Draw the keys of these tokens as empty boxes: they are kept, and not read."""
    for token in sorted(tokens):
        place = LEFT + STEP * token, y, WIDE, HIGH
        sheet.canvas.append(drawsvg.Rectangle(*place, class_="grid key"))
