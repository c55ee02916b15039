"""The shapes of the drawings: one shape and colour for each role, and text.

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
# a drawing is not scaled below this share of its size, but scrolls
MIN_SCALE = 0.68
# length of the pointed ends of a value
VALUE_TIP = 6
MATH = re.compile(r"\$([^$]+)\$")
MATH_PART = re.compile(r"([_^])(?:\{([^}]*)\}|(.))|([^_^]+)")

DRAWINGS: dict[str, Callable[[], "Drawing"]] = {}


def drawing(make: Callable[[], "Drawing"]) -> Callable[[], "Drawing"]:
    """Decorator that registers a drawing under the function's name."""
    if make.__name__ in DRAWINGS:
        raise ValueError(f"two drawings are called {make.__name__}")
    DRAWINGS[make.__name__] = make
    return make


class Drawing:
    """An SVG drawing with a size in pixels and a text alternative."""

    def __init__(self, width: int, height: int, alt: str):
        look = f"min-width: {round(MIN_SCALE * width)}px"
        kind = "drawing wide" if width > 400 else "drawing"
        self.canvas = drawsvg.Drawing(width, height, class_=kind, role="img", style=look)
        self.canvas.append(drawsvg.Raw(f"<title>{escape(alt)}</title>\n<style>{STYLE}</style>"))

    def svg(self) -> str:
        """The drawing as SVG text."""
        text = self.canvas.as_svg(header="", skip_js=True, skip_css=True) or ""
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
        """Draw text centred vertically on y; $q_i$ is a letter with sub- and superscripts."""
        text = drawsvg.Text("", f"{size}em", x, y, text_anchor=anchor)
        if role:
            text.args["class"] = f"tint {role}"
        height = 0.0
        for part, kind, above, scale in text_spans(words):
            # em units are relative to the part's own font size
            args = {"class": kind} if kind else {}
            if above != height:
                args["dy"] = f"{(height - above) / scale:.2f}em"
            text.append(drawsvg.TSpan(part, **args))
            height = above
        self.canvas.append(text)

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
        """Draw a vector as a row of cells from the corner (x, y), or as a column if `down`."""
        long, wide = cells * size, size
        along, across = (wide, long) if down else (long, wide)
        self.outline(role, x, y, along, across)
        self.inner_lines(role, x, y, *((cells, 1) if down else (1, cells)), size, size)
        if label and down:
            self.text(x + wide / 2, y - 13, label, role)
        elif label:
            reach = VALUE_TIP if role == "value" else 0
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
        """Draw a matrix from its corner (x, y), with a label or with the lines between cells."""
        wide, high = cols * size, rows * size
        self.outline(role, x, y, wide, high)
        if label:
            self.text(x + wide / 2, y + high / 2, label, role)
        else:
            self.inner_lines(role, x, y, rows, cols, size, size)

    def inner_lines(
        self, role: str, x: float, y: float, rows: int, cols: int, wide: float, high: float
    ) -> None:
        """Draw the lines between cells, without the border."""
        lines = drawsvg.Path(class_=f"grid {role}")
        for row in range(1, rows):
            lines.M(x, y + row * high).h(cols * wide)
        for col in range(1, cols):
            lines.M(x + col * wide, y).v(rows * high)
        self.canvas.append(lines)

    def outline(self, role: str, x: float, y: float, wide: float, high: float) -> None:
        """Draw the border of a strip or a matrix in the shape of its role."""
        kind = {"class_": f"shape {role}"}
        if role == "value":
            short = min(wide, high) / 2
            path = drawsvg.Path(**kind).M(x, y)
            if wide >= high:
                path.h(wide).l(VALUE_TIP, short).l(-VALUE_TIP, short).h(-wide).l(-VALUE_TIP, -short)
            else:
                path.l(short, -VALUE_TIP).l(short, VALUE_TIP).v(high).l(-short, VALUE_TIP).l(
                    -short, -VALUE_TIP
                )
            self.canvas.append(path.Z())
        else:
            round_ = min(wide, high) / 2 if role == "query" else 0
            self.canvas.append(drawsvg.Rectangle(x, y, wide, high, rx=min(round_, 12), **kind))

    def box(
        self, x: float, y: float, wide: float, high: float, words: str, role: str = "plain"
    ) -> None:
        """Draw a computing part: words in a box with rounded corners."""
        self.canvas.append(drawsvg.Rectangle(x, y, wide, high, rx=5, class_=f"shape {role}"))
        lines = words.split("\n")
        for i, line in enumerate(lines):
            self.text(x + wide / 2, y + high / 2 + 19 * (i - (len(lines) - 1) / 2), line)

    def numbers(
        self,
        role: str,
        x: float,
        y: float,
        rows: Sequence[Sequence[str]],
        wide: float = 30,
        high: float = 26,
    ) -> None:
        """Draw a table of numbers from its corner (x, y)."""
        cols = len(rows[0])
        self.outline(role, x, y, wide * cols, high * len(rows))
        self.inner_lines(role, x, y, len(rows), cols, wide, high)
        for i, numbers in enumerate(rows):
            for j, number in enumerate(numbers):
                self.text(x + (j + 0.5) * wide, y + (i + 0.5) * high, number, size=0.85)

    def combine(self, x: float, y: float, sign: str) -> None:
        """Draw an operator, such as + or ×, in a circle."""
        self.canvas.append(drawsvg.Circle(x, y, 11, class_="line"))
        self.text(x, y, sign, size=1.2)

    def weight(self, x: float, y: float, weight: float, radius: float = 11) -> None:
        """Draw a weight as a disc, which fills its circle at weight 1."""
        self.canvas.append(drawsvg.Circle(x, y, radius, class_="grid weight"))
        if weight:
            self.canvas.append(drawsvg.Circle(x, y, radius * sqrt(weight), class_="full weight"))

    def diamond(self, x: float, y: float, radius: float = 11, words: str = "") -> None:
        """Draw a position, with its number in a diamond."""
        r = radius
        path = drawsvg.Path(class_="shape position").M(x, y - r).l(r, r).l(-r, r).l(-r, -r).Z()
        self.canvas.append(path)
        if words:
            self.text(x, y, words, size=0.85)

    def arrow(self, *points: tuple[float, float], faint: bool = False, head: bool = True) -> None:
        """Draw an arrow through the points; four points make a Bézier curve."""
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
        self.canvas.append(line)
        if head:
            turns = (turn + pi / 7, turn - pi / 7)
            sides = [(x - 9 * cos(angle), y - 9 * sin(angle)) for angle in turns]
            self.canvas.append(
                drawsvg.Path(class_=f"head{kind}").M(x, y).L(*sides[0]).L(*sides[1]).Z()
            )

    def line(self, *points: tuple[float, float], faint: bool = False) -> None:
        """Draw a line through the points; four points make a Bézier curve."""
        self.arrow(*points, faint=faint, head=False)


def text_spans(words: str) -> Iterator[tuple[str, str, float, float]]:
    """Parts of a text with $math$: string, CSS class, baseline shift and font size in em."""
    middle = -0.35
    for i, part in enumerate(MATH.split(words)):
        if i % 2 == 0:
            if part:
                yield part, "", middle, 1
            continue
        for mark, braced, single, letter in MATH_PART.findall(part):
            if mark:
                yield braced or single, "small", middle + (0.4 if mark == "^" else -0.22), 0.75
            else:
                yield letter, "letter", middle, 1


def coordinates(start: float, step: float, count: int) -> Sequence[float]:
    """`count` coordinates from `start` on, one step apart."""
    return [start + step * i for i in range(count)]
