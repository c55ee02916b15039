"""The command of an exercise's author: how its check judges each answer that it knows.

Without a name, it prints the mutation score of each exercise.
"""

import argparse
import secrets
from collections.abc import Callable
from importlib import import_module

import torch

from judge import mutation
from judge.course import Course, OneLineError
from judge.exercise import Draw, Exercise


def oracle_of(course: Course, one: Exercise) -> Callable | None:
    """A function of a library that the tests compare the reference with; None without one."""
    if not course.oracles:
        return None
    module = f"{course.oracles}.{one.chapter}"
    try:
        return import_module(module).ORACLES.get(one.name)
    except ModuleNotFoundError as error:
        # without the tests there is none; what an oracle itself imports must be there
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        return None


def disagreement(course: Course, one: Exercise, seed: int) -> str:
    """In one line, how the reference differs from its oracle; empty if it does not, or has none."""
    if (oracle := oracle_of(course, one)) is None:
        return ""
    for case in one.draw_cases(Draw(seed)):
        got = case.result(one.reference_answer)
        try:
            wanted = case.result(oracle)
        except Exception as error:
            return f"on {case.name}, the oracle raises {type(error).__name__}: {joined(error)}"
        try:
            torch.testing.assert_close(got, wanted, equal_nan=True)
        # a TypeError where the two cannot be compared
        except (AssertionError, TypeError) as error:
            return f"on {case.name}, the reference disagrees with the oracle: {joined(error)}"
    return ""


def reference_fault(one: Exercise, seed: int) -> str:
    """In one line, the case that the reference cannot take; empty if it takes them all."""
    # a learner's test is to raise for the wrong ones
    for case in one.draw_cases(Draw(seed)) if one.kind != "test" else ():
        try:
            case.result(one.reference_answer)
        except Exception as error:
            return f"on {case.name}, the reference raises {type(error).__name__}: {joined(error)}"
    return ""


def joined(error: Exception) -> str:
    return " ".join(str(error).split())


def report(course: Course, one: Exercise, seed: int, device: str = "cpu") -> list[str]:
    """A line for each answer; what is misjudged is marked, and the last lines sum up."""
    if why := reference_fault(one, seed):
        return [f"!! {why}"]
    given = course, one, (seed,), device
    tried, row = mutation.tried(*given), mutation.row(*given)
    if why := disagreement(course, one, seed):
        # as long as the reference may be wrong, only the side that right answers take matters
        tried = [each for each in tried if each.hint is None]
    lines = []
    for each in tried:
        mark, kind = "  " if each.as_wanted else "!!", "wrong" if each.hint else "right"
        verdict = each.verdict
        lines.append(f"{mark} {kind} {each.answer.__name__!r}: {verdict.hint or verdict.status}")
        if not each.as_wanted:
            wish = f"should hear: {each.hint}" if each.hint else "should pass"
            lines.append(f"         {wish}; {verdict.status}: {verdict.evidence}")
    if one.kind != "test" and not any(case.longer for case in one.draw_cases(Draw(seed))):
        lines.append("   no case is `longer`, so an answer that loops is not refused")
    if why:
        lines.append(f"!! {why}")
    if row.valid and (why or not row.accepted):
        suspect = "oracle" if row.accepted == row.valid else "reference"
        lines.append(
            f"!! the reference agrees with {row.accepted} of {row.valid} right answers: "
            f"look at the {suspect} first"
        )
    lines.append(
        f"{one.name}, seed {seed}: {row.right_hint} of {row.mutants + row.usual} wrong answers "
        f"({row.mutants} of its own, {row.usual} usual ones) refused with their hint, "
        f"{row.accepted} of {row.valid} right ones accepted"
    )
    return lines


def main(course: Course, device: str = "cpu") -> int:
    """Judge an exercise's answers on this device, or count those of all; the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {course.checks}", description=__doc__)
    parser.add_argument("name", nargs="?", help="the exercise; all of them if left out")
    parser.add_argument("--seed", type=int, help="draw the inputs of an earlier run")
    given = parser.parse_args()
    seed = secrets.randbits(31) if given.seed is None else given.seed
    if given.name is None:
        print(f"seed {seed}\n\n{mutation.markdown_table(mutation.rows(course, (seed,), device))}")
        return 0
    try:
        one = course.exercise(given.name)
    except OneLineError as error:
        parser.error(str(error))
    except ValueError as error:
        # a slip in its file, which names its place
        parser.exit(2, f"{error}\n")
    lines = report(course, one, seed, device)
    print("\n".join(lines))
    return int(any(line.startswith("!!") for line in lines))
