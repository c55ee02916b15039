"""The gradebook as tables: ours, and those that Canvas and Moodle import."""

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from judge.grading.gradebook.grades import Entry, Gradebook, mistakes, number
from judge.grading.notebook.pristine import heading
from judge.grading.report.tables import FORMULA, write_table
from judge.grading.report.text import line
from judge.grading.submissions.roster import Roster
from judge.grading.submissions.students import squeezed
from judge.status import Status

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = (
    "Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade",
    "Grade can be changed", "Last modified (submission)", "Last modified (grade)",
    "Feedback comments",
)  # fmt: skip


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
