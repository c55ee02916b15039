"""The drawings of the chapter on dot-product attention."""

from collections.abc import Callable, Sequence
from math import exp, sqrt

import drawsvg

from drawings.shapes import COLOURS, Drawing, coordinates, drawing

# the chapter's three words and the padding after them, with their vectors
WORDS = {"the": (0, 0), "river": (2, 0), "bank": (1, 1), "pad": (2, 2)}
SENTENCE = ("the", "river", "bank")


def attention_weights(query: tuple[int, int], keys: list[tuple[int, int]]) -> list[float]:
    """Softmax of the scaled dot products of one query with the keys."""
    exponentials = [exp((query[0] * key[0] + query[1] * key[1]) / sqrt(2)) for key in keys]
    return [e / sum(exponentials) for e in exponentials]


def number_strip(
    sheet: Drawing, role: str, middle: float, y: float, numbers: Sequence[float], size: float = 24
) -> None:
    """Draw a vector as a strip around (middle, y), with a number in each cell."""
    left = middle - len(numbers) * size / 2
    sheet.strip(role, left, y - size / 2, cells=len(numbers), size=size)
    for x, number in zip(coordinates(left + size / 2, size, len(numbers)), numbers, strict=True):
        sheet.text(x, y, f"{number:.3g}", size=0.85)


@drawing
def query_keys_values() -> Drawing:
    sheet = Drawing(
        460,
        274,
        "The query of bank, (1, 1), meets the keys of the, river and bank. The scores are 0, 1.41 "
        "and 1.41; the softmax turns them into the weights 0.11, 0.45 and 0.45; the output is the "
        "sum of the three values, each times its weight: (1.34, 0.45).",
    )
    columns = {
        "query": (26, "$q_i$"), "keys": (106, "$k_j$"), "scores": (177, "$q_i·k_j$ / √$d_k$"),
        "weights": (264, "$w_{ij}$"), "values": (330, "$v_j$"), "output": (425, "$Σ_j w_{ij} v_j$"),
    }  # fmt: skip
    for name, (x, letter) in columns.items():
        sheet.text(x, 14, name)
        role = name.removesuffix("s")
        sheet.text(x, 38, letter, role if role in COLOURS else "")
    keys = [WORDS[word] for word in SENTENCE]
    shares = attention_weights(WORDS["bank"], keys)
    number_strip(sheet, "query", 26, 148, WORDS["bank"], 23)
    sheet.text(26, 172, "bank", size=0.85)
    sheet.box(215, 60, 16, 176, "")
    sheet.text(223, 260, "softmax")
    for y, word, key, share in zip(coordinates(74, 74, 3), SENTENCE, keys, shares, strict=True):
        sheet.arrow((53, 148), (74, 148), (58, y), (80, y))
        number_strip(sheet, "key", 106, y, key, 23)
        sheet.text(106, y + 24, word, size=0.85)
        sheet.arrow((133, y), (156, y))
        sheet.text(177, y, f"{sum(key) / sqrt(2):.3g}")
        sheet.arrow((196, y), (213, y))
        sheet.arrow((233, y), (250, y))
        sheet.weight(264, y, share)
        sheet.text(264, y + 24, f"{share:.2f}", "weight", size=0.85)
        sheet.text(288, y, "×")
        number_strip(sheet, "value", 330, y, key, 23)
        sheet.arrow((363, y), (384, y), (366, 148), (388, 148))
    out = [sum(share * key[c] for share, key in zip(shares, keys, strict=True)) for c in (0, 1)]
    number_strip(sheet, "plain", 424, 148, [round(number, 2) for number in out], 34)
    return sheet


@drawing
def output_shapes() -> Drawing:
    sheet = Drawing(
        460,
        336,
        "Three times the same three vectors. Left: three queries, one from each, give three "
        "outputs, article, noun, noun. Middle: one query gives one output, nature. Right: queries "
        "come one after the other, each from the output before: la, then rive.",
    )
    panels = (
        (
            78,
            "self-attention",
            ("a label for", "each vector"),
            ("$n$ = $m$,", "one from each"),
            ("article", "noun", "noun"),
        ),
        (
            230,
            "pooling",
            ("one label for", "all vectors"),
            ("$n$ = 1,", "learned"),
            ("nature",),
        ),
        (
            374,
            "cross-attention",
            ("a new", "sequence"),
            ("$n$ grows", "with the output"),
            ("la", "rive", "…"),
        ),
    )
    for middle, title, subtitle, queries, labels in panels:
        inputs = coordinates(middle - 46, 46, 3)
        sheet.text(middle, 14, title)
        for y, line in zip((36, 54), subtitle, strict=True):
            sheet.text(middle, y, line, size=0.85)
        for y, line in zip((302, 320), queries, strict=True):
            sheet.text(middle, y, line, "query", size=0.85)
        for x, word in zip(inputs, SENTENCE, strict=True):
            sheet.strip("plain", x - 7, 224, cells=3, size=14, down=True)
            sheet.text(x, 278, word, size=0.85)
        outputs = coordinates(middle - 23 * (len(labels) - 1), 46, len(labels))
        for x, label in zip(outputs, labels, strict=True):
            sheet.text(x, 92, label, size=0.85)
            if label == "…":
                continue
            lines = drawsvg.Path(class_="grid weight")
            for x_below in inputs:
                lines.M(x_below, 221).L(x, 183)
            sheet.canvas.append(lines)
            sheet.strip("query", x - 7, 138, cells=3, size=14, down=True)
            sheet.arrow((x, 134), (x, 104))
            if label == "la":
                sheet.arrow((x + 11, 92), (x + 23, 92), (x + 23, 128), (x + 23, 159), (x + 37, 159))
    return sheet


@drawing
def two_scores() -> Drawing:
    sheet = Drawing(
        336,
        344,
        "Two ways from a query and a key to a score. Dot product: the two are multiplied, and the "
        "number is divided by the root of d_k. Additive: each goes through its matrix; their sum, "
        "through tanh, is a vector of hidden numbers, which w_v makes one number.",
    )
    for x, title in ((76, "dot product"), (240, "additive")):
        sheet.text(x, 14, title)
        sheet.strip("query", x - 50, 40, cells=2, size=14)
        sheet.strip("key", x + 22, 40, cells=2, size=14)
        sheet.text(x - 57, 47, "$q_i$", "query", anchor="end")
        sheet.text(x + 57, 47, "$k_j$", "key", anchor="start")
        sheet.strip("plain", x - 7, 318, cells=1, size=14)
        sheet.text(x + 14, 325, "$s_{ij}$", anchor="start")
    for side, words in ((-36, "$W_q^⊤$"), (36, "$W_k^⊤$")):
        sheet.arrow((76 + side, 58), (76 + side, 150), (76 + side / 3, 150))
        sheet.arrow((240 + side, 58), (240 + side, 82))
        sheet.box(240 + side - 23, 84, 46, 26, words)
        sheet.arrow((240 + side, 112), (240 + side, 150), (240 + side / 3, 150))
    sheet.combine(76, 150, "·")
    sheet.combine(240, 150, "+")
    for x, words in ((76, "÷ √$d_k$"), (240, "tanh")):
        sheet.arrow((x, 163), (x, 180))
        sheet.box(x - 30, 182, 60, 26, words)
    sheet.arrow((76, 210), (76, 316))
    sheet.arrow((240, 210), (240, 228))
    sheet.strip("plain", 212, 230, cells=4, size=14)
    sheet.text(204, 237, "hidden", anchor="end")
    sheet.arrow((240, 246), (240, 269))
    sheet.combine(240, 282, "·")
    sheet.strip("plain", 276, 275, cells=4, size=14)
    sheet.text(304, 300, "$w_v$")
    sheet.arrow((273, 282), (253, 282))
    sheet.arrow((240, 295), (240, 316))
    return sheet


@drawing
def masks() -> Drawing:
    sheet = Drawing(
        336,
        404,
        "Four tables of weights of four queries on four keys: the, river, bank, padding. No mask: "
        "every key is open. Causal: the keys up to the query. Padding: the first three keys. Both: "
        "what both allow. In each row, the open keys share the weight.",
    )
    allowed: dict[str, Callable[[int, int], bool]] = {
        "no mask": lambda i, j: True,
        "causal: $j ≤ i$": lambda i, j: j <= i,
        "padding: $j$ < 3": lambda i, j: j < 3,
        "both": lambda i, j: j <= i and j < 3,
    }
    for place, (name, may) in enumerate(allowed.items()):
        left, top = 45 + 150 * (place % 2), 54 + 208 * (place // 2)
        sheet.text(left + 70, top - 40, name)
        mask_table(sheet, left, top, may, place % 2 == 0)
    return sheet


def mask_table(
    sheet: Drawing,
    left: float,
    top: float,
    is_allowed: Callable[[int, int], bool],
    row_labels: bool,
) -> None:
    """Draw a table of weights under a mask; forbidden cells are grey."""
    size, tokens = 35, [*WORDS.values()]
    forbidden = drawsvg.Path(class_="shape plain", style="stroke: none")
    for i, word in enumerate(WORDS):
        middle = top + (i + 0.5) * size
        sheet.text(left + (i + 0.5) * size, top - 14, word, "key", size=0.85)
        if row_labels:
            sheet.text(left - 6, middle, word, "query", size=0.85, anchor="end")
        allowed = [j for j in range(4) if is_allowed(i, j)]
        for j, share in zip(
            allowed, attention_weights(tokens[i], [tokens[j] for j in allowed]), strict=True
        ):
            disc = drawsvg.Circle(
                left + (j + 0.5) * size, middle, 14 * sqrt(share), class_="full weight"
            )
            sheet.canvas.append(disc)
        for j in {*range(4)} - {*allowed}:
            forbidden.M(left + j * size, top + i * size).h(size).v(size).h(-size).Z()
    sheet.canvas.append(forbidden)
    lines = drawsvg.Path(class_="grid plain")
    for at in coordinates(0, size, 5):
        lines.M(left, top + at).h(4 * size).M(left + at, top).v(4 * size)
    sheet.canvas.append(lines)
