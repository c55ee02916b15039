"""The drawings of the chapter on dot-product attention."""

from drawings.shapes import Drawing, drawing, row


@drawing
def query_keys_values() -> Drawing:
    sheet = Drawing(680, 330,
        "One query meets three keys. Each product of the query and a key is a score; the softmax "
        "turns the scores into weights, .1, .2 and .7; the output is the sum of the three values, "
        "each times its weight.")  # fmt: skip
    sheet.text(60, 24, "query")
    sheet.text(215, 24, "keys")
    sheet.text(335, 24, "scores")
    sheet.text(440, 24, "weights")
    sheet.text(535, 24, "values")
    sheet.text(640, 24, "output")
    sheet.strip("query", 30, 152, label="$q$")
    weights = (0.1, 0.2, 0.7)
    sheet.box(392, 60, 22, 210, "")
    for j, (y, weight) in enumerate(zip(row(80, 85, 3), weights, strict=True), 1):
        sheet.arrow((100, 160), (130, 160), (140, y), (172, y))
        sheet.strip("key", 190, y - 8, label=f"$k_{j}$")
        sheet.arrow((262, y), (300, y))
        sheet.text(336, y, f"$q·k_{j}$")
        sheet.arrow((366, y), (392, y))
        sheet.arrow((414, y), (429, y), head=False)
        sheet.weight(440, y, weight)
        sheet.text(440, y + 22, f"{weight}", "weight", size=0.85)
        sheet.text(470, y, "×")
        sheet.strip("value", 505, y - 8, cells=3, label=f"$v_{j}$")
        sheet.arrow((565, y), (585, y), (575, 160), (600, 160))
    sheet.text(403, 292, "softmax")
    sheet.strip("plain", 612, 152, cells=3)
    sheet.text(640, 190, "$Σ_j w_j v_j$")
    return sheet
