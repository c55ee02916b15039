"""The drawings of the chapter on relative positions."""

from collections.abc import Sequence
from math import cos, radians, sin

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing

WORDS = ("dog", "bites", "dog")


@drawing
def clipped_offsets() -> Drawing:
    sheet = Drawing(
        480,
        180,
        "The offsets of three words: 0 on the diagonal, 1 and 2 on its right, -1 and -2 on its "
        "left. Clipped at 1, and with 1 added, they are row numbers from 0 to 2. The tables for "
        "keys and values have a vector in each row.",
    )
    rows = coordinates(53, 32, 3)
    sheet.text(94, 18, "offset $j−i$")
    sheet.text(238, 18, "row")
    for left, table in ((46, ("0 1 2", "−1 0 1", "−2 −1 0")), (190, ("1 2 2", "0 1 2", "0 0 1"))):
        sheet.numbers("position", left, 37, [line.split() for line in table], 32, 32)
    # the two corners are clipped
    for left in (46, 190):
        for x, y in ((left + 64, 37), (left, 101)):
            sheet.canvas.append(drawsvg.Rectangle(x, y, 32, 32, class_="shape position"))
    # the second word stands below the others, which leave it no room
    for word, x, y, low in zip(WORDS, coordinates(62, 32, 3), rows, (146, 164, 146), strict=True):
        sheet.text(40, y, word, anchor="end", size=0.85)
        sheet.text(x, low, word, size=0.85)
    sheet.arrow((147, 85), (185, 85))
    sheet.text(166, 70, "clip", size=0.85)
    sheet.text(166, 101, "+ 1", size=0.85)
    sheet.arrow((291, 85), (314, 85))
    sheet.text(374, 18, "$A^K$", "key")
    sheet.text(442, 18, "$A^V$", "value")
    for r, y in enumerate(rows):
        sheet.diamond(331, y, 12, f"{r}")
        for role, left, table in (
            ("key", 348, ("1 1", "0 0", "−1 −1")),
            ("value", 416, ("0 1", "0 0", "0 −1")),
        ):
            sheet.numbers(role, left, y - 12, [table[r].split()], 26, 24)
    return sheet


Cells = list[tuple[str, int]]


def entry_row(sheet: Drawing, x: float, y: float, entries: Cells, size: float, fade: range) -> None:
    """Draw a row of (offset, query) entries, darker for later queries; padding is empty."""
    for j, (offset, query) in enumerate(entries):
        shade = 0.08 + 0.16 * query if offset else 0
        look = f"fill-opacity: {shade:.2f}; stroke-width: 1; opacity: {0.35 if j in fade else 1}"
        kind = f"shape {'query' if offset else 'plain'}"
        sheet.canvas.append(drawsvg.Rectangle(x + j * size, y, size, size, class_=kind, style=look))
        if offset:
            sheet.text(x + (j + 0.5) * size, y + size / 2, offset, size=0.85)


def brackets(sheet: Drawing, starts: Sequence[float], y: float, wide: float, high: float) -> None:
    """Draw brackets of a width, above y or, for a negative height, below."""
    path = drawsvg.Path(class_="line")
    for x in starts:
        path.M(x + 3, y + high).v(-high).h(wide - 6).v(high)
    sheet.canvas.append(path)


@drawing
def skewed() -> Drawing:
    sheet = Drawing(
        460,
        299,
        "Three queries with five offsets each. A number is put in front of each row, the rows are "
        "laid end to end, the first three numbers are dropped, and the rest is cut into rows of "
        "five. Their first three columns hold the offset of each query and key.",
    )
    size, left, n = 25, 5, 3
    padded = [[("", i), *((offset, i) for offset in ("−2", "−1", "0", "1", "2"))] for i in range(n)]
    line = [entry for entries in padded for entry in entries]
    rows_of_five = [line[start : start + 5] for start in (3, 8, 13)]
    for rows, top, words, fade in (
        (padded, 10, "one more number\nin front of each row", range(0)),
        (rows_of_five, 214, "the first 3 columns:\nthe offset $j−i$", range(3, 5)),
    ):
        for i, y in enumerate(coordinates(top, size, n)):
            sheet.text(98, y + size / 2, f"$q_{i}$", "query", anchor="end")
            entry_row(sheet, 105, y, rows[i], size, fade)
        for y, line_words in zip((top + 28, top + 48), words.split("\n"), strict=True):
            sheet.text(275, y, line_words, anchor="start")
    sheet.canvas.append(
        drawsvg.Rectangle(105, 214, 75, 75, class_="line", style="stroke-width: 2.5")
    )
    brackets(sheet, coordinates(left, 6 * size, n), 122, 6 * size, 7)
    sheet.text(230, 107, "end to end", size=0.85)
    entry_row(sheet, left, 133, line, size, range(3))
    brackets(sheet, coordinates(left + 3 * size, 5 * size, n), 169, 5 * size, -7)
    sheet.text(left + 1.5 * size, 174, "drop 3", size=0.85)
    sheet.text(left + 10.5 * size, 186, "rows of 5", size=0.85)
    return sheet


def vector(sheet: Drawing, role: str, x: float, y: float, length: float, angle: float) -> None:
    """Draw an arrow in the colour of a role, at an angle in degrees from the x axis."""
    cosine, sine = cos(radians(angle)), sin(radians(angle))
    path = drawsvg.Path(class_=f"full {role}").M(x + length * cosine, y - length * sine)
    neck = length - 11
    for dx, dy in ((neck, 5), (neck, 1.25), (0, 1.25), (0, -1.25), (neck, -1.25), (neck, -5)):
        path.L(x + dx * cosine - dy * sine, y - dx * sine - dy * cosine)
    sheet.canvas.append(path.Z())


@drawing
def rotated() -> Drawing:
    sheet = Drawing(
        474,
        220,
        "A query and a key as arrows from the centre of a circle. With the query at position 1 and "
        "the key at 2, the angle between them is the same as at positions 2 and 3, and both scores "
        "are 6. With both at position 0 the angle is wider, and the score is 3.",
    )
    scale, y = 23, 80
    for x, (i, j), score in zip(
        coordinates(76, 161, 3), ((0, 0), (1, 2), (2, 3)), (3, 6, 6), strict=True
    ):
        angles = {"query": 63.435 + 90 * i, "key": 90.0 * j}
        lengths = {"query": scale * 5**0.5, "key": scale * 3}
        between = drawsvg.Path(class_="shape plain", style="stroke: none").M(x, y)
        ends = [(x + 28 * cos(radians(a)), y - 28 * sin(radians(a))) for a in angles.values()]
        between.L(*ends[0]).A(28, 28, 0, 0, int(i == j), *ends[1])
        sheet.canvas.append(between.Z())
        for role, angle in angles.items():
            sheet.canvas.append(drawsvg.Circle(x, y, lengths[role], class_=f"grid {role}"))
            vector(sheet, role, x, y, lengths[role], angle)
        # the query's letter stands on the side where the key is not
        aside = angles["query"] + (20 if i == j else -24)
        for role, out, angle in (
            ("query", 38, aside),
            ("key", 38, angles["key"] - aside + angles["query"]),
        ):
            at = (x + out * cos(radians(angle)), y - out * sin(radians(angle)))
            sheet.text(*at, f"${role[0]}$", role)
        for role, left, t in (("query", x - 40, i), ("key", x + 14, j)):
            sheet.text(left, 176, f"${role[0]}$", role)
            sheet.diamond(left + 22, 176, 13, f"{t}")
        sheet.text(x, 206, f"score {score}")
    return sheet
