"""The course's methods on one work, as the benchmark stored it: a row for each, a dot a seed."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from attncourse.figures.drawing import Picture, beside, dot_columns
from attncourse.workbench.counts import Counts, count_method
from attncourse.workbench.methods import METHODS
from attncourse.workbench.recall import DISTANCES
from attncourse.workbench.results import FULL, RECALL, number, stored

Measures = dict[str, dict[str, Sequence[float]]]


def chart() -> Picture:
    """Bits, recall, state and operations of the course's methods, those of fewest bits first."""
    bits = stored(FULL, "bits")
    names = sorted(bits, key=lambda name: fmean(bits[name]))
    counts = {name: count_method(METHODS[name]) for name in names}
    return beside(columns(measured(names)), columns(counted(counts)))


def measured(names: Sequence[str]) -> Measures:
    """What the benchmark stored, for each seed."""
    results = {"bits a\ncharacter": stored(FULL, "bits")} | {
        f"recalled\nat {distance}": stored(RECALL, str(distance)) for distance in DISTANCES[-2:]
    }
    return {
        measure: {name: by_seed[name] for name in names} for measure, by_seed in results.items()
    }


def counted(counts: Mapping[str, Counts]) -> Measures:
    """What a method keeps and computes, in all three layers."""
    return {
        "bytes\nof state": {name: [count.long_state] for name, count in counts.items()},
        "operations\nto read": {name: [count.read_operations] for name, count in counts.items()},
        "operations\nto write": {name: [count.write_operations] for name, count in counts.items()},
    }


def columns(measures: Measures) -> Picture:
    """The measures beside each other, and their means in words."""
    parts = []
    for measure, values in measures.items():
        means = ", ".join(f"{name} {number(fmean(x))}" for name, x in values.items())
        parts.append(f"{measure.replace(chr(10), ' ').capitalize()}: {means}.")
    return dot_columns(measures, alt=" ".join(parts))
