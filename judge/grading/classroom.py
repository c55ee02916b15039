"""A folder of a class's submissions becomes a folder of grades."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from judge.course import course
from judge.grading import feedback, gradebook
from judge.grading.comments import Comment, hand_out
from judge.grading.formats import junit
from judge.grading.gradebook import ByHand, Gradebook
from judge.grading.policy import Override, Policy
from judge.grading.pristine import chapters
from judge.grading.report import Report, line, replace
from judge.grading.resume import Kept
from judge.grading.similar import alike, alike_weights
from judge.grading.students import (
    COPY,
    LAYOUTS,
    People,
    Roster,
    Student,
    distinguished,
    divided,
    evident,
    first_level,
    first_parts,
    named,
    named_for_a_class,
    normal,
    of_a_class,
    owners,
    passed_over,
    student_of,
)
from judge.grading.submissions import ENDING, LeftOut, Submission


@dataclass
class Classroom:
    """Where the submissions lie and the grades go, and what the instructor has to say of them."""

    submissions: Path
    grades: Path
    roster: Roster | None = None
    policy: Policy = field(default_factory=Policy)
    overrides: list[Override] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    owners: dict[str, Student] = field(default_factory=dict)
    missing: list[Student] = field(default_factory=list)
    over: set[str] = field(default_factory=set)

    def meet(self, files: list[str]) -> Iterator[str]:
        """Find out whose the files are; says which layouts were assumed, and names nobody."""
        over = self.over = passed_over(files, self.submissions, self.roster)
        found = {file: student_of(file, self.submissions, over) for file in files}
        self.owners = owners(found, self.roster)
        came = dict.fromkeys(self.owners.values())
        absent = self.roster.missing(came) if self.roster else ()
        self.missing = list(distinguished([*came, *absent]))[len(came) :]
        for layout, by in LAYOUTS.items():
            if own := [self.owners[file] for file in files if found[file].platform == layout]:
                yield f"whose they are: {len(own)} files of {len(set(own))} students by {by}"
        if over:
            yield f"{len(over)} folders or zips are taken for a class's: its students' are in them"
        if alone := self.unlikely(files, over):
            yield (
                f"{alone} folders or zips are taken for one student's each, though a class may be"
                " in them: unpack such a zip, and give such a folder by itself, or a roster"
            )
        keys = {normal(one.key) for one in came}
        if copies := sum(is_copy(one, keys) for one in came):
            yield (
                f"{copies} students are called like another, with (1) or the like behind the name:"
                " if they are not two, put their files into one folder"
            )

    def unlikely(self, files: list[str], over: set[str]) -> int:
        """How many folders and zips at the root may be a class's, but are a student's here."""
        here = self.submissions.resolve().name
        below = first_level(files)
        inside = {one: first_parts(paths) for one, paths in below.items() if "" not in paths}
        lone = len(inside) == 1 and not any(map(ENDING.search, below.keys() - inside.keys()))
        return sum(
            outer not in over
            and not evident(here, outer)
            and not (self.roster and self.roster.match(named(outer)))
            and len(names) > 1
            and (lone or of_a_class(names) or named_for_a_class(outer, names))
            for outer, names in inside.items()
        )

    def write(
        self, reports: list[Report], files: list[Submission], others: list[LeftOut], kept: Kept
    ) -> list[str]:
        """Write all tables and pages; returns what the instructor should look at."""
        # who handed in something else than a notebook gets a line and a page, too
        reports = [*reports, *(Report(one.name, problem=one.why) for one in others if one.fault)]
        own = [(self.owners[report.file], report) for report in reports]
        missing = {
            **{one: "no notebook was handed in" for one in self.owners.values() if one.row},
            **dict.fromkeys(self.missing, "nothing was handed in"),
            **(unsure := self.unsure()),
        }
        people = People([*dict.fromkeys(self.owners.values()), *self.missing])
        by_hand, looks = self.by_hand(people)
        share, counted = self.share(people), self.policy.counted
        book = gradebook.gradebook(own, missing, share, by_hand, counted)
        looks += hand_out(self.comments, book)
        gradebook.write(book, self.grades, self.roster)
        feedback.write(book, self.grades)
        gradebook.table(self.grades / "files.csv", self.file_rows(reports, others, kept))
        keyed = [(kept.key(one.file, one.submission_sha256), one) for one in reports]
        replace(self.grades / "junit.xml", junit(keyed))
        looks += [*book.looks(), *self.policy.looks(people), *kept.looks()]
        if (worked := course().solutions) and worked.is_dir():
            looks += self.alike(book, worked)
        else:
            looks.append(
                "the answers were not compared with each other: for that, install a checkout of"
                " the course with pip install -e"
            )
        if scattered := self.scattered(own):
            looks.append(
                f"{scattered} students have notebooks of one chapter in several folders of theirs:"
                " see files.csv, and if these are students' folders, grade the folder above them"
            )
        if unsure:
            looks.append(
                f"{len(unsure)} students of the roster may have handed in what is in the row of"
                " somebody else: see their remarks in gradebook.csv"
            )
        looks += self.alike_weights(book, files)
        if self.roster:
            strange = sum(not student.row for student in {student for student, _ in own})
            looks += [f"{strange} students are not in the roster: see files.csv"] * bool(strange)
        return looks

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
            one: f"perhaps nothing was handed in: is it theirs, what {' or '.join(keys)} has?"
            for one in self.missing
            if (keys := like.get(id(one.row)))
        }

    def scattered(self, own: list[tuple[Student, Report]]) -> int:
        """How many students have notebooks of one chapter in several folders below their own."""
        places: dict[tuple, set[tuple[str, ...]]] = defaultdict(set)
        for student, report in own:
            place, (theirs, *below) = divided(report.file, self.over)
            if report.chapter and below:
                places[student, report.chapter, place, theirs].add(tuple(below[:-1]))
        return len({student for (student, *_), folders in places.items() if len(folders) > 1})

    def share(self, people: People) -> Callable[[Student], tuple[float, str]]:
        """What says how much of their points a student keeps, and why."""
        due, times = self.policy.extended(people), self.policy.handed_in(people)
        return lambda student: self.policy.share(times.get(student), due.get(student))

    def by_hand(self, people: People) -> tuple[ByHand, list[str]]:
        """The points set by hand, by whose and for what, and what to look at among them."""
        found: ByHand = {}
        looks = []
        exercises = {name for chapter in chapters().values() for name in chapter.facts}
        for one in self.overrides:
            students = people.called(one.student)
            if one.exercise not in exercises:
                looks.append(f"{one.where}: no exercise is called {one.exercise!r}")
            elif not self.policy.counts(one.exercise):
                looks.append(f"{one.where}: {one.exercise} is not set: see --policy")
                continue
            elif not students:
                looks.append(f"{one.where}: {people.nobody(one.student)}")
            elif len(students) > 1:
                looks.append(f"{one.where}: {len(students)} students are called that")
            for student in students:
                if before := found.get((student, one.exercise)):
                    looks.append(f"{one.where}: it counts instead of {before.where}")
                found[student, one.exercise] = one
        return found, looks

    def file_rows(self, reports: list[Report], others: list[LeftOut], kept: Kept):
        yield "file", "student", "in roster", "report", "what it is"
        for one in reports:
            student = self.owners[one.file]
            key = kept.key(one.file, one.submission_sha256)
            yield line(one.file), student.key, in_roster(student), key, one.problem or one.chapter
        for one in others:
            if one.fault:
                continue
            student = self.owners[one.name]
            yield line(one.name), student.key, in_roster(student), "", one.why

    def alike(self, book: Gradebook, worked: Path) -> list[str]:
        """Write which answers to look at side by side; nobody's points change."""
        answers = [
            (grade.result.name, entry.student.key, grade.result.answer)
            for entry in book.entries
            for grade in entry.grades
            if grade.result.answer
        ]
        found = [
            (one.exercise, one.first, one.second, f"{one.share:.0%}")
            for one in alike(answers, worked)
        ]
        header = ("exercise", "one student", "another", "of the shorter answer in both")
        gradebook.table(self.grades / "alike.csv", [header, *found])
        return [f"{len(found)} pairs of long answers are alike: see alike.csv"] if found else []

    def alike_weights(self, book: Gradebook, files: list[Submission]) -> list[str]:
        """Write whose trained weights are nearly the same; nobody's points change."""
        by_name = {one.name: one for one in files}
        handed: dict[str, dict[str, Submission]] = {}
        for entry in book.entries:
            for result in entry.report.exercises:
                facts = chapters()[entry.report.chapter].facts[result.name]
                file = by_name.get(entry.report.file)
                if "weights" in facts and file and (weights := file.weights()):
                    handed.setdefault(result.name, {})[entry.student.key] = weights
        found = [(name, *pair) for name, own in handed.items() for pair in alike_weights(own)]
        if handed:
            header = ("exercise", "one student", "another")
            gradebook.table(self.grades / "weights.csv", [header, *found])
        return [f"{len(found)} pairs of trained weights are alike: see weights.csv"] * bool(found)


def is_copy(student: Student, keys: set[str]) -> bool:
    """Whether somebody who is not in the roster may be another, by a number behind the name."""
    first = COPY.sub("", student.key)
    return not student.row and first != student.key and normal(first) in keys


def in_roster(student: Student) -> str:
    return "yes" if student.row else "no"
