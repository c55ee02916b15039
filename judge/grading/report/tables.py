"""CSV tables: the instructor's are read, a class's are written."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from judge.grading.report.text import LINES, cut, readable, replace

# where a spreadsheet takes a formula to begin, some of them behind a semicolon, too
FORMULA = re.compile(r"(^|;)(?=\s*[=+\-@＝＋－＠]\s*\S)")
# what a spreadsheet takes in a cell
LONGEST_CELL = 32_767


class TableError(ValueError):
    """A CSV of the instructor's that cannot be used; its text says why."""


def read_table(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The rows that are not empty, the header first, each with its place.

    TableError where the file cannot be read.
    """
    file, line = io.StringIO(text_of(path), newline=""), 1
    header = file.readline()
    file.seek(0)
    # a semicolon where commas are in numbers
    separator = max(",;\t", key=header.count)
    # strict: or a quote that is never closed would take all the lines below it into its cell
    rows = csv.reader(file, delimiter=separator, strict=True)
    try:
        for row in rows:
            where, line = f"{path.name}, line {line}", rows.line_num + 1
            cells = [cell.strip() for cell in row]
            # spreadsheets may put empty ones behind the last one
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                yield where, cells
    except csv.Error as error:
        raise TableError(f"{path.name}, line {line}: {error}: check its quotes") from None


def text_of(path: Path) -> str:
    """The text of a file; TableError with the line where it is in another encoding than UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TableError(f"{path.name}: {error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{path.name}, line {line}: it is not in UTF-8: save it as CSV with that encoding"
        ) from None


def write_table(path: Path, rows: Iterable[Iterable]) -> None:
    """A CSV that no spreadsheet takes for formulas."""
    said = io.StringIO()
    csv.writer(said).writerows([[guarded(cell) for cell in row] for row in rows])
    replace(path, said.getvalue())


def guarded(cell: object) -> object:
    """A cell in one line, without what nobody sees, not too long, and no formula."""
    if not isinstance(cell, str):
        return cell
    return cut(FORMULA.sub(r"\1'", readable(LINES.sub(" ", cell))), LONGEST_CELL)
