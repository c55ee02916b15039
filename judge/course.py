"""What the judge is told of the course whose exercises it judges: one value, `Course`."""

import difflib
import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judge.exercise import Exercise

# the environment variable by which a process is told, as `module:attribute`
TOLD = "JUDGE_COURSE"
# the groups of a chapter's exercises
CARRY, MORE, CAPSTONE = "These carry the chapter", "More", "Capstone"
# how hard an exercise is, on its card and in the list of a chapter's
LEVELS = {1: "★☆☆ easy", 2: "★★☆ medium", 3: "★★★ hard"}


class OneLineError(ValueError):
    """What a notebook shows as its one line, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        # IPython's own hook
        return [str(self)]


@dataclass(frozen=True)
class Course:
    """A course of notebooks with exercises.

    Learners import its `package`, which has check, failed, hint and status, those that
    `<package>.checks.notebook` makes, beside passed, which nbgrader's cells call. In
    `<package>.checks` each chapter has a folder, whose `ORDER` lists its exercises, and each of
    these a module there whose `exercise` is an `Exercise`.
    `CARRYING`, with which `ORDER` then begins, lists those that carry the chapter, if it has any.
    `notebooks` is the folder of the exercise notebooks as they are handed out, one for each
    chapter, in which the metadata below `metadata_key` say whose answer a cell is.

    `packages` names those that are there when an answer is graded, beside its own and Python's.

    `hides` names the modules that hold answers, "{chapter}" in them the chapter that is judged, and
    `solved_by` functions of libraries that would be a whole answer. In the folder `solutions` are
    worked answers, and below the module `oracles`, by chapter, functions that a reference must
    equal; both may be missing.
    """

    package: str
    notebooks: Path
    version: str
    hides: tuple[str, ...]
    metadata_key: str
    packages: tuple[str, ...] = ("torch", "numpy")
    solved_by: tuple[str, ...] = ()
    solutions: Path | None = None
    oracles: str = ""

    @property
    def checks(self) -> str:
        """The package of its exercises."""
        return f"{self.package}.checks"

    @property
    def notebook(self) -> str:
        """The module of what a notebook calls: check, failed, hint and status."""
        return f"{self.checks}.notebook"

    @property
    def folder(self) -> Path:
        """Where its package lies."""
        return Path(str(import_module(self.package).__file__)).parent

    def chapters(self) -> list[str]:
        """The chapters that have exercises."""
        folders = files(self.checks).iterdir()
        there = (one for one in folders if one.is_dir() and (one / "__init__.py").is_file())
        return sorted(one.name for one in there)

    def order(self, chapter: str) -> tuple[str, ...]:
        """The names of a chapter's exercises, for which none of them is loaded."""
        return self.listed(chapter)["ORDER"]

    def listed(self, chapter: str) -> dict[str, tuple[str, ...]]:
        """What a chapter's package lists: `ORDER`, and `CARRYING`, with which that begins."""
        module = import_module(f"{self.checks}.{chapter}")
        lists = {"CARRYING": getattr(module, "CARRYING", ()), "ORDER": module.ORDER}
        for name, listed in lists.items():
            if isinstance(listed, str):
                place = f"{name} in {self.checks}.{chapter}"
                raise ValueError(f"{place} is no tuple: write ({listed!r},)")
        if lists["ORDER"][: len(lists["CARRYING"])] != lists["CARRYING"]:
            raise ValueError(f"ORDER in {self.checks}.{chapter} does not begin with *CARRYING")
        return lists

    def groups(self, chapter: str) -> dict[str, list["Exercise"]]:
        """A chapter's exercises in order: those that carry it, more, and a capstone.

        No group is empty. A chapter that marks none has one, without a name.
        """
        carrying = self.listed(chapter)["CARRYING"]
        groups: dict[str, list[Exercise]] = {}
        for one in self.exercises(chapter).values():
            rest = CAPSTONE if one.kind == "capstone" else MORE
            name = CARRY if one.name in carrying else rest
            groups.setdefault(name if carrying else "", []).append(one)
        return groups

    def exercises(self, chapter: str) -> dict[str, "Exercise"]:
        """A chapter's exercises by name, in the order in which its package lists them."""
        if chapter not in (there := self.chapters()):
            raise OneLineError(f"no chapter {chapter!r} has exercises; these have: {there}")
        return {name: self.one_of(chapter, name) for name in self.order(chapter)}

    def exercise(self, name: str) -> "Exercise":
        """The exercise of that name, of whatever chapter; OneLineError with the nearest name."""
        known = {one: chapter for chapter in self.chapters() for one in self.order(chapter)}
        if not known:
            raise OneLineError(f"{self.checks} has no exercises yet")
        if name not in known:
            if unlisted := [c for c in self.chapters() if self.has_file(c, str(name))]:
                raise OneLineError(
                    f"ORDER in {self.checks}.{unlisted[0]} does not list {name!r}, whose file is "
                    "there: write its name where it should stand"
                )
            (nearest,) = difflib.get_close_matches(str(name), known, n=1, cutoff=0)
            raise OneLineError(f"no exercise is called {name!r}: the nearest name is {nearest!r}")
        return self.one_of(known[name], name)

    def has_file(self, chapter: str, name: str) -> bool:
        """Whether a chapter's folder has a file of an exercise's name, listed or not."""
        return (files(f"{self.checks}.{chapter}") / f"{name}.py").is_file()

    def one_of(self, chapter: str, name: str) -> "Exercise":
        """An exercise, out of the file of its name; ValueError where that holds another."""
        place = f"{self.checks}.{chapter}.{name}"
        try:
            one = import_module(place).exercise
        except ModuleNotFoundError as error:
            if error.name != place:
                raise
            raise ValueError(f"{chapter} lists {name!r}, and there is no module {place}") from None
        if (one.chapter, one.name) != (chapter, name):
            raise ValueError(f"{place} holds the exercise {one.name!r} of {one.chapter!r}")
        return one

    def hidden(self, chapter: str) -> tuple[str, ...]:
        """The modules that hold the answers to a chapter's exercises, and those of all of them."""
        own = (one.format(chapter=chapter) for one in self.hides if chapter)
        return (*own, self.checks)

    def solving(self, exercise: "Exercise") -> tuple[str, ...]:
        """The functions of libraries that would be the whole answer; a test may call any."""
        return () if exercise.kind == "test" else self.solved_by

    def forbidden(self, exercise: "Exercise") -> tuple[str, ...]:
        """What an answer may not call: the course's solutions, and what would solve it whole."""
        hidden = self.hidden(exercise.chapter)
        return (*hidden, *exercise.forbidden, *self.solving(exercise))


@cache
def course() -> Course:
    """The course that this process grades; LookupError where nobody has told it."""
    if (told := os.environ.get(TOLD)) is None:
        raise LookupError(f"{TOLD} does not say which course: set it to module:attribute")
    module, _, attribute = told.partition(":")
    return getattr(import_module(module), attribute)
