"""The code cells of a notebook as they are run: in their order, for one answer or for all."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from judge.grading.notebook.names import others_matter
from judge.status import Status

FILE = "cells.json"
# more is not run: what is graded then is the text of the answers
MOST_CELLS, MOST_TEXT = 1000, 2_000_000
CHECKS = re.compile(r"\bcheck\s*\(")


@dataclass(frozen=True)
class CodeCell:
    """A cell's place among all cells, from 1, its text, and the exercises that it answers."""

    number: int
    source: str
    answers: frozenset[str]

    def checks(self, name: str) -> bool:
        """Whether it checks an exercise, as far as its text can tell."""
        return self.may_check and self.names(name)

    @property
    def may_check(self) -> bool:
        return bool(CHECKS.search(self.source))

    def names(self, exercise: str) -> bool:
        return bool(re.search(rf"\b{exercise}\b", self.source))


@dataclass(frozen=True)
class HandedIn:
    """The code cells that were handed in, and what the text says of answers with none to judge.

    `untouched` has status and hint of these, by exercise: another cell may yet make the answer.
    """

    cells: list[CodeCell]
    untouched: dict[str, tuple[Status, str]]

    def write(self, folder: Path) -> None:
        """Leave it to who judges, without the cells where they are too many or too long."""
        fits = len(self.cells) <= MOST_CELLS and sum(map(len, texts(self.cells))) <= MOST_TEXT
        rows = [(one.number, one.source, sorted(one.answers)) for one in self.cells if fits]
        (folder / FILE).write_text(json.dumps([rows, self.untouched]), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "HandedIn":
        rows, untouched = json.loads((folder / FILE).read_text(encoding="utf-8"))
        cells = [CodeCell(number, text, frozenset(names)) for number, text, names in rows]
        return cls(cells, {name: (Status(word), hint) for name, (word, hint) in untouched.items()})


@dataclass(frozen=True)
class Span:
    """Of the cells, by place: those that an answer needs, and where its last check is.

    `begin` is the first that belongs to the answer, `checked` the one after its last check, and
    `end` the one after the last that defines it. `last` is the one after the last that may check it
    otherwise: in a loop over names, or by another name of `check`. Two are equal where nothing is
    left to run between them.
    """

    begin: int
    checked: int
    end: int
    last: int


def span(cells: list[CodeCell], name: str) -> Span | None:
    """Where in the notebook an answer is; None where no cell has to do with it."""
    own = [place for place, one in enumerate(cells) if name in one.answers]
    checks = [place for place, one in enumerate(cells) if one.checks(name)]
    named = [place for place, one in enumerate(cells) if one.names(name)]
    if not own and not named:
        return None
    begin = min(own + checks or named)
    checked = 1 + max(checks, default=max(own, default=begin))
    end = max(checked, 1 + max(own, default=0))
    loops = [place for place, one in enumerate(cells) if one.may_check]
    return Span(begin, checked, end, max(end, 1 + max(named + loops, default=0)))


def between(
    cells: list[CodeCell], begin: int, end: int, name: str, others: bool
) -> Iterator[tuple[int, CodeCell]]:
    """The cells from one place to another, without those that answer another exercise alone."""
    for place in range(begin, end):
        if others or not cells[place].answers or name in cells[place].answers:
            yield place, cells[place]


def texts(cells: Iterable[CodeCell]) -> list[str]:
    return [one.source for one in cells]


def needs_others(cells: list[CodeCell], name: str) -> bool:
    """Whether cells that answer other exercises alone may matter to an answer."""
    own = [one for one in cells if not one.answers or name in one.answers]
    others = [one for one in cells if one.answers and name not in one.answers]
    return others_matter(texts(own), texts(others), name)
