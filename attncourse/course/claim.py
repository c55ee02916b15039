"""Claims: a sentence of the course, and the function that measures it on the reader's machine.

A claim holds or does not hold by a relation between measured quantities: a ratio, a slope, an
order. Those of a chapter are in the module `claims` of its folder.
"""

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import torch

from attncourse.course import COURSE
from attncourse.devices import device

MOST_ROWS = 6
# how a claim's box begins on a page
CLAIM_BOX = '<div class="claim"'
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Expected:
    """The numbers that a claim allows for a quantity, and how they are written."""

    text: str
    low: float = -math.inf
    high: float = math.inf
    closed: bool = True

    def allows(self, value: float) -> bool:
        """Whether a number is as expected; NaN never is."""
        if self.closed:
            return self.low <= value <= self.high
        return self.low < value < self.high

    def show(self, value: float) -> str:
        """A number with as many digits as tell whether it is as expected."""
        allowed = self.allows(value)
        digit_counts = (d for d in range(3, 10) if self.allows(float(f"{value:.{d}g}")) == allowed)
        return number(value, next(digit_counts, 3))


def number(value: float, digits: int = 3) -> str:
    """A number as people write it: 32768, 0.104, 7.63 · 10⁻⁶."""
    # 999.6 has three digits only as 1 · 10³
    if math.isfinite(value) and (value == round(value) or abs(value) >= 10**digits - 0.5):
        return str(round(value)).replace("-", "−")
    mantissa, _, power = f"{value:.{digits}g}".replace("-", "−", value < 0).partition("e")
    return f"{mantissa} · 10{str(int(power)).translate(RAISED)}" if power else mantissa


def expected(text: str, name: str, **bounds) -> Expected:
    return Expected(f"{text}, {name}" if name else text, **bounds)


def exactly(value: float, name: str = "") -> Expected:
    return expected(f"exactly {number(value, 9)}", name, low=value, high=value)


def at_most(bound: float, name: str = "") -> Expected:
    return expected(f"≤ {number(bound)}", name, high=bound)


def at_least(bound: float, name: str = "") -> Expected:
    return expected(f"≥ {number(bound)}", name, low=bound)


def below(bound: float, name: str = "") -> Expected:
    return expected(f"< {number(bound)}", name, high=bound, closed=False)


def above(bound: float, name: str = "") -> Expected:
    return expected(f"> {number(bound)}", name, low=bound, closed=False)


def between(low: float, high: float, name: str = "") -> Expected:
    return expected(f"{number(low)} to {number(high)}", name, low=low, high=high)


def about(value: float, tolerance: float, name: str = "") -> Expected:
    text = f"{number(value)} ± {number(tolerance)}"
    return expected(text, name, low=value - tolerance, high=value + tolerance)


@dataclass(frozen=True)
class Measured:
    """What was measured, by name: a number, or several of a kind, and what the claim expects."""

    rows: Mapping[str, tuple[float | Sequence[float], Expected]]

    def __post_init__(self) -> None:
        if len(self.rows) > MOST_ROWS:
            raise ValueError(f"a claim has at most {MOST_ROWS} quantities, not {len(self.rows)}")

    @property
    def quantities(self) -> dict[str, float | Sequence[float]]:
        return {name: value for name, (value, _) in self.rows.items()}

    @property
    def holds(self) -> bool:
        """Whether every number is as expected."""
        return all(
            all(map(expected.allows, numbers_of(value))) for value, expected in self.rows.values()
        )

    def table_rows(self) -> Iterator[tuple[str, str, str]]:
        """Each quantity's name, its number or their range, and what is expected, with a mark."""
        for name, (value, expected) in self.rows.items():
            ends = {
                expected.show(end): None for end in (min(numbers_of(value)), max(numbers_of(value)))
            }
            mark = "✓" if all(map(expected.allows, numbers_of(value))) else "✗"
            yield name, " to ".join(ends), f"{expected.text} {mark}"

    def __str__(self) -> str:
        return "; ".join(
            f"{name}: {value} ({expectation})" for name, value, expectation in self.table_rows()
        )


def numbers_of(value: float | Sequence[float]) -> Sequence[float]:
    """The numbers of a quantity; none at all is never as expected."""
    return value or [math.nan] if isinstance(value, Sequence) else [value]


@dataclass(frozen=True)
class Claim:
    """A statement, where it comes from, and the function that measures it."""

    id: str
    statement: str
    source: str
    function: Callable[[torch.Generator], Measured]

    def measure(self, seed: int = 0) -> "Finding":
        """The claim tried on numbers drawn from this seed, on the course's device."""
        return Finding(self, self.function(torch.Generator(device()).manual_seed(seed)))


@dataclass(frozen=True)
class Finding:
    """A claim and what was measured for it; shown by a notebook as a small box."""

    claim: Claim
    measured: Measured

    @property
    def verdict(self) -> str:
        return "holds" if self.measured.holds else "does not hold here"

    def __repr__(self) -> str:
        return (
            f"{self.claim.id}: {self.claim.statement} Measured: {self.measured}. It {self.verdict}."
        )

    def _repr_markdown_(self) -> str:
        claim, sign = self.claim, "✓" if self.measured.holds else "✗"
        source = inspect.getsource(claim.function)
        # what the decorator says stands above
        code = source[source.index("def ") :]
        rows = (f"| {' | '.join(map(cell, row))} |" for row in self.measured.table_rows())
        return "\n".join(
            [
                f'{CLAIM_BOX} id="{claim.id}">\n',
                f"**Claim.** {claim.statement}\n",
                "| quantity | measured | expected |\n| --- | --- | --- |",
                *rows,
                f"\n{sign} It **{self.verdict}**. Source: {claim.source}.\n",
                "<details><summary>How it was measured</summary>\n",
                f"```python\n{code}```\n\n</details>\n\n</div>",
            ]
        )


def cell(text: str) -> str:
    """Markdown as it may stand in a table, where a bar would end the cell."""
    return re.sub(r"\$[^$]+\$", lambda math: math[0].replace("|", r"\vert "), text).replace(
        "|", r"\|"
    )


class Ledger(list[Finding]):
    """Findings, shown by a notebook as a list."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_markdown_(self) -> str:
        return "\n\n".join(
            f'<div class="listed-claim" id="{measurement.claim.id}">\n\n'
            f"**{measurement.verdict.capitalize()}.** {measurement.claim.statement}\n\n"
            f"Measured here: {measurement.measured}. Source: {measurement.claim.source}.\n\n</div>"
            for measurement in self
        )


def claim(statement: str, *, source: str) -> Callable[[Callable], Claim]:
    """Decorator: makes a function that measures into a claim, called `<chapter>.<its name>`."""

    def make(function: Callable[[torch.Generator], Measured]) -> Claim:
        chapter = function.__module__.split(".")[2]
        return Claim(f"{chapter}.{function.__name__}", statement, source, function)

    return make


def claims(chapter: str | None = None) -> list[Claim]:
    """The claims of a chapter, or of all: in the order of its file, or in that of its `ORDER`."""
    chapters = COURSE.chapters()
    if chapter is not None and chapter not in chapters:
        raise ValueError(f"no chapter {chapter!r} has claims; these have: {chapters}")
    names = [name for name in chapters if chapter in (None, name)]
    modules = [import_module(f"{COURSE.content}.{name}.claims") for name in names]
    definitions = (getattr(module, "ORDER", vars(module).values()) for module in modules)
    return [value for values in definitions for value in values if isinstance(value, Claim)]


def ledger(chapter: str | None = None, seed: int = 0) -> Ledger:
    """Every claim of a chapter, or of all, measured now."""
    return Ledger(claim.measure(seed) for claim in claims(chapter))
