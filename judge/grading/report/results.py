"""What grading one file found: written as "not graded" before anything runs, filled as it goes."""

import dataclasses
import json
from collections.abc import Set
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from judge.grading.report.text import plain, replace
from judge.grading.sandbox.tiers import Tier
from judge.status import Status

SCHEMA = 6
# the hint of an exercise while it is judged, and of one that breaks the grader twice
AT_WORK = "it is judged"
TOO_BUSY = "the machine was too busy to judge it: grade it again (with --out, use --regrade)"
BREAKS = "this answer breaks the grader, even on a second try ({}): show it to your teacher"
# what a report says only where points were given in parts
IN_PARTS = ("partial", "share")


@dataclass
class Result:
    """One exercise of one file. `passed` earns its points, and else the share that is right."""

    name: str
    title: str
    max_points: int
    status: Status = Status.NOT_GRADED
    hint: str = ""
    evidence: str = ""
    note: str = ""
    seconds: float = 0.0
    answer: str = ""
    share: float = 0.0

    @property
    def points(self) -> float:
        # whole numbers stay whole
        part = round(self.max_points * self.share, 2) if self.share else 0
        return self.max_points if self.status == Status.PASSED else part

    def remark(self, text: str) -> None:
        """Add to the note."""
        self.note = "; ".join(filter(None, (self.note, plain(text))))


@dataclass
class Report:
    """One file. `problem` says why nothing of it could be graded.

    `notes` say what was seen when the notebook's own cells were run, `lacks` names packages that
    they import and that are not installed.
    """

    file: str
    chapter: str = ""
    submission_sha256: str = ""
    pristine_sha256: str = ""
    seed: int = 0
    sandbox: Tier = Tier.NONE
    torch: str = ""
    problem: str = ""
    partial: bool = False
    notes: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    exercises: list[Result] = field(default_factory=list)

    @property
    def points(self) -> float:
        return round(sum(one.points for one in self.exercises), 2)

    @property
    def seen(self) -> list[str]:
        """What was seen of the notebook itself, a line each."""
        lacks = f"not installed where the notebook was graded: {', '.join(self.lacks)}"
        return self.notes + [lacks] * bool(self.lacks)

    @property
    def max_points(self) -> int:
        return sum(one.max_points for one in self.exercises)

    @property
    def passed(self) -> bool:
        return bool(self.exercises) and all(one.status == Status.PASSED for one in self.exercises)

    @property
    def graded(self) -> bool:
        """Whether every exercise has a verdict: none is missing because the grader failed."""
        graded = all(one.status != Status.NOT_GRADED for one in self.exercises)
        return not self.problem and bool(self.exercises) and graded

    @property
    def too_busy(self) -> bool:
        """Whether every exercise has a verdict, but for those that the machine had no time for."""
        left = [one for one in self.exercises if one.status == Status.NOT_GRADED]
        return not self.problem and bool(left) and all(one.hint == TOO_BUSY for one in left)

    def only(self, exercises: Set[str]) -> "Report":
        """The report on these exercises, or on all if none is named; it says if it has no such."""
        own = [one for one in self.exercises if not exercises or one.name in exercises]
        if own or not self.exercises:
            return dataclasses.replace(self, exercises=own)
        problem = f"no exercise of {self.chapter} is set"
        return dataclasses.replace(self, chapter="", problem=problem, exercises=[])

    def as_data(self) -> dict:
        own = asdict(self, dict_factory=without_parts)
        data = {"schema": SCHEMA, **own, "points": self.points, "max_points": self.max_points}
        for row, one in zip(data["exercises"], self.exercises, strict=True):
            row["points"] = one.points
        return data

    def as_text(self) -> str:
        return json.dumps(self.as_data(), indent=1)

    def write(self, path: Path) -> None:
        replace(path, self.as_text())

    @classmethod
    def read(cls, path: Path) -> "Report":
        return cls.of(path.read_text(encoding="utf-8"))

    @classmethod
    def of(cls, text: str) -> "Report":
        """The report that `as_text` wrote; ValueError where another version has written it."""
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise ValueError(f"a report of schema {data['schema']}, not {SCHEMA}")
        rows = data.pop("exercises")
        for row in rows:
            del row["points"]
            row["status"] = Status(row["status"])
        for derived in ("schema", "points", "max_points"):
            del data[derived]
        results = [Result(**row) for row in rows]
        return cls(**data | {"sandbox": Tier(data["sandbox"])}, exercises=results)


def without_parts(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if value or name not in IN_PARTS}
