"""The drawings of the chapter on positions."""

from math import cos, sin

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing


def clock(sheet: Drawing, x: float, y: float, angle: float, radius: float = 24) -> None:
    """Draw a clock with its hand at an angle in radians clockwise from the top."""
    sheet.canvas.append(drawsvg.Circle(x, y, radius, class_="grid plain"))
    sheet.line((x, y - radius), (x, y - radius + 5), faint=True)
    sine, cosine = sin(angle), cos(angle)
    hand = drawsvg.Path(class_="full position").M(x + sine * radius, y - cosine * radius)
    for dx, dy in ((0, 3.5), (-8, 0), (0, -3.5)):
        hand.L(x + sine * dx + cosine * dy, y - cosine * dx + sine * dy)
    sheet.canvas.append(hand.Z())


@drawing
def clocks() -> Drawing:
    sheet = Drawing(
        460,
        304,
        "A clock for each of four pairs at the positions 0, 1, 2, 3 and 30. All hands begin at the "
        "top. The first turns by almost a sixth of a turn a word, each other a tenth as fast as "
        "the one above; by position 30, the second has made nearly half a turn.",
    )
    x_by_position = {t: x for t, x in zip((0, 1, 2, 3), coordinates(139, 62, 4), strict=True)} | {
        30: 417
    }
    sheet.text(90, 24, "position $t$", anchor="end")
    sheet.text(371, 24, "…")
    for t, x in x_by_position.items():
        sheet.diamond(x, 24, 14, f"{t}")
    for i, y in enumerate(coordinates(80, 62, 4)):
        frequency = 10.0**-i
        sheet.text(90, y, f"$ω_{i}$ = {frequency:g}", anchor="end")
        for t, x in x_by_position.items():
            clock(sheet, x, y, frequency * t)
    return sheet


# order of the words -> outputs of attention without positions, and with them
ORDERS = {
    (0, 1, 2): (["0.80 0.80", "1.72 0.23", "1.20 0.60"], ["0.49 1.70", "2.70 0.55", "2.55 0.59"]),
    (2, 0, 1): (["1.20 0.60", "0.80 0.80", "1.72 0.23"], ["1.11 1.67", "1.19 1.55", "2.87 −0.38"]),
}


@drawing
def shuffled() -> Drawing:
    sheet = Drawing(
        480,
        306,
        "Three words go through attention in two orders. Without positions, each word has the same "
        "output in both. With a position added to each word, all outputs differ.",
    )
    words = ("01", "20", "11")
    sheet.text(240, 16, "without positions")
    sheet.text(240, 174, "with positions")
    for left, (order, results) in zip((4, 248), ORDERS.items(), strict=True):
        for top, with_positions, outputs in zip((34, 192), (False, True), results, strict=True):
            sheet.box(left + 112, top, 16, 92, "")
            sheet.text(left + 120, top + 106, "attention", size=0.85)
            for t, (word, y) in enumerate(zip(order, coordinates(top + 14, 32, 3), strict=True)):
                sheet.text(left + 14, y, f"$x_{word}$", anchor="end")
                sheet.numbers("plain", left + 18, y - 13, [words[word]], 21)
                if with_positions:
                    sheet.text(left + 66, y, "+")
                    sheet.diamond(left + 84, y, 12, f"$p_{t}$")
                sheet.arrow((left + (97 if with_positions else 64), y), (left + 112, y))
                sheet.arrow((left + 128, y), (left + 142, y))
                sheet.numbers("plain", left + 144, y - 13, [outputs[t].split()], 43)
    return sheet


@drawing
def dependency_tree() -> Drawing:
    sheet = Drawing(
        460,
        220,
        "The tree of the old cat sleeps, with depths: sleeps has 0, cat hangs from it and has 1, "
        "the and old hang from cat and have 2. A table holds the signed distances; the one from "
        "the to old is 2, since their path has two edges.",
    )
    (the, old, cat, sleeps), (root, middle, leaf) = coordinates(74, 42, 4), coordinates(78, 54, 3)
    sheet.text(24, 18, "depth")
    sheet.text(368, 18, "distance")
    path = drawsvg.Path(class_="shape position", style="fill: none; stroke-width: 4")
    sheet.canvas.append(path.M(the, leaf - 13).L(cat, middle + 13).L(old, leaf - 13))
    sheet.line((cat, middle - 13), (sleeps, root + 13))
    words = {"the": (the, leaf), "old": (old, leaf), "cat": (cat, middle), "sleeps": (sleeps, root)}
    for depth, y in enumerate((root, middle, leaf)):
        sheet.diamond(24, y, 13, f"{depth}")
    sheet.canvas.append(drawsvg.Rectangle(330, 60, 38, 36, class_="shape position"))
    for (word, (x, y)), column_x, row_y in zip(
        words.items(), coordinates(311, 38, 4), coordinates(78, 36, 4), strict=True
    ):
        sheet.text(x, y, word)
        sheet.text(column_x, 48, word, size=0.85)
        sheet.text(286, row_y, word, anchor="end", size=0.85)
    distances = ("0 2 1 2", "−2 0 1 2", "−1 −1 0 1", "−2 −2 −1 0")
    sheet.numbers("position", 292, 60, [line.split() for line in distances], 38, 36)
    return sheet
