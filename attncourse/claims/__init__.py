"""Claims: a sentence of the course, and the function that measures it on the reader's machine.

A claim holds or does not hold by a relation between measured quantities: a ratio, a slope, an
order. A module of this package holds the claims of the chapter of its name.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pkgutil import iter_modules

import torch

from attncourse.devices import device


@dataclass(frozen=True)
class Measured:
    """What was measured, by name, the relation that the claim states, and whether it holds."""

    quantities: dict[str, float]
    relation: str
    holds: bool

    def __str__(self) -> str:
        values = "; ".join(f"{name}: {value:.4g}" for name, value in self.quantities.items())
        return f"{values} (stated: {self.relation})"


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

    def _repr_html_(self) -> str:
        claim = self.claim
        code = escape(inspect.getsource(claim.function))
        return (
            '<div class="claim" '
            'style="border-left: 3px solid; padding-left: 0.8em; overflow-wrap: anywhere">'
            f"<p><strong>Claim.</strong> {escape(claim.statement)}</p>"
            f"<p>Measured here: {escape(str(self.measured))}. "
            f"It <strong>{self.verdict}</strong>. Source: {escape(claim.source)}.</p>"
            f"<details><summary>How {escape(claim.id)} is measured</summary>"
            f'<pre tabindex="0" style="overflow-x: auto">{code}</pre></details></div>'
        )


class Ledger(list[Finding]):
    """Findings, shown by a notebook as a list."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        shown = (
            f"<dt><code>{escape(one.claim.id)}</code> {one.verdict}</dt>"
            f"<dd>{escape(one.claim.statement)}<br>Measured here: {escape(str(one.measured))}. "
            f"Source: {escape(one.claim.source)}.</dd>"
            for one in self
        )
        return f'<dl style="overflow-wrap: anywhere">{"".join(shown)}</dl>'


def claim(statement: str, *, source: str) -> Callable[[Callable], Claim]:
    """Decorator: makes a function that measures into a claim, called `<chapter>.<its name>`."""

    def make(function: Callable[[torch.Generator], Measured]) -> Claim:
        chapter = function.__module__.rpartition(".")[2]
        return Claim(f"{chapter}.{function.__name__}", statement, source, function)

    return make


def claims(chapter: str | None = None) -> list[Claim]:
    """The claims of a chapter, or of all, in the order of their modules' lines."""
    chapters = [module.name for module in iter_modules(__path__)]
    if chapter is not None and chapter not in chapters:
        raise ValueError(f"no chapter {chapter!r} has claims; these have: {chapters}")
    modules = [import_module(f"{__name__}.{name}") for name in chapters if chapter in (None, name)]
    return [one for module in modules for one in vars(module).values() if isinstance(one, Claim)]


def ledger(chapter: str | None = None, seed: int = 0) -> Ledger:
    """Every claim of a chapter, or of all, measured now."""
    return Ledger(one.measure(seed) for one in claims(chapter))
