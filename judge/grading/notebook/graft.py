"""The learner's answers, taken out of whatever was handed in and set into the pristine notebook."""

import re
from collections.abc import Collection
from copy import deepcopy
from dataclasses import dataclass, field

from nbformat import NotebookNode

from judge.cell_syntax import LONGEST
from judge.cells import exercise_of
from judge.grading.notebook.code_cells import CodeCell
from judge.grading.notebook.pristine import Chapter, answer_cells, chapters
from judge.grading.notebook.repair import Definitions, definitions, repaired, with_helpers
from judge.grading.notebook.submitted_cells import Cell, NotGradableError, read
from judge.status import Status

MARK = re.compile(r"^(?=[ \t]*#[ \t]*exercise:[ \t]*\w)", re.MULTILINE)
# a cell that may make names which its text does not have
OPAQUE = re.compile(
    r"import[ \t]*\*|^[ \t]*%{1,2}(?:run|load|writefile)\b|\b(?:exec|globals)\(", re.M
)
# so much code outside answers is searched for helpers
MOST_LOOSE = 300_000


@dataclass
class Graft:
    """A notebook ready to be judged: pristine but for the answers, with what was seen of each."""

    chapter: str
    notebook: NotebookNode
    found: set[str] = field(default_factory=set)
    notes: dict[str, str] = field(default_factory=dict)
    too_long: dict[str, str] = field(default_factory=dict)
    weights: bytes = b""
    cells: list[CodeCell] = field(default_factory=list)
    # whose answer a changed cell may make, beside the one that is asked for
    made_elsewhere: set[str] = field(default_factory=set)
    # status and hint of what nothing is written for there, where another cell may make it
    untouched: dict[str, tuple[Status, str]] = field(default_factory=dict)

    def answers(self) -> dict[str, str]:
        return {name: cell.source for name, cell in answer_cells(self.notebook).items()}


def graft(data: bytes) -> Graft:
    """Find which chapter a notebook answers, and set its answers into that chapter's notebook."""
    pristine = chapters()
    known = {name for chapter in pristine.values() for name in chapter.stubs}
    handed_in = read(data)
    cells = [part for cell in handed_in for part in parts(cell, known)]
    marked = [(cell.answers(known), cell) for cell in cells]
    slug = chapter_of([name for name, _ in marked if name]) or chapter_of(
        [name for cell in cells if cell.code for name in cell.defines & known]
    )
    if slug is None:
        raise NotGradableError(
            f"the notebook has no exercise of the course; the chapters are {sorted(pristine)}"
        )
    chapter = pristine[slug]
    result = Graft(slug, deepcopy(chapter.notebook))
    written = [
        (name, cell)
        for name, cell in marked
        if cell.code and cell.source.strip() not in chapter.texts
    ]
    result.cells = code_cells(handed_in, chapter.stubs.keys())
    result.made_elsewhere = made_elsewhere(result.cells, chapter)
    loose = [cell.source for name, cell in written if not name]
    for name, cell in answer_cells(result.notebook).items():
        own = [cell for mark, cell in marked if mark == name]
        answer, note = chosen(name, own, written)
        if answer is None:
            result.notes |= {name: note} if note else {}
            continue
        cell.source, repairs = repaired(answer.source)
        # an editor that splits a cell marks both halves as the answer
        halves = [one.source for mark, one in written if mark == name and one is not answer]
        found = loose_definitions([*loose, *halves])
        cell.source, helpers = with_helpers(cell.source, found, chapter.given)
        if helpers:
            repairs.append(
                f"taken from other cells, and put above the answer: {', '.join(helpers)}"
            )
        result.found.add(name)
        if notes := "; ".join(filter(None, [note, answer.note, *repairs])):
            result.notes[name] = notes
        if (size := len(cell.source)) > LONGEST:
            result.too_long[name] = (
                f"the answer has {size:,} characters, more than {LONGEST:,}: keep what it needs"
            )
            cell.source = chapter.stubs[name]
    return result


def code_cells(cells: list[Cell], known: Collection[str]) -> list[CodeCell]:
    """The code cells as they are run, numbered as they stand among all."""
    return [
        CodeCell(number, repaired(one.source)[0], frozenset(answers_in(one, known)))
        for number, one in enumerate(cells, 1)
        if one.code
    ]


def answers_in(cell: Cell, known: Collection[str]) -> set[str]:
    """The exercises that a cell answers: by its marks, and by the names that it defines."""
    marks = {*filter(None, [cell.answers({*known})]), *map(exercise_of, MARK.split(cell.source))}
    return (marks | cell.defines) & {*known}


def made_elsewhere(cells: list[CodeCell], chapter: Chapter) -> set[str]:
    """The exercises that changed cells name, or may name where a text cannot tell."""
    changed = [one for one in cells if one.source.strip() not in chapter.texts]
    if any(OPAQUE.search(one.source) for one in changed if not one.answers):
        return {*chapter.stubs}
    words = [(set(re.findall(r"\w+", one.source)), one.answers) for one in changed]
    return {
        name
        for name in chapter.stubs
        if any(name in said and answers != {name} for said, answers in words)
    }


def chapter_of(names: list[str]) -> str | None:
    """The chapter that most of these exercises are of."""
    count = {slug: len(chapter.stubs.keys() & names) for slug, chapter in chapters().items()}
    most = max(count, key=lambda slug: count[slug], default=None)
    return most if most and count[most] else None


def parts(cell: Cell, known: set[str]) -> list[Cell]:
    """A cell with several answers, each below its own first line, as that many cells."""
    texts = MARK.split(cell.source)
    names = [name for text in texts if (name := exercise_of(text)) in known]
    if not cell.code or len(set(names)) < 2:
        return [cell]
    above = [] if exercise_of(texts[0]) else [Cell(texts.pop(0), True)]
    note = f"the cell holds {len(texts)} answers"
    return above + [Cell(text, True, exercise=exercise_of(text) or "", note=note) for text in texts]


def chosen(
    name: str, own: list[Cell], written: list[tuple[str | None, Cell]]
) -> tuple[Cell | None, str]:
    """The cell that counts for an exercise, and what to say of that.

    The last one that was written where the exercise asks for it, if it defines what is asked for;
    else one elsewhere that does; else whatever is there.
    """
    code = [cell for cell in own if cell.code]
    changed = [cell for mark, cell in written if mark == name]
    times = f"{len(code)} cells are marked as this answer: the last one you filled in counts"
    note = times if len(code) > 1 else ""
    right = [cell for cell in changed if name in cell.defines]
    if right:
        return right[-1], note
    elsewhere = [cell for mark, cell in written if mark != name and name in cell.defines]
    if elsewhere:
        return elsewhere[-1], "the answer was found by its name, in another cell"
    if code:
        return (changed or code)[-1], note
    return None, "the cell isn't a code cell" if own else ""


def loose_definitions(sources: list[str]) -> Definitions:
    """What cells that answer nothing define: the last ones, where there are too many."""
    size, first = 0, len(sources)
    while first and size < MOST_LOOSE:
        first -= 1
        size += len(sources[first])
    return definitions(repaired(source)[0] for source in sources[first:])
