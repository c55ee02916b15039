"""What a learner calls in a notebook: check, failed, hint and status."""

import builtins
import os
import secrets
from collections.abc import Callable
from textwrap import indent
from typing import Any

from judge.call.time_limit import timed
from judge.course import Course, OneLineError
from judge.dependencies import missing_when_graded
from judge.say.evidence import article
from judge.say.failure import Failure, failure
from judge.status import Status
from judge.verdict import SAME, Verdict, judge, local

# few enough digits to copy
SEEDS = 10**6
# lines that are shown of what an answer prints
MAX_LINES = 20
LEFT_OUT = object()


class NotPassedError(OneLineError):
    """Raised by a check that nbval runs, where the answer is not right."""


class Session:
    """What one notebook's kernel has checked of a course's exercises."""

    def __init__(self, course: Course):
        self.course = course
        self.verdicts: dict[str, Verdict] = {}

    def check(self, name: str | Callable, answer: Any = LEFT_OUT, seed: int | None = None) -> None:
        """Print whether an answer is right: one fixed line, or what is wrong and where it shows.

        `check(my_function)` is enough where the function has the exercise's name. The inputs are
        drawn anew at each call; the `seed` that a message names draws the same ones again. Below
        `ok` stands what the answer needs and a grader may not have. Raises OneLineError for an
        exercise that there is not, and NotPassedError, instead of printing, where pytest runs the
        notebook.
        """
        if answer is LEFT_OUT:
            if not callable(name):
                raise OneLineError(f"check({name!r}, ...) needs your answer as its second argument")
            answer = name
        wanted = self.course.exercise(name_of(name))
        seed = secrets.randbelow(SEEDS) if seed is None else seed
        forbidden = self.course.forbidden(wanted)
        verdict = judge(wanted, timed(local(answer)), seed, forbidden)
        # the last one checked is the last in the dictionary
        self.verdicts.pop(wanted.name, None)
        self.verdicts[wanted.name] = verdict
        if verdict.status != Status.PASSED and by_nbval():
            raise NotPassedError(f"{wanted.name}: {verdict.status}: {verdict.hint}")
        print(report(wanted.name, verdict, seed))
        # in a notebook, beside which there may be what no grader gets
        if verdict.status == Status.PASSED and hasattr(builtins, "get_ipython") and not by_nbval():
            for line in missing_when_graded(answer, self.course):
                print(f"    {line}")

    def failed(self, name: str | Callable | None = None) -> Failure:
        """The call on which the last check failed, or that of an exercise.

        It shows the arguments by name, what was expected and what came; `failed().args`,
        `.kwargs`, `.expected` and `.got` are the values. Raises OneLineError where no call has
        failed.
        """
        if name is None:
            if not self.verdicts:
                raise OneLineError("nothing has been checked in this session yet")
            name = list(self.verdicts)[-1]
        one = self.course.exercise(name_of(name))
        if one.name not in self.verdicts:
            raise OneLineError(f"{one.name} hasn't been checked in this session")
        verdict = self.verdicts[one.name]
        if verdict.failing is None:
            raise OneLineError(f"{one.name}: {'ok' if self.passed(one.name) else verdict.status}")
        return failure(verdict.failing)

    def hint(self, name: str | Callable, level: int = 1) -> None:
        """Print an exercise's hint of a level: 1 the idea, 2 the shape, 3 almost the code."""
        hints = self.course.exercise(name_of(name)).hints
        if level not in (1, 2, 3):
            raise OneLineError(f"level={level}: choose hint 1, 2 or 3")
        print(hints[level - 1])

    def status(self, chapter: str | None = None) -> None:
        """Print what this session has solved of a chapter: by default, of those it has checked.

        Those to start with come first. The last line names the solved exercises.
        """
        done = []
        for slug in [chapter] if chapter else self.begun():
            listed = self.course.exercises(slug)
            solved = [e for e in listed.values() if self.passed(e.name)]
            done += [e.name for e in solved]
            for group, members in self.course.groups(slug).items():
                if group:
                    print(f"{group}: {sum(e.minutes for e in members)} minutes")
                for e in members:
                    checked = e.name in self.verdicts
                    state = self.verdicts[e.name].status if checked else "not checked"
                    mark = "✓" if self.passed(e.name) else "·"
                    print(f"  {mark} {e.name:<24} {e.points:>3} points  {state}")
            points, most = (sum(e.points for e in some) for some in (solved, listed.values()))
            print(f"{slug}: {len(solved)} of {len(listed)} solved, {points} of {most} points")
        if done:
            print(f"solved: {', '.join(done)}")

    def begun(self) -> list[str]:
        """The chapters of which something was checked; all, if nothing was."""
        chapters = self.course.chapters()
        return [c for c in chapters if self.verdicts.keys() & {*self.course.order(c)}] or chapters

    def passed(self, name: str) -> bool:
        """Whether the last check of an exercise passed."""
        return name in self.verdicts and self.verdicts[name].status == Status.PASSED


def by_nbval() -> bool:
    """Whether this kernel was started for a notebook that pytest runs."""
    return ".ipynb::" in os.environ.get("PYTEST_CURRENT_TEST", "")


def name_of(named: str | Callable) -> str:
    """The name of an exercise, or of the function that answers it; OneLineError without one."""
    name = named if isinstance(named, str) else getattr(named, "__name__", None)
    if not isinstance(name, str):
        kind = article(type(named).__name__)
        raise OneLineError(f"{kind} has no name: give the name of the exercise")
    return name


def report(name: str, verdict: Verdict, seed: int) -> str:
    """The fixed line of a right answer, or the hint with its evidence below.

    Then comes what the failing call printed.
    """
    if verdict.status == Status.PASSED:
        return f"{name}: ok" + (f": {verdict.evidence}" if verdict.evidence else "")
    lines = [f"{name}: {verdict.status}: {verdict.hint}"]
    if verdict.hint == SAME:
        lines.append("    Have you run the cell since you changed it?")
    if verdict.evidence or (verdict.failing and verdict.failing.got.is_test):
        lines.append("    " + " ".join(filter(None, (verdict.evidence, f"(seed={seed})"))))
    if verdict.failing and (printed := verdict.failing.got.printed.rstrip()):
        lines += ["your code printed:", indent(beginning(printed), "    ")]
    return "\n".join(lines)


def beginning(text: str) -> str:
    """The first lines of a text, each of them cut."""
    lines = [line[:100] for line in text.splitlines()]
    return "\n".join(lines[:MAX_LINES] + ["..."] * (len(lines) > MAX_LINES))
