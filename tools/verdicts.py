"""What the judge says of every answer that it knows, recorded with the answers themselves.

Before a change that should leave each verdict as it is: `python -m tools.verdicts record FOLDER`;
after it: `python -m tools.verdicts compare FOLDER`. That judges the answers that were recorded,
whatever has become of the bank they came from, and prints what differs.
"""

import argparse
import copyreg
import json
import linecache
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import cloudpickle
import torch

from attncourse.course import COURSE, chapters, exercise, order
from judge import bank, usual
from judge.credit import Credit, Groups, credit, in_parts
from judge.exercise import Exercise
from judge.observation import local, observe
from judge.verdict import judge, judge_own

# the first seed's answers are watched, as a learner's are, and the others' only called
SEEDS = (2026, 2028, 2030)
# a class with a cached property holds a lock
copyreg.pickle(type(threading.RLock()), lambda _: (threading.RLock, ()))  # pyright: ignore
# of an answer at a seed: status, hint, evidence, share of the points
Row = list[str | float]


class Recording(NamedTuple):
    """An exercise's answers, by names of their own, and the text of the files that they are in."""

    answers: dict[str, Callable]
    texts: dict[str, list[str]]


def recording(one: Exercise) -> bytes:
    """Every answer that is known of an exercise, with all that it calls of the bank."""
    functions = [mutant.function for mutant in bank.mutants(one)] + one.valid_answers
    # two answers may have one name
    answers = {f"{place} {each.__name__}": each for place, each in enumerate(functions)}
    files = {code.co_filename for each in functions for code in codes(each)}
    texts = {file: linecache.getlines(file) for file in files}
    banks = [name for name in sys.modules if name.startswith(f"{COURSE.content}.")]
    for name in [*banks, usual.__name__]:
        cloudpickle.register_pickle_by_value(sys.modules[name])
    # what an answer was made of is more of the bank, and no part of it
    made = {each: each.made_by for each in functions if hasattr(each, "made_by")}
    for each in made:
        del each.made_by
    try:
        return cloudpickle.dumps(Recording(answers, texts)._asdict())
    finally:
        for each, change in made.items():
            each.made_by = change  # pyright: ignore


def codes(value: Any) -> Iterator[CodeType]:
    """The code of a function, of a class's methods, and of the functions in either."""
    if isinstance(value, type):
        for part in vars(value).values():
            yield from codes(part)
    elif isinstance(code := getattr(value, "__code__", value), CodeType):
        yield code
        for constant in code.co_consts:
            yield from codes(constant) if isinstance(constant, CodeType) else ()


def rows(name: str, recorded: bytes) -> dict[str, list[Row]]:
    """Status, hint, evidence and share of the points of recorded answers, at each seed."""
    # one of two threads on tensors this small waits for the other
    torch.set_num_threads(1)
    one = exercise(name)
    forbidden = COURSE.solving(one)
    answers, texts = Recording(**pickle.loads(recorded))
    for file, lines in texts.items():
        # without a time of change it is not looked for again
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    found: dict[str, list[Row]] = {}
    for label, answer in answers.items():
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
            row: Row = [verdict.status, verdict.hint, verdict.evidence, share]
            found.setdefault(label, []).append(row)
    return found


def credit_of(one: Exercise, seed: int, seen: Callable) -> Credit:
    return Groups(one, seed).credit(seen)


def record(folder: Path, name: str) -> None:
    """Write an exercise's answers and what is said of them; what is there already is kept."""
    if (kept := folder / f"{name}.json").exists():
        return
    answers = recording(exercise(name))
    (folder / f"{name}.pickle").write_bytes(answers)
    kept.write_text(json.dumps(rows(name, answers), indent=0))


def compare(folder: Path, name: str) -> tuple[int, list[str]]:
    """How many verdicts on recorded answers there are, and a line for each that is another now."""
    before = json.loads((folder / f"{name}.json").read_text())
    now = rows(name, (folder / f"{name}.pickle").read_bytes())
    return len(SEEDS) * len(now), [
        f"{name}: {label!r} at seed {seed}:\n  was {was}\n  is  {is_now}"
        for label in now
        for seed, was, is_now in zip(SEEDS, before[label], now[label], strict=True)
        if was != is_now
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.verdicts", description=__doc__)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="exercises or chapters; all if left out")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    by_chapter = {chapter: order(chapter) for chapter in chapters()}
    asked = given.names or [*by_chapter]
    names = [name for each in asked for name in by_chapter.get(each, [each])]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        if given.what == "record":
            [*_] = pool.map(partial(record, given.folder), names)
            return 0
        judged = count = 0
        for verdicts, lines in pool.map(partial(compare, given.folder), names):
            judged, count = judged + verdicts, count + len(lines)
            print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
    print(f"{judged} verdicts, {count} differences")
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
