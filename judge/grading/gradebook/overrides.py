"""Points that the instructor sets by hand."""

import re
from dataclasses import dataclass
from pathlib import Path

from judge.grading.report.tables import TableError, read_table

COLUMNS = ["student", "exercise", "points", "comment"]
# 8, 8.5 or 8,5: neither below zero nor without end
POINTS = re.compile(r"\d{1,6}(?:\.\d+|,\d\d?)?", re.ASCII)


@dataclass(frozen=True)
class Override:
    """Points set by hand, in which line of a CSV, and why."""

    where: str
    student: str
    exercise: str
    points: float
    comment: str


def read_overrides(path: Path) -> list[Override]:
    """The overrides in a CSV with these columns; none where there is no file."""
    if not path.exists():
        return []
    (_, header), *rows = [*read_table(path)] or [("", [])]
    if [cell.casefold() for cell in header] != COLUMNS:
        wanted, found = ", ".join(COLUMNS), ", ".join(header) or "none"
        raise TableError(f"{path.name}: its columns should be {wanted}, not {found}")
    return [override(where, cells) for where, cells in rows]


def override(where: str, cells: list[str]) -> Override:
    if len(cells) > len(COLUMNS):
        raise TableError(f"{where}: too many columns: put quotes around a cell that has a comma")
    student, exercise, points, comment = [*cells, *[""] * len(COLUMNS)][: len(COLUMNS)]
    if not POINTS.fullmatch(points):
        raise TableError(f"{where}: points must be 0 or more, such as 8 or 8.5, not {points!r}")
    return Override(where, student, exercise, float(points.replace(",", ".")), comment)
