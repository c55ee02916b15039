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


@drawing
def two_sides_of_a_matrix() -> Drawing:
    sheet = Drawing(
        460,
        190,
        "Left, the plain form: three latent vectors of width 2 become three keys of width 4 by the "
        "matrix, and the query of width 4 meets them. Right, the absorbed form: the query becomes "
        "one of width 2 by the transposed matrix, and meets the latent vectors themselves.",
    )
    ys = coordinates(46, 34, 3)
    sheet.text(104, 14, "plain: three products")
    sheet.text(356, 14, "absorbed: one product")
    for i, y in enumerate(ys):
        sheet.strip("plain", 26, y, cells=2, label=f"$c_{i}$")
        sheet.arrow((64, y + 8), (112, y + 8))
        sheet.text(86, y - 4, "$W_K$", size=0.85)
        sheet.strip("key", 118, y, cells=4)
        sheet.strip("plain", 286, y, cells=2, label=f"$c_{i}$")
    sheet.strip("query", 118, 164, cells=4, label="$q$")
    sheet.strip("query", 378, 164, cells=4)
    sheet.text(450, 172, "$q$", "query")
    sheet.arrow((374, 172), (324, 172))
    sheet.text(349, 158, "$W_K^T$", size=0.85)
    sheet.strip("query", 286, 164, cells=2)
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
