"""The command of an exercise's author: how its check judges each answer that it knows.

Without a name, it prints the mutation score of each exercise. With --try, it judges the answer in a
file instead, as the exercise's check judges a learner's.
"""

import argparse
import ast
import builtins
import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import numpy
import torch

from judge import mutation_score
from judge.call.caller import local
from judge.compare.credit import Groups, credit, in_parts
from judge.course import Course, OneLineError
from judge.exercise import Draw, Exercise, JudgesItself
from judge.exercise_text import defined
from judge.status import Status
from judge.verdict import Verdict, judge


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
    # a learner's test is to raise for the wrong ones, and what judges itself has no reference
    if one.is_test or isinstance(one, JudgesItself):
        return ""
    for case in one.draw_cases(Draw(seed)):
        try:
            case.result(one.reference_answer)
        except Exception as error:
            return f"on {case.name}, the reference raises {type(error).__name__}: {joined(error)}"
    return ""


def joined(error: Exception) -> str:
    return " ".join(str(error).split())


def asked_parameters(one: Exercise) -> list[str] | None:
    """What an answer is called with, as the code that a learner starts from has it, if any."""
    if one.task is None or not (found := defined(one.task.start, one.name)):
        return None
    if isinstance(found, ast.ClassDef):
        methods = (each for each in found.body if isinstance(each, ast.FunctionDef))
        found = next((each for each in methods if each.name == "forward"), None)
    if found is None:
        return None
    parts = found.args
    named = (*parts.posonlyargs, *parts.args, *parts.kwonlyargs)
    return [each.arg for each in named if each.arg != "self"]


def mistakes_in_files(one: Exercise) -> Iterator[str]:
    """What is wrong with an exercise beside its answers, a line each."""
    if isinstance(one, JudgesItself):
        return
    asked = asked_parameters(one)
    if asked not in (None, one.parameters):
        yield (
            f"the notebook asks for {one.name}({', '.join(asked or ())}), and the "
            f"reference has the parameters {', '.join(one.parameters)}: a case, or a learner, that "
            "names one fails"
        )
    if unknown := [name for name in one.forbidden if not is_known(name)]:
        yield (
            f"forbidden names {', '.join(unknown)}, which neither torch nor NumPy nor a module "
            'has: write the bare name, as "softmax", or where it is defined, "torch.nn.modules.rnn"'
        )
    if in_parts(one):
        try:
            _ = Groups(one, 0).shares
        except ValueError as error:
            yield str(error)
    cases = [] if one.is_test else [*one.draw_cases(Draw(0))]
    if cases and not any(case.longer for case in cases) and "loops" not in one.without:
        yield (
            "no case is `longer`, so an answer that loops is not refused: give the first one "
            'longer=(...), its arguments at a greater length, or say why not, without={"loops": '
            '"..."}'
        )


def is_known(name: str) -> bool:
    """Whether there is something of that name to forbid: a function, method, class or module."""
    homes = torch, torch.Tensor, torch.linalg, torch.nn, torch.nn.functional, numpy, numpy.linalg
    if "." not in name:
        return any(hasattr(home, name) for home in (*homes, builtins))
    with contextlib.suppress(ImportError):
        return bool(import_module(name))
    above, _, own = name.rpartition(".")
    with contextlib.suppress(ImportError):
        return hasattr(import_module(above), own)
    return False


def report(course: Course, one: Exercise, seeds: Sequence[int]) -> list[str]:
    """A line for each answer; what is misjudged, at any seed, is marked; the last lines sum up."""
    if why := reference_fault(one, seeds[0]):
        return [f"!! {why}"]
    tried = mutation_score.tried(course, one, tuple(seeds))
    row = mutation_score.row(course, one, tuple(seeds))
    if why := disagreement(course, one, seeds[0]):
        # as long as the reference may be wrong, only the side that right answers take matters
        tried = [each for each in tried if each.hint is None]
    lines = []
    for each in tried:
        if each.as_wanted and each.seed != seeds[0]:
            continue
        mark, kind = "  " if each.as_wanted else "!!", "wrong" if each.hint else "right"
        at = f", seed {each.seed}" if len(seeds) > 1 and not each.as_wanted else ""
        verdict = each.verdict
        said = verdict.hint or verdict.status
        lines.append(f"{mark} {kind} {each.answer.__name__!r}{at}: {said}")
        if not each.as_wanted:
            wish = f"should hear: {each.hint}" if each.hint else "should pass"
            lines.append(f"         {wish}; {verdict.status}: {verdict.evidence}")
    lines += [f"!! {mistake}" for mistake in mistakes_in_files(one)]
    if why:
        lines.append(f"!! {why}")
    if row.valid and (why or not row.accepted):
        suspect = "oracle" if row.accepted == row.valid else "reference"
        lines.append(
            f"!! the reference agrees with {row.accepted} of {row.valid} right answers: "
            f"look at the {suspect} first"
        )
    lines.append(
        f"{one.name}, {seeds_in_words(seeds)}: {row.right_hint} of {row.mutants + row.generic} "
        f"wrong answers ({row.mutants} of its own, {row.generic} generic ones) refused with their "
        f"hint, {row.accepted} of {row.valid} right ones accepted"
    )
    return lines


def seeds_in_words(seeds: Sequence[int]) -> str:
    """The seeds in words: they follow upon each other."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"


def judge_file(course: Course, one: Exercise, file: Path, seeds: Sequence[int]) -> list[str]:
    """A line for each different verdict on the answer in a file, and for the points that it earns.

    Raises OneLineError for a file that defines nothing of the exercise's name.
    """
    namespace: dict = {"__name__": "__main__"}
    try:
        exec(compile(file.read_text("utf-8"), str(file), "exec"), namespace)
    except OSError as error:
        raise OneLineError(f"{file} cannot be read: {error.strerror}") from None
    except Exception as error:
        raise OneLineError(f"{file} raises {type(error).__name__}: {joined(error)}") from None
    if one.name not in namespace:
        raise OneLineError(f"{file} defines no {one.name}")
    answer, forbidden = local(namespace[one.name]), course.forbidden(one)
    # the evidence has other numbers at each seed: that of the first of a kind is enough
    first: dict[str, list[str]] = {}
    at: dict[str, list[int]] = {}
    for seed in seeds:
        verdict = judge(one, answer, seed, forbidden)
        said = ": ".join(filter(None, (verdict.status, verdict.hint)))
        earned = points(one, verdict, answer, seed, forbidden)
        first.setdefault(said, [f"         {more}" for more in (verdict.evidence, earned) if more])
        at.setdefault(said, []).append(seed)
    lines = []
    for said, more in first.items():
        others = f", and {len(at[said]) - 1} more" if len(at[said]) > 1 else ""
        lines += [f"{said} (seed {at[said][0]}{others})", *more]
    return lines


def points(one: Exercise, verdict: Verdict, answer: Callable, seed: int, forbidden: tuple) -> str:
    """What an answer that has not passed earns where points are given in parts."""
    if verdict.status not in (Status.WRONG, Status.ERROR):
        return ""
    earned = credit(one, answer, seed, forbidden)
    return earned.message(round(earned.share * one.points, 1), one.points) if earned.share else ""


def main(course: Course) -> int:
    """Judge an exercise's answers, or count those of all; the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {course.content}", description=__doc__)
    parser.add_argument("name", nargs="?", help="the exercise; all of them if left out")
    parser.add_argument("--seed", type=int, help="draw the inputs of an earlier run")
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="draw the inputs of N seeds, one by one"
    )
    parser.add_argument(
        "--try", dest="file", type=Path, metavar="FILE", help="judge the answer in this file"
    )
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error(f"--seeds {options.seeds}: at least one seed is needed")
    seed = secrets.randbits(31) if options.seed is None else options.seed
    seeds = range(seed, seed + options.seeds)
    if options.name is None and options.file:
        parser.error("--try needs the name of an exercise")
    if options.name is None:
        table = mutation_score.markdown_table(mutation_score.rows(course, seeds))
        print(f"{seeds_in_words(seeds)}\n\n{table}")
        return 0
    try:
        one = course.exercise(options.name)
        if options.file:
            lines = judge_file(course, one, options.file, seeds)
            print("\n".join(lines))
            return int(not all(line.startswith(("passed", " ")) for line in lines))
    except OneLineError as error:
        parser.error(str(error))
    except ValueError as error:
        # a mistake in its file, which names its place
        parser.exit(2, f"{error}\n")
    lines = report(course, one, seeds)
    print("\n".join(lines))
    return int(any(line.startswith("!!") for line in lines))
