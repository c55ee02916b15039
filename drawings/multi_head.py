"""The drawings of the chapter on multi-head attention."""

import drawsvg

from drawings.shapes import Drawing, drawing, row

# of "the river bank" in head 0, by water, and in head 1, by money
WEIGHTS = (
    ((0.33, 0.33, 0.33), (0.02, 0.87, 0.12), (0.09, 0.67, 0.24)),
    ((0.33, 0.33, 0.33), (0.33, 0.33, 0.33), (0.21, 0.21, 0.58)),
)


@drawing
def split_attend_join() -> Drawing:
    sheet = Drawing(488, 504,
        "From top to bottom: the matrix X; queries, keys and values, each cut into two pieces; two "
        "heads, each of which attends with its own pieces and weights; their outputs side by side; "
        "and the output, after the last matrix.")  # fmt: skip
    stages = ("project, $W_Q W_K W_V$", "split", "attend", "join", "project, $W_O$")
    for y, stage in zip((66, 167, 270, 355, 434), stages, strict=True):
        sheet.text(8, y, stage, anchor="start")
    shapes = ("$n × d_{model}$", "$n × d_{model}$ each", "$h × n × d_k$", "$h × n × d_v$",
              "$n × h d_v$", "$n × d_{model}$")  # fmt: skip
    for y, shape in zip((29, 124, 237, 301, 395, 474), shapes, strict=True):
        sheet.text(396, y, shape, anchor="start", size=0.9)
    middle = 226
    sheet.matrix("plain", middle - 28, 8, 3, 4, label="$X$", size=14)
    for x, role, name in zip(row(104, 92, 3), ("query", "key", "value"), "QKV", strict=True):
        sheet.arrow((middle, 50), (middle, 75), (x + 30, 70), (x + 30, 96))
        for half in (0, 1):
            sheet.matrix(role, x + 32 * half, 103, 3, 2, label=f"${name}^{half}$", size=14)
    for head, x in enumerate((66, 232)):
        sheet.arrow((middle, 152), (middle, 172), (x + 77, 160), (x + 77, 184))
        one_head(sheet, head, x, 184)
        sheet.arrow((x + 77, 338), (x + 77, 362), (middle, 350), (middle, 374))
        sheet.matrix("plain", middle - 30 + 32 * head, 374, 3, 2, size=14)
    sheet.arrow((middle, 416), (middle, 452))
    sheet.matrix("plain", middle - 28, 453, 3, 4, size=14)
    return sheet


def one_head(sheet: Drawing, head: int, x: float, y: float) -> None:
    """Its pieces of queries, keys and values, its weights and its output, in a frame."""
    sheet.sheet.append(drawsvg.Rectangle(x, y, 154, 154, rx=5, class_="grid plain"))
    sheet.text(x + 77, y + 14, f"head {head}")
    for at, role, name in zip(row(x + 14, 49, 3), ("query", "key", "value"), "QKV", strict=True):
        sheet.matrix(role, at, y + 32, 3, 2, label=f"${name}^{head}$", size=14)
    for i, weights in enumerate(WEIGHTS[head]):
        for j, weight in enumerate(weights):
            sheet.weight(x + 53 + 15 * (j - 1), y + 117 + 15 * (i - 1), weight, radius=6)
    sheet.text(x + 15, y + 117, f"$A^{head}$", "weight")
    sheet.arrow((x + 28, y + 74), (x + 40, y + 95))
    sheet.arrow((x + 77, y + 74), (x + 65, y + 95))
    sheet.arrow((x + 78, y + 117), (x + 110, y + 117))
    sheet.arrow((x + 126, y + 80), (x + 126, y + 95))
    sheet.matrix("plain", x + 112, y + 96, 3, 2, size=14)


@drawing
def head_as_two_products() -> Drawing:
    sheet = Drawing(460, 342,
        "Two rows of matrices. Where to look: token x, W_Q, W_K transposed and token y give the "
        "product of a query and a key. What to write: y, W_V and W_O give a vector as wide as a "
        "token. In both, the two matrices meet in a narrow width.")  # fmt: skip
    rows = (
        (80, "where to look", "x", "query", "W_Q^i", "key", "W_K^{i⊤}", "d_k"),
        (256, "what to write", "y", "value", "W_V^i", "plain", "W_O^i", "d_v"),
    )
    for y, words, token, first, read, second, write, width in rows:
        sheet.text(20, y - 64, words, anchor="start")
        sheet.strip("plain", 20, y - 8, cells=6)
        sheet.text(68, y + 22, f"${token}$")
        sheet.matrix(first, 136, y - 48, 6, 2, label=f"${read}$")
        sheet.matrix(second, 186, y - 16, 2, 6, label=f"${write}$")
        sheet.text(152, y - 66, f"${width}$", size=0.9)
        sheet.text(234, y - 28, "$d_{model}$", size=0.9)
        brace(sheet, 136, 282, y + 60)
        sheet.text(209, y + 76, f"rank at most ${width}$", size=0.9)
    sheet.strip("plain", 300, 32, cells=6, down=True)
    sheet.text(308, 142, "$y^⊤$")
    sheet.text(346, 80, "=  $q · k$")
    sheet.text(305, 256, "=")
    sheet.strip("plain", 328, 248, cells=6)
    sheet.text(376, 278, "times the weight", size=0.9)
    return sheet


def brace(sheet: Drawing, left: float, right: float, y: float) -> None:
    """A brace below what lies between left and right."""
    path = drawsvg.Path(class_="line faint").M(left, y).v(6).H(right).v(-6)
    sheet.sheet.append(path)


@drawing
def residual_stream() -> Drawing:
    sheet = Drawing(480, 250,
        "A line from left to right, the stream. Two heads of an attention layer read from it and "
        "add to it; then an MLP reads from it and adds to it. Below, what the stream is the sum "
        "of: the embedding; and the two heads; and the MLP.")  # fmt: skip
    y = 148
    sheet.arrow((14, y), (466, y))
    sheet.text(158, 12, "attention")
    sheet.text(86, y - 24, "reads", anchor="end")
    sheet.text(230, y - 24, "adds", anchor="start")
    layers = (
        (92, 224, ((28, "head 0"), (68, "head 1"))),
        (296, 396, ((48, "MLP"),)),
    )
    for start, end, boxes in layers:
        high = boxes[0][0] + 16
        sheet.line((start, y), (start, high))
        sheet.arrow((end, high), (end, y - 10))
        sheet.sheet.append(drawsvg.Circle(end, y, 9, class_="shape plain"))
        sheet.line((end, y - 9), (end, y + 9))
        for top, words in boxes:
            sheet.arrow((start, top + 16), (start + 26, top + 16))
            sheet.box(start + 26, top, end - start - 52, 32, words)
            sheet.line((end - 26, top + 16), (end, top + 16))
    for x, many in ((20, 1), (226, 3), (398, 4)):
        for i, words in enumerate(("embedding", "+ head 0", "+ head 1", "+ MLP")[:many]):
            sheet.text(x, y + 28 + 20 * i, words, anchor="start", size=0.9)
    return sheet


@drawing
def induction_head() -> Drawing:
    sheet = Drawing(480, 196,
        "Five tokens: Anna, told, Paul, a full stop and Anna. In the first layer all but the first "
        "attend to the token before, of which the key in the second layer is made. There the "
        "query of the second Anna is Anna.")  # fmt: skip
    words = ("Anna", "told", "Paul", ".", "Anna")
    places = row(128, 78, 5)
    for y, name in ((22, "first layer"), (70, "words"), (124, "keys"), (172, "query")):
        sheet.text(8, y, name, anchor="start")
    for x, word in zip(places, words, strict=True):
        sheet.box(x - 32, 56, 64, 28, word)
    for before, x, word in zip(places, places[1:], words, strict=False):
        sheet.arrow((x, 54), (x, 18), (before + 12, 18), (before + 12, 54))
        sheet.box(x - 32, 110, 64, 28, word, "key")
    sheet.box(places[4] - 32, 158, 64, 28, words[4], "query")
    return sheet
