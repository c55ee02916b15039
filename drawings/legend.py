"""The drawing of the page on figures: every colour and shape with its name."""

from drawings.shapes import Drawing, drawing


@drawing
def colours_and_shapes() -> Drawing:
    sheet = Drawing(660, 170,
        "A query is a purple strip with round ends, a key an orange strip with straight ends, a "
        "value a green strip with pointed ends. A weight is a blue disc, as large as the weight; a "
        "position is a yellow diamond. What computes is a grey box, with arrows.")  # fmt: skip
    sheet.strip("query", 60, 30, label="$q$")
    sheet.text(92, 70, "query")
    sheet.strip("key", 180, 30, label="$k$")
    sheet.text(212, 70, "key")
    sheet.strip("value", 300, 30, cells=3, label="$v$")
    sheet.text(326, 70, "value")
    for x, weight in ((400, 0.1), (430, 0.4), (460, 1)):
        sheet.weight(x, 38, weight)
    sheet.text(430, 70, "weights 0.1, 0.4, 1")
    for i, x in enumerate((555, 585, 615)):
        sheet.diamond(x, 38, words=str(i))
    sheet.text(585, 70, "positions")
    sheet.matrix("query", 60, 102, 2, 4)
    sheet.text(92, 152, "two queries")
    sheet.arrow((344, 118), (384, 118))
    sheet.box(384, 102, 92, 32, "softmax")
    sheet.arrow((476, 118), (516, 118))
    sheet.text(430, 152, "what computes, and where it leads")
    return sheet
