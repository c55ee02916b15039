"""The drawings of the chapter on the Transformer."""

import drawsvg

from drawings.multi_head import brace
from drawings.shapes import Drawing, drawing, row


def plus(sheet: Drawing, x: float, y: float) -> None:
    """Where a part's output joins the stream."""
    sheet.sheet.append(drawsvg.Circle(x, y, 9, class_="shape plain"))
    sheet.line((x - 9, y), (x + 9, y))
    sheet.line((x, y - 9), (x, y + 9))


def norm(sheet: Drawing, x: float, y: float) -> None:
    """A norm, which is an outline, so that it is not taken for a part that writes."""
    sheet.sheet.append(drawsvg.Rectangle(x, y, 108, 30, rx=5, class_="line"))
    sheet.text(x + 54, y + 15, "norm")


@drawing
def pre_and_post_norm() -> Drawing:
    sheet = Drawing(500, 428,
        "Two blocks beside each other, read upwards. In pre-norm, the stream is a straight line: "
        "each part reads it through a norm and adds to it. In post-norm, there is a norm on the "
        "stream itself after each sum.")  # fmt: skip
    for x, words in ((66, "pre-norm"), (326, "post-norm")):
        sheet.text(x + 36, 16, words)
        sheet.text(x, 412, "$x$")
    pre_norm(sheet, 66)
    post_norm(sheet, 326)
    return sheet


def pre_norm(sheet: Drawing, x: float) -> None:
    """Two parts beside a stream that nothing interrupts."""
    sheet.arrow((x, 398), (x, 34))
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
    """Two parts, after each of which the stream itself is normalised."""
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
    sheet = Drawing(560, 470,
        "Two columns, read upwards. On the left, the source's tokens, their embedding, and the "
        "encoder's blocks of self-attention and feed-forward; its output is the memory. On the "
        "right, the target's tokens, their embedding, and the decoder's blocks of causal "
        "self-attention, cross-attention and feed-forward, then the scores. An arrow leads from "
        "the memory to the cross-attention.")  # fmt: skip
    left, right = 140, 420
    for x, words, shape in (
        (left, "the source", "$m$ tokens"),
        (right, "the target", "$n$ tokens"),
    ):
        sheet.text(x, 436, words)
        sheet.text(x, 457, shape, size=0.9)
        sheet.arrow((x, 424), (x, 404))
        sheet.box(x - 78, 356, 156, 48, "embedding\n+ positions")
        sheet.arrow((x, 356), (x, 316))
    sheet.text(left + 10, 337, "$m × d$", anchor="start", size=0.9)
    sheet.text(right + 10, 337, "$n × d$", anchor="start", size=0.9)
    frame(sheet, left - 92, 212, 184, 104)
    sheet.box(left - 78, 270, 156, 34, "self-attention")
    sheet.arrow((left, 270), (left, 256))
    sheet.box(left - 78, 222, 156, 34, "feed-forward")
    sheet.text(left - 100, 264, "$N$ ×", anchor="end")
    frame(sheet, right - 92, 132, 184, 184)
    sheet.box(right - 78, 270, 156, 34, "causal attention")
    sheet.arrow((right, 270), (right, 246))
    sheet.box(right - 78, 198, 156, 48, "cross-attention")
    sheet.arrow((right, 198), (right, 176))
    sheet.box(right - 78, 142, 156, 34, "feed-forward")
    sheet.text(right + 100, 224, "× $N$", anchor="start")
    sheet.line((left, 212), (left, 150))
    sheet.text(left - 10, 184, "memory", anchor="end")
    sheet.text(left + 10, 184, "$m × d$", anchor="start", size=0.9)
    sheet.line((left, 150), (282, 150))
    sheet.line((282, 150), (282, 222))
    sheet.arrow((282, 222), (right - 78, 222))
    sheet.text(211, 136, "keys and values", size=0.9)
    sheet.arrow((right, 132), (right, 104))
    sheet.box(right - 78, 56, 156, 48, "scores: product\nwith the table")
    sheet.arrow((right, 56), (right, 34))
    sheet.text(right, 18, "$n$ × vocabulary", size=0.9)
    return sheet


def frame(sheet: Drawing, x: float, y: float, wide: float, high: float) -> None:
    """A frame around the parts of a block."""
    sheet.sheet.append(drawsvg.Rectangle(x, y, wide, high, rx=8, class_="line faint"))


@drawing
def teacher_forcing() -> Drawing:
    sheet = Drawing(560, 300,
        "Above, training: the inputs are begin, the, river, bank; the decoder gives all four "
        "outputs at once; the targets are the, river, bank, end. Below, generation: the decoder "
        "is called four times, and each word that it writes becomes the next input.")  # fmt: skip
    places, words = row(170, 104, 4), ("⟨begin⟩", "the", "river", "bank", "⟨end⟩")
    for y, names in ((16, ("targets",)), (76, ("training,", "one pass")), (124, ("inputs",))):
        for i, name in enumerate(names):
            sheet.text(8, y + 19 * (i - (len(names) - 1) / 2), name, anchor="start")
    sheet.box(places[0] - 44, 56, 312 + 88, 34, "decoder: all rows at once")
    for x, given, wanted in zip(places, words, words[1:], strict=False):
        sheet.box(x - 40, 110, 80, 28, given)
        sheet.arrow((x, 110), (x, 90))
        sheet.arrow((x, 56), (x, 32))
        sheet.box(x - 40, 4, 80, 28, wanted)
    for y, names in ((188, ("output",)), (236, ("generation,", "four steps")), (284, ("input",))):
        for i, name in enumerate(names):
            sheet.text(8, y + 19 * (i - (len(names) - 1) / 2), name, anchor="start")
    for i, (x, given, wanted) in enumerate(zip(places, words, words[1:], strict=False), 1):
        sheet.box(x - 40, 270, 80, 28, given)
        sheet.arrow((x, 270), (x, 250))
        sheet.box(x - 40, 222, 80, 28, f"step {i}")
        sheet.arrow((x, 222), (x, 202))
        sheet.box(x - 40, 174, 80, 28, wanted)
        if i < 4:
            sheet.arrow((x + 40, 188), (x + 60, 188), (x + 44, 284), (x + 64, 284))
    return sheet


@drawing
def caches_by_the_step() -> Drawing:
    sheet = Drawing(560, 300,
        "Three steps beside each other. In each, the query of the new token. Above, the cache of "
        "the self-attention: one key and one value, then two, then three, of which the last is "
        "new. Below, the keys and values of the cross-attention: four, the same in every step, "
        "made once before the first.")  # fmt: skip
    places = row(190, 128, 3)
    for words, y in (("query", 41), ("self-attention", 100), ("cross-attention", 220)):
        sheet.text(8, y, words, anchor="start")
    for step, x in enumerate(places):
        sheet.text(x + 35, 14, f"step {step + 1}")
        sheet.strip("query", x + 18, 34, cells=2, size=14, label="$q$")
        for token in range(step + 1):
            keep(sheet, x, 68 + 26 * token)
        sheet.text(x + 84, 75 + 26 * step, "new", anchor="start", size=0.9)
        for token in range(4):
            keep(sheet, x, 172 + 24 * token)
    brace(sheet, places[0], places[2] + 74, 268)
    sheet.text(places[1] + 37, 288, "made once, from the memory", size=0.9)
    return sheet


def keep(sheet: Drawing, x: float, y: float) -> None:
    """A key and a value."""
    sheet.strip("key", x, y, cells=2, size=14)
    sheet.strip("value", x + 40, y, cells=2, size=14)
