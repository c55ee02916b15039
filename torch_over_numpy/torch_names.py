"""The names that torch has, here or not: the error for another is Python's own."""

from functools import cache
from pathlib import Path

from torch_over_numpy.absent import NotInPageError

FILE = Path(__file__).with_name("torch_names.txt")


@cache
def known_names() -> dict[str, frozenset[str]]:
    """The names of each module of torch, of Tensor and of Module: a line each, the home first."""
    lines = (line.split() for line in FILE.read_text("utf-8").splitlines())
    return {home: frozenset(names) for home, *names in lines}


def missing(home: str, name: str, owner: str) -> AttributeError:
    """The error for a name that is not here: torch's, or nobody's."""
    if name in known_names().get(home, ()):
        return NotInPageError(f"{home}.{name}")
    return AttributeError(f"{owner} has no attribute '{name}'")
