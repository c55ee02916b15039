"""Mutation testing of the checks: each is given every known wrong answer and every valid one."""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby
from typing import NamedTuple

from judge.course import Course
from judge.exercise import Exercise
from judge.say import bank
from judge.status import Status
from judge.verdict import Verdict, judge, judge_own, local

HEADINGS = ("exercise", "kind", "mutants", "generic", "refused", "right hint", "valid", "accepted")


class Tried(NamedTuple):
    """An answer of ours judged at one seed; `hint` is what it must be told, None if it is valid."""

    answer: Callable
    hint: str | None
    seed: int
    verdict: Verdict

    @property
    def accepted(self) -> bool:
        return self.verdict.status == Status.PASSED

    @property
    def as_wanted(self) -> bool:
        if self.hint is None:
            return self.accepted
        return not self.accepted and self.verdict.hint == self.hint


class Row(NamedTuple):
    """An exercise's mutation score: its answers, and how many were judged rightly at each seed."""

    chapter: str
    exercise: str
    kind: str
    mutants: int
    generic: int
    refused: int
    right_hint: int
    valid: int
    accepted: int


@cache
def tried(course: Course, exercise: Exercise, seeds: tuple[int, ...]) -> list[Tried]:
    """Every mutant and every valid answer of an exercise, judged at each seed."""
    known = [(m.function, m.hint) for m in bank.mutants(exercise)] + [
        (f, None) for f in exercise.valid_answers
    ]
    results = []
    # ours live in the course, which a learner's may not call: only what a library has is refused
    forbidden = course.solving(exercise)
    for seed in seeds:
        for function, hint in known:
            # to be watched is slow, and what an answer calls does not depend on the seed
            if hint is None and seed == seeds[0]:
                verdict = judge(exercise, local(function), seed, forbidden)
            else:
                verdict = judge_own(exercise, function, seed)
            results.append(Tried(function, hint, seed, verdict))
    return results


def row(course: Course, exercise: Exercise, seeds: tuple[int, ...]) -> Row:
    """The mutation score of one exercise."""
    judged: dict[Callable, list[Tried]] = {}
    for one in tried(course, exercise, seeds):
        judged.setdefault(one.answer, []).append(one)
    wrong = [every for every in judged.values() if every[0].hint is not None]
    valid = [every for every in judged.values() if every[0].hint is None]
    return Row(
        exercise.chapter,
        exercise.name,
        exercise.kind,
        mutants=len(exercise.own_mutants),
        generic=len(bank.generic_mutants(exercise)),
        refused=sum(not any(one.accepted for one in every) for every in wrong),
        right_hint=sum(all(one.as_wanted for one in every) for every in wrong),
        valid=len(valid),
        accepted=sum(all(one.accepted for one in every) for every in valid),
    )


def rows(course: Course, seeds: Iterable[int]) -> list[Row]:
    """The mutation score of every exercise, over all the seeds."""
    every = (course.exercises(chapter) for chapter in course.chapters())
    return [row(course, one, tuple(seeds)) for some in every for one in some.values()]


def markdown_table(scores: list[Row]) -> str:
    """A table of the scores in Markdown, its columns padded so that it reads well as plain text."""
    lines: list[tuple] = [HEADINGS]
    for chapter, group in groupby(scores, key=lambda score: score.chapter):
        some = list(group)
        lines += [score[1:] for score in some]
        lines.append((f"all of {chapter}", "", *totals(some)))
    shown = [list(map(str, line)) for line in lines]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    # words to the left, numbers to the right
    shown.insert(1, [("-" * (w - 1)) + ("-" if i < 2 else ":") for i, w in enumerate(widths)])
    return "\n".join(f"| {' | '.join(map(pad, line, widths))} |" for line in shown)


def totals(scores: list[Row]) -> list[int]:
    return [sum(column) for column in list(zip(*scores, strict=True))[3:]]


def pad(text: str, width: int) -> str:
    return text.rjust(width) if text.isdigit() else text.ljust(width)
