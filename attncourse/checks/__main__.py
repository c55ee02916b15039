"""`python -m attncourse.checks NAME`: how an exercise's check judges each answer that it knows.

Without a name, it prints the score of all exercises.
"""

import argparse
import secrets
import sys
from importlib import import_module

import torch

from attncourse.checks import exercise, score
from attncourse.checks.exercise import Draw, Exercise


def disagreement(one: Exercise, seed: int) -> str:
    """How the reference differs from the oracle that the tests have for it; empty if it does not.

    An oracle is a function of a library: where there is none, nothing is compared.
    """
    try:
        oracle = import_module(f"tests.checks.oracles.{one.chapter}").ORACLES[one.name]
    except (ModuleNotFoundError, KeyError):
        return ""
    for case in one.draw_cases(Draw(seed)):
        got, wanted = case.result(one.reference_answer), case.result(oracle)
        try:
            torch.testing.assert_close(got, wanted, equal_nan=True)
        except AssertionError as error:
            return f"on {case.name}, the reference disagrees with the oracle: {error}"
    return ""


def report(one: Exercise, seed: int) -> list[str]:
    """A line for each answer; what is misjudged is marked, and the last lines sum up."""
    if why := disagreement(one, seed):
        return [f"!! {why}"]
    tried = score.tried(one, (seed,))
    lines = []
    for answer, wanted, _, verdict in tried:
        right = verdict.status == "passed" if wanted is None else verdict.hint == wanted
        said = verdict.hint or verdict.status
        lines.append(f"{'  ' if right else '!!'} {'right' if wanted is None else 'wrong'} "
                     f"{answer.__name__!r}: {said}")  # fmt: skip
        if not right:
            wish = "should pass" if wanted is None else f"should hear: {wanted}"
            lines.append(f"         {wish}; {verdict.status}: {verdict.evidence}")
    row = score.row(one, (seed,))
    if row.valid and not row.accepted:
        lines.append("!! the reference disagrees with every right answer: look at it first")
    lines.append(
        f"{one.name}, seed {seed}: {row.right_hint} of {row.mutants + row.usual} wrong answers "
        f"({row.mutants} of its own, {row.usual} usual ones) refused with their hint, "
        f"{row.accepted} of {row.valid} right ones accepted"
    )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m attncourse.checks", description=__doc__)
    parser.add_argument("name", nargs="?", help="the exercise; all of them if left out")
    parser.add_argument("--seed", type=int, help="draw the inputs of an earlier run")
    given = parser.parse_args()
    seed = secrets.randbits(31) if given.seed is None else given.seed
    if given.name is None:
        print(f"seed {seed}\n\n{score.markdown_table(score.rows((seed,)))}")
        return 0
    try:
        one = exercise(given.name)
    except ValueError as error:
        parser.error(str(error))
    lines = report(one, seed)
    print("\n".join(lines))
    return int(any(line.startswith("!!") for line in lines))


if __name__ == "__main__":
    sys.exit(main())
