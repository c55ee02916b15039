"""The drawings of the chapter on the Transformer."""

import drawsvg

from drawings.multi_head import brace
from drawings.shapes import VALUE_TIP, Drawing, coordinates, drawing


def plus(sheet: Drawing, x: float, y: float) -> None:
    """Draw the plus sign where a part's output joins the stream."""
    sheet.canvas.append(drawsvg.Circle(x, y, 9, class_="shape plain"))
    sheet.line((x - 9, y), (x + 9, y))
    sheet.line((x, y - 9), (x, y + 9))


def norm(sheet: Drawing, x: float, y: float) -> None:
    """Draw a norm as an outline, unlike the parts that write to the stream."""
    sheet.canvas.append(drawsvg.Rectangle(x, y, 108, 30, rx=5, class_="line"))
    sheet.text(x + 54, y + 15, "norm")


@drawing
def pre_and_post_norm() -> Drawing:
    sheet = Drawing(
        400,
        428,
        "Two blocks beside each other, read upwards. In pre-norm, the stream is a straight line: "
        "each part reads it through a norm and adds to it. In post-norm, there is a norm on the "
        "stream itself after each sum.",
    )
    for x, middle, words in ((24, 84, "pre-norm"), (256, 293, "post-norm")):
        sheet.text(middle, 14, words)
        sheet.text(x, 414, "$x$")
    pre_norm(sheet, 24)
    post_norm(sheet, 256)
    return sheet


def pre_norm(sheet: Drawing, x: float) -> None:
    """Draw a pre-norm block, with its two parts beside the stream at x."""
    sheet.arrow((x, 398), (x, 32))
    for low, part in ((376, "attention"), (204, "feed-forward")):
        side = x + 74
        sheet.line((x, low), (side, low))
        sheet.arrow((side, low), (side, low - 14))
        norm(sheet, side - 54, low - 44)
        sheet.arrow((side, low - 44), (side, low - 62))
        sheet.box(side - 54, low - 96, 108, 34, part)
        sheet.line((side, low - 96), (side, low - 124))
        sheet.arrow((side, low - 124), (x + 9, low - 124))
        plus(sheet, x, low - 124)


def post_norm(sheet: Drawing, x: float) -> None:
    """Draw a post-norm block, with a norm on the stream after each of its two parts."""
    sheet.line((x, 398), (x, 376))
    for low, part in ((376, "attention"), (204, "feed-forward")):
        side = x + 74
        sheet.line((x, low), (x, low - 82))
        sheet.line((x, low), (side, low))
        sheet.arrow((side, low), (side, low - 28))
        sheet.box(side - 54, low - 62, 108, 34, part)
        sheet.line((side, low - 62), (side, low - 82))
        sheet.arrow((side, low - 82), (x + 9, low - 82))
        plus(sheet, x, low - 82)
        sheet.arrow((x, low - 91), (x, low - 106))
        norm(sheet, x - 54, low - 136)
        above = (x, low - 136), (x, low - 172)
        sheet.line(*above) if low > 204 else sheet.arrow(*above)


@drawing
def encoder_decoder() -> Drawing:
    sheet = Drawing(
        490,
        498,
        "Two columns, read upwards. On the left, the source’s m tokens, their embedding and "
        "positions, m × d, and the encoder’s L blocks of self-attention and feed-forward; their "
        "output, m × d, is the memory. On the right, the target’s n tokens, their embedding and "
        "positions, n × d, and the decoder’s L blocks of causal attention, cross-attention and "
        "feed-forward, then the scores, n × vocabulary. Keys and values of the cross-attention "
        "come from the memory, queries from the target.",
    )
    left, right = 118, 372
    sheet.text(245, 388, "positions")
    for x, tokens, count, turn in ((left, "source", "m", 1), (right, "target", "n", -1)):
        sheet.text(x, 484, f"{tokens}: ${count}$ tokens")
        sheet.arrow((x, 472), (x, 452))
        part_box(sheet, x, 418, "embedding")
        sheet.arrow((x, 418), (x, 397))
        plus(sheet, x, 388)
        sheet.diamond(x + 74 * turn, 388)
        sheet.arrow((x + 63 * turn, 388), (x + 9 * turn, 388))
        sheet.arrow((x, 379), (x, 346))
        sheet.text(x + 10, 363, f"${count} × d$", anchor="start", size=0.9)
    frame(sheet, left, 240)
    part_box(sheet, left, 302, "self-attention")
    sheet.arrow((left, 302), (left, 284))
    part_box(sheet, left, 250, "feed-forward")
    sheet.text(30, 293, "$L$ ×", anchor="end")
    frame(sheet, right, 120)
    part_box(sheet, right, 302, "causal attention")
    sheet.arrow((right, 302), (right, 286))
    sheet.matrix("query", right - 14, 258, 2, 2, label="$Q$", size=14)
    sheet.arrow((right, 258), (right, 242))
    part_box(sheet, right, 182, "cross-attention", 60)
    sheet.arrow((right, 182), (right, 164))
    part_box(sheet, right, 130, "feed-forward")
    sheet.text(460, 233, "× $L$", anchor="start")
    sheet.line((left, 240), (left, 212), (212, 212))
    sheet.text(left + 10, 227, "$m × d$", anchor="start", size=0.9)
    sheet.text(left + 47, 197, "memory")
    for y, role, name in ((194, "key", "K"), (230, "value", "V")):
        reach = VALUE_TIP if role == "value" else 0
        sheet.arrow((212, 212), (212, y), (238 - reach, y))
        sheet.matrix(role, 238, y - 14, 2, 2, label=f"${name}$", size=14)
        sheet.arrow((266 + reach, y), (right - 70, y))
    sheet.arrow((right, 120), (right, 96))
    part_box(sheet, right, 48, "scores: product\nwith the table", 48)
    sheet.arrow((right, 48), (right, 26))
    sheet.text(right, 12, "$n$ × vocabulary", size=0.9)
    return sheet


def part_box(sheet: Drawing, x: float, y: float, words: str, high: float = 34) -> None:
    """Draw a part of the model, centred on x."""
    sheet.box(x - 70, y, 140, high, words)


def frame(sheet: Drawing, x: float, y: float) -> None:
    """Draw the frame of a block, centred on x, with its top at y."""
    sheet.canvas.append(drawsvg.Rectangle(x - 82, y, 164, 346 - y, rx=5, class_="grid plain"))


@drawing
def teacher_forcing() -> Drawing:
    sheet = Drawing(
        450,
        352,
        "Above, training: the inputs are begin, the, river, bank; the decoder gives all four "
        "outputs at once; the targets are the, river, bank, end. Below, generation: the decoder "
        "is called four times, and each word that it writes becomes the next input.",
    )
    xs, words = coordinates(114, 98, 4), ("⟨begin⟩", "the", "river", "bank", "⟨end⟩")
    for top, title, above, below in (
        (0, "training: one pass", "targets", "inputs"),
        (188, "generation: four steps", "outputs", "inputs"),
    ):
        sheet.text(xs[0] - 37, top + 12, title, anchor="start")
        for y, name in ((46, above), (96, "decoder"), (146, below)):
            sheet.text(4, top + y, name, anchor="start")
        for x, input_word, target_word in zip(xs, words, words[1:], strict=False):
            sheet.box(x - 37, top + 132, 74, 28, input_word)
            sheet.arrow((x, top + 132), (x, top + 110))
            sheet.arrow((x, top + 82), (x, top + 60))
            sheet.box(x - 37, top + 32, 74, 28, target_word)
    sheet.box(xs[0] - 37, 82, 3 * 98 + 74, 28, "all rows at once")
    for step, x in enumerate(xs, 1):
        sheet.box(x - 37, 270, 74, 28, f"step {step}")
    for x in xs[:3]:
        sheet.line((x + 37, 234), (x + 49, 234), (x + 49, 284))
        sheet.arrow((x + 49, 284), (x + 49, 334), (x + 61, 334))
    return sheet


@drawing
def caches_by_the_step() -> Drawing:
    sheet = Drawing(
        470,
        322,
        "Three steps beside each other. In each, the query of the new token. Above, the cache of "
        "the self-attention: one key and one value, then two, then three, of which the last is "
        "new. Below, the keys and values of the cross-attention: four, the same in every step, "
        "made once before the first.",
    )
    xs = coordinates(94, 128, 3)
    for y, words in ((41, "query"), (106, "self-"), (125, "attention"),
                     (226, "cross-"), (245, "attention")):  # fmt: skip
        sheet.text(4, y, words, anchor="start")
    for step, x in enumerate(xs):
        sheet.text(x + 37, 12, f"step {step + 1}")
        sheet.strip("query", x + 23, 34, cells=2, size=14, label="$q$")
        key_value_rows(sheet, x, 84, step + 1)
        sheet.text(x + 84, 91 + 24 * step, "new", anchor="start", size=0.9)
        key_value_rows(sheet, x, 192, 4)
    brace(sheet, xs[0], xs[2] + 74, 288)
    sheet.text(xs[1] + 37, 308, "made once, from the memory", size=0.9)
    return sheet


def key_value_rows(sheet: Drawing, x: float, y: float, tokens: int) -> None:
    """Draw the cached keys and values of some tokens, one row for each."""
    sheet.text(x + 14, y - 14, "$k$", "key")
    sheet.text(x + 54, y - 14, "$v$", "value")
    for top in coordinates(y, 24, tokens):
        sheet.strip("key", x, top, cells=2, size=14)
        sheet.strip("value", x + 40, top, cells=2, size=14)
