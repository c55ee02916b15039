"""The drawings of the chapter on tasks."""

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing


@drawing
def three_outputs() -> Drawing:
    sheet = Drawing(
        480,
        330,
        "Three models beside each other, read upwards. In each, an encoder makes three rows of "
        "three words. Left: a linear layer makes a label of each row. Middle: the rows’ mean, then "
        "a linear layer, make one label. Right: a decoder attends to the rows, and writes one word "
        "after another until it writes the end.",
    )
    for middle, title in ((76, "per token"), (238, "per text"), (400, "a new text")):
        sheet.text(middle, 14, title)
        xs = coordinates(middle - 44, 44, 3)
        for x, word in zip(xs, ("the", "river", "bank"), strict=True):
            sheet.text(x, 316, word, size=0.85)
            sheet.arrow((x, 304), (x, 286))
            sheet.arrow((x, 252), (x, 234))
            sheet.strip("plain", x - 7, 188, cells=3, size=14, down=True)
        sheet.box(middle - 66, 254, 132, 30, "encoder")
    for x, label in zip(coordinates(32, 44, 3), ("det", "nn", "root"), strict=True):
        sheet.arrow((x, 186), (x, 152))
        sheet.box(x - 18, 122, 36, 28, "$W$")
        sheet.arrow((x, 120), (x, 92))
        sheet.text(x, 78, label, size=0.85)
    for x in coordinates(194, 44, 3):
        sheet.line((x, 186), (238, 160))
    sheet.text(264, 152, "mean", anchor="start", size=0.85)
    sheet.strip("plain", 231, 118, cells=3, size=14, down=True)
    sheet.box(220, 80, 36, 28, "$W$")
    sheet.arrow((238, 80), (238, 58))
    sheet.text(238, 44, "positive", size=0.85)
    sheet.arrow((400, 186), (400, 154))
    sheet.box(334, 122, 132, 30, "decoder")
    xs = coordinates(352, 48, 3)
    for x, word in zip(xs, ("la", "rive", "⟨end⟩"), strict=True):
        sheet.arrow((x, 120), (x, 92))
        sheet.text(x, 78, word, size=0.85)
    for x in xs[:2]:
        # what is written becomes the next input
        sheet.arrow((x + 15, 78), (x + 24, 78), (x + 24, 104), (x + 24, 120))
    return sheet


@drawing
def five_folds() -> Drawing:
    sheet = Drawing(
        430,
        208,
        "Five rows, one for each run; each has the same five parts. In row 1 the first part is for "
        "testing and the others are for training, in row 2 the second, and so on. Each part is "
        "tested once.",
    )
    xs = coordinates(76, 70, 5)
    for run, y in enumerate(coordinates(4, 34, 5)):
        sheet.text(4, y + 13, f"run {run + 1}", anchor="start")
        for part, x in enumerate(xs):
            tested = part == run
            kind = "line" if tested else "shape plain"
            sheet.canvas.append(drawsvg.Rectangle(x, y, 64, 26, rx=4, class_=kind))
            sheet.text(x + 32, y + 13, "test" if tested else "train", size=0.85)
    sheet.text(248, 192, "the same texts, in five parts", size=0.9)
    return sheet


@drawing
def exact_match() -> Drawing:
    words = ("zwei", "hundert", "sieben", "und", "vier", "zig", "⟨end⟩")
    sheet = Drawing(
        480,
        186,
        "The right name of 247 in seven tokens, above what a model wrote. One token differs: fünf "
        "in place of vier. So six of seven tokens are right, but the text is wrong.",
    )
    xs = coordinates(3, 68, 7)
    for y, name in ((22, "right"), (82, "written")):
        sheet.text(3, y - 12, name, anchor="start")
        for x, word in zip(xs, words, strict=True):
            wrong = name == "written" and word == "vier"
            said = "fünf" if wrong else word
            kind = "line" if wrong else "shape plain"
            sheet.canvas.append(drawsvg.Rectangle(x, y, 64, 28, rx=4, class_=kind))
            sheet.text(x + 32, y + 14, said, size=0.85)
    for x, word in zip(xs, words, strict=True):
        sheet.text(x + 32, 128, "✗" if word == "vier" else "✓")
    sheet.text(240, 168, "tokens right: 6 of 7; texts right: 0 of 1")
    return sheet
