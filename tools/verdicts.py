"""What the judge says of every answer that it knows, kept in a file and compared with today's.

Before a change that should leave each verdict as it is: `python -m tools.verdicts record FILE`;
after it: `python -m tools.verdicts compare FILE`, which prints what differs.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import torch

from attncourse.checks import chapters, exercise, order
from attncourse.course import COURSE
from judge import bank
from judge.credit import Credit, Groups, credit, in_parts
from judge.exercise import Exercise
from judge.observation import local, observe
from judge.verdict import judge, judge_own

# the first seed's answers are watched, as a learner's are, and the others' only called
SEEDS = (2026, 2028, 2030)
# of an answer at a seed
Row = list[str | float]


def rows(name: str) -> dict[str, list[Row]]:
    """Status, hint, evidence and share of the points of an exercise's answers, at each seed."""
    # one of two threads on tensors this small waits for the other
    torch.set_num_threads(1)
    one = exercise(name)
    forbidden = COURSE.solving(one)
    answers = [mutant.function for mutant in bank.mutants(one)] + one.valid_answers
    found: dict[str, list[Row]] = {}
    for place, answer in enumerate(answers):
        # two answers may have one name
        kept = found.setdefault(f"{place} {answer.__name__}", [])
        for seed in SEEDS:
            if seed == SEEDS[0]:
                verdict = judge(one, local(answer), seed, forbidden=forbidden)
                earned = partial(credit, one, local(answer), seed, forbidden=forbidden)
            else:
                verdict = judge_own(one, answer, seed)
                seen = partial(observe, one, local(answer), forbidden=(), watch="")
                earned = partial(credit_of, one, seed, seen)
            passed = verdict.status == "passed"
            share = earned().share if in_parts(one) and not passed else float(passed)
            kept.append([verdict.status, verdict.hint, verdict.evidence, share])
    return found


def credit_of(one: Exercise, seed: int, seen: Callable) -> Credit:
    return Groups(one, seed).credit(seen)


def named(names: list[str]) -> list[str]:
    """These exercises, or all."""
    return names or [name for chapter in chapters() for name in order(chapter)]


def every(names: list[str]) -> Iterator[tuple[str, dict[str, list[Row]]]]:
    """The rows of these exercises, as many at once as there are processors."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from zip(names, pool.map(rows, names), strict=True)


def read(file: Path) -> dict[str, dict[str, list[Row]]]:
    """What is kept, by exercise: a line of JSON for each."""
    return dict(map(json.loads, file.read_text().splitlines())) if file.exists() else {}


def differences(before: dict, now: dict) -> Iterator[str]:
    """A line for each answer that is there on one side only, or judged otherwise at a seed."""
    for name, answers in now.items():
        old = before.get(name, {})
        yield from (f"{name}: {one!r} is new" for one in answers.keys() - old.keys())
        yield from (f"{name}: {one!r} is no more" for one in old.keys() - answers.keys())
        for one in old.keys() & answers.keys():
            for seed, was, is_now in zip(SEEDS, old[one], answers[one], strict=True):
                if was != is_now:
                    yield f"{name}: {one!r} at seed {seed}:\n  was {was}\n  is  {is_now}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.verdicts", description=__doc__)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", help="the exercises; all of them if left out")
    given = parser.parse_args()
    before = read(given.file)
    if given.what == "record":
        with given.file.open("a") as file:
            # what was recorded before it was stopped is kept
            for one in every([name for name in named(given.names) if name not in before]):
                file.write(json.dumps(one) + "\n")
                file.flush()
        return 0
    judged = count = 0
    for name, answers in every(given.names or [*before]):
        judged += len(answers) * len(SEEDS)
        for line in differences({name: before.get(name, {})}, {name: answers}):
            count += 1
            print(line, flush=True)
    print(f"{judged} verdicts, {count} differences")
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
