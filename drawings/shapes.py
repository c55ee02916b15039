"""What the drawings are made of: one shape for each thing, in its colour, and words.

A query is a strip with round ends, a key one with straight ends, a value one with pointed ends;
weights are circles, whose area is the weight; positions are diamonds. The letters q, k and v stand
beside them, so that no drawing is read by its colours alone.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import atan2, cos, pi, sin, sqrt

import drawsvg

from attncourse.figures.colours import COLOURS

STYLE = (
    """
.drawing { font: 15px Arial, sans-serif; max-width: 100%; height: auto; }
@media (max-width: 400px) { .wide { font-size: 16.5px; } }
.drawing text { fill: currentColor; }
.drawing .letter, .drawing .small { font-style: italic; font-family: "Times New Roman", serif; }
.drawing .small { font-size: .75em; }
.drawing .line { fill: none; stroke: currentColor; stroke-width: 1.5; }
.drawing .head { fill: currentColor; }
.drawing .faint { opacity: .35; }
.drawing .shape { fill: var(--role); fill-opacity: .22; stroke: var(--role); stroke-width: 1.5; }
.drawing .full { fill: var(--role); stroke: none; }
.drawing .grid { fill: none; stroke: var(--role); stroke-width: .75; }
.drawing .tint { fill: var(--role); font-weight: 600; }
"""
    + "".join(
        f".drawing .{role} {{ --role: light-dark({light}, {dark}); }}\n"
        for role, (light, dark) in COLOURS.items()
    )
    + """:root.drawing { color-scheme: light dark; color: CanvasText; background: Canvas; }
"""
)
# a drawing that is drawn smaller than this share of its size scrolls instead
SMALLEST = 0.68
# how far the pointed ends of a value reach out
POINT = 6
LETTERS = re.compile(r"\$([^$]+)\$")
PART = re.compile(r"([_^])(?:\{([^}]*)\}|(.))|([^_^]+)")

DRAWINGS: dict[str, Callable[[], "Drawing"]] = {}


def drawing(make: Callable[[], "Drawing"]) -> Callable[[], "Drawing"]:
    """Enter a function among the drawings, under its own name."""
    if make.__name__ in DRAWINGS:
        raise ValueError(f"two drawings are called {make.__name__}")
    DRAWINGS[make.__name__] = make
    return make


class Drawing:
    """A sheet of that width and height, in pixels, and the words that stand for it."""

    def __init__(self, width: int, height: int, alt: str):
        look = f"min-width: {round(SMALLEST * width)}px"
        kind = "drawing wide" if width > 400 else "drawing"
        self.sheet = drawsvg.Drawing(width, height, class_=kind, role="img", style=look)
        self.sheet.append(drawsvg.Raw(f"<title>{escape(alt)}</title>\n<style>{STYLE}</style>"))

    def svg(self) -> str:
        """The drawing as the text of an SVG file."""
        text = self.sheet.as_svg(header="", skip_js=True, skip_css=True) or ""
        text = re.sub(r'\s*xmlns:xlink="[^"]*"|<defs>\s*</defs>\n', "", text)
        return re.sub(r'"(-?\d+\.\d{2})\d+"', r'"\1"', text) + "\n"

    def text(
        self,
        x: float,
        y: float,
        words: str,
        role: str = "",
        anchor: str = "middle",
        size: float = 1,
    ) -> None:
        """Words whose middle line lies at y; $q_i$ is a letter, with what is below or above it."""
        text = drawsvg.Text("", f"{size}em", x, y, text_anchor=anchor)
        if role:
            text.args["class"] = f"tint {role}"
        height = 0.0
        for part, kind, above, scale in spans(words):
            # an em is that of the part's own letters
            args = {"class": kind} if kind else {}
            if above != height:
                args["dy"] = f"{(height - above) / scale:.2f}em"
            text.append(drawsvg.TSpan(part, **args))
            height = above
        self.sheet.append(text)

    def strip(
        self,
        role: str,
        x: float,
        y: float,
        cells: int = 4,
        size: float = 16,
        down: bool = False,
        label: str = "",
    ) -> None:
        """A vector as a row of cells from its corner (x, y), or as a column where `down`."""
        long, wide = cells * size, size
        along, across = (wide, long) if down else (long, wide)
        self.outline(role, x, y, along, across)
        self.inner_lines(role, x, y, *((cells, 1) if down else (1, cells)), size, size)
        if label and down:
            self.text(x + wide / 2, y - 13, label, role)
        elif label:
            reach = POINT if role == "value" else 0
            self.text(x - 7 - reach, y + wide / 2, label, role, anchor="end")

    def matrix(
        self,
        role: str,
        x: float,
        y: float,
        rows: int,
        cols: int,
        size: float = 16,
        label: str = "",
    ) -> None:
        """A matrix from its corner; a label stands in it in place of the lines between cells."""
        wide, high = cols * size, rows * size
        self.outline(role, x, y, wide, high)
        if label:
            self.text(x + wide / 2, y + high / 2, label, role)
        else:
            self.inner_lines(role, x, y, rows, cols, size, size)

    def inner_lines(
        self, role: str, x: float, y: float, rows: int, cols: int, wide: float, high: float
    ) -> None:
        """The lines between cells of that size, without those around them."""
        lines = drawsvg.Path(class_=f"grid {role}")
        for row in range(1, rows):
            lines.M(x, y + row * high).h(cols * wide)
        for col in range(1, cols):
            lines.M(x + col * wide, y).v(rows * high)
        self.sheet.append(lines)

    def outline(self, role: str, x: float, y: float, wide: float, high: float) -> None:
        """The shape that a role has, around a strip or a matrix."""
        kind = {"class_": f"shape {role}"}
        if role == "value":
            short = min(wide, high) / 2
            path = drawsvg.Path(**kind).M(x, y)
            if wide >= high:
                path.h(wide).l(POINT, short).l(-POINT, short).h(-wide).l(-POINT, -short)
            else:
                path.l(short, -POINT).l(short, POINT).v(high).l(-short, POINT).l(-short, -POINT)
            self.sheet.append(path.Z())
        else:
            round_ = min(wide, high) / 2 if role == "query" else 0
            self.sheet.append(drawsvg.Rectangle(x, y, wide, high, rx=min(round_, 12), **kind))

    def box(
        self, x: float, y: float, wide: float, high: float, words: str, role: str = "plain"
    ) -> None:
        """A part that computes: words in a box with rounded corners."""
        self.sheet.append(drawsvg.Rectangle(x, y, wide, high, rx=5, class_=f"shape {role}"))
        rows = words.split("\n")
        for row, some in enumerate(rows):
            self.text(x + wide / 2, y + high / 2 + 19 * (row - (len(rows) - 1) / 2), some)

    def numbers(
        self,
        role: str,
        x: float,
        y: float,
        rows: Sequence[Sequence[str]],
        wide: float = 30,
        high: float = 26,
    ) -> None:
        """A table of numbers from its corner, each in a cell."""
        cols = len(rows[0])
        self.outline(role, x, y, wide * cols, high * len(rows))
        self.inner_lines(role, x, y, len(rows), cols, wide, high)
        for i, some in enumerate(rows):
            for j, one in enumerate(some):
                self.text(x + (j + 0.5) * wide, y + (i + 0.5) * high, one, size=0.85)

    def combine(self, x: float, y: float, sign: str) -> None:
        """A circle in which two numbers, or two vectors, meet."""
        self.sheet.append(drawsvg.Circle(x, y, 11, class_="line"))
        self.text(x, y, sign, size=1.2)

    def weight(self, x: float, y: float, weight: float, radius: float = 11) -> None:
        """A weight as a disc in a circle, which a weight of 1 fills."""
        self.sheet.append(drawsvg.Circle(x, y, radius, class_="grid weight"))
        if weight:
            self.sheet.append(drawsvg.Circle(x, y, radius * sqrt(weight), class_="full weight"))

    def diamond(self, x: float, y: float, radius: float = 11, words: str = "") -> None:
        """A position, with its number in it."""
        r = radius
        path = drawsvg.Path(class_="shape position").M(x, y - r).l(r, r).l(-r, r).l(-r, -r).Z()
        self.sheet.append(path)
        if words:
            self.text(x, y, words, size=0.85)

    def arrow(self, *points: tuple[float, float], faint: bool = False, head: bool = True) -> None:
        """A line through the points, with a head at its end; four points make one curve."""
        kind = " faint" if faint else ""
        line = drawsvg.Path(class_=f"line{kind}").M(*points[0])
        before, (x, y) = points[-2:]
        turn = atan2(y - before[1], x - before[0])
        # the head covers the end of the line
        stop = (x - 6 * cos(turn), y - 6 * sin(turn)) if head else (x, y)
        if len(points) == 4:
            line.C(*points[1], *points[2], *stop)
        else:
            for point in (*points[1:-1], stop):
                line.L(*point)
        self.sheet.append(line)
        if head:
            turns = (turn + pi / 7, turn - pi / 7)
            sides = [(x - 9 * cos(one), y - 9 * sin(one)) for one in turns]
            self.sheet.append(
                drawsvg.Path(class_=f"head{kind}").M(x, y).L(*sides[0]).L(*sides[1]).Z()
            )

    def line(self, *points: tuple[float, float], faint: bool = False) -> None:
        self.arrow(*points, faint=faint, head=False)


def spans(words: str) -> Iterator[tuple[str, str, float, float]]:
    """The parts of a text: words, class, height above the line and size, in em."""
    middle = -0.35
    for place, part in enumerate(LETTERS.split(words)):
        if place % 2 == 0:
            if part:
                yield part, "", middle, 1
            continue
        for mark, many, one, plain in PART.findall(part):
            if mark:
                yield many or one, "small", middle + (0.4 if mark == "^" else -0.22), 0.75
            else:
                yield plain, "letter", middle, 1


def row(start: float, step: float, count: int) -> Sequence[float]:
    """The places of so many things, one step apart."""
    return [start + step * i for i in range(count)]
