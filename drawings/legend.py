"""The drawing of the page on figures: every colour and shape with its name."""

from drawings.shapes import Drawing, drawing


@drawing
def colours_and_shapes() -> Drawing:
    sheet = Drawing(
        460,
        250,
        "A query is a purple strip with round ends, a key an orange strip with straight ends, a "
        "value a green strip with pointed ends. A weight is a blue disc, as large as the weight; a "
        "position is a yellow diamond. What computes is a grey box, with arrows.",
    )
    sheet.strip("query", 46, 20, label="$q$")
    sheet.text(78, 60, "query")
    sheet.strip("key", 196, 20, label="$k$")
    sheet.text(228, 60, "key")
    sheet.strip("value", 352, 20, cells=3, label="$v$")
    sheet.text(376, 60, "value")
    sheet.matrix("query", 46, 94, 2, 4)
    sheet.text(78, 146, "two queries")
    for x, weight in ((198, 0.1), (228, 0.4), (258, 1)):
        sheet.weight(x, 110, weight)
    sheet.text(228, 146, "weights 0.1, 0.4, 1")
    for i, x in enumerate((346, 376, 406)):
        sheet.diamond(x, 110, words=str(i))
    sheet.text(376, 146, "positions")
    sheet.arrow((142, 196), (182, 196))
    sheet.box(182, 180, 92, 32, "softmax")
    sheet.arrow((274, 196), (314, 196))
    sheet.text(228, 232, "what computes, and where it leads")
    return sheet
