"""What a push leaves to the night: of an exercise that has not changed, all but a few mutants,
and most of what claims must notice.

`python -m tests.night` records the files of a full run, once it has passed.
"""

import json
import random
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from subprocess import getoutput

from judge.exercise import Exercise, Mutant
from judge.say import bank
from tests import ROOT
from tools.verdicts import GOLDEN

RECORD = ROOT / ".cache" / "full-run.json"
RECORDED = ("attncourse/course/*/exercises/*.*", "judge/**/*.py")
DRAWN, DRAWN_GOLDEN = 8, 3


@cache
def commit() -> str:
    """The commit that is tested; where there is none, what git says of that."""
    return getoutput(f"git -C '{ROOT}' rev-parse HEAD")


def drawn(things: Sequence, count: int, of: str = "") -> list:
    """So many of these things, the same ones for a commit; all where there are no more."""
    return random.Random(f"{commit()} {of}").sample(things, min(count, len(things)))


def digests() -> dict[str, str]:
    """The digest of each file of an exercise and of the judge, by its path."""
    paths = [path for pattern in RECORDED for path in ROOT.glob(pattern)]
    return {
        path.relative_to(ROOT).as_posix(): sha256(path.read_bytes()).hexdigest() for path in paths
    }


@cache
def changed_exercises() -> set[str]:
    """The names of exercises that have changed since the full run that is recorded, if one is.

    Where the judge has changed, these are also the exercises of the golden verdicts.
    """
    if not RECORD.is_file():
        return set()
    changed = {Path(path) for path, _ in json.loads(RECORD.read_text()).items() ^ digests().items()}
    names = {path.stem for path in changed}
    if any(path.parts[0] == "judge" for path in changed):
        names |= {path.stem for path in GOLDEN.glob("*.json")}
    return names


def drawn_mutants(exercise: Exercise) -> list[Mutant]:
    """Some mutants of an exercise, the same ones for a commit; all if the exercise has changed."""
    mutants = bank.mutants(exercise)
    return mutants if exercise.name in changed_exercises() else drawn(mutants, DRAWN, exercise.name)


def drawn_golden() -> set[str]:
    """Some exercises of the golden verdicts, the same ones for a commit, and those that changed."""
    names = sorted(path.stem for path in GOLDEN.glob("*.json"))
    return {*drawn(names, DRAWN_GOLDEN)} | changed_exercises()


if __name__ == "__main__":
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(digests(), indent=0))
