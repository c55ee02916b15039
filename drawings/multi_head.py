"""The drawings of the chapter on multi-head attention."""

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing

# of "river" and "bank" on "the river bank", in the chapter's heads 0 (water) and 1 (money)
WEIGHTS = (
    ((0.02, 0.87, 0.12), (0.09, 0.67, 0.24)),
    ((0.33, 0.33, 0.33), (0.21, 0.21, 0.58)),
)
ROLES = (("query", "Q", 2), ("key", "K", 3), ("value", "V", 3))


@drawing
def split_attend_join() -> Drawing:
    sheet = Drawing(
        484,
        474,
        "From top to bottom: X, of which the queries are made, and Y, of which the keys and "
        "values are made, each cut into two pieces; head 0 and head 1, which attend with their "
        "own pieces and weights; their outputs side by side; and the output, after the last "
        "matrix.",
    )
    stages = {73: "project", 164: "split", 250: "attend", 340: "join", 412: "project"}
    for y, stage in stages.items():
        sheet.text(4, y, stage, anchor="start")
    shapes = (
        (22, "plain", "X", "n×d_{model}"), (41, "plain", "Y", "m×d_{model}"),
        (108, "query", "Q", "n×h d_k"), (127, "key", "K", "m×h d_k"),
        (146, "value", "V", "m×h d_v"), (218, "query", "Q^i", "n×d_k"),
        (237, "key", "K^i", "m×d_k"), (256, "value", "V^i", "m×d_v"),
        (290, "weight", "A^i", "n×m"), (309, "plain", "head_i", "n×d_v"),
        (378, "", "", "n×h d_v"), (446, "", "", "n×d_{model}"),
    )  # fmt: skip
    for y, role, name, shape in shapes:
        if name:
            sheet.text(378, y, f"${name}$", role, anchor="start", size=0.9)
        sheet.text(418, y, f"${shape}$", anchor="start", size=0.9)
    middle = 215
    sheet.matrix("plain", 87, 8, 2, 4, label="$X$", size=14)
    sheet.matrix("plain", 237, 8, 3, 4, label="$Y$", size=14)
    sheet.arrow((115, 40), (115, 102))
    sheet.arrow((265, 54), (265, 78), (215, 74), (215, 102))
    sheet.arrow((265, 54), (265, 78), (315, 74), (315, 98))
    for x, (role, name, rows) in zip((115, 215, 315), ROLES, strict=True):
        sheet.text(x + (26 if role == "value" else -26), 76, f"$W_{name}^i$", size=0.9)
        for head in (0, 1):
            label = f"${name}^{head}$"
            sheet.matrix(role, x - 30 + 32 * head, 106, rows, 2, label=label, size=14)
    for head, x in enumerate((60, 220)):
        sheet.arrow((middle, 154), (middle, 172), (x + 75, 162), (x + 75, 184))
        head_panel(sheet, head, x, 186)
        piece = middle - 30 + 32 * head
        sheet.arrow((x + 75, 326), (x + 75, 350), (piece + 14, 336), (piece + 14, 360))
        sheet.matrix("plain", piece, 364, 2, 2, size=14)
        sheet.text(piece + (36 if head else -8), 378, f"$head_{head}$",
                   anchor="start" if head else "end", size=0.9)  # fmt: skip
    sheet.arrow((middle, 394), (middle, 428))
    sheet.text(middle + 10, 411, "$W_O$", anchor="start", size=0.9)
    sheet.matrix("plain", middle - 28, 432, 2, 4, size=14)
    return sheet


def head_panel(sheet: Drawing, head: int, x: float, y: float) -> None:
    """Draw a head: its queries, keys and values, weights and output, in a frame."""
    sheet.canvas.append(drawsvg.Rectangle(x, y, 150, 140, rx=5, class_="grid plain"))
    sheet.text(x + 75, y + 14, f"head {head}")
    for at, (role, name, rows) in zip(coordinates(x + 12, 49, 3), ROLES, strict=True):
        sheet.matrix(role, at, y + 32, rows, 2, label=f"${name}^{head}$", size=14)
    for i, weights in enumerate(WEIGHTS[head]):
        for j, weight in enumerate(weights):
            sheet.weight(x + 56 + 15 * (j - 1), y + 104 + 15 * i, weight, radius=6)
    sheet.text(x + 18, y + 112, f"$A^{head}$", "weight")
    sheet.arrow((x + 26, y + 63), (x + 40, y + 92))
    sheet.arrow((x + 75, y + 77), (x + 69, y + 92))
    sheet.arrow((x + 81, y + 112), (x + 106, y + 112))
    sheet.arrow((x + 124, y + 82), (x + 124, y + 94))
    sheet.matrix("plain", x + 110, y + 98, 2, 2, size=14)


@drawing
def head_as_two_products() -> Drawing:
    sheet = Drawing(
        460,
        342,
        "Two rows of matrices. Where to look: token x, W_Q, W_K transposed and token y give the "
        "product of a query and a key. What to write: y, W_V and W_O give a vector as wide as a "
        "token. In both, the two matrices meet in a narrow width.",
    )
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
    """Draw a brace from left to right."""
    path = drawsvg.Path(class_="line faint").M(left, y).v(6).H(right).v(-6)
    sheet.canvas.append(path)


@drawing
def residual_stream() -> Drawing:
    sheet = Drawing(
        480,
        250,
        "A line from left to right, the stream. Two heads of an attention layer read from it and "
        "add to it; then an MLP reads from it and adds to it. Below, what the stream is the sum "
        "of: the embedding; and the two heads; and the MLP.",
    )
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
        sheet.canvas.append(drawsvg.Circle(end, y, 9, class_="shape plain"))
        sheet.line((end, y - 9), (end, y + 9))
        for top, words in boxes:
            sheet.arrow((start, top + 16), (start + 26, top + 16))
            sheet.box(start + 26, top, end - start - 52, 32, words)
            sheet.line((end - 26, top + 16), (end, top + 16))
    for x, many in ((20, 1), (222, 3), (390, 4)):
        for i, words in enumerate(("embedding", "+ head 0", "+ head 1", "+ MLP")[:many]):
            sheet.text(x, y + 28 + 20 * i, words, anchor="start", size=0.9)
    return sheet


@drawing
def induction_head() -> Drawing:
    sheet = Drawing(
        480,
        196,
        "Five tokens: Anna, told, Paul, a full stop and Anna. In the first layer all but the first "
        "attend to the token before, of which the key in the second layer is made. There the "
        "query of the second Anna is Anna.",
    )
    words = ("Anna", "told", "Paul", ".", "Anna")
    xs = coordinates(128, 78, 5)
    for y, name in ((22, "first layer"), (70, "words"), (124, "keys"), (172, "query")):
        sheet.text(8, y, name, anchor="start")
    for x, word in zip(xs, words, strict=True):
        sheet.box(x - 32, 56, 64, 28, word)
    for before, x, word in zip(xs, xs[1:], words, strict=False):
        sheet.arrow((x, 54), (x, 18), (before + 12, 18), (before + 12, 54))
        sheet.box(x - 32, 110, 64, 28, word, "key")
    sheet.box(xs[4] - 32, 158, 64, 28, words[4], "query")
    return sheet
