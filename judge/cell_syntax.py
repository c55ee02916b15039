"""The text of a cell: what only IPython reads in it, its syntax tree, its odd characters."""

import ast
import re
import warnings
from threading import Lock

# lines that IPython reads and Python does not: `%time`, `!ls`, `?name`, `name?`, and `x = !ls`
MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)
ASSIGNED_MAGIC = re.compile(r"^([\w., \t]+=[ \t]*)[%!].*$", re.MULTILINE)
# what is pasted from a page or a chat holds these, and Python reads none of them as a blank
SPACES = re.compile("[\u00a0\u2007\u202f\u3000]")
INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
# longer cells are neither searched nor judged: reading Python takes stack and time
LONGEST = 100_000
# in Python 3.11 two threads that make trees at once may each find the other's depth: a SystemError
PARSING = Lock()


def without_magics(source: str) -> str:
    """A cell's text in which nothing stands in place of each magic, line by line."""
    return MAGIC.sub(r"\1pass", ASSIGNED_MAGIC.sub(r"\1None", source))


def count_magics(source: str) -> int:
    """How many lines of a cell IPython reads in its own way, magics in texts included."""
    return len(MAGIC.findall(source)) + len(ASSIGNED_MAGIC.findall(source))


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a cell, its magics left out; None where it is not Python."""
    if len(source) > LONGEST:
        return None
    try:
        with PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def with_plain_spaces(source: str) -> tuple[str, list[str]]:
    """A cell's text as it was meant, and what was done to it.

    Only where it is no Python as it stands: in a string, each of these characters has its place.
    """
    done = {
        "non-breaking spaces were read as ordinary spaces": SPACES.search(source),
        "invisible characters were left out": INVISIBLE.search(source),
    }
    if not any(done.values()) or parsed(source) is not None:
        return source, []
    return INVISIBLE.sub("", SPACES.sub(" ", source)), [note for note in done if done[note]]
