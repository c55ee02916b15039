"""How a cell of a notebook says which exercise it answers."""

import re

FIRST_LINE = re.compile(r"\A\s*#\s*exercise:\s*(\w+)")


def exercise_of(source: str) -> str | None:
    """The exercise that an answer cell's first line names, `# exercise: <name>`, or None."""
    found = FIRST_LINE.match(source)
    return found and found[1]
