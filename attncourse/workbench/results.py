"""The course's own results, which the benchmark stores, and how a method compares with them."""

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

import attncourse

PACKAGE = Path(attncourse.__file__).parent
# a checkout has them beside the package, the wheel in it
IN_THE_WHEEL, IN_A_CHECKOUT = PACKAGE / "results", PACKAGE.parent / "benchmarks" / "results"
FULL, QUICK, RECALL = "today", "today_quick", "today_recall"
WIDTH = 32

# the measurements of each method, one for each seed
BySeed = dict[str, list[float]]


def stored(name: str, column: str) -> BySeed:
    """A column of stored results; empty where there are none yet."""
    folder = IN_THE_WHEEL if IN_THE_WHEEL.is_dir() else IN_A_CHECKOUT
    path, found = folder / f"{name}.csv", defaultdict(list)
    if path.is_file():
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found[row["method"]].append(float(row[column]))
    return dict(found)


def pairs_in_order(quick: Mapping[str, Sequence[float]], full: BySeed) -> tuple[int, int]:
    """How many pairs of methods a quick training orders as the full one does, and of how many.

    Those pairs count whose means after the full training lie further apart than two standard
    deviations over the seeds, of the method that varies more.
    """
    right = pairs = 0
    for a, b in combinations(sorted(quick.keys() & full.keys()), 2):
        if min(len(full[a]), len(full[b])) < 2:
            continue
        distance = fmean(full[a]) - fmean(full[b])
        if abs(distance) > 2 * max(stdev(full[a]), stdev(full[b])):
            pairs += 1
            right += distance * (fmean(quick[a]) - fmean(quick[b])) > 0
    return right, pairs


class Front(NamedTuple):
    """The course's method that others are compared with, and its bits."""

    name: str
    bits: float


def front(bits: BySeed, states: Mapping[str, float], state: float) -> Front:
    """The method with the fewest bits of those with no larger a state; if there is none, that of
    the smallest state."""
    means = {name: fmean(values) for name, values in bits.items()}
    near = [name for name in means if states[name] <= state] or [min(means, key=states.__getitem__)]
    return Front(*min(((name, means[name]) for name in near), key=lambda row: row[1]))


def number(x: float) -> str:
    """Bits and shares with three decimals, bytes with none."""
    return f"{x:,.3f}" if x < 100 else f"{x:,.0f}"


@dataclass(frozen=True)
class Dots:
    """One measure of the course's methods and of a new one, as rows of dots, the lowest first."""

    measure: str
    ours: BySeed
    name: str
    value: float

    def __str__(self) -> str:
        """The rows as text; the new method's dot is a full one."""
        rows = sorted(
            [*self.ours.items(), (self.name, [self.value])], key=lambda row: fmean(row[1])
        )
        low, high = (f(x for _, values in rows for x in values) for f in (min, max))
        lines = [self.measure]
        for name, values in rows:
            line = [" "] * (WIDTH + 1)
            for x in values:
                line[round((x - low) / (high - low or 1) * WIDTH)] = (
                    "●" if name == self.name else "○"
                )
            lines.append(f"  {name:<20}{''.join(line)}  {number(fmean(values))}")
        return "\n".join(lines)

    def picture(self):
        """The rows as a picture."""
        from attncourse.figures import drawing

        groups: dict[str, dict[str, Sequence[float]]] = {
            "the course’s": {**self.ours},
            "yours": {self.name: [self.value]},
        }
        return drawing.dots(groups, alt=str(self), xlabel=self.measure)
