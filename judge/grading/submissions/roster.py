"""The class list: which of its rows a student is, and whose each file is then."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from judge.grading.report.tables import read_table
from judge.grading.submissions.platforms import COLUMNS, PLATFORMS
from judge.grading.submissions.students import Student, account, distinguished, normal, squeezed

# columns of a roster in which the name for people stands
NAMES = ("name", "full name", "student", "student name", "display name")
# how two names may be the same: letter by letter, but for what stands between the words, without
# accents, and with the last name first
EXACT, JOINED, SQUEEZED, TURNED = range(4)


def owners(found: dict[str, Student], roster: "Roster | None") -> dict[str, Student]:
    """Whose each file is. One person is one student, and no two have the same key."""
    if roster:
        known = roster.known(found.values())
        found = {file: known[account(student)] for file, student in found.items()}
    people: dict[object, Student] = {}
    # a platform's number tells more than a name
    for student in sorted(found.values(), key=lambda one: one.platform not in PLATFORMS):
        people.setdefault(student.person, student)
    distinct = dict(zip(people, distinguished(people.values()), strict=True))
    return {file: distinct[student.person] for file, student in found.items()}


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
        self.found: dict[tuple[str, int, str], list[dict[str, str]]] = {}
        for row in rows:
            for column, cell in row.items():
                for form in forms(cell):
                    self.found.setdefault((column.lower(), *form), []).append(row)

    @classmethod
    def read(cls, path: Path) -> "Roster":
        header, *table = [cells for _, cells in read_table(path)] or [[]]
        pairs = (zip_longest(header, cells[: len(header)], fillvalue="") for cells in table)
        rows = [{column: cell for column, cell in row if column} for row in pairs]
        # Canvas has the points possible in a row of its own
        students = [row for row in rows if next(iter(row.values()), "") != "Points Possible"]
        return cls([row for row in students if any(row.values())])

    def student(self, student: Student) -> Student:
        """The same student as the roster knows them; unchanged where it does not."""
        found = self.match(student)
        if not found:
            return student
        # of the names that a file's may mean, the one that the row has
        key = found.value if found.value in student.called else student.key
        return self.of(found.row, replace(student, key=key))

    def known(self, students: Iterable[Student]) -> dict[tuple, Student]:
        """The students as the roster knows them, by their accounts.

        Where several accounts have one row and are several people, it is of the surest match.
        """
        accounts = {account(one): one for one in students}
        matches = {one: found for one, who in accounts.items() if (found := self.match(who))}
        rows: dict[int, list[tuple]] = defaultdict(list)
        for one, found in matches.items():
            rows[id(found.row)].append(one)
        lost = {
            one
            for rivals in rows.values()
            for one in outmatched({one: matches[one] for one in rivals})
        }
        return {one: who if one in lost else self.student(who) for one, who in accounts.items()}

    def match(self, student: Student) -> "Match | None":
        """The one row that may be the student's, by their number or user name, else by name."""
        theirs = COLUMNS.get(student.platform, re.compile(""))
        columns = [one for one in self.columns if theirs.fullmatch(one)] or self.columns
        # in Moodle's worksheet they are called Participant 123
        values = (*student.called, student.key, f"Participant {student.key}")
        found = [self.only_row(value, columns) for value in values]
        found = [
            replace(one, kind=max(one.kind, SQUEEZED))
            # jo may be found in jo.doe, but is surer in jo.ipynb
            if one and student.key.startswith(f"{one.value}.")
            else one
            for one in found
        ]
        found.append(self.only_row(student.name, self.columns, by_name=True))
        return next((one for one in found if one and self.may_be(one.row, student)), None)

    def may_be(self, row: dict[str, str], student: Student) -> bool:
        """Whether a row is not that of somebody with another number or user name."""
        own = Student("", row=row).cell(self.own.get(student.platform, ""))
        return not own or normal(own) == normal(student.key)

    def only_row(self, value: str, columns: list[str], by_name: bool = False) -> "Match | None":
        """The row that has this value in one of the columns, if there is just one."""
        for kind, form in forms(value):
            found = {
                id(row): Match(row, column, value, kind, by_name)
                for column in columns
                for row in self.found.get((column, kind, form), [])
            }
            if len(found) == 1:
                return next(iter(found.values()))
        return None

    def like(self, student: Student) -> list[dict[str, str]]:
        """All rows that may be of a student whom it does not know for sure."""
        values = (*student.called, student.key, f"Participant {student.key}", student.name)
        keys = {(column, *form) for column in self.columns for v in values for form in forms(v)}
        rows = {id(row): row for key in keys for row in self.found.get(key, [])}
        return [row for row in rows.values() if self.may_be(row, student)]

    def of(self, row: dict[str, str], found: Student | None = None) -> Student:
        """The student of a row: by what the first column with something in it calls them."""
        key = next((cell for cell in row.values() if cell), "")
        own = found or Student(key)
        read = Student("", row=row)
        first = " ".join(filter(None, (read.cell("first name"), read.cell("last name"))))
        name = read.cell(*NAMES) or first or own.name
        return replace(own, name=name, row=row)

    def missing(self, seen: Iterable[Student]) -> Iterator[Student]:
        """Those of whom nothing came."""
        came = {id(student.row) for student in seen}
        yield from (self.of(row) for row in self.rows if id(row) not in came)


@dataclass(frozen=True)
class Match:
    """A row of a roster, and the column, value and form by which it was found."""

    row: dict[str, str]
    column: str
    value: str
    kind: int
    by_name: bool

    @property
    def doubt(self) -> tuple[bool, int]:
        return self.by_name, 0 if self.kind <= JOINED else self.kind


def outmatched(matches: dict[tuple, Match]) -> set[tuple]:
    """The accounts that are matched with a row of another's: all of them, where none is surer.

    A platform calls nobody in two ways. Names that people write themselves may differ, but beside
    *Weiß* and *Li Wang*, *Weiss* and *Wang Li* are somebody else.
    """
    lost = set()
    for one, own in matches.items():
        for other, theirs in matches.items():
            if one == other:
                continue
            if one[0] and one[:2] == other[:2]:
                surer = theirs.doubt <= own.doubt
            else:
                spelt = not {one[0], other[0]} & {"canvas", "github"}
                surer = spelt and own.column == theirs.column and theirs.doubt[1] < own.doubt[1]
            if surer:
                lost.add(one)
    return lost


def forms(text: str) -> list[tuple[int, str]]:
    """A text as a key: as it is, and without what file names lose; names in either order."""
    text = normal(text)
    last, comma, first = text.partition(",")
    if not comma:
        # Canvas puts the last name first
        first, _, last = text.rpartition(" ")
    joined = "".join(c for c in text if c.isalnum() or unicodedata.category(c)[0] == "M")
    turned = squeezed(first + last if comma else last + first)
    found = [(EXACT, text), (JOINED, joined), (SQUEEZED, squeezed(text))]
    found += [(TURNED, squeezed(text)), (TURNED, turned)]
    return list(dict.fromkeys(one for one in found if one[1]))
