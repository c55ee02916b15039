"""Record the verdicts on every answer in the banks, and compare them later.

Before a change that should leave each verdict as it is: `python -m tools.verdicts record FOLDER`;
after it: `python -m tools.verdicts compare FOLDER`, which prints what differs. Those of a dozen
exercises are recorded in `tests/judge/golden` and compared by a test: where a difference is meant,
`python -m tools.verdicts golden` records them anew.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import torch

from attncourse import course
from attncourse.course import COURSE, chapters, order
from judge.call.caller import local
from judge.compare.credit import credit, in_parts
from judge.exercise import Exercise
from judge.say import bank
from judge.status import Status
from judge.verdict import judge, judge_own

GOLDEN = Path(__file__).parents[1] / "tests" / "judge" / "golden"
# at the first seed answers are watched, as a learner's are; at the others only called
SEEDS = (2026, 2028, 2030)
# it returns what an earlier call has: its evidence depends on the calls before
STATEFUL = "generic: remembers"
# an answer at a seed: status, hint, evidence, share of the points
Row = list[str | float]


def answers(exercise: Exercise) -> dict[str, Callable]:
    """The answers in an exercise's bank by label: two may have one name."""
    functions = [mutant.function for mutant in bank.mutants(exercise)] + exercise.valid_answers
    named = ((f"{index} {one.__name__}", one) for index, one in enumerate(functions))
    return {label: one for label, one in named if not label.endswith(STATEFUL)}


def rows(exercise: Exercise, answer: Callable) -> list[Row]:
    """A row for each seed."""
    result: list[Row] = []
    for seed in SEEDS:
        if seed == SEEDS[0]:
            forbidden = COURSE.solving(exercise)
            verdict = judge(exercise, local(answer), seed, forbidden)
        else:
            forbidden = ()
            verdict = judge_own(exercise, answer, seed)
        share = float(verdict.status == Status.PASSED)
        if in_parts(exercise) and not share:
            share = credit(exercise, local(answer), seed, forbidden).share
        result.append([verdict.status, verdict.hint, verdict.evidence, share])
    return result


def verdicts(name: str) -> dict[str, list[Row]]:
    """The rows of each answer in an exercise's bank, by its label."""
    exercise = course.exercise(name)
    return {label: rows(exercise, answer) for label, answer in answers(exercise).items()}


def versions() -> dict[str, str]:
    """What words errors, and so the evidence: Python's version and torch's."""
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "torch": torch.__version__.partition("+")[0],
    }


def record(folder: Path, name: str) -> None:
    """Write the verdicts on an exercise's answers into a folder."""
    recorded = versions() | {"answers": verdicts(name)}
    # a line for each verdict, so that a change is a line, too
    text = json.dumps(recorded, indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(f"{text}\n", "utf-8")


def compare(folder: Path, name: str) -> list[str]:
    """Judge the answers again: a line for each verdict that is not as recorded, or is not there.

    With another Python or torch than recorded, the evidence may be worded in another way.
    """
    recorded = json.loads((folder / f"{name}.json").read_text("utf-8"))
    same_words = versions() == {key: recorded[key] for key in versions()}

    def comparable(row: Row | None) -> Row | None:
        return row if same_words or row is None else [*row[:2], row[3]]

    before, now = recorded["answers"], verdicts(name)
    missing: list[None] = [None] * len(SEEDS)
    return [
        f"{name}: {label!r} at seed {seed}:\n  was {was}\n  is  {row}"
        for label in {**before, **now}
        for seed, was, row in zip(
            SEEDS, before.get(label, missing), now.get(label, missing), strict=True
        )
        if comparable(was) != comparable(row)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.verdicts", description=__doc__)
    parser.add_argument("what", choices=("record", "compare", "golden"))
    parser.add_argument("folder", type=Path, nargs="?", default=GOLDEN)
    parser.add_argument("names", nargs="*", help="exercises or chapters; all if left out")
    options = parser.parse_args()
    # on tensors this small a second thread only waits
    torch.set_num_threads(1)
    options.folder.mkdir(parents=True, exist_ok=True)
    by_chapter = {chapter: order(chapter) for chapter in chapters()}
    choices = options.names or [*by_chapter]
    names = [name for choice in choices for name in by_chapter.get(choice, [choice])]
    if options.what == "golden":
        names = [file.stem for file in sorted(GOLDEN.glob("*.json"))]
    count = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        if options.what != "compare":
            [*_] = pool.map(partial(record, options.folder), names)
            return 0
        for lines in pool.map(partial(compare, options.folder), names):
            count += len(lines)
            print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
    print(f"{count} differences in {len(names)} exercises")
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
