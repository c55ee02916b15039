"""The command that grades, called in this process, and the tables and reports that it writes."""

import csv
import json
from pathlib import Path

from typer.testing import CliRunner, Result

from judge.grading.cli import app


def call(*words: str | Path) -> Result:
    """What the course's command does with these words."""
    return CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def gradebook(out: Path) -> dict[str, dict[str, str]]:
    """The last line of each student in the gradebook of a class, by student."""
    return {row["student"]: row for row in rows(out / "gradebook.csv")}


def points(out: Path) -> dict[str, str]:
    """The points of each student in the gradebook of a class."""
    return {student: row["points"] for student, row in gradebook(out).items()}


def reports(path: Path) -> dict[str, dict]:
    """The reports in a file of JSON, by the name of what was graded."""
    return {report["file"]: report for report in json.loads(path.read_text("utf-8"))}
