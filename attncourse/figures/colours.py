"""The colours of the course, each on white and on black: one for each thing that attends.

Drawings, heat maps and the figures that compute share them; blue is for weights, and for other
numbers from 0 on.
"""

COLOURS = {
    "query": ("#8a3ea8", "#d09bea"),
    "key": ("#b85000", "#f59a50"),
    "value": ("#007a55", "#4cc79a"),
    "weight": ("#0072b2", "#5ab8f0"),
    "position": ("#866300", "#dcb43c"),
    "plain": ("#5a6472", "#a8b2c0"),
}
# from which weight on its cell needs the other ink, on a light and on a dark page
TURNS = (0.93, 0.63)


def inks(weight: float) -> tuple[str, str]:
    """The ink that can be read on the cell of a weight, on a light and on a dark page."""
    light, dark = (weight >= turn for turn in TURNS)
    return "white" if light else "black", "black" if dark else "white"
