"""What the judge is told of the course whose exercises it judges: one value, `Course`."""

import difflib
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judge.exercise import Exercise

# the environment variable by which a process is told, as `module:attribute`
TOLD = "JUDGE_COURSE"
# the groups of a chapter's exercises
FIRST, MORE = "Start with these", "More"
# a line of a list that names an exercise
LISTED = re.compile(r"- `?(\w+)`?")
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

    Learners import its `package`, which has check, failed, hint and status, those that the module
    `session` makes, beside passed, which nbgrader's cells call. In the package `content` each
    chapter has a folder of its name, and in that the folder `exercises`: its `index.md` lists them
    in order (see `groups`), and each is a text, `<name>.md` (see `Task`), beside a module whose
    `exercise` is an `Exercise`. `notebooks` is the folder of the exercise notebooks as they are
    handed out, one for each chapter, in which the metadata below `metadata_key` say whose answer a
    cell is.

    `packages` names those that are there when an answer is graded, beside its own and Python's.

    `hides` names the modules that hold answers, beside all of `content`, "{chapter}" in them the
    chapter that is judged, and `solved_by` functions of libraries that would be a whole answer.
    Below the module `oracles`, by chapter, are functions that a reference must equal, if any.
    """

    package: str
    content: str
    session: str
    notebooks: Path
    version: str
    hides: tuple[str, ...]
    metadata_key: str
    packages: tuple[str, ...] = ("torch", "numpy")
    solved_by: tuple[str, ...] = ()
    oracles: str = ""

    @property
    def folder(self) -> Path:
        """Where its package lies."""
        return Path(str(import_module(self.package).__file__)).parent

    @property
    def content_folder(self) -> Path:
        """Where the folders of the chapters lie."""
        return self.folder.joinpath(*self.content.split(".")[1:])

    def index(self, chapter: str) -> Path:
        """The file that lists a chapter's exercises."""
        return self.content_folder / chapter / "exercises" / "index.md"

    def chapters(self) -> list[str]:
        """The chapters that have exercises."""
        indexes = self.content_folder.glob("*/exercises/index.md")
        return sorted(file.parents[1].name for file in indexes)

    def order(self, chapter: str) -> tuple[str, ...]:
        """The names of a chapter's exercises, for which none of them is loaded."""
        return tuple(name for names in self.listed(chapter).values() for name in names)

    def listed(self, chapter: str) -> dict[str, list[str]]:
        """The names of a chapter's exercises, below the heading of each group."""
        return listed_in(self.index(chapter))

    def groups(self, chapter: str) -> dict[str, list["Exercise"]]:
        """A chapter's exercises in order, by the headings that they are listed below, if any."""
        one = self.exercises(chapter)
        return {name: [one[each] for each in names] for name, names in self.listed(chapter).items()}

    def exercises(self, chapter: str) -> dict[str, "Exercise"]:
        """A chapter's exercises by name, in the order in which its index lists them."""
        if chapter not in (there := self.chapters()):
            raise OneLineError(f"no chapter {chapter!r} has exercises; these have: {there}")
        return {name: self.one_of(chapter, name) for name in self.order(chapter)}

    def exercise(self, name: str) -> "Exercise":
        """The exercise of that name, of whatever chapter; OneLineError with the nearest name."""
        known = {one: chapter for chapter in self.chapters() for one in self.order(chapter)}
        if not known:
            raise OneLineError(f"{self.content} has no exercises yet")
        if name not in known:
            indexes = map(self.index, self.chapters())
            if unlisted := [one for one in indexes if one.with_name(f"{name}.py").is_file()]:
                raise OneLineError(
                    f"{unlisted[0]} does not list {name!r}, whose file is there: write its name "
                    "where it should stand"
                )
            (nearest,) = difflib.get_close_matches(str(name), known, n=1, cutoff=0)
            raise OneLineError(f"no exercise is called {name!r}: the nearest name is {nearest!r}")
        return self.one_of(known[name], name)

    def one_of(self, chapter: str, name: str) -> "Exercise":
        """An exercise, out of the file of its name."""
        place = f"{self.content}.{chapter}.exercises.{name}"
        try:
            one = import_module(place).exercise
        except ModuleNotFoundError as error:
            if error.name != place:
                raise
            raise ValueError(f"{chapter} lists {name!r}, and there is no module {place}") from None
        return one

    def hidden(self, chapter: str) -> tuple[str, ...]:
        """The modules that hold the answers to a chapter's exercises, and those of all of them."""
        own = (one.format(chapter=chapter) for one in self.hides if chapter)
        return (*own, self.content)

    def solving(self, exercise: "Exercise") -> tuple[str, ...]:
        """The functions of libraries that would be the whole answer; a test may call any."""
        return () if exercise.is_test else self.solved_by

    def forbidden(self, exercise: "Exercise") -> tuple[str, ...]:
        """What an answer may not call: the course's solutions, and what would solve it whole."""
        hidden = self.hidden(exercise.chapter)
        return (*hidden, *exercise.forbidden, *self.solving(exercise))


def listed_in(index: Path) -> dict[str, list[str]]:
    """The names that a file lists, a line each, by the heading that they are below."""
    groups: dict[str, list[str]] = {}
    heading = ""
    for line in index.read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif found := LISTED.fullmatch(line):
            groups.setdefault(heading, []).append(found[1])
    return groups


@cache
def course() -> Course:
    """The course that this process grades; LookupError where nobody has told it."""
    if (told := os.environ.get(TOLD)) is None:
        raise LookupError(f"{TOLD} does not say which course: set it to module:attribute")
    module, _, attribute = told.partition(":")
    return getattr(import_module(module), attribute)
