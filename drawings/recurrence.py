"""The drawings of the chapter on recurrence."""

from collections.abc import Sequence
from math import dist, sqrt

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing


def bold_arrow(sheet: Drawing, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw a wide arrow."""
    # the head covers the end of the line
    short = 1 - 6 / dist(start, end)
    line = drawsvg.Path(class_="line", style="stroke-width: 3").M(*start)
    line.l(short * (end[0] - start[0]), short * (end[1] - start[1]))
    sheet.canvas.append(line)
    sheet.arrow(start, end)


def gates(sheet: Drawing, columns: Sequence[float]) -> None:
    """Draw the three gates and the new content of an LSTM, with their numbers."""
    parts = {"f": (0.982, "forget"), "i": (0.5, "input"), "g": (0.762, "new"), "o": (0.5, "output")}
    for x, (letter, (number, name)) in zip(columns, parts.items(), strict=True):
        sheet.arrow((x, 262), (x, 234))
        sheet.text(x + 10, 248, f"${letter}\u0303_t$", anchor="start")
        sheet.box(x - 22, 208, 44, 24, "tanh" if name == "new" else "$σ$")
        sheet.arrow((x, 206), (x, 187))
        sheet.text(x + 17, 166, f"{number}", anchor="start", size=0.85)
        sheet.text(x + 17, 183, name, anchor="start", size=0.85)
        if name == "new":
            sheet.strip("plain", x - 8, 166, cells=1)
            continue
        sheet.canvas.append(drawsvg.Circle(x, 174, 11, class_="grid plain"))
        sheet.canvas.append(drawsvg.Circle(x, 174, 11 * sqrt(number), class_="full plain"))


@drawing
def path_lengths() -> Drawing:
    sheet = Drawing(
        460,
        272,
        "Five tokens, twice. In a recurrent network, each state follows from its token and the "
        "state before, so the path from the first token to the last state has four steps, counted "
        "1 to 4. In attention, every token reaches the last output in one step.",
    )
    for left, title, letter in ((34, "recurrent network", "h"), (274, "attention", "y")):
        xs = coordinates(left, 38, 5)
        sheet.text(left + 76, 14, title)
        for t, x in enumerate(xs):
            sheet.text(x, 48, f"${letter}_{t}$")
            sheet.strip("plain", x - 7, 64, cells=3, size=14, down=True)
            sheet.strip("plain", x - 7, 186, cells=2, size=14, down=True)
            sheet.text(x, 232, f"$x_{t}$")
            if letter == "h" and t:
                sheet.arrow((x, 183), (x, 109), faint=True)
                bold_arrow(sheet, (x - 29, 85), (x - 9, 85))
                sheet.text(x - 19, 72, f"{t}", size=0.85)
        if letter == "h":
            bold_arrow(sheet, (left, 183), (left, 109))
            sheet.text(left + 76, 260, "4 steps")
        else:
            last = xs[-1]
            for t, x in enumerate(xs):
                for x_below in xs[t == 4 : t + 1]:
                    sheet.line((x_below, 183), (x, 109), faint=True)
            bold_arrow(sheet, (left, 183), (last, 109))
            sheet.text(left + 76, 260, "1 step")
    return sheet


@drawing
def lstm_step() -> Drawing:
    sheet = Drawing(
        480,
        348,
        "One step of an LSTM whose cell is 2. The forget gate, 0.982, multiplies the cell; the "
        "input gate, 0.5, times the new content, 0.762, is added. The new cell is 2.345. Its tanh "
        "times the output gate, 0.5, is the state, 0.491.",
    )
    forget, enter, new, out = columns = coordinates(100, 78, 4)
    gates(sheet, columns)
    sheet.box(70, 264, 296, 30, "$W_{ih} x_t + b_{ih} + W_{hh} h_{t−1} + b_{hh}$")
    sheet.arrow((218, 326), (218, 296))
    sheet.text(218, 337, "$x_t$")
    add, show = (enter + new) / 2, out + 66
    sheet.arrow((70, 36), (forget - 13, 36))
    sheet.arrow((forget + 13, 36), (add - 13, 36))
    sheet.arrow((add + 13, 36), (424, 36))
    sheet.arrow((forget, 161), (forget, 49))
    sheet.arrow((enter, 161), (enter, 112), (add - 13, 112))
    sheet.arrow((new, 161), (new, 112), (add + 13, 112))
    sheet.arrow((add, 99), (add, 49))
    for x, y, sign in ((forget, 36, "×"), (add, 36, "+"), (add, 112, "×"), (show, 112, "×")):
        sheet.combine(x, y, sign)
    sheet.box(show - 22, 60, 44, 24, "tanh")
    sheet.arrow((show, 36), (show, 58))
    sheet.arrow((show, 86), (show, 99))
    sheet.arrow((out, 161), (out, 112), (show - 13, 112))
    sheet.arrow((show, 125), (show, 279), (424, 279))
    for x, y, words in (
        (4, 36, "$c_{t−1}$ = 2"), (430, 36, "$c_t$"), (430, 56, "2.345"),
        (4, 279, "$h_{t−1}$"), (430, 279, "$h_t$"), (430, 299, "0.491"),
    ):  # fmt: skip
        sheet.text(x, y, words, anchor="start")
    sheet.arrow((38, 279), (68, 279))
    return sheet
