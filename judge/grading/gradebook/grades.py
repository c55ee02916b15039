"""The gradebook of a class: who has how many points for what."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from judge.grading.gradebook.overrides import Override
from judge.grading.notebook.pristine import chapters
from judge.grading.report.results import Report, Result
from judge.grading.submissions.students import Student
from judge.status import Status

# where in an answer it happened, behind a hint
PLACE = re.compile(r" \(line \d+(?:: “[^”]*”)?\)$")
NO_MISTAKE = (Status.PASSED, Status.NOT_ATTEMPTED, Status.NOT_FOUND, Status.NOT_GRADED)


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
            said.append(f"{self.other_files + 1} files: the one with the most points counts")
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
                f" here: run `pip install {package}`, then grade them again with --regrade"
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


def number(points: float) -> str:
    return f"{points:.2f}".rstrip("0").rstrip(".")
