"""What marks the cells of an exercise notebook, for whoever makes one and whoever grades it."""

import re

FIRST_LINE = re.compile(r"\s*#\s*exercise:\s*(\w+)")


def exercise_of(source: str) -> str | None:
    """The exercise that a cell's first line names, or None."""
    found = FIRST_LINE.match(source)
    return found and found[1]
