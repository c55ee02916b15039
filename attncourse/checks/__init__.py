"""The exercises: what each asks, how an answer is checked, and the wrong answers that it knows."""

import difflib
from functools import cache
from importlib import import_module
from importlib.resources import files

from attncourse.checks.exercise import Exercise


class OneLineError(ValueError):
    """What a notebook shows as its one line, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        # IPython's own hook
        return [str(self)]


def chapters() -> list[str]:
    """The chapters that have exercises."""
    folders = files("attncourse.checks").iterdir()
    return sorted(one.name for one in folders if one.is_dir() and (one / "__init__.py").is_file())


@cache
def exercises(chapter: str) -> dict[str, Exercise]:
    """A chapter's exercises by name, in the order in which its package lists them."""
    if chapter not in chapters():
        raise OneLineError(f"no chapter {chapter!r} has exercises; these have: {chapters()}")
    return {name: one_of(chapter, name) for name in order(chapter)}


def exercise(name: str) -> Exercise:
    """The exercise of that name, of whatever chapter; OneLineError with the nearest known name."""
    known = {one: chapter for chapter in chapters() for one in order(chapter)}
    if name not in known:
        (nearest,) = difflib.get_close_matches(str(name), known, n=1, cutoff=0)
        raise OneLineError(f"no exercise is called {name!r}: the nearest name is {nearest!r}")
    return one_of(known[name], name)


def order(chapter: str) -> tuple[str, ...]:
    """The names of a chapter's exercises, for which none of them is loaded."""
    return import_module(f"attncourse.checks.{chapter}").ORDER


def one_of(chapter: str, name: str) -> Exercise:
    """An exercise, out of the file of its name."""
    return import_module(f"attncourse.checks.{chapter}.{name}").exercise
