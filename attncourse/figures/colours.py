"""The colours of queries, keys, values, weights and positions, on light and on dark pages.

Drawings, heat maps and interactive figures share them; blue also shows other numbers from 0 on.
"""

COLOURS = {
    "query": ("#8a3ea8", "#d09bea"),
    "key": ("#b85000", "#f59a50"),
    "value": ("#007a55", "#4cc79a"),
    "weight": ("#0072b2", "#5ab8f0"),
    "position": ("#866300", "#dcb43c"),
    "plain": ("#5a6472", "#a8b2c0"),
}
# weights from which the text of a cell changes its colour, on a light and on a dark page
INK_THRESHOLDS = (0.93, 0.63)


def inks(weight: float) -> tuple[str, str]:
    """Text colours for the cell of a weight, on a light and on a dark page."""
    light, dark = (weight >= turn for turn in INK_THRESHOLDS)
    return "white" if light else "black", "black" if dark else "white"
