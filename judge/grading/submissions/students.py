"""Whose a submission is: from the folders and names that a platform gives, and from a roster."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count, zip_longest
from pathlib import Path, PurePosixPath

from judge.grading.notebook.pristine import exercise_files
from judge.grading.report.tables import read_table
from judge.grading.submissions.files import ENDING, KINDS, WEIGHTS

# 2026_11_23, 23_11_26, 20261123_1200: no numbers of a student and a file
DATES = (
    r"(?:19|20)\d\d_\d\d?_\d\d?(?!\d)",
    r"\d\d?_\d\d?_(?:\d\d)?\d\d(?!\d)",
    r"(?:19|20)\d{6}_\d{4}(?:\d\d)?_",
)
MOODLE = r"_(?P<key>\d+)_assignsubmission_(?:file|onlinetext)"
# how platforms name what they hand over; `key` is what they call a student
PLATFORMS = {
    "canvas": re.compile(
        rf"(?P<name>[^_/]+)_(?:LATE_)?(?!{'|'.join(DATES)})(?P<key>\d+)"
        r"_(?:\d+_[^/]+|(?:text|link)\.html)"
    ),
    "moodle": re.compile(rf"(?P<name>[^/]+?){MOODLE}_?[^/]*"),
    "gradescope": re.compile(r"(?P<name>)submission_(?P<key>\d+)"),
}
# a folder of Moodle's ends so: whoever has such a text in their name has it before the last one
MOODLE_FOLDER = re.compile(rf"(?P<name>[^/]+){MOODLE}_?")
# what Gradescope puts beside its folders
METADATA = "submission_metadata.yml"
LAYOUTS = {
    "canvas": "Canvas's names",
    "moodle": "Moodle's names",
    "gradescope": "Gradescope's folders",
    "github": "GitHub Classroom's folders",
    "nbgrader": "nbgrader's folders",
    "": "the name of a folder or file",
}
# where a roster has what a platform calls a student
COLUMNS = {
    "canvas": re.compile("(canvas )?id"),
    "moodle": re.compile("identifier"),
    "github": re.compile(".*github.*|identifier"),
    "gradescope": re.compile("submission id"),
}
# columns of a roster in which the name for people stands
NAMES = ("name", "full name", "student", "student name", "display name")
FILE = re.compile(rf"(\.tar)?({'|'.join(map(re.escape, [*KINDS, WEIGHTS]))})$", re.IGNORECASE)
# what browsers and file managers put behind the name of a second file
COPY = re.compile(r"( ?\(\d+\)| - Copy| copy( \d+)?|-Copy\d+){1,5}$")
# how two names may be the same: letter by letter, but for what stands between the words, without
# accents, and with the last name first
EXACT, JOINED, SQUEEZED, TURNED = range(4)
# how many folders a class may lie in
DEEP = 3


@dataclass(frozen=True)
class Student:
    """Who handed something in. `row` is the roster's, `platform` where the key comes from.

    `called` is all that a file's name may mean, where its ending is not sure; `download` the folder
    or zip in which the platform has given this key to nobody else.
    """

    key: str
    name: str = ""
    platform: str = ""
    row: dict[str, str] = field(default_factory=dict, compare=False, hash=False)
    called: tuple[str, ...] = field(default=(), compare=False)
    download: str = field(default="", compare=False)

    @property
    def person(self) -> object:
        """What is the same for everything of one person, in whatever layout it comes."""
        if self.row:
            return id(self.row)
        # each platform counts in its own way
        return self.platform if self.platform in PLATFORMS else "", normal(self.key)

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
        known = roster.known(found.values())
        found = {file: known[account(student)] for file, student in found.items()}
    people: dict[object, Student] = {}
    # a platform's number tells more than a name
    for student in sorted(found.values(), key=lambda one: one.platform not in PLATFORMS):
        people.setdefault(student.person, student)
    distinct = dict(zip(people, distinguished(people.values()), strict=True))
    return {file: distinct[student.person] for file, student in found.items()}


def account(student: Student) -> tuple[str, str, str]:
    """What a student is known by where the files come from: Moodle's numbers, by assignment."""
    place = student.download if student.platform == "moodle" else ""
    return student.platform, place, normal(student.key)


def distinguished(students: Iterable[Student]) -> Iterator[Student]:
    """The students, with a number behind a key that another has."""
    taken: set[str] = set()
    for one in students:
        keys = (f"{one.key} ({n})" if n > 1 else one.key for n in count(1))
        key = next(key for key in keys if normal(key) not in taken)
        taken.add(normal(key))
        yield replace(one, key=key)


def student_of(file: str, folder: Path, above: Iterable[str] = ()) -> Student:
    """The student whose file this is, by the name that it has below the folder.

    The first part that names somebody decides: what lies below, they have named themselves.
    """
    download, parts = split_path(file, above)
    outer = PurePosixPath(download).name or folder.resolve().name
    own, *below = parts
    if found := student_by_platform(outer, own, is_file=not below):
        return replace(found, download=download)
    # nbgrader: submitted/STUDENT/ASSIGNMENT
    platform = "nbgrader" if outer == "submitted" and len(below) > 1 else ""
    return replace(student_by_name(own, is_file=not below), platform=platform)


def split_path(file: str, above: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The folders of a path that are nobody's, and the parts from the student's on."""
    place, parts = "", PurePosixPath(file).parts
    while len(parts) > 1 and (longer := f"{place}/{parts[0]}".strip("/")) in above:
        place, parts = longer, parts[1:]
    return place, parts


def student_by_name(name: str, is_file: bool = False) -> Student:
    """The student whose name a folder or file has, as people give them."""
    name = composed(name)
    key = without_ending(name, is_file)
    # jo.doe may be a file without an ending, and jo.odt is not
    ended = is_file and key == name
    also = re.sub(r"\.\w+$", "", name) if ended else COPY.sub("", key)
    return Student(key, called=(name, key, also))


def student_by_platform(outer: str, inner: str, is_file: bool = False) -> Student | None:
    """The student whom a file or folder names in a platform's way."""
    if not is_file and (found := MOODLE_FOLDER.fullmatch(inner)):
        return Student(found["key"], composed(found["name"]), "moodle")
    for platform, pattern in PLATFORMS.items():
        if found := pattern.fullmatch(inner):
            # with two numbers, one was written by a student: into their name, or into the file's
            twice = platform == "moodle" and len({*re.findall(MOODLE, inner)}) > 1
            return None if twice else Student(found["key"], composed(found["name"]), platform)
    # gh classroom clone: ASSIGNMENT-submissions/ASSIGNMENT-USER
    assignment = outer.removesuffix("submissions")
    user = without_ending(inner).removeprefix(assignment)
    if outer.endswith("-submissions") and inner.startswith(assignment) and user:
        return Student(user, platform="github")
    return None


def without_ending(name: str, is_file: bool = False) -> str:
    """A name without the ending of a notebook or a zip, and a file's without a usual one."""
    stem = ENDING.sub("", name)
    return FILE.sub("", name) if is_file and stem == name else stem


def first_level(files: Iterable[str]) -> dict[str, list[str]]:
    """What lies at the root, with the paths below each; "" for a file."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        outer, *rest = PurePosixPath(file).parts
        found[outer].append("/".join(rest))
    return found


def first_parts(paths: Iterable[str]) -> set[str]:
    return {path.partition("/")[0] for path in paths}


def class_folders(
    files: Iterable[str], folder: Path, roster: "Roster | None", deep: int = DEEP
) -> set[str]:
    """The folders and zips that are nobody's, by their paths: the students' names lie in them.

    All that lies at the root has to be such a one: beside a student's folder it is another
    student's, whatever it is called and holds. One with the name of a chapter or of a platform's
    folder may lie beside what a platform has named, and beside all else if the roster knows most of
    those in it.
    """
    here = folder.resolve().name
    # below a platform's folder are students, whatever they are called
    if not deep or here == "submitted" or here.endswith("-submissions"):
        return set()
    below = first_level(files)
    # a note of the instructor's is no student's
    things = {one for one, paths in below.items() if "" not in paths or ENDING.search(one)}
    plain = {one for one in things if not student_by_platform(here, one, is_file="" in below[one])}
    folders = {one for one in plain if "" not in below[one]}
    nobody = {one for one in folders if not (roster and roster.match(student_by_name(one)))}
    inside = {one: first_parts(below[one]) for one in nobody}
    within = {one: class_folders(below[one], Path(one), roster, deep - 1) for one in nobody}
    known = {one for one in nobody if roster and most_known(one, inside[one], roster)}
    for_a_class = {one for one in nobody if named_for_a_class(one, inside[one])}
    like = known | for_a_class
    like |= {one for one in nobody if named_by_platform(inside[one]) or inside[one] <= within[one]}
    found = like if things == like else for_a_class if plain == for_a_class else known & for_a_class
    return found | {f"{one}/{inner}" for one in found for inner in within[one]}


def most_known(outer: str, names: set[str], roster: "Roster") -> bool:
    """Whether a roster knows most of those whose names lie in a folder."""
    found = [roster.match(student_of(f"{name}/x", Path(outer))) for name in names]
    return 2 * sum(one is not None for one in found) > len(found)


def named_for_a_class(outer: str, names: set[str]) -> bool:
    """Whether a folder has the name of a chapter or of a platform's folder for a class."""
    own = outer.removesuffix("submissions")
    cloned = outer.endswith("-submissions") and all(name.startswith(own) for name in names)
    return cloned or outer == "submitted" or outer in exercise_files()


def named_by_platform(names: set[str]) -> bool:
    """Whether a platform has named everything in a folder."""
    named = names - {METADATA}
    return bool(named) and all(student_by_platform("", name) for name in named)


class People:
    """A class, as an instructor calls its members."""

    def __init__(self, students: Iterable[Student]):
        self.tiers: list[dict[str, list[Student]]] = [{}, {}, {}]
        for one in students:
            called = ([one.key], [one.name], one.row.values())
            for tier, names in zip(self.tiers, called, strict=True):
                for name in {normal(name) for name in names if name}:
                    tier.setdefault(name, []).append(one)

    def called(self, name: str) -> list[Student]:
        """Those with this key; else those of this name; else those of whom the roster has it.

        Nobody, where it means one whom the roster does not know, and the roster has it of another.
        """
        found = [tier[normal(name)] for tier in self.tiers if normal(name) in tier]
        known = any(one.row for tier in found for one in tier)
        return found[0] if found and all(one.row or not known for one in found[0]) else []

    def nobody(self, name: str) -> str:
        """Why nobody is meant by a name."""
        if any(normal(name) in tier for tier in self.tiers):
            return (
                "one student of the roster and one who is not in it are called that, so it counts"
                " for neither: name them in another way"
            )
        return f"nobody is called {name!r}"


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


def composed(text: str) -> str:
    """A text with each letter in one piece: macOS writes a letter and its accent in two."""
    return unicodedata.normalize("NFC", text)


def normal(text: str) -> str:
    """A text as it is compared: *weiss* is not *weiß*, as it is in a casefold."""
    return composed(text.strip()).lower()


def squeezed(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if c.isalnum())
