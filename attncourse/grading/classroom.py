"""A folder of a class's submissions becomes a folder of grades."""

from dataclasses import dataclass, field
from pathlib import Path

import attncourse
from attncourse.grading import feedback, gradebook
from attncourse.grading.formats import junit
from attncourse.grading.gradebook import Gradebook
from attncourse.grading.policy import Overrides, Policy
from attncourse.grading.report import Report, replace
from attncourse.grading.resume import Kept
from attncourse.grading.similar import alike
from attncourse.grading.students import Roster, Student, student_of
from attncourse.grading.submissions import LeftOut

# the worked solutions of a checkout, without which nothing is said of who is like whom
SOLUTIONS = Path(attncourse.__file__).parent.parent / "solutions"


@dataclass
class Classroom:
    """Where the submissions lie and the grades go, and what the instructor has to say of them."""

    submissions: Path
    grades: Path
    roster: Roster | None = None
    policy: Policy | None = None
    overrides: Overrides = field(default_factory=Overrides)

    def student(self, file: str) -> Student:
        found = student_of(file, self.submissions)
        return self.roster.student(found) if self.roster else found

    def write(self, reports: list[Report], others: list[LeftOut], kept: Kept) -> list[str]:
        """Write all tables and pages; returns what the instructor should look at."""
        # who handed in something else than a notebook gets a line and a page, too
        reports = [*reports, *(Report(one.name, problem=one.why) for one in others if one.fault)]
        owners = {report.file: self.student(report.file) for report in reports}
        came = [*owners.values(), *(self.student(one.name) for one in others)]
        book = gradebook.gradebook(
            [(owners[report.file], report) for report in reports],
            self.roster.missing(came) if self.roster else (),
            self.policy,
            self.overrides,
        )
        gradebook.write(book, self.grades, self.roster)
        feedback.write(book, self.grades)
        gradebook.table(self.grades / "files.csv", self.file_rows(reports, others, kept))
        keyed = [(kept.key(one.file, one.submission_sha256), one) for one in reports]
        replace(self.grades / "junit.xml", junit(keyed))
        looks = [
            f"overrides.csv: nobody and nothing is called {one}" for one in self.overrides.unused
        ]
        if SOLUTIONS.is_dir():
            looks += self.alike(book)
        if self.roster:
            strange = sum(not student.row for student in dict.fromkeys(came))
            looks += [f"{strange} students are not in the roster: see files.csv"] * bool(strange)
        return looks

    def file_rows(self, reports: list[Report], others: list[LeftOut], kept: Kept):
        yield "file", "student", "in roster", "report", "what it is"
        for one in reports:
            student = self.student(one.file)
            key = kept.key(one.file, one.submission_sha256)
            yield (one.file, student.key, in_roster(student), key, one.problem or one.chapter)
        for one in others:
            if one.fault:
                continue
            student = self.student(one.name)
            yield one.name, student.key, in_roster(student), "", one.why

    def alike(self, book: Gradebook) -> list[str]:
        """Write which answers to look at side by side; nobody's points change."""
        answers = [
            (grade.result.name, entry.student.key, grade.result.answer)
            for entry in book.entries
            for grade in entry.grades
            if grade.result.answer
        ]
        found = [
            (one.exercise, one.first, one.second, f"{one.share:.0%}")
            for one in alike(answers, SOLUTIONS)
        ]
        header = ("exercise", "one student", "another", "of the shorter answer in both")
        gradebook.table(self.grades / "alike.csv", [header, *found])
        return [f"{len(found)} pairs of long answers are alike: see alike.csv"] if found else []


def in_roster(student: Student) -> str:
    return "yes" if student.row else "no"
