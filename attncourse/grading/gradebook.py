"""The gradebook of a class: who has how many points, in the forms that platforms import."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from attncourse.grading.policy import Override, Overrides, Policy
from attncourse.grading.report import Report, Result, replace
from attncourse.grading.students import Roster, Student, squeezed

# what spreadsheets take for a formula
FORMULA = ("=", "+", "-", "@", "\t", "\r")
NO_MISTAKE = ("passed", "not attempted", "not found", "not graded")
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = (
    "Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade",
    "Grade can be changed", "Last modified (submission)", "Last modified (grade)",
    "Feedback comments",
)  # fmt: skip


@dataclass
class Grade:
    """What a student gets for one exercise, and why it is not what the report says."""

    result: Result
    points: float
    override: Override | None = None


@dataclass
class Entry:
    """A student's work on one chapter. Of several files, that with most points counts."""

    student: Student
    report: Report
    grades: list[Grade]
    late: str = ""
    others: int = 0

    @property
    def points(self) -> float:
        return round(sum(one.points for one in self.grades), 2)

    @property
    def remarks(self) -> str:
        said = [self.report.problem, self.late]
        if self.others:
            said.append(f"{self.others + 1} files: the one with most points counts")
        return "; ".join(filter(None, said))


@dataclass
class Gradebook:
    """All entries, in the order of the files, and the students of whom nothing came."""

    entries: list[Entry]
    missing: list[Student] = field(default_factory=list)

    @property
    def chapters(self) -> list[str]:
        return sorted({one.report.chapter for one in self.entries if one.report.chapter})

    def max_points(self, chapter: str) -> int:
        return next(one.report.max_points for one in self.entries if one.report.chapter == chapter)

    def students(self) -> dict[Student, dict[str, Entry]]:
        """Everybody, with their entries by chapter."""
        found: dict[Student, dict[str, Entry]] = {}
        for one in self.entries:
            found.setdefault(one.student, {})[one.report.chapter] = one
        return found | {student: {} for student in self.missing}


def gradebook(
    reports: Iterable[tuple[Student, Report]], missing: Iterable[Student] = (),
    policy: Policy | None = None, overrides: Overrides | None = None,
) -> Gradebook:  # fmt: skip
    best: dict[tuple[Student, str], Entry] = {}
    for student, report in reports:
        share, late = policy.share(student) if policy else (1.0, "")
        grades = []
        for result in report.exercises:
            by_hand = overrides.of(student, result.name) if overrides else None
            points = by_hand.points if by_hand else round(result.points * share, 2)
            grades.append(Grade(result, points, by_hand))
        entry, place = Entry(student, report, grades, late), (student, report.chapter)
        if rival := best.get(place):
            entry, other = (entry, rival) if entry.points > rival.points else (rival, entry)
            entry.others += other.others + 1
        best[place] = entry
    return Gradebook(list(best.values()), list(missing))


def mistakes(book: Gradebook) -> list[tuple[int, str, str, str]]:
    """How often an answer to each exercise failed for each reason, the most common first."""
    reasons = Counter(
        # where in somebody's answer it happened differs for each
        (grade.result.name, grade.result.status, re.split(r" \(line \d", grade.result.hint)[0])
        for entry in book.entries
        for grade in entry.grades
        if grade.result.status not in NO_MISTAKE
    )
    return [(count, *reason) for reason, count in reasons.most_common()]


def write(book: Gradebook, folder: Path, roster: Roster | None) -> None:
    """Write every table of a class."""
    table(folder / "gradebook.csv", grade_rows(book))
    table(folder / "matrix.csv", matrix_rows(book))
    table(
        folder / "mistakes.csv",
        [("students", "exercise", "status", "reason"), *mistakes(book)],
    )
    table(folder / "canvas.csv", canvas_rows(book, roster))
    for chapter in book.chapters:
        table(folder / f"moodle-{chapter}.csv", moodle_rows(book, chapter))


def grade_rows(book: Gradebook) -> Iterable[Iterable]:
    yield "student", "name", "chapter", "file", "points", "of", "passed", "exercises", "remarks"
    for one in book.entries:
        passed = sum(grade.result.status == "passed" for grade in one.grades)
        yield (
            one.student.key, one.student.name, one.report.chapter, one.report.file,
            number(one.points), one.report.max_points, passed, len(one.grades), one.remarks,
        )  # fmt: skip
    for student in book.missing:
        yield student.key, student.name, "", "", "", "", "", "", "nothing was handed in"


def matrix_rows(book: Gradebook) -> Iterable[Iterable]:
    """A line for each exercise, a column for each student, a status in each place."""
    students = book.students()
    yield "chapter", "exercise", *(student.key for student in students)
    for chapter in book.chapters:
        shown = next(one for one in book.entries if one.report.chapter == chapter)
        for at, grade in enumerate(shown.grades):
            own = (entries.get(chapter) for entries in students.values())
            statuses = (one.grades[at].result.status if one else "" for one in own)
            yield chapter, grade.result.name, *statuses


def canvas_rows(book: Gradebook, roster: Roster | None) -> Iterable[Iterable]:
    """As Canvas imports it: it finds a student by ID, else by the SIS columns, else by name."""
    columns = [assignment_column(chapter, roster) for chapter in book.chapters]
    yield *CANVAS, *columns
    max_points = [book.max_points(chapter) for chapter in book.chapters]
    yield "    Points Possible", *[""] * (len(CANVAS) - 1), *max_points
    for student, entries in book.students().items():
        row = student.row
        known = student.key if student.platform == "canvas" else ""
        yield (
            row.get("Student") or student.name or student.key, row.get("ID") or known,
            *(row.get(column, "") for column in CANVAS[2:]),
            *(number(entries[c].points) if c in entries else "" for c in book.chapters),
        )  # fmt: skip


def assignment_column(chapter: str, roster: Roster | None) -> str:
    """What Canvas calls the assignment of a chapter: as in its own export, if that has it."""
    for row in roster.rows[:1] if roster else []:
        for column in row:
            if squeezed(re.sub(r"\(\d+\)$", "", column)).casefold() == squeezed(chapter):
                return column
    return chapter


def moodle_rows(book: Gradebook, chapter: str) -> Iterable[Iterable]:
    """As the offline grading worksheet of one assignment has it."""
    yield MOODLE
    for student, entries in book.students().items():
        row, one = student.row, entries.get(chapter)
        known = f"Participant {student.key}" if student.platform == "moodle" else ""
        said = {
            "Identifier": row.get("Identifier") or known,
            "Full name": row.get("Full name") or student.name,
            "Maximum Grade": row.get("Maximum Grade") or f"{book.max_points(chapter):.2f}",
            "Grade can be changed": row.get("Grade can be changed") or "Yes",
            "Last modified (grade)": row.get("Last modified (grade)") or "-",
        }
        if one:
            most = float(said["Maximum Grade"].replace(",", "."))
            said["Grade"] = f"{one.points * most / book.max_points(chapter):.2f}"
            said["Feedback comments"] = comment(one)
        yield [said.get(column, row.get(column, "")) for column in MOODLE]


def comment(entry: Entry) -> str:
    """An entry in some lines, as the HTML that Moodle takes a comment for."""
    lines = [entry.remarks] if entry.remarks else []
    for one in entry.grades:
        said_why = filter(None, (one.result.hint, one.result.note))
        why = one.override.comment if one.override else "; ".join(said_why)
        said = (
            f"{one.result.name}: {one.result.status}, {number(one.points)}/{one.result.max_points}"
        )
        lines.append(said + (f": {why}" if why else ""))
    return "<br>".join(map(escape, lines))


def number(points: float) -> str:
    return f"{points:.2f}".rstrip("0").rstrip(".")


def table(path: Path, rows: Iterable[Iterable]) -> None:
    """A CSV that no spreadsheet takes for formulas."""
    said = io.StringIO()
    csv.writer(said).writerows([[guarded(cell) for cell in row] for row in rows])
    replace(path, said.getvalue())


def guarded(cell: object) -> object:
    return (
        f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) and len(cell) > 1 else cell
    )
