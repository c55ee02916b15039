"""Runs, one line each in a CSV file, and Markdown pages of their means."""

import csv
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from statistics import mean, stdev

from timing import RESULTS, markdown_table


@dataclass(frozen=True)
class Runs:
    """The lines of results/NAME.csv: each has the key of a run, its seed, and its measurements."""

    name: str
    key_columns: tuple[str, ...]
    value_columns: tuple[str, ...]

    def finished(self) -> dict[tuple[str, ...], list[float]]:
        """The measurements of each run in the file, by its key and seed."""
        path = RESULTS / f"{self.name}.csv"
        if not path.is_file():
            return {}
        with path.open(encoding="utf-8") as file:
            return {
                tuple(row[name] for name in (*self.key_columns, "seed")): [
                    float(row[name]) for name in self.value_columns
                ]
                for row in csv.DictReader(file)
            }

    def columns(self, *key: str) -> list[tuple[float, ...]]:
        """The measurements under a key: for each, a tuple over the seeds."""
        scores_by_seed = [scores for run, scores in self.finished().items() if run[:-1] == key]
        return list(zip(*scores_by_seed, strict=True))

    def run_once(self, run: Callable[..., Iterable[float]], *key) -> bool:
        """Call run(*key) and append its line, unless the file has it; return whether it ran."""
        if tuple(map(str, key)) in self.finished():
            return False
        scores = list(run(*key))
        path = RESULTS / f"{self.name}.csv"
        new = not path.is_file()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow((*self.key_columns, "seed", *self.value_columns))
            writer.writerow((*key, *(f"{score:.5f}" for score in scores)))
        print(*key, scores, flush=True)
        return True


def mean_and_std(column: Iterable[float]) -> str:
    """Mean and, of several numbers, standard deviation, as text."""
    scores = tuple(column)
    return f"{mean(scores):.3f}" + (f" ± {stdev(scores):.3f}" if len(scores) > 1 else "")


def write_page(
    name: str,
    script: str,
    text: Iterable[str],
    columns: Iterable[str],
    rows: list[tuple],
    *packages: str,
) -> None:
    """Write results/NAME.md: the text, the machine, date and versions, and a table."""
    made_with = ", ".join(f"{package} {version(package)}" for package in ("torch", *packages))
    machine = f"{platform.machine()}, one thread, {date.today():%d %B %Y}; "
    machine += f"Python {platform.python_version()}, {made_with}."
    provenance = f"{machine} Made with `python benchmarks/{script}.py`."
    parts = [*text, provenance, markdown_table(columns, rows)]
    (RESULTS / f"{name}.md").write_text("\n\n".join(parts), "utf-8")
