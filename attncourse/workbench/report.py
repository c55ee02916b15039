"""What came of a method, as text and as a picture: its numbers, and its dots among the course's."""

from dataclasses import dataclass
from functools import cached_property
from html import escape

from attncourse.workbench.counts import LONG, SHORT, Counts, state_after
from attncourse.workbench.methods import METHODS
from attncourse.workbench.protocol import Bits
from attncourse.workbench.recall import DISTANCES
from attncourse.workbench.results import (
    FULL,
    QUICK,
    RECALL,
    BySeed,
    Dots,
    front,
    number,
    pairs_in_order,
    stored,
)

# the distance whose recall is compared
DISTANCE = 128
LABELS = {
    "bits": "bits a character",
    "recall": f"share recalled at {DISTANCE} tokens",
    "state": f"bytes of state after {SHORT} tokens",
    "operations": "operations to write one more",
}


@dataclass(frozen=True)
class Report:
    """The numbers of a method; without bits it was only checked, without shares not to recall."""

    name: str
    expected: dict[str, float]
    counts: Counts
    bits: Bits | None = None
    shares: list[float] | None = None
    quick: bool = False

    def __str__(self) -> str:
        return "\n\n".join([*self.tables(), *map(str, self.dots())])

    def _repr_html_(self) -> str:
        from attncourse.figures import drawing

        pictures = [dots.picture() for dots in self.dots()]
        text = escape("\n\n".join(self.tables()))
        return f'<pre style="overflow-x: auto">{text}</pre>' + (
            drawing.beside(*pictures)._repr_html_() if pictures else ""
        )

    @property
    def measured(self) -> dict[str, float]:
        """What an expectation may be about."""
        counts = self.counts
        found = {"state": counts.short_state, "operations": counts.write_operations}
        found = {name: float(count) for name, count in found.items()}
        if self.bits:
            found["bits"] = self.bits.test
        if self.shares:
            found["recall"] = self.shares[DISTANCES.index(DISTANCE)]
        return found

    def tables(self) -> list[str]:
        """The numbers as text."""
        parts = [counts_table(self.counts)]
        if self.bits:
            rows = [
                ("bits a character", f"{self.bits.test:.3f}"),
                ("its 95 % interval over texts", f"{self.bits.low:.3f} to {self.bits.high:.3f}"),
                ("validation", f"{self.bits.validation:.3f}"),
            ]
            rows += [
                (f"recalled at {distance} tokens", f"{share:.2f}")
                for distance, share in zip(DISTANCES, self.shares or [], strict=False)
            ]
            parts.append(table(rows))
        rows = [
            (LABELS[name], f"expected {number(self.expected[name])}, measured {number(value)}")
            for name, value in self.measured.items()
            if name in self.expected
        ]
        parts += [table(rows)] if rows else []
        parts += [self.front()] if self.bits else []
        return parts + ([self.order()] if self.quick else [])

    @cached_property
    def ours(self) -> dict[str, BySeed]:
        """The stored results of the course's methods in what is measured here, and their states."""
        bits = stored(QUICK if self.quick else FULL, "bits") if self.bits else {}
        states = {name: [float(state_after(SHORT, METHODS[name]))] for name in bits}
        found = {"bits": bits, "state": states}
        if self.shares:
            found["recall"] = stored(RECALL, str(DISTANCE))
        return {measure: by_seed for measure, by_seed in found.items() if by_seed}

    def dots(self) -> list[Dots]:
        """A row of dots for each method, in each measure."""
        return [
            Dots(LABELS[measure], ours, self.name, self.measured[measure])
            for measure, ours in self.ours.items()
        ]

    def front(self) -> str:
        """How far from the course's front the method is."""
        if "bits" not in self.ours:
            return "There are no stored results of the course's methods to compare with."
        states = {name: values[0] for name, values in self.ours["state"].items()}
        name, bits = front(self.ours["bits"], states, self.measured["state"])
        distance = bits - self.measured["bits"]
        return (
            f"The course's front at this state is {name} with {bits:.3f} bits, "
            f"{abs(distance):.3f} {'more' if distance > 0 else 'less'} than yours."
        )

    def order(self) -> str:
        """How far the order after a quick training can be trusted."""
        right, pairs = pairs_in_order(stored(QUICK, "bits"), stored(FULL, "bits"))
        if not pairs:
            return "How well a quick training orders methods has not been measured."
        return f"A quick training orders {right} of {pairs} pairs of methods as the full one does."


def table(rows: list[tuple[str, str]]) -> str:
    """Rows of a name and a number."""
    return "\n".join(f"{name:<44}{number:>24}" for name, number in rows)


def counts_table(counts: Counts) -> str:
    """The counts as text."""
    return table(
        [
            (f"bytes of state after {SHORT} tokens", f"{counts.short_state:,}"),
            (f"bytes of state after {LONG} tokens", f"{counts.long_state:,}"),
            (f"operations to read {SHORT} tokens", f"{counts.read_operations:,}"),
            ("elements made on the way", f"{counts.read_elements:,}"),
            ("operations to write one more", f"{counts.write_operations:,}"),
            ("elements made on the way", f"{counts.write_elements:,}"),
        ]
    )
