"""The results of a class, one file each, and their table.

A run that was stopped goes on with what has no result.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from attncourse.workbench.counts import SHORT, state_after
from attncourse.workbench.methods import METHODS
from attncourse.workbench.points import Found, Part, points_of, total
from attncourse.workbench.results import FULL, Front, front, stored
from judge.grading.gradebook.resume import sources_digest
from judge.grading.report.tables import write_table
from judge.grading.report.text import line, replace
from judge.grading.sandbox.paths import packages

COLUMNS = ("cache step", "count", "expectation", "gain")


@dataclass
class Graded:
    """A file, what was found of it, and what its training anew has shown."""

    name: str
    found: Found
    trained_anew: str = ""

    @property
    def parts(self) -> list[Part]:
        return points_of(self.found, course_front(self.found.state))

    def __str__(self) -> str:
        found, (points, of) = self.found, total(self.parts)
        lines = [f"{line(self.name)}: {points} of {of} points"]
        if found.failed:
            return f"{lines[0]}\n  {found.failed}"
        for name, given, most, why in self.parts:
            score = f"{given} of {most}" if given is not None else f"- of {most}"
            lines.append(f"  {name:<13}{score}: {why}")
        if found.unseen_bits is not None:
            lines.append(f"  bits of new texts: {found.unseen_bits:.3f}")
        lines += [f"  {self.trained_anew}"] if self.trained_anew else []
        return "\n".join(lines)

    @property
    def row(self) -> Sequence[object]:
        found = self.found
        given = ("" if part.points is None else part.points for part in self.parts)
        remarks = filter(None, (found.failed, found.cache_failed, found.ours, self.trained_anew))
        numbers = (found.state, found.operations, rounded(found.bits), rounded(found.unseen_bits))
        empty = ("" if x is None else x for x in numbers)
        checks = "no" if found.failed else "yes"
        return line(self.name), *total(self.parts), checks, *given, *empty, "; ".join(remarks)


def rounded(bits: float | None) -> float | None:
    """Bits as they are shown."""
    return None if bits is None else round(bits, 4)


@cache
def course_front(state: int | None) -> Front | None:
    """The course's method to compare one of this state with; None before all have been measured."""
    bits = stored(FULL, "bits")
    if state is None or not METHODS.keys() <= bits.keys():
        return None
    return front(bits, {name: state_after(SHORT, METHODS[name]) for name in METHODS}, state)


def write_class(graded: Iterable[Graded], folder: Path) -> None:
    """Write a line for each method into methods.csv."""
    header = (
        "file", "points", "of", "checks", *COLUMNS, "state", "operations", "bits",
        "bits of new texts", "remarks",
    )  # fmt: skip
    write_table(folder / "methods.csv", [header, *(one.row for one in graded)])


class ResultCache:
    """What was found of files, in a folder, while nothing that decides has changed.

    That is the file, the course, torch's version and the `settings`; without a folder, nothing is
    kept.
    """

    def __init__(self, folder: Path | None, settings: object):
        self.folder = folder and folder / "results"
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
        self.decides = [sources_digest(packages()), version("torch"), settings]

    def key(self, path: Path) -> str:
        """The name of a file's result."""
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        return hashlib.sha256(json.dumps([self.decides, content]).encode()).hexdigest()[:24]

    def find(self, name: str, path: Path) -> Graded | None:
        """What was found of a file in a run before."""
        if self.folder is None:
            return None
        try:
            kept = json.loads((self.folder / f"{self.key(path)}.json").read_text("utf-8"))
            return Graded(name, Found(**kept["found"]), kept["trained_anew"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, graded: Graded, path: Path) -> None:
        if self.folder:
            kept = {"found": asdict(graded.found), "trained_anew": graded.trained_anew}
            replace(self.folder / f"{self.key(path)}.json", json.dumps(kept, indent=1))
