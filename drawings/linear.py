"""The drawings of the chapter on linear attention."""

from functools import partial

import drawsvg

from drawings.shapes import Drawing, drawing, row

# the width d, in pixels
D = 24


def brackets(sheet: Drawing, left: float, right: float, top: float, high: float) -> None:
    """A pair of round brackets."""
    path = drawsvg.Path(class_="line")
    for x, bend in ((left, 5), (right, -5)):
        path.M(x + bend, top).Q(x - bend, top + high / 2, x + bend, top + high)
    sheet.sheet.append(path)


def rectangle(
    sheet: Drawing, top: int, role: str, x: int, wide: int, high: int, label: str, size: str
) -> None:
    """A factor in the middle of a line that is four times as high as D, its size below."""
    sheet.matrix(role, x, top + 2 * D - high / 2, high // D, wide // D, D, label)
    sheet.text(x + wide / 2, top + 4 * D + 20, size, size=0.85)


@drawing
def product_orders() -> Drawing:
    sheet = Drawing(
        480,
        362,
        "The same three matrices, multiplied in two orders. Queries and keys first: on the way to "
        "the output there is a matrix of n by n weights. Keys and values first: there is only a "
        "state S of d by d, here with a sixteenth of the area.",
    )
    d, n = D, 4 * D
    for top, title in ((48, "queries and keys first"), (238, "keys and values first")):
        factor, middle = partial(rectangle, sheet, top), top + 2 * D
        sheet.text(14, top - 34, title, anchor="start")
        factor("query", 24, d, n, "$Φ_Q$", "$n$ × $d$")
        factor("key", 66, n, d, "$Φ_K^⊤$", "$d$ × $n$")
        factor("value", 180, d, n, "$V$", "$n$ × $d$")
        sheet.arrow((226, middle), (250, middle))
        if title.startswith("queries"):
            brackets(sheet, 12, 170, top - 8, n + 16)
            factor("weight", 260, n, n, "$Φ_Q Φ_K^⊤$", "$n$ × $n$")
            factor("value", 370, d, n, "$V$", "$n$ × $d$")
        else:
            brackets(sheet, 56, 214, top - 8, n + 16)
            factor("query", 292, d, n, "$Φ_Q$", "$n$ × $d$")
            factor("plain", 340, d, d, "$S$", "$d$ × $d$")
        sheet.arrow((408, middle), (432, middle))
        sheet.outline("plain", 442, top, d, n)
        sheet.text(454, middle, "out", size=0.85)
        sheet.text(454, top + n + 20, "$n$ × $d$", size=0.85)
    return sheet


@drawing
def chunks_and_state() -> Drawing:
    sheet = Drawing(
        480,
        240,
        "Five tokens in chunks of two: the dog, bites the, man. Within a chunk, a small causal "
        "matrix pairs each query with the keys up to its own. Each chunk reads the state of all "
        "chunks before it, and is added to it for the next.",
    )
    chunks = (("the", "dog"), ("bites", "the"), ("man",))
    for left, words in zip(row(4, 171, 3), chunks, strict=True):
        corner = left + 50, 162
        sheet.sheet.append(drawsvg.Rectangle(left, 124, 130, 108, rx=5, class_="grid plain"))
        for i, word in enumerate(words):
            sheet.text(corner[0] + 37 * i + 18.5, 146, word, "key", size=0.85)
            sheet.text(corner[0] - 6, 177 + 30 * i, word, "query", anchor="end", size=0.85)
            for j in range(i + 1):
                cell = drawsvg.Rectangle(
                    corner[0] + 37 * j, corner[1] + 30 * i, 37, 30, class_="shape weight"
                )
                sheet.sheet.append(cell)
    for x, last in ((154, 1), (325, 3)):
        sheet.text(x, 14, f"$S_{last}, z_{last}$")
        sheet.matrix("plain", x - 24, 32, 2, 2, 14)
        sheet.strip("plain", x + 10, 32, cells=2, size=14, down=True)
        sheet.arrow((x, 66), (x, 178), (x + 21, 178))
        sheet.text(x + 6, 92, "read", anchor="start", size=0.85)
        sheet.text(x - 79, 92, "add", anchor="start", size=0.85)
    sheet.arrow((69, 122), (69, 46), (126, 46))
    sheet.arrow((240, 122), (240, 59))
    sheet.arrow((182, 46), (227, 46))
    sheet.combine(240, 46, "+")
    sheet.arrow((253, 46), (297, 46))
    return sheet


@drawing
def cache_and_state() -> Drawing:
    sheet = Drawing(
        460,
        306,
        "Four tokens are decoded: the, dog, bites, the. With each, the cache gains a key and a "
        "value of width 4: it has 8, 16, 24, then 32 numbers. The state, a matrix S and a vector "
        "z, has 20 numbers each time.",
    )
    size, words = 9, ("the", "dog", "bites", "the")
    sheet.text(12, 46, "cache", anchor="start")
    sheet.text(12, 192, "state", anchor="start")
    for x, word, held in zip(row(62, 112, 4), words, range(1, 5), strict=True):
        sheet.text(x, 14, word)
        sheet.text(x - 28, 74, "$k$", "key")
        sheet.text(x + 25, 74, "$v$", "value")
        for y in row(88, 16, held):
            sheet.strip("key", x - 46, y, size=size)
            sheet.strip("value", x + 7, y, size=size)
        sheet.text(x, 164, f"{8 * held} numbers", size=0.85)
        sheet.text(x - 12, 220, "$S$")
        sheet.text(x + 24, 220, "$z$")
        sheet.matrix("plain", x - 30, 234, 4, 4, size)
        sheet.strip("plain", x + 20, 234, size=size, down=True)
        sheet.text(x, 290, "20 numbers", size=0.85)
    return sheet
