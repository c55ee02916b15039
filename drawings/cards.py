"""A thumbnail of each chapter, for the cards of the front page."""

from collections.abc import Callable
from math import cos, sin

import drawsvg

from drawings.shapes import Drawing, coordinates

WIDE, HIGH = 240, 130
CARDS: dict[str, Callable[[Drawing], None]] = {}


def card(draw: Callable[[Drawing], None]) -> Callable[[Drawing], None]:
    """Decorator that registers a function as the thumbnail of the chapter of its name."""
    CARDS[draw.__name__] = draw
    return draw


def svg(chapter: str) -> str:
    """SVG text of a chapter's thumbnail; empty if it has none."""
    if chapter not in CARDS:
        return ""
    sheet = Drawing(WIDE, HIGH, chapter)
    CARDS[chapter](sheet)
    return sheet.svg()


def dots(
    sheet: Drawing,
    x: float,
    y: float,
    step: float,
    rows: range,
    weight: Callable[[int, int], float],
) -> None:
    """Draw a weight matrix as discs, one for each query and key."""
    for i in rows:
        for j in rows:
            sheet.weight(x + step * j, y + step * i, weight(i, j), 0.42 * step)


@card
def dot_product(sheet: Drawing) -> None:
    sheet.line((45, 100), (235, 100), faint=True)
    sheet.line((60, 115), (60, 8), faint=True)
    for x, y, share in ((185, 100, 0.45), (125, 40, 0.45), (60, 100, 0.1)):
        sheet.weight(x, y, share, 22)
    sheet.arrow((60, 100), (185, 100))
    sheet.arrow((60, 100), (125, 40))
    sheet.text(185, 66, "river")
    sheet.text(172, 34, "bank")


@card
def multi_head(sheet: Drawing) -> None:
    heads = (
        lambda i, j: float(j == max(i - 1, 0)),
        lambda i, j: 0.3,
        lambda i, j: float(j == 0),
        lambda i, j: float(j == 3 - i),
    )
    for index, head in enumerate(heads):
        x, y = 48 + 102 * (index % 2), 14 + 62 * (index // 2)
        dots(sheet, x, y, 14, range(4), head)


@card
def positional(sheet: Drawing) -> None:
    for t in range(4):
        for hand, (y, turn) in enumerate(((36, 1.0), (94, 0.25))):
            x, radius, angle = 45 + 50 * t, 22 - 2 * hand, turn * t
            sheet.weight(x, y, 0, radius)
            sheet.line((x, y), (x + radius * sin(angle), y - radius * cos(angle)))


@card
def relative(sheet: Drawing) -> None:
    signs = ["−2", "−1", "0", "1", "2"]
    rows = [[signs[max(-2, min(2, j - i)) + 2] for j in range(5)] for i in range(5)]
    sheet.numbers("position", 45, 5, rows, 30, 24)


@card
def convolution(sheet: Drawing) -> None:
    for level, max_offset in enumerate((0, 1, 2)):
        for index in range(7):
            is_seen = abs(index - 3) <= max_offset
            sheet.weight(36 + 28 * index, 18 + 46 * level, float(is_seen), 9)
    for level in range(2):
        for index in range(3 - level, 4 + level):
            for tap in (-1, 0, 1):
                start = (36 + 28 * index, 28 + 46 * level)
                sheet.line(start, (start[0] + 28 * tap, 54 + 46 * level), faint=True)


@card
def recurrence(sheet: Drawing) -> None:
    for t, word in enumerate(("the", "dog", "bites")):
        x = 20 + 76 * t
        sheet.box(x, 20, 46, 36, f"$h_{t}$")
        sheet.text(x + 23, 110, word)
        sheet.arrow((x + 23, 98), (x + 23, 57))
        if t < 2:
            sheet.arrow((x + 46, 38), (x + 76, 38))


@card
def linear(sheet: Drawing) -> None:
    sheet.matrix("weight", 12, 12, 7, 7, 15)
    sheet.text(147, 65, "or")
    sheet.matrix("value", 180, 42, 3, 3, 15)


@card
def efficient(sheet: Drawing) -> None:
    dots(sheet, 63, 10, 12.5, range(10), lambda i, j: float(abs(i - j) <= 1 or not i * j))


@card
def transformer(sheet: Drawing) -> None:
    for x, words in ((25, "encoder"), (135, "decoder")):
        for level in range(3):
            sheet.box(x, 12 + 38 * level, 80, 28, words if level == 1 else "")
            if level:
                sheet.arrow((x + 40, 12 + 38 * level), (x + 40, 2 + 38 * level))
    sheet.arrow((105, 26), (118, 26), (118, 64), (134, 64))


@card
def language_model(sheet: Drawing) -> None:
    for line, (word, share) in enumerate((("citizens", 0.9), ("Americans", 0.4), ("men", 0.12))):
        y = 24 + 40 * line
        sheet.text(88, y, word, anchor="end")
        sheet.box(98, y - 11, 130 * share, 22, "", "weight")


@card
def tasks(sheet: Drawing) -> None:
    words = ("vier", "und", "zwanzig")
    for index, word in enumerate(words):
        sheet.text(50 + 70 * index, 116, word)
    for index, word in enumerate(("twenty", "four")):
        sheet.text(75 + 90 * index, 14, word)
    sheet.line((75, 26), (190, 102))
    sheet.line((165, 26), (50, 102))
    sheet.line((165, 26), (120, 102), faint=True)


@card
def today(sheet: Drawing) -> None:
    for token, x in enumerate(coordinates(20, 26, 8)):
        kind = "shape" if token in (2, 5, 7) else "grid"
        sheet.canvas.append(drawsvg.Rectangle(x, 18, 16, 48, class_=f"{kind} key"))
    for x in coordinates(20, 104, 2):
        sheet.outline("key", x, 90, 94, 18)
