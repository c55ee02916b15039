"""The drawings of the chapter on dot-product attention."""

from collections.abc import Callable, Sequence
from math import exp, sqrt

import drawsvg

from drawings.shapes import COLOURS, Drawing, drawing, row

# the chapter's three words, and the padding that it puts behind them
WORDS = {"the": (0, 0), "river": (2, 0), "bank": (1, 1), "(pad)": (2, 2)}
SENTENCE = ("the", "river", "bank")


def weights(query: tuple[int, int], keys: list[tuple[int, int]]) -> list[float]:
    """What the softmax makes of the scores of one query."""
    parts = [exp((query[0] * key[0] + query[1] * key[1]) / sqrt(2)) for key in keys]
    return [part / sum(parts) for part in parts]


def numbers(
    sheet: Drawing, role: str, middle: float, y: float, row_of: Sequence[float], size: float = 24
) -> None:
    """A strip around its middle, with a number in each cell."""
    left = middle - len(row_of) * size / 2
    sheet.strip(role, left, y - size / 2, cells=len(row_of), size=size)
    for x, number in zip(row(left + size / 2, size, len(row_of)), row_of, strict=True):
        sheet.text(x, y, f"{number:.3g}", size=0.85)


@drawing
def query_keys_values() -> Drawing:
    sheet = Drawing(560, 276,
        "The query of bank, (1, 1), meets the keys of the, river and bank. The scores are 0, 1.41 "
        "and 1.41; the softmax makes of them the weights 0.11, 0.45 and 0.45; the output is the "
        "sum of the three values, each times its weight: (1.34, 0.45).")  # fmt: skip
    columns = {
        "query": (38, "$q_i$"), "keys": (136, "$k_j$"), "scores": (228, "$q_i·k_j$ / √$d_k$"),
        "weights": (336, "$w_{ij}$"), "values": (414, "$v_j$"), "output": (516, "$Σ_j w_{ij} v_j$"),
    }  # fmt: skip
    for name, (x, letter) in columns.items():
        sheet.text(x, 14, name)
        role = name.removesuffix("s")
        sheet.text(x, 38, letter, role if role in COLOURS else "")
    keys = [WORDS[word] for word in SENTENCE]
    shares = weights(WORDS["bank"], keys)
    numbers(sheet, "query", 38, 151, WORDS["bank"])
    sheet.text(38, 176, "bank", size=0.85)
    sheet.box(275, 62, 20, 178, "")
    sheet.text(285, 258, "softmax")
    for y, word, key, share in zip(row(76, 75, 3), SENTENCE, keys, shares, strict=True):
        sheet.arrow((66, 151), (90, 151), (82, y), (108, y))
        numbers(sheet, "key", 136, y, key)
        sheet.text(136, y + 25, word, size=0.85)
        sheet.arrow((166, y), (202, y))
        sheet.text(228, y, f"{sum(key) / sqrt(2):.3g}")
        sheet.arrow((251, y), (273, y))
        sheet.arrow((297, y), (321, y))
        sheet.weight(336, y, share)
        sheet.text(336, y + 25, f"{share:.2f}", "weight", size=0.85)
        sheet.text(366, y, "×")
        numbers(sheet, "value", 414, y, key)
        sheet.arrow((449, y), (470, y), (452, 151), (482, 151))
    out = [sum(share * key[c] for share, key in zip(shares, keys, strict=True)) for c in (0, 1)]
    numbers(sheet, "plain", 516, 151, [round(number, 2) for number in out], 32)
    return sheet


@drawing
def output_shapes() -> Drawing:
    sheet = Drawing(560, 300,
        "Three times the same three vectors. Left: three queries, one from each, give three "
        "outputs, DET, NOUN, NOUN. Middle: one query gives one output, nature. Right: queries come "
        "one after the other, each from the output before: la, then rive.")  # fmt: skip
    panels = (
        (
            92,
            "self-attention",
            "a label for each vector",
            "$n$ = $m$, one from each",
            ("DET", "NOUN", "NOUN"),
        ),
        (280, "pooling", "one label for all vectors", "$n$ = 1, learned", ("nature",)),
        (
            468,
            "cross-attention",
            "a new sequence",
            "$n$ grows with the output",
            ("la", "rive", "…"),
        ),
    )
    for middle, title, wanted, queries, labels in panels:
        inputs = row(middle - 54, 54, 3)
        sheet.text(middle, 14, title)
        sheet.text(middle, 36, wanted, size=0.85)
        sheet.text(middle, 284, queries, "query", size=0.85)
        for x, word in zip(inputs, SENTENCE, strict=True):
            sheet.strip("plain", x - 7, 206, cells=3, size=14, down=True)
            sheet.text(x, 260, word, size=0.85)
        outputs = row(middle - 27 * (len(labels) - 1), 54, len(labels))
        for x, label in zip(outputs, labels, strict=True):
            sheet.text(x, 74, label, size=0.85)
            if label == "…":
                continue
            looks = drawsvg.Path(class_="grid weight")
            for below in inputs:
                looks.M(below, 203).L(x, 165)
            sheet.sheet.append(looks)
            sheet.strip("query", x - 7, 120, cells=3, size=14, down=True)
            sheet.arrow((x, 116), (x, 86))
            if label == "la":
                sheet.arrow((x + 12, 74), (x + 27, 74), (x + 27, 110), (x + 27, 141), (x + 45, 141))
    return sheet


def combine(sheet: Drawing, x: float, y: float, sign: str) -> None:
    """A circle in which two vectors meet."""
    sheet.sheet.append(drawsvg.Circle(x, y, 11, class_="line"))
    sheet.text(x, y, sign, size=1.2)


@drawing
def two_scores() -> Drawing:
    sheet = Drawing(460, 344,
        "Two ways from a query and a key to a score. Dot product: the two are multiplied, and the "
        "number is divided by the root of d_k. Additive: each goes through its matrix; their sum, "
        "through tanh, is a vector of hidden numbers, which w_v makes one number.")  # fmt: skip
    for x, title in ((96, "dot product"), (322, "additive")):
        sheet.text(x, 14, title)
        sheet.strip("query", x - 64, 40, cells=2)
        sheet.strip("key", x + 32, 40, cells=2)
        sheet.text(x - 72, 48, "$q_i$", "query", anchor="end")
        sheet.text(x + 72, 48, "$k_j$", "key", anchor="start")
        sheet.strip("plain", x - 8, 318, cells=1)
        sheet.text(x + 18, 326, "$s_{ij}$", anchor="start")
    for side in (-48, 48):
        sheet.arrow((96 + side, 60), (96 + side, 150), (96 + side / 4, 150))
        sheet.arrow((322 + side, 60), (322 + side, 82))
        sheet.box(322 + side - 24, 84, 48, 26, "$W_q^⊤$" if side < 0 else "$W_k^⊤$")
        sheet.arrow((322 + side, 112), (322 + side, 150), (322 + side / 4, 150))
    combine(sheet, 96, 150, "·")
    combine(sheet, 322, 150, "+")
    for x, words in ((96, "÷ √$d_k$"), (322, "tanh")):
        sheet.arrow((x, 163), (x, 180))
        sheet.box(x - 32, 182, 64, 26, words)
    sheet.arrow((96, 210), (96, 316))
    sheet.arrow((322, 210), (322, 228))
    sheet.strip("plain", 290, 230, cells=4)
    sheet.text(280, 238, "hidden", anchor="end")
    sheet.arrow((322, 248), (322, 269))
    combine(sheet, 322, 282, "·")
    sheet.strip("plain", 370, 274, cells=4)
    sheet.text(442, 282, "$w_v$", anchor="start")
    sheet.arrow((366, 282), (335, 282))
    sheet.arrow((322, 295), (322, 316))
    return sheet


@drawing
def masks() -> Drawing:
    sheet = Drawing(420, 420,
        "Four tables of weights of four queries on four keys: the, river, bank, padding. No mask: "
        "every key is open. Causal: the keys up to the query. Padding: the first three keys. Both: "
        "what both allow. In each row, the open keys share the weight.")  # fmt: skip
    allowed: dict[str, Callable[[int, int], bool]] = {
        "no mask": lambda i, j: True,
        "causal: $j ≤ i$": lambda i, j: j <= i,
        "padding: $j$ < 3": lambda i, j: j < 3,
        "both": lambda i, j: j <= i and j < 3,
    }
    for place, (name, may) in enumerate(allowed.items()):
        left, top = 62 + 202 * (place % 2), 54 + 212 * (place // 2)
        sheet.text(left + 72, top - 40, name)
        table(sheet, left, top, may)
    return sheet


def table(sheet: Drawing, left: float, top: float, may: Callable[[int, int], bool]) -> None:
    """The weights of the words and the padding on each other; what is forbidden is grey."""
    size, tokens = 36, [*WORDS.values()]
    shut = drawsvg.Path(class_="shape plain", style="stroke: none")
    for i, word in enumerate(WORDS):
        middle = top + (i + 0.5) * size
        sheet.text(left + (i + 0.5) * size, top - 14, word, "key", size=0.85)
        sheet.text(left - 8, middle, word, "query", size=0.85, anchor="end")
        some = [j for j in range(4) if may(i, j)]
        for j, share in zip(some, weights(tokens[i], [tokens[j] for j in some]), strict=True):
            disc = drawsvg.Circle(
                left + (j + 0.5) * size, middle, 15 * sqrt(share), class_="full weight"
            )
            sheet.sheet.append(disc)
        for j in {*range(4)} - {*some}:
            shut.M(left + j * size, top + i * size).h(size).v(size).h(-size).Z()
    sheet.sheet.append(shut)
    lines = drawsvg.Path(class_="grid plain")
    for at in row(0, size, 5):
        lines.M(left, top + at).h(4 * size).M(left + at, top).v(4 * size)
    sheet.sheet.append(lines)
