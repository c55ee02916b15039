"""The drawings of the chapter on linear attention."""

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing


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
    for left, words in zip(coordinates(4, 171, 3), chunks, strict=True):
        corner = left + 50, 162
        sheet.canvas.append(drawsvg.Rectangle(left, 124, 130, 108, rx=5, class_="grid plain"))
        for i, word in enumerate(words):
            sheet.text(corner[0] + 37 * i + 18.5, 146, word, "key", size=0.85)
            sheet.text(corner[0] - 6, 177 + 30 * i, word, "query", anchor="end", size=0.85)
            for j in range(i + 1):
                cell = drawsvg.Rectangle(
                    corner[0] + 37 * j, corner[1] + 30 * i, 37, 30, class_="shape weight"
                )
                sheet.canvas.append(cell)
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
    for x, word, count in zip(coordinates(62, 112, 4), words, range(1, 5), strict=True):
        sheet.text(x, 14, word)
        sheet.text(x - 28, 74, "$k$", "key")
        sheet.text(x + 25, 74, "$v$", "value")
        for y in coordinates(88, 16, count):
            sheet.strip("key", x - 46, y, size=size)
            sheet.strip("value", x + 7, y, size=size)
        sheet.text(x, 164, f"{8 * count} numbers", size=0.85)
        sheet.text(x - 12, 220, "$S$")
        sheet.text(x + 24, 220, "$z$")
        sheet.matrix("plain", x - 30, 234, 4, 4, size)
        sheet.strip("plain", x + 20, 234, size=size, down=True)
        sheet.text(x, 290, "20 numbers", size=0.85)
    return sheet
