"""Record the verdicts on every answer in the banks, with the answers, and compare them later.

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

from attncourse import course
from attncourse.course import COURSE, chapters, order
from judge.call.caller import local
from judge.compare.credit import credit, in_parts
from judge.exercise import Exercise
from judge.say import bank, generic_mistakes
from judge.status import Status
from judge.verdict import judge, judge_own

# at the first seed answers are watched, as a learner's are; at the others only called
SEEDS = (2026, 2028, 2030)
# a class with a cached property holds a lock
copyreg.pickle(type(threading.RLock()), lambda _: (threading.RLock, ()))  # pyright: ignore
# an answer at a seed: status, hint, evidence, share of the points
Row = list[str | float]


class Recording(NamedTuple):
    """The answers of an exercise by label, and the source lines of their files by path."""

    answers: dict[str, Callable]
    texts: dict[str, list[str]]


def dump_answers(exercise: Exercise) -> bytes:
    """Pickle every answer in an exercise's bank, with the functions of the bank that it calls."""
    functions = [mutant.function for mutant in bank.mutants(exercise)] + exercise.valid_answers
    # two answers may have one name
    answers = {f"{index} {function.__name__}": function for index, function in enumerate(functions)}
    files = {code.co_filename for function in functions for code in code_objects(function)}
    texts = {file: linecache.getlines(file) for file in files}
    banks = [name for name in sys.modules if name.startswith(f"{COURSE.content}.")]
    for name in [*banks, generic_mistakes.__name__]:
        cloudpickle.register_pickle_by_value(sys.modules[name])
    # `made_by`, the edit that made an answer, refers to more of the bank than the answer calls
    edits = {function: function.made_by for function in functions if "made_by" in vars(function)}
    for function in edits:
        del function.made_by
    try:
        return cloudpickle.dumps(Recording(answers, texts)._asdict())
    finally:
        for function, edit in edits.items():
            function.made_by = edit  # pyright: ignore


def code_objects(value: Any) -> Iterator[CodeType]:
    """The code objects of a function or of a class's methods, and those nested in them."""
    if isinstance(value, type):
        for attribute in vars(value).values():
            yield from code_objects(attribute)
    elif isinstance(code := getattr(value, "__code__", value), CodeType):
        yield code
        for constant in code.co_consts:
            yield from code_objects(constant) if isinstance(constant, CodeType) else ()


def judge_answers(name: str, pickled: bytes) -> dict[str, list[Row]]:
    """Judge the pickled answers of an exercise: by label, a row for each seed."""
    # on tensors this small a second thread only waits
    torch.set_num_threads(1)
    exercise = course.exercise(name)
    forbidden = COURSE.solving(exercise)
    answers, texts = Recording(**pickle.loads(pickled))
    for file, lines in texts.items():
        # without a modification time the file is not read again
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    rows: dict[str, list[Row]] = {}
    for label, answer in answers.items():
        for seed in SEEDS:
            if seed == SEEDS[0]:
                verdict = judge(exercise, local(answer), seed, forbidden=forbidden)
                earned = partial(credit, exercise, local(answer), seed, forbidden)
            else:
                verdict = judge_own(exercise, answer, seed)
                earned = partial(credit, exercise, local(answer), seed)
            is_passed = verdict.status == Status.PASSED
            share = earned().share if in_parts(exercise) and not is_passed else float(is_passed)
            row: Row = [verdict.status, verdict.hint, verdict.evidence, share]
            rows.setdefault(label, []).append(row)
    return rows


def record(folder: Path, name: str) -> None:
    """Write the answers and verdicts of an exercise into a folder, unless it has them already."""
    if (path := folder / f"{name}.json").exists():
        return
    answers = dump_answers(course.exercise(name))
    (folder / f"{name}.pickle").write_bytes(answers)
    path.write_text(json.dumps(judge_answers(name, answers), indent=0))


def compare(folder: Path, name: str) -> tuple[int, list[str]]:
    """Judge recorded answers again: the number of verdicts, and a line for each that differs."""
    recorded_rows = json.loads((folder / f"{name}.json").read_text())
    current_rows = judge_answers(name, (folder / f"{name}.pickle").read_bytes())
    return len(SEEDS) * len(current_rows), [
        f"{name}: {label!r} at seed {seed}:\n  was {recorded}\n  is  {current}"
        for label in current_rows
        for seed, recorded, current in zip(
            SEEDS, recorded_rows[label], current_rows[label], strict=True
        )
        if recorded != current
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.verdicts", description=__doc__)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="exercises or chapters; all if left out")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    by_chapter = {chapter: order(chapter) for chapter in chapters()}
    choices = options.names or [*by_chapter]
    names = [name for choice in choices for name in by_chapter.get(choice, [choice])]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        if options.what == "record":
            [*_] = pool.map(partial(record, options.folder), names)
            return 0
        verdict_count = count = 0
        for verdicts, lines in pool.map(partial(compare, options.folder), names):
            verdict_count, count = verdict_count + verdicts, count + len(lines)
            print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
    print(f"{verdict_count} verdicts, {count} differences")
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
