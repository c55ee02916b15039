"""What grading one file found: written as "not graded" before anything runs, filled as it goes."""

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = 4
CONTROL = re.compile(
    r"[\ud800-\udfff]|\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    # what turns the direction of a text
    r"|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
LONGEST = 600
# the hint of an exercise while it is judged, and of one that breaks the grader twice
AT_WORK = "it is judged"
TOO_BUSY = "the machine was too busy for it: grade it again (with --out, by --regrade)"
BREAKS = "it breaks the grader, also when it is judged once more ({}): show it to your teacher"
# what a report says only where points were given in parts
IN_PARTS = ("partial", "share")


@dataclass
class Result:
    """One exercise of one file. `passed` earns its points, and else the share that is right."""

    name: str
    title: str
    max_points: int
    status: str = "not graded"
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
        return self.max_points if self.status == "passed" else part

    def remark(self, text: str) -> None:
        """Add to the note."""
        self.note = "; ".join(filter(None, (self.note, text)))


@dataclass
class Report:
    """One file. `problem` says why nothing of it could be graded."""

    file: str
    chapter: str = ""
    submission_sha256: str = ""
    pristine_sha256: str = ""
    seed: int = 0
    sandbox: str = "none"
    torch: str = ""
    problem: str = ""
    partial: bool = False
    exercises: list[Result] = field(default_factory=list)

    @property
    def points(self) -> float:
        return round(sum(one.points for one in self.exercises), 2)

    @property
    def max_points(self) -> int:
        return sum(one.max_points for one in self.exercises)

    @property
    def passed(self) -> bool:
        return bool(self.exercises) and all(one.status == "passed" for one in self.exercises)

    @property
    def graded(self) -> bool:
        """Whether every exercise has a verdict: none is missing because the grader failed."""
        graded = all(one.status != "not graded" for one in self.exercises)
        return not self.problem and bool(self.exercises) and graded

    @property
    def too_busy(self) -> bool:
        """Whether every exercise has a verdict, but for those that the machine had no time for."""
        left = [one for one in self.exercises if one.status == "not graded"]
        return not self.problem and bool(left) and all(one.hint == TOO_BUSY for one in left)

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
        data = json.loads(text)
        results = [
            Result(**{name: value for name, value in row.items() if name != "points"})
            for row in data.pop("exercises")
        ]
        for derived in ("schema", "points", "max_points"):
            del data[derived]
        return cls(**data, exercises=results)


def without_parts(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if value or name not in IN_PARTS}


def replace(path: Path, text: str) -> None:
    """Write a file in one step: whoever reads it, or runs on after a crash, finds a whole one."""
    whole = path.with_name(f"{path.name}.part")
    whole.write_text(text, encoding="utf-8")
    os.replace(whole, path)


def plain(text: str) -> str:
    """Text that came from a learner's process, without control characters and not too long."""
    text = CONTROL.sub("", text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
