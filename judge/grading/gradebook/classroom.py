"""A folder of a class's submissions becomes a folder of grades."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from judge.grading.gradebook import csv_tables, feedback
from judge.grading.gradebook.grades import Gradebook, Overrides, unread
from judge.grading.gradebook.overrides import Override
from judge.grading.gradebook.resume import ReportCache
from judge.grading.notebook.pristine import chapters
from judge.grading.report.formats import junit
from judge.grading.report.results import Report
from judge.grading.report.tables import write_table
from judge.grading.report.text import line, replace
from judge.grading.submissions.files import ENDING, LeftOut
from judge.grading.submissions.layouts import (
    COPY,
    class_folders,
    first_level,
    first_parts,
    named_by_platform,
    named_for_a_class,
    split_path,
    student_by_name,
    student_by_platform,
    student_of,
)
from judge.grading.submissions.platforms import LAYOUTS
from judge.grading.submissions.roster import Roster, owners
from judge.grading.submissions.students import People, Student, distinguished, normal


@dataclass
class Classroom:
    """Where the submissions lie and the grades go, and what the instructor has to say of them.

    `exercises` names those that count: all, if it is empty.
    """

    submissions: Path
    grades: Path
    roster: Roster | None = None
    exercises: frozenset[str] = frozenset()
    overrides: list[Override] = field(default_factory=list)
    owners: dict[str, Student] = field(default_factory=dict)
    missing: list[Student] = field(default_factory=list)
    class_folders: set[str] = field(default_factory=set)

    def identify(self, files: list[str]) -> Iterator[str]:
        """Find out whose the files are; says which layouts were assumed, and names nobody."""
        folders = self.class_folders = class_folders(files, self.submissions, self.roster)
        found = {file: student_of(file, self.submissions, folders) for file in files}
        self.owners = owners(found, self.roster)
        came = dict.fromkeys(self.owners.values())
        absent = self.roster.missing(came) if self.roster else ()
        self.missing = list(distinguished([*came, *absent]))[len(came) :]
        for layout, by in LAYOUTS.items():
            if own := [self.owners[file] for file in files if found[file].platform == layout]:
                yield f"{len(own)} files of {len(set(own))} students by {by}"
        if count := len(folders):
            yield f"{count} folders or zips are taken for a class's, with its students' inside"
        if count := self.ambiguous_folders(files):
            yield (
                f"{count} folders or zips are each taken for one student's, though a class may be"
                " in them: unpack such a zip, and grade such a folder alone, or give a roster"
            )
        keys = {normal(one.key) for one in came}
        if copies := sum(is_copy(one, keys) for one in came):
            yield (
                f"{copies} students have the name of another, and a (1) or the like after it: if"
                " they are the same person, put their files into one folder"
            )

    def ambiguous_folders(self, files: list[str]) -> int:
        """How many folders and zips at the root may be a class's, but are a student's here."""
        here = self.submissions.resolve().name
        below = first_level(files)
        inside = {one: first_parts(paths) for one, paths in below.items() if "" not in paths}
        lone = len(inside) == 1 and not any(map(ENDING.search, below.keys() - inside.keys()))
        return sum(
            outer not in self.class_folders
            and not student_by_platform(here, outer)
            and not (self.roster and self.roster.match(student_by_name(outer)))
            and len(names) > 1
            and (lone or named_by_platform(names) or named_for_a_class(outer, names))
            for outer, names in inside.items()
        )

    def write(self, reports: list[Report], others: list[LeftOut], cache: ReportCache) -> list[str]:
        """Write all tables and pages; returns what the instructor should look at."""
        # who handed in something else than a notebook gets a line and a page, too
        reports = [*reports, *(Report(one.name, problem=one.why) for one in others if one.fault)]
        own = [(self.owners[report.file], report) for report in reports]
        missing = {
            **{one: "no notebook was handed in" for one in self.owners.values() if one.row},
            **dict.fromkeys(self.missing, "nothing was handed in"),
            **(unsure := self.unsure()),
        }
        overrides, warnings = self.points_by_hand()
        without = [(one, report.only(self.exercises)) for one, report in unread(own, overrides)]
        book = Gradebook.of([*own, *without], missing, overrides)
        csv_tables.write(book, self.grades, self.roster)
        feedback.write(book, self.grades)
        write_table(self.grades / "files.csv", self.file_rows(reports, others, cache))
        keyed = [(cache.key(one.file, one.submission_sha256), one) for one in reports]
        replace(self.grades / "junit.xml", junit(keyed))
        warnings += [*book.warnings(), *cache.warnings()]
        if scattered := self.scattered(own):
            warnings.append(
                f"{scattered} students have notebooks of the same chapter in several folders: see"
                " files.csv, and if each is a student's folder, grade the folder above them"
            )
        if unsure:
            warnings.append(
                f"{len(unsure)} students on the roster may have handed in work that is in"
                " somebody else's row: see their remarks in gradebook.csv"
            )
        if self.roster and (strange := {student for student, _ in own if not student.row}):
            warnings.append(f"{len(strange)} students are not on the roster: see files.csv")
        return warnings

    def unsure(self) -> dict[Student, str]:
        """Those of the roster of whom it is not sure that nothing came, and whose it may be."""
        if not self.roster:
            return {}
        strangers = [one for one in dict.fromkeys(self.owners.values()) if not one.row]
        like: dict[int, list[str]] = defaultdict(list)
        for one in strangers:
            for row in self.roster.like(one):
                like[id(row)].append(one.key)
        return {
            one: f"perhaps nothing was handed in, or is the work of {' or '.join(keys)} theirs?"
            for one in self.missing
            if (keys := like.get(id(one.row)))
        }

    def scattered(self, own: list[tuple[Student, Report]]) -> int:
        """How many students have notebooks of one chapter in several folders below their own."""
        places: dict[tuple, set[tuple[str, ...]]] = defaultdict(set)
        for student, report in own:
            place, (theirs, *below) = split_path(report.file, self.class_folders)
            if report.chapter and below:
                places[student, report.chapter, place, theirs].add(tuple(below[:-1]))
        return len({student for (student, *_), folders in places.items() if len(folders) > 1})

    def points_by_hand(self) -> tuple[Overrides, list[str]]:
        """The overrides by whose and for what, and what to look at among them."""
        found: Overrides = {}
        warnings = []
        people = People([*dict.fromkeys(self.owners.values()), *self.missing])
        exercises = {name for chapter in chapters().values() for name in chapter.facts}
        for one in self.overrides:
            students = people.called(one.student)
            if one.exercise not in exercises:
                warnings.append(f"{one.where}: no exercise is called {one.exercise!r}")
            elif self.exercises and one.exercise not in self.exercises:
                warnings.append(f"{one.where}: {one.exercise} is not set: see --exercise")
                continue
            elif not students:
                warnings.append(f"{one.where}: {people.nobody(one.student)}")
            elif len(students) > 1:
                warnings.append(f"{one.where}: {len(students)} students have that name")
            for student in students:
                if before := found.get((student, one.exercise)):
                    warnings.append(f"{one.where}: it counts instead of {before.where}")
                found[student, one.exercise] = one
        return found, warnings

    def file_rows(self, reports: list[Report], others: list[LeftOut], cache: ReportCache):
        yield "file", "student", "in roster", "report", "what it is"
        for one in reports:
            student = self.owners[one.file]
            key = cache.key(one.file, one.submission_sha256)
            yield line(one.file), student.key, in_roster(student), key, one.problem or one.chapter
        for one in others:
            if one.fault:
                continue
            student = self.owners[one.name]
            yield line(one.name), student.key, in_roster(student), "", one.why


def is_copy(student: Student, keys: set[str]) -> bool:
    """Whether somebody who is not in the roster may be another, by a number behind the name."""
    first = COPY.sub("", student.key)
    return not student.row and first != student.key and normal(first) in keys


def in_roster(student: Student) -> str:
    return "yes" if student.row else "no"
