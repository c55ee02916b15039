"""The whole model, small, with the parts of one chapter lit: the picture at its top."""

from collections.abc import Collection

import drawsvg

from attncourse.course.whole import PARTS
from drawings.shapes import Drawing

WIDE, HIGH = 490, 75
# part: left edge and width; what is computed inside a head stands above the rest
UPPER = {
    "qkv": (62, 48),
    "rope": (120, 48),
    "scores": (178, 54),
    "mask": (242, 46),
    "weights": (298, 60),
    "values": (368, 40),
    "output": (426, 54),
}
LOWER = {
    "tokens": (1, 54),
    "embedding": (62, 80),
    "heads": (172, 52),
    "feed_forward": (268, 90),
    "logits": (406, 46),
    "next": (456, 33),
}
# where a part is named in fewer letters than in the list
SHORT = {"values": "sum", "output": "output", "mask": "mask", "next": "next", "qkv": "q k v"}
NORMS = {"norm": (158, 254), "final_norm": (394,)}
SUMS = (238, 372)


def look(name: str, built: Collection[str], instead: Collection[str]) -> str:
    """CSS class of the shape of a part: blue if built, orange if replaced, else an outline."""
    return "shape weight" if name in built else "shape key" if name in instead else "grid plain"


def svg(built: Collection[str], instead: Collection[str]) -> str:
    """SVG text of the picture, with these parts lit."""
    names = " and ".join(PARTS[name].name for name in PARTS if name in built or name in instead)
    sheet = Drawing(WIDE, HIGH, f"The whole model, small, with {names} lit.")

    def shape(name: str, x: float, y: float, wide: float, high: float) -> None:
        kind = look(name, built, instead)
        dashes = {"stroke_dasharray": "4 3"} if kind == "shape key" else {}
        sheet.canvas.append(drawsvg.Rectangle(x, y, wide, high, rx=5, class_=kind, **dashes))

    shape("block", 148, 39, 238, 35)
    sheet.text(420, 34, "× 4", size=0.9)
    if "stream" in built:
        sheet.canvas.append(drawsvg.Rectangle(55, 54, 401, 5, class_="full weight"))
    else:
        sheet.line((55, 57), (456, 57), faint=True)
    for name, edges in NORMS.items():
        for x in edges:
            shape(name, x, 45, 8, 24)
    for x in SUMS:
        for kind in ("ground", look("stream", built, instead)):
            sheet.canvas.append(drawsvg.Circle(x, 57, 8, class_=kind))
        sheet.text(x, 57, "+")
    # what is computed inside the heads
    sheet.line((174, 43), (62, 28), faint=True)
    sheet.line((222, 43), (408, 28), faint=True)
    for places, y, high in ((UPPER, 1, 25), (LOWER, 44, 26)):
        for name, (x, wide) in places.items():
            sheet.canvas.append(drawsvg.Rectangle(x, y, wide, high, rx=5, class_="ground"))
            shape(name, x, y, wide, high)
            sheet.text(x + wide / 2, y + high / 2, SHORT.get(name, PARTS[name].name))
    return sheet.svg()
