"""Whose a submission is: from the folders and names that a platform gives, and from a roster."""

import csv
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath

# how platforms name what they hand over; `key` is what they call a student
CANVAS = re.compile(r"(?P<name>[^_/]+)_(?:LATE_)?(?P<key>\d+)_\d+_(?P<file>[^/]+)")
MOODLE = re.compile(
    r"(?P<name>[^/]+?)_(?P<key>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>[^/]*)"
)
PLATFORMS = {"canvas": CANVAS, "moodle": MOODLE}
# where a roster has what a platform calls a student
COLUMNS = {
    "canvas": re.compile("(canvas )?id"),
    "moodle": re.compile("identifier"),
    "github": re.compile(".*github.*|identifier"),
}
# columns of a roster in which the name for people stands
NAMES = ("name", "full name", "student", "student name", "display name")


@dataclass(frozen=True)
class Student:
    """Who handed something in. `row` is the roster's, `platform` where the key comes from."""

    key: str
    name: str = ""
    platform: str = ""
    row: dict[str, str] = field(default_factory=dict, compare=False, hash=False)


def student_of(file: str, folder: Path) -> Student:
    """The student whose file this is, by the name that it has below the folder."""
    parts = PurePosixPath(file).parts
    for part in parts[0], parts[-1]:
        for platform, pattern in PLATFORMS.items():
            if found := pattern.fullmatch(part):
                return Student(found["key"], found["name"], platform)
    above = [folder.resolve().name, *parts[:-1]]
    for outer, inner in pairwise(above):
        # nbgrader: submitted/STUDENT/ASSIGNMENT
        if outer == "submitted":
            return Student(inner, platform="nbgrader")
        # gh classroom clone: ASSIGNMENT-submissions/ASSIGNMENT-USER
        assignment = outer.removesuffix("submissions")
        if assignment != outer and assignment and inner.startswith(assignment):
            return Student(inner.removeprefix(assignment), platform="github")
    return Student(parts[0] if len(parts) > 1 else PurePosixPath(file).stem)


class Roster:
    """A class list: any CSV with a line for each student, such as a platform's own export."""

    def __init__(self, rows: list[dict[str, str]]):
        self.rows = rows
        self.columns = list(dict.fromkeys(column.lower() for row in rows for column in row))
        self.found: dict[tuple[str, str], list[dict[str, str]]] = {}
        for row in rows:
            for column, cell in row.items():
                for form in forms(cell):
                    self.found.setdefault((column.lower(), form), []).append(row)

    @classmethod
    def read(cls, path: Path) -> "Roster":
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            file.seek(0)
            delimiter = max(",;\t", key=header.count)
            rows = [
                {column.strip(): (cell or "").strip() for column, cell in row.items() if column}
                for row in csv.DictReader(file, delimiter=delimiter)
            ]
        return cls([row for row in rows if not is_no_student(row)])

    def student(self, student: Student) -> Student:
        """The same student as the roster knows them; unchanged where it does not."""
        theirs = COLUMNS.get(student.platform, re.compile(""))
        columns = [one for one in self.columns if theirs.fullmatch(one)] or self.columns
        # in Moodle's worksheet they are called Participant 123
        for value in (student.key, f"Participant {student.key}"):
            if row := self.only_row(value, columns):
                return self.of(row, student)
        row = self.only_row(student.name, self.columns)
        return self.of(row, student) if row else student

    def only_row(self, value: str, columns: list[str]) -> dict[str, str] | None:
        """The row that has this value in one of the columns, if there is just one."""
        for form in forms(value):
            rows = [row for column in columns for row in self.found.get((column, form), [])]
            if len({id(row) for row in rows}) == 1:
                return rows[0]
        return None

    def of(self, row: dict[str, str], found: Student | None = None) -> Student:
        """The student of a row: by what the first column with something in it calls them."""
        key = next((cell for cell in row.values() if cell), "")
        lower = {column.lower(): cell for column, cell in row.items()}
        first = " ".join(filter(None, (lower.get("first name"), lower.get("last name"))))
        name = next((lower[column] for column in NAMES if lower.get(column)), first)
        if found:
            return Student(found.key, name or found.name, found.platform, row)
        return Student(key, name, "", row)

    def missing(self, seen: list[Student]) -> Iterator[Student]:
        """Those of whom nothing came."""
        came = [id(student.row) for student in seen]
        yield from (self.of(row) for row in self.rows if id(row) not in came)


def is_no_student(row: dict[str, str]) -> bool:
    """Whether a row is empty, or the one in which Canvas has the points possible."""
    first = next(iter(row.values()), "")
    return not any(row.values()) or first == "Points Possible"


def forms(text: str) -> list[str]:
    """A text as a key: as it is, and without what file names lose; names in either order."""
    text = text.strip().casefold()
    if not text:
        return []
    last, comma, first = text.partition(",")
    if not comma:
        # Canvas puts the last name first
        first, _, last = text.rpartition(" ")
    found = [text, squeezed(text), squeezed(first + last if comma else last + first)]
    return list(dict.fromkeys(form for form in found if form))


def squeezed(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if c.isalnum())
