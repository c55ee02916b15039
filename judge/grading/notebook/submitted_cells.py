"""The cells of a notebook as it was handed in, read from its JSON whatever else is wrong there."""

import json
import re
from dataclasses import dataclass
from functools import cached_property

from judge.cells import exercise_of
from judge.course import course

DEFINED = re.compile(
    r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE
)

# objects and lists in a notebook: each takes hundreds of bytes, however short its text is
MAX_OBJECTS = 100_000


class NotGradableError(ValueError):
    """A file in which there is nothing to grade; its text says why."""


@dataclass
class Cell:
    """A cell's text, whether it is code, and whose answer it says it is."""

    source: str
    code: bool
    id: str = ""
    exercise: str = ""
    note: str = ""

    def answers(self, known: set[str]) -> str | None:
        """Whose answer it is: by its metadata, else its id, else its first line."""
        named = (self.exercise, self.id.removeprefix("answer-"), exercise_of(self.source))
        return next((name for name in named if name in known), None)

    @cached_property
    def defines(self) -> set[str]:
        """The names that it defines or assigns at the beginning of a line."""
        return {one or other for one, other in DEFINED.findall(self.source)}


def read(data: bytes) -> list[Cell]:
    """The cells of a notebook; NotGradableError with a plain reason where it is none."""
    content = parsed(data)
    if not isinstance(content, dict):
        raise NotGradableError("the file isn't a notebook: its JSON holds something else")
    # as IPython 2 wrote it
    sheets = content.get("worksheets")
    sheet = sheets[0] if isinstance(sheets, list) and sheets else content
    cells = sheet.get("cells") if isinstance(sheet, dict) else None
    if not isinstance(cells, list):
        raise NotGradableError("the file isn't a notebook: it has no list of cells")
    return [cell for one in cells if isinstance(one, dict) and (cell := cell_of(one))]


def parsed(data: bytes) -> object:
    if (count := data.count(b"{") + data.count(b"[")) > MAX_OBJECTS:
        raise NotGradableError(
            f"the file has {count:,} objects and lists, over {MAX_OBJECTS:,}: clear its outputs"
        )
    try:
        try:
            return json.loads(data)
        except UnicodeDecodeError:
            return json.loads(data.decode("latin-1"))
    except (ValueError, RecursionError):
        pass
    if data.lstrip().startswith(b"<"):
        raise NotGradableError("the file isn't a notebook: it's a web page, perhaps a log-in page")
    raise NotGradableError("the file isn't a notebook: its JSON isn't complete")


def cell_of(raw: dict) -> Cell | None:
    """The cell that an entry of the JSON describes; None where it has no text."""
    text = raw.get("source", raw.get("input"))
    if isinstance(text, list):
        text = "".join(line for line in text if isinstance(line, str))
    if not isinstance(text, str):
        return None
    kind = raw.get("cell_type")
    metadata = raw.get("metadata")
    own = metadata.get(course().metadata_key) if isinstance(metadata, dict) else None
    named = own.get("exercise") if isinstance(own, dict) else None
    return Cell(
        text.replace("\r\n", "\n").replace("\r", "\n"),
        kind not in ("markdown", "raw", "heading"),
        str(raw.get("id", "")),
        named if isinstance(named, str) else "",
        "" if isinstance(kind, str) else "the cell doesn't say what kind of cell it is",
    )
