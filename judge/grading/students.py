"""Whose a submission is: from the folders and names that a platform gives, and from a roster."""

import csv
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TextIO

from judge.grading.pristine import exercise_files

# 2026_11_23, 23_11_26, 20261123_1200: no numbers of a student and a file
DATES = (
    r"(?:19|20)\d\d_\d\d?_\d\d?(?!\d)",
    r"\d\d?_\d\d?_(?:\d\d)?\d\d(?!\d)",
    r"(?:19|20)\d{6}_\d{4}(?:\d\d)?_",
)
# how platforms name what they hand over; `key` is what they call a student
PLATFORMS = {
    "canvas": re.compile(
        rf"(?P<name>[^_/]+)_(?:LATE_)?(?!{'|'.join(DATES)})(?P<key>\d+)"
        r"_(?:\d+_[^/]+|(?:text|link)\.html)"
    ),
    "moodle": re.compile(
        r"(?P<name>[^/]+?)_(?P<key>\d+)_assignsubmission_(?:file|onlinetext)_?[^/]*"
    ),
}
LAYOUTS = {
    "canvas": "Canvas's names",
    "moodle": "Moodle's names",
    "github": "GitHub Classroom's folders",
    "nbgrader": "nbgrader's folders",
    "": "the name of a folder or file",
}
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

    @property
    def person(self) -> object:
        """What is the same for everything of one person, in whatever layout it comes."""
        if self.row:
            return id(self.row)
        # each platform counts in its own way
        return self.platform if self.platform in PLATFORMS else "", self.key.casefold()

    def number(self, platform: str) -> str:
        """What the platform calls them, if that is what they are known by."""
        return self.key.partition(" ")[0] if self.platform == platform else ""

    def cell(self, *columns: str) -> str:
        """What the roster has in the first of these columns that it has, in any case."""
        own = {column.casefold(): cell for column, cell in self.row.items()}
        return next((own[one.casefold()] for one in columns if own.get(one.casefold())), "")


def owners(found: dict[str, Student], roster: "Roster | None") -> dict[str, Student]:
    """Whose each file is. One person is one student, and no two have the same key."""
    if roster:
        found = {file: roster.student(student) for file, student in found.items()}
    people: dict[object, Student] = {}
    # a platform's number tells more than a name
    for student in sorted(found.values(), key=lambda one: one.platform not in PLATFORMS):
        people.setdefault(student.person, student)
    distinct = dict(zip(people, distinguished(people.values()), strict=True))
    return {file: distinct[student.person] for file, student in found.items()}


def distinguished(students: Iterable[Student]) -> Iterator[Student]:
    """The students, with a number behind a key that another has."""
    taken: set[str] = set()
    for one in students:
        keys = (f"{one.key} ({n})" if n > 1 else one.key for n in count(1))
        key = next(key for key in keys if key.casefold() not in taken)
        taken.add(key.casefold())
        yield replace(one, key=key)


def student_of(file: str, folder: Path, over: Iterable[str] = ()) -> Student:
    """The student whose file this is, by the name that it has below the folder.

    The first part that names somebody decides: what lies below, they have named themselves.
    """
    outer, *parts = folder.resolve().name, *PurePosixPath(file).parts
    if parts[0] in over:
        outer, *parts = parts
    if found := evident(outer, parts[0]):
        return found
    # nbgrader: submitted/STUDENT/ASSIGNMENT
    platform = "nbgrader" if outer == "submitted" and len(parts) > 2 else ""
    return Student(bare(parts[0], is_file=len(parts) == 1), platform=platform)


def evident(outer: str, inner: str) -> Student | None:
    """The student whom a file or folder names in a platform's way."""
    for platform, pattern in PLATFORMS.items():
        if found := pattern.fullmatch(inner):
            return Student(found["key"], found["name"], platform)
    # gh classroom clone: ASSIGNMENT-submissions/ASSIGNMENT-USER
    assignment = outer.removesuffix("submissions")
    user = bare(inner).removeprefix(assignment)
    if outer.endswith("-submissions") and inner.startswith(assignment) and user:
        return Student(user, platform="github")
    return None


def bare(name: str, is_file: bool = False) -> str:
    """A name without the ending of a notebook or a zip, and a file's without any."""
    stem = re.sub(r"(\.(ipynb|zip))+$", "", name, flags=re.IGNORECASE)
    return re.sub(r"(\.tar)?\.\w+$", "", name) if is_file and stem == name else stem


def first_levels(files: Iterable[str]) -> dict[str, set[str]]:
    """What lies at the root, and the names directly below each; "" where it is a file."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in files:
        outer, inner, *_ = *PurePosixPath(file).parts, ""
        found[outer].add(inner)
    return found


def passed_over(files: Iterable[str], folder: Path, roster: "Roster | None") -> set[str]:
    """The folders and zips at the root that are nobody's: the students' names lie in them.

    The name of a chapter or of a platform's folder is known. Any other is passed over if
    everything at the root is like it, such as a download that lies alone: it names nobody, and
    all in it is named as Canvas or Moodle does.
    """
    inside = first_levels(files)
    nobody = {
        outer
        for outer, names in inside.items()
        if "" not in names
        and not evident(folder.resolve().name, outer)
        and not (roster and roster.student(Student(bare(outer))).row)
    }
    if inside.keys() == nobody and all(map(of_a_class, inside.values())):
        return nobody
    known = {"submitted", *exercise_files()}
    return {one for one in nobody if one in known or one.endswith("-submissions")}


def of_a_class(names: Iterable[str]) -> bool:
    """Whether Canvas or Moodle has named everything in a folder."""
    return all(evident("", name) for name in names)


class People:
    """A class, as an instructor calls its members."""

    def __init__(self, students: Iterable[Student]):
        self.tiers: list[dict[str, list[Student]]] = [{}, {}, {}]
        for one in students:
            called = ([one.key], [one.name], one.row.values())
            for tier, names in zip(self.tiers, called, strict=True):
                for name in {name.casefold() for name in names if name}:
                    tier.setdefault(name, []).append(one)

    def called(self, name: str) -> list[Student]:
        """Those with this key; else those of this name; else those of whom the roster has it."""
        name = name.strip().casefold()
        return next((tier[name] for tier in self.tiers if name in tier), [])


class Roster:
    """A class list: any CSV with a line for each student, such as a platform's own export."""

    def __init__(self, rows: list[dict[str, str]]):
        self.rows = rows
        self.columns = list(dict.fromkeys(column.lower() for row in rows for column in row))
        # what a platform calls each student: whoever has another number is somebody else
        self.own = {"github": "github_username"}
        if any(column.startswith("sis ") for column in self.columns):
            # elsewhere, an ID may be a university's
            self.own["canvas"] = "id"
        self.found: dict[tuple[str, str], list[dict[str, str]]] = {}
        for row in rows:
            for column, cell in row.items():
                for form in forms(cell):
                    self.found.setdefault((column.lower(), form), []).append(row)

    @classmethod
    def read(cls, path: Path) -> "Roster":
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [
                {column.strip(): (cell or "").strip() for column, cell in row.items() if column}
                for row in csv.DictReader(file, delimiter=delimiter(file))
            ]
        return cls([row for row in rows if not is_no_student(row)])

    def student(self, student: Student) -> Student:
        """The same student as the roster knows them; unchanged where it does not."""
        theirs = COLUMNS.get(student.platform, re.compile(""))
        columns = [one for one in self.columns if theirs.fullmatch(one)] or self.columns
        # in Moodle's worksheet they are called Participant 123
        for value in (student.key, f"Participant {student.key}"):
            if (row := self.only_row(value, columns)) and self.may_be(row, student):
                return self.of(row, student)
        row = self.only_row(student.name, self.columns)
        return self.of(row, student) if row and self.may_be(row, student) else student

    def may_be(self, row: dict[str, str], student: Student) -> bool:
        """Whether a row is not that of somebody with another number or user name."""
        own = Student("", row=row).cell(self.own.get(student.platform, ""))
        return not own or own.casefold() == student.key.casefold()

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
        own = found or Student(key)
        read = Student("", row=row)
        first = " ".join(filter(None, (read.cell("first name"), read.cell("last name"))))
        name = read.cell(*NAMES) or first or own.name
        return Student(own.key, name, own.platform, row)

    def missing(self, seen: Iterable[Student]) -> Iterator[Student]:
        """Those of whom nothing came."""
        came = {id(student.row) for student in seen}
        yield from (self.of(row) for row in self.rows if id(row) not in came)


def delimiter(file: TextIO) -> str:
    """What stands between the columns of a CSV: a semicolon where commas are in numbers."""
    header = file.readline()
    file.seek(0)
    return max(",;\t", key=header.count)


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
