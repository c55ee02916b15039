"""The drawings of the chapter on convolution."""

from collections.abc import Sequence

import drawsvg

from drawings.shapes import Drawing, coordinates, drawing


def vector_row(sheet: Drawing, xs: Sequence[float], y: float, seen_indices: set[int]) -> None:
    """Draw a layer as a row of squares, filled where the output sees them."""
    for i, x in enumerate(xs):
        kind = "full plain" if i in seen_indices else "grid plain"
        sheet.canvas.append(drawsvg.Rectangle(x - 6, y - 6, 12, 12, class_=kind))


@drawing
def receptive_fields() -> Drawing:
    sheet = Drawing(
        460,
        264,
        "Nine inputs below. Left: three layers of kernels with three taps; the middle output sees "
        "3 places of the layer below it, 5 of the next, and 7 inputs. Right: one layer of "
        "attention, whose middle output sees all 9 inputs.",
    )
    for depth, name in enumerate(("inputs", "layer 1", "layer 2", "layer 3")):
        sheet.text(51, 222 - 60 * depth, name, size=0.85, anchor="end")
    for middle, title, layers, radius, role in (
        (144, "kernels of width 3", 3, 1, "plain"),
        (364, "attention", 1, 8, "weight"),
    ):
        xs, seen_indices, lines = (
            coordinates(middle - 80, 20, 9),
            {4},
            drawsvg.Path(class_=f"grid {role}"),
        )
        sheet.text(middle, 14, title)
        for y in coordinates(222 - 60 * layers, 60, layers):
            vector_row(sheet, xs, y, seen_indices)
            pairs = [(i, j) for i in sorted(seen_indices) for j in range(9) if abs(j - i) <= radius]
            for i, j in pairs:
                lines.M(xs[i], y + 9).L(xs[j], y + 51)
            seen_indices = {j for _, j in pairs}
        vector_row(sheet, xs, 222, seen_indices)
        sheet.canvas.append(lines)
        sheet.text(middle, 248, f"{len(seen_indices)} of 9 inputs", size=0.85)
    return sheet


def table_grid(sheet: Drawing, left: float, top: float, size: float) -> None:
    """Draw an empty table of three outputs by three tokens, with the tokens above it."""
    lines = drawsvg.Path(class_="grid plain")
    for step in coordinates(0, size, 4):
        lines.M(left, top + step).h(3 * size).M(left + step, top).v(3 * size)
    sheet.canvas.append(lines)
    for x, token in zip(coordinates(left + size / 2, size, 3), ("1", "10", "100"), strict=True):
        sheet.text(x, top - 12, token, "value", size=0.85)


@drawing
def kernel_as_heads() -> Drawing:
    sheet = Drawing(
        480,
        336,
        "Three heads as tables of outputs by tokens. The head of offset -1 has its weights left of "
        "the diagonal, that of 0 on it, that of +1 right of it. Times the taps 1, 2, 3 they add up "
        "to the rows 1+2, 3, 0; 1, 2, 3; 0, 1, 2+3, which give 33, 321, 510.",
    )
    top, size = 70, 30
    taps = {-1: 1, 0: 2, 1: 3}
    total: list[list[list[int]]] = [[[] for _ in range(3)] for _ in range(3)]
    for left, (offset, tap) in zip((60, 200, 340), taps.items(), strict=True):
        sheet.diamond(left + 45, 22, 16, f"{offset:+d}".replace("+0", "0").replace("-", "−"))
        words = f"{tap}×" if offset < 0 else f"+ {tap}×"
        sheet.text(left - 6, top + 45, words, anchor="end")
        table_grid(sheet, left, top, size)
        for i in range(3):
            j = min(max(i + offset, 0), 2)
            total[i][j].append(tap)
            centre = left + size * (j + 0.5), top + size * (i + 0.5)
            sheet.canvas.append(drawsvg.Circle(*centre, 10, class_="full weight"))
    top, left, size = 228, 164, 34
    sheet.text(left - 6, top + 51, "=", anchor="end")
    sheet.text(left + 51, top - 40, "together")
    table_grid(sheet, left, top, size)
    sheet.text(left + 139, top - 40, "$y$")
    sheet.strip("plain", left + 122, top, cells=3, size=size, down=True)
    for y, terms in zip(coordinates(top + size / 2, size, 3), total, strict=True):
        for x, taps in zip(coordinates(left + size / 2, size, 3), terms, strict=True):
            sheet.text(x, y, "+".join(map(str, taps)) or "0", size=0.85)
        out = sum(sum(taps) * x for taps, x in zip(terms, (1, 10, 100), strict=True))
        sheet.text(left + 139, y, f"{out}", size=0.85)
    return sheet
