"""The gradebook of a class: who has how many points, in the forms that platforms import."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from judge.grading.gradebook.overrides import Override
from judge.grading.notebook.pristine import chapters, heading
from judge.grading.report.results import Report, Result, line
from judge.grading.report.tables import FORMULA, write_table
from judge.grading.submissions.students import Roster, Student, squeezed
from judge.status import Status

# where in an answer it happened, behind a hint
PLACE = re.compile(r" \(line \d+(?:: “[^”]*”)?\)$")
NO_MISTAKE = (Status.PASSED, Status.NOT_ATTEMPTED, Status.NOT_FOUND, Status.NOT_GRADED)
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = (
    "Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade",
    "Grade can be changed", "Last modified (submission)", "Last modified (grade)",
    "Feedback comments",
)  # fmt: skip


@dataclass
class Grade:
    """What a student gets for one exercise: what the report says, or points set by hand."""

    result: Result
    override: Override | None = None

    @property
    def points(self) -> float:
        return self.override.points if self.override else self.result.points

    @property
    def mistake(self) -> str | None:
        """The reason why an answer failed, as `mistakes.csv` has it; None where none did."""
        if self.result.status in NO_MISTAKE:
            return None
        # where in somebody's answer it happened differs for each
        return PLACE.sub("", self.result.hint)


@dataclass
class Entry:
    """A student's work on one chapter. Of several files, that with most points counts."""

    student: Student
    report: Report
    grades: list[Grade]
    other_files: int = 0

    @property
    def points(self) -> float:
        return round(sum(one.points for one in self.grades), 2)

    @property
    def remarks(self) -> str:
        said = [self.report.problem]
        if self.report.lacks:
            said.append(f"not installed here: {', '.join(self.report.lacks)}")
        if self.other_files:
            said.append(f"{self.other_files + 1} files: the one with most points counts")
        return "; ".join(filter(None, said))


Overrides = dict[tuple[Student, str], Override]


@dataclass
class Gradebook:
    """All entries, in the order of the files, and those without any, with the reason."""

    entries: list[Entry]
    missing: dict[Student, str]

    @classmethod
    def of(
        cls,
        reports: Iterable[tuple[Student, Report]],
        missing: dict[Student, str],
        overrides: Overrides,
    ) -> "Gradebook":
        """The gradebook of a class; of several files of a chapter, that with most points counts."""
        best: dict[tuple[Student, str], Entry] = {}
        for student, report in reports:
            grades = [Grade(one, overrides.get((student, one.name))) for one in report.exercises]
            entry, place = Entry(student, report, grades), (student, report.chapter)
            if rival := best.get(place):
                entry, other = (entry, rival) if entry.points > rival.points else (rival, entry)
                entry.other_files += other.other_files + 1
            best[place] = entry
        came = {one.student for one in best.values()}
        return cls([*best.values()], {one: why for one, why in missing.items() if one not in came})

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

    def warnings(self) -> Iterator[str]:
        """What the instructor should look at: points by hand, and packages that are missing."""
        for one in (grade for entry in self.entries for grade in entry.grades):
            if one.override and one.points > one.result.max_points:
                most = f"{one.result.max_points} that {one.result.name} has"
                yield f"{one.override.where}: {one.points:g} points count, more than the {most}"
        lacking = Counter(one for entry in self.entries for one in entry.report.lacks)
        for package, count in lacking.most_common():
            yield (
                f"{count} notebooks that have not passed import {package}, which is not installed"
                f" here: `pip install {package}` adds it; then grade these again, by --regrade"
            )


def unread(
    reports: Iterable[tuple[Student, Report]], overrides: Overrides
) -> Iterator[tuple[Student, Report]]:
    """A report for each chapter of which somebody has points by hand, but no notebook was read."""
    read = {(student, report.chapter) for student, report in reports}
    for slug, chapter in chapters().items():
        results = [
            Result(name, facts["title"], facts["points"], Status.NOT_FOUND)
            for name, facts in chapter.facts.items()
        ]
        for student in dict.fromkeys(one for one, name in overrides if name in chapter.facts):
            if (student, slug) not in read:
                yield student, Report("", slug, problem="no notebook was read", exercises=results)


def mistakes(book: Gradebook) -> list[tuple[int, str, str, str]]:
    """How often an answer to each exercise failed for each reason, the most common first."""
    reasons = Counter(
        (grade.result.name, grade.result.status, grade.mistake)
        for entry in book.entries
        for grade in entry.grades
        if grade.mistake is not None
    )
    return [(count, *reason) for reason, count in reasons.most_common()]


def write(book: Gradebook, folder: Path, roster: Roster | None) -> None:
    """Write every table of a class."""
    write_table(folder / "gradebook.csv", grade_rows(book))
    write_table(folder / "matrix.csv", matrix_rows(book))
    write_table(
        folder / "mistakes.csv",
        [("students", "exercise", "status", "reason"), *mistakes(book)],
    )
    write_table(folder / "canvas.csv", canvas_rows(book, roster))
    for chapter in book.chapters:
        write_table(folder / f"moodle-{chapter}.csv", moodle_rows(book, chapter))


def grade_rows(book: Gradebook) -> Iterable[Iterable]:
    yield "student", "name", "chapter", "file", "points", "of", "passed", "exercises", "remarks"
    for one in book.entries:
        passed = sum(grade.result.status == Status.PASSED for grade in one.grades)
        yield (
            one.student.key, one.student.name, one.report.chapter, line(one.report.file),
            number(one.points), one.report.max_points, passed, len(one.grades), one.remarks,
        )  # fmt: skip
    for student, why in book.missing.items():
        yield student.key, student.name, "", "", "", "", "", "", why


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
        yield (
            student.cell("Student") or student.name or student.key,
            student.number("canvas") or student.cell("Canvas ID", "ID"),
            *map(student.cell, CANVAS[2:]),
            *(number(entries[c].points) if c in entries else "" for c in book.chapters),
        )


def assignment_column(chapter: str, roster: Roster | None) -> str:
    """What Canvas calls the assignment of a chapter: as in its own export, if that has it."""
    title = heading(chapter)
    names = {squeezed(one) for one in (chapter, title, title.rpartition(": ")[2])}
    for row in roster.rows[:1] if roster else []:
        for column in row:
            if squeezed(re.sub(r"\(\d+\)$", "", column)) in names:
                return column
    return chapter


def moodle_rows(book: Gradebook, chapter: str) -> Iterable[Iterable]:
    """As the offline grading worksheet of one assignment has it."""
    yield MOODLE
    for student, entries in book.students().items():
        one = entries.get(chapter)
        number = student.number("moodle")
        known = f"Participant {number}" if number else ""
        said = {
            "Identifier": student.cell("Identifier") or known,
            "Full name": student.cell("Full name") or student.name,
            "Maximum Grade": student.cell("Maximum Grade") or f"{book.max_points(chapter):.2f}",
            "Grade can be changed": student.cell("Grade can be changed") or "Yes",
            "Last modified (grade)": student.cell("Last modified (grade)") or "-",
        }
        if one:
            most = float(said["Maximum Grade"].replace(",", "."))
            said["Grade"] = f"{one.points * most / book.max_points(chapter):.2f}"
            said["Feedback comments"] = comment(one)
        yield [said.get(column, student.cell(column)) for column in MOODLE]


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
    # in "&lt;=" a formula would begin: a tag that nobody sees is in place of a quote there
    return FORMULA.sub(r"\1<wbr>", "<br>".join(map(escape, lines)))


def number(points: float) -> str:
    return f"{points:.2f}".rstrip("0").rstrip(".")
