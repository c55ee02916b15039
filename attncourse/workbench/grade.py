"""Grades methods that were handed in.

    python -m attncourse.workbench.grade handed_in/*.zip --out grades

What is judged, and what each option does, is said on the page `reference/workbench.md`.
"""

import argparse
import os
import random
import secrets
import sys
from os.path import commonpath
from pathlib import Path

import torch

from attncourse.course import ADDRESS
from attncourse.data.addresses import addresses, read_addresses
from attncourse.workbench import protocol
from attncourse.workbench.gradebook import Graded, ResultCache, write_class
from attncourse.workbench.grader import Grader
from attncourse.workbench.hand_in import unpack
from attncourse.workbench.layers import UnfitError
from attncourse.workbench.points import Found
from attncourse.workbench.remote import NotGradedError
from judge.course import TOLD
from judge.grading.gradebook.resume import seed_of
from judge.grading.sandbox.tiers import select_tier


def main() -> int:
    os.environ.setdefault(TOLD, ADDRESS)
    options = parsed()
    # one thread: the same sums in the same order on every machine
    torch.set_num_threads(1)
    tier, why = select_tier()
    if tier is None:
        sys.exit(f"No sandbox works here: {why}")
    if options.out:
        seed = seed_of(options.out, options.seed)
    else:
        seed = secrets.randbits(31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    corpus = addresses()
    if corpus.sample:
        print(f"Bits are not judged, and nothing is trained anew: {corpus.why}")
    unseen = tuple(read_addresses(options.texts)) if options.texts else ()
    texts = ((), unseen, ()) if corpus.sample else (corpus.test, unseen, corpus.train)
    settings = [seed, bool(corpus.sample), [text.text for text in unseen], options.steps]
    cache = ResultCache(options.out, settings)
    return grade_class(
        named(options.files), Grader(tier, seed, *texts), cache, options.retrain, options.steps
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m attncourse.workbench.grade", description="Grade methods that were handed in."
    )
    parser.add_argument("files", type=Path, nargs="+", help="zip files, or folders with them")
    parser.add_argument("--out", type=Path, help="the folder for results, and for their table")
    parser.add_argument("--texts", type=Path, help="texts that nobody has seen")
    parser.add_argument("--retrain", type=int, default=0, help="how many methods to train anew")
    parser.add_argument("--seed", type=int, help="of what is drawn")
    parser.add_argument(
        "--steps", type=int, default=protocol.STEPS, help="of a training anew, to try it out"
    )
    options = parser.parse_args()
    if options.steps < protocol.PARTS:
        parser.error(f"--steps {options.steps}: a training has at least {protocol.PARTS}")
    return options


def named(paths: list[Path]) -> dict[str, Path]:
    """The zip files among paths and in folders, by what tells them apart."""
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob("*.zip")) if path.is_dir() else [path])
    ]
    if not files:
        sys.exit("There is no zip file.")
    top = commonpath([file.resolve().parent for file in files])
    return {file.resolve().relative_to(top).with_suffix("").as_posix(): file for file in files}


def grade_class(
    files: dict[str, Path], grader: Grader, cache: ResultCache, retrain: int, steps: int
) -> int:
    """Grade files, train some anew, and print and write what came of it; the exit code.

    That is 0 if all methods passed their checks, 1 if one did not, 2 if one was not graded.
    """
    graded = {}
    for name, path in files.items():
        try:
            graded[name] = cache.find(name, path) or graded_file(name, path, grader)
            cache.store(graded[name], path)
            print(f"{graded[name]}", flush=True)
        except (NotGradedError, OSError) as error:
            print(f"{name}: not graded: {error}", flush=True)
    for name in drawn(graded, retrain if grader.train else 0, grader.seed):
        one, path = graded[name], files[name]
        if not one.trained_anew:
            try:
                one.trained_anew = grader.train_anew(unpack(path), one.found.bits, steps)
                cache.store(one, path)
                print(f"{name}: {one.trained_anew}", flush=True)
            except NotGradedError as error:
                print(f"{name}: not trained anew: {error}", flush=True)
    if cache.folder:
        write_class(graded.values(), cache.folder.parent)
    failed = any(one.found.failed for one in graded.values())
    return 2 if len(graded) < len(files) else int(failed)


def graded_file(name: str, path: Path, grader: Grader) -> Graded:
    """What is found of a file."""
    try:
        return Graded(name, grader.grade(unpack(path)))
    except UnfitError as error:
        return Graded(name, Found(failed=str(error)))


def drawn(graded: dict[str, Graded], count: int, seed: int) -> list[str]:
    """So many of the methods that passed their checks."""
    names = sorted(name for name, one in graded.items() if not one.found.failed)
    return random.Random(seed).sample(names, min(count, len(names)))


if __name__ == "__main__":
    sys.exit(main())
