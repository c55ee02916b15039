"""The drawings of the chapter on efficient attention."""

from math import cos, pi, sin

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing


@drawing
def grouped_heads() -> Drawing:
    sheet = Drawing(
        480,
        232,
        "Three columns of four query heads. Multi-head: each has its own key and value. Grouped: "
        "heads 0 and 1 share one pair, heads 2 and 3 another. Multi-query: all four share one. "
        "Below, the cache: 8, 4 and 2 times n times d numbers.",
    )
    kinds = ((4, "multi-head"), (2, "grouped-query"), (1, "multi-query"))
    for middle, (groups, name) in zip(coordinates(80, 160, 3), kinds, strict=True):
        sheet.text(middle, 14, name)
        shared = coordinates(middle - 72 * (1 - 1 / groups), 144 / groups, groups)
        for i, x in enumerate(coordinates(middle - 54, 36, 4)):
            sheet.strip("query", x - 7, 58, cells=3, size=14, down=True, label=f"$q_{i}$")
            sheet.line((x, 104), (shared[i * groups // 4], 130))
        for x in shared:
            sheet.strip("key", x - 14, 138, cells=3, size=13, down=True)
            sheet.strip("value", x + 1, 138, cells=3, size=13, down=True)
            sheet.text(x - 8, 193, "$k$", "key")
            sheet.text(x + 8, 193, "$v$", "value")
        sheet.text(middle, 220, f"cache: ${2 * groups} n d$")
    return sheet


@drawing
def flash_blocks() -> Drawing:
    sheet = Drawing(
        460,
        222,
        "Slow memory holds queries, keys, values and outputs, each cut into three blocks. Fast "
        "memory holds one block of each, their scores, the maximum and the sum. Keys and values go "
        "in, a block at a time, and the output of a block of queries comes back.",
    )
    for x, wide, words in ((8, 192, "slow memory"), (284, 168, "fast memory")):
        sheet.canvas.append(drawsvg.Rectangle(x, 8, wide, 206, rx=5, class_="grid plain"))
        sheet.text(x + wide / 2, 26, words)
    roles = (("query", "Q"), ("key", "K"), ("value", "V"), ("plain", "O"))
    for x, (role, name) in zip(coordinates(26, 43, 4), roles, strict=True):
        for i, y in enumerate(coordinates(52, 52, 3)):
            sheet.matrix(role, x, y, 2, 2, label=f"${name}_{i}$")
    transfers = ((68, "$K_2, V_2$", 206, 278), (132, "$Q_1$", 206, 278), (184, "$O_1$", 278, 206))
    for y, words, start, end in transfers:
        sheet.arrow((start, y), (end, y))
        sheet.text(242, y - 14, words)
    sheet.matrix("key", 348, 52, 2, 2, label="$K_2$")
    sheet.matrix("value", 404, 52, 2, 2, label="$V_2$")
    sheet.matrix("query", 298, 116, 2, 2, label="$Q_1$")
    for y, weights in ((124, (0.2, 0.9)), (140, (0.6, 0.35))):
        for x, weight in zip((356, 372), weights, strict=True):
            sheet.weight(x, y, weight, radius=7)
    sheet.arrow((364, 88), (364, 114))
    sheet.arrow((334, 132), (347, 132))
    sheet.arrow((420, 88), (420, 114))
    sheet.arrow((382, 132), (402, 132))
    sheet.matrix("plain", 404, 116, 2, 2, label="$z$")
    sheet.text(420, 165, "$μ, ℓ$")
    sheet.text(368, 195, "the scores stay here", size=0.9)
    return sheet


@drawing
def hash_buckets() -> Drawing:
    sheet = Drawing(
        480,
        220,
        "Left: a direction divides six tokens; 1 and 3 lie on its side, the others on the opposite "
        "one. Right: the tokens sorted by bucket and cut into chunks 1 3, 0 2 and 4 5. Token 4 "
        "sees 5, 0 and 2.",
    )
    directions(sheet, 102, 110)
    xs = coordinates(256, 38, 6)
    sheet.text(239, 16, "in the text", anchor="start")
    sheet.text(239, 86, "sorted and cut into chunks", anchor="start")
    for token, (x, sorted_token) in enumerate(zip(xs, (1, 3, 0, 2, 4, 5), strict=True)):
        sheet.diamond(x, 44, words=str(token))
        sheet.diamond(x, 156, words=str(sorted_token))
    for left in xs[::2]:
        sheet.canvas.append(drawsvg.Rectangle(left - 17, 138, 72, 36, rx=5, class_="grid plain"))
    for first, last, bucket in ((0, 1, 0), (2, 5, 1)):
        left, right = xs[first] - 15, xs[last] + 15
        # a brace
        sheet.line((left, 182), (left, 188), (right, 188), (right, 182))
        sheet.text((left + right) / 2, 204, f"bucket {bucket}")
    for key_x in (xs[5], xs[3], xs[2]):
        sheet.arrow((xs[4], 142), (xs[4], 106), (key_x, 106), (key_x, 142))
    return sheet


def directions(sheet: Drawing, x: float, y: float, turn: float = 0.9) -> None:
    """Draw six tokens around a circle, and the direction u and -u that divides them."""

    def polar(radius: float, angle: float) -> tuple[float, float]:
        return x + radius * cos(angle), y - radius * sin(angle)

    sheet.canvas.append(drawsvg.Circle(x, y, 66, class_="grid plain"))
    sheet.line(polar(94, turn + pi / 2), polar(94, turn - pi / 2), faint=True)
    for angle, name in ((turn, "$u$"), (turn + pi, "$−u$")):
        sheet.arrow((x, y), polar(36, angle))
        sheet.text(*polar(49, angle), name)
    for token, angle in enumerate((3.0, 0.4, 3.65, 1.4, 4.35, 5.05)):
        sheet.diamond(*polar(80, angle), words=str(token))
