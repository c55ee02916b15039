"""Runs that a csv keeps, a line each, and pages of their means: shared by the three tasks."""

import csv
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from statistics import mean, stdev

from timing import RESULTS, markdown


@dataclass(frozen=True)
class Runs:
    """The lines of results/NAME.csv: what a run is called, its seed, and what it measured."""

    name: str
    called: tuple[str, ...]
    measured: tuple[str, ...]

    def finished(self) -> dict[tuple[str, ...], list[float]]:
        """What each run measured, by what it is called and the seed."""
        path = RESULTS / f"{self.name}.csv"
        if not path.is_file():
            return {}
        with path.open(encoding="utf-8") as file:
            return {
                tuple(row[name] for name in (*self.called, "seed")): [
                    float(row[name]) for name in self.measured
                ]
                for row in csv.DictReader(file)
            }

    def columns(self, *called: str) -> list[tuple[float, ...]]:
        """The measurements of the runs that are called so: a column each, of all seeds."""
        found = [scores for key, scores in self.finished().items() if key[:-1] == called]
        return list(zip(*found, strict=True))

    def once(self, run: Callable[..., Iterable[float]], *key) -> bool:
        """Call run(*key), and record it, unless the csv has it; whether it ran."""
        if tuple(map(str, key)) in self.finished():
            return False
        scores = list(run(*key))
        path = RESULTS / f"{self.name}.csv"
        new = not path.is_file()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow((*self.called, "seed", *self.measured))
            writer.writerow((*key, *(f"{score:.5f}" for score in scores)))
        print(*key, scores, flush=True)
        return True


def spread(column: Iterable[float]) -> str:
    """The mean, and the standard deviation where there is more than one."""
    scores = tuple(column)
    return f"{mean(scores):.3f}" + (f" ± {stdev(scores):.3f}" if len(scores) > 1 else "")


def write_page(
    name: str,
    script: str,
    text: Iterable[str],
    columns: Iterable[str],
    lines: list[tuple],
    *packages: str,
) -> None:
    """results/NAME.md: what was measured, when, on which machine and how, and the table."""
    made_with = ", ".join(f"{package} {version(package)}" for package in ("torch", *packages))
    machine = f"{platform.machine()}, one thread, {date.today():%d %B %Y}; "
    machine += f"Python {platform.python_version()}, {made_with}."
    made = f"{machine} Made with `python benchmarks/{script}.py`."
    parts = [*text, made, markdown(columns, lines)]
    (RESULTS / f"{name}.md").write_text("\n\n".join(parts), "utf-8")
