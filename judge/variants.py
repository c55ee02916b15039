"""Answers made of a right one: pieces of its text replaced, or another function behind a name."""

import builtins
import dis
import inspect
import linecache
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from textwrap import dedent
from types import CodeType
from typing import Any, NamedTuple
from warnings import catch_warnings

from judge.exercise import Exercise

# pieces of the text, each followed by what takes its place; or an answer that is another program
Way = tuple[str, ...] | Callable


class Change(NamedTuple):
    """What an answer was made of: a right one, pieces of its text, functions behind names."""

    answer: Callable
    edits: tuple[str, ...] = ()
    names: Mapping[str, Callable] = {}

    def joined(self, other: "Change") -> Callable | None:
        """The answer with both changes; None where they cannot be made side by side."""
        if self.answer is not other.answer or self.names.keys() & other.names.keys():
            return None
        try:
            # one edit may have made a second place for the other
            source = replaced(self.answer, *map(every, (*self.edits, *other.edits)))
            with catch_warnings(action="ignore", category=SyntaxWarning):
                return compiled(self.answer, source, "two mistakes", **self.names, **other.names)
        except (ValueError, SyntaxError):
            return None


@cache
def source_of(answer: Callable) -> str:
    """The text of a function or a class, without its decorators, which would register it again."""
    source = dedent(inspect.getsource(answer))
    if (start := re.search(r"^(def|class) ", source, re.MULTILINE)) is None:
        raise ValueError(f"only what is written with def or class can be edited: {source}")
    return source[start.start() :]


def full_name(answer: Callable) -> str:
    """The name of an answer, below that of its module: in most of them it is `plain`."""
    return f"{answer.__module__}.{answer.__name__}"


class Every(str):
    """A piece of a text that is to be replaced at each place where it stands."""


def every(piece: str) -> Every:
    """The piece at each of its places: an edit of a plain one must have one place alone."""
    return Every(piece)


def replaced(answer: Callable, *edits: str) -> str:
    """The text of an answer, edited: `edits` are a piece, what takes its place, and so on in turn.

    Raises ValueError for a piece that the text does not have, or has at several places, where that
    is not asked for with `every`, and for one without a replacement.
    """
    if len(edits) % 2:
        raise ValueError(f"{full_name(answer)}: {edits[-1]!r} has nothing to take its place")
    source = source_of(answer)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if old not in source:
            raise ValueError(f"{full_name(answer)} has no {old!r} to replace")
        if (count := source.count(old)) > 1 and not isinstance(old, Every):
            raise ValueError(
                f"{full_name(answer)} has {old!r} at {count} places: quote more of the one that "
                f"is meant, or write every({old!r}) where all are"
            )
        source = source.replace(old, new)
    return source


def globals_of(code: CodeType) -> Iterator[str]:
    """The names that the code, and the functions in it, look up in their module."""
    yield from (one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL")
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from globals_of(inner)


def compiled(answer: Callable, source: str, label: str, **names: Any) -> Callable:
    """The function or class that the text defines where the answer stands.

    A traceback shows the text, and the label is its name. `names` hide those of the module.
    """
    file = f"<{answer.__module__}: {label}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = vars(inspect.getmodule(answer)) | names
    code = compile(source, file, "exec")
    exec(code, namespace)
    if missing := sorted(set(globals_of(code)) - namespace.keys() - vars(builtins).keys()):
        raise ValueError(f"{label}: {answer.__module__} has no {', '.join(missing)}")
    made = namespace[answer.__name__]
    made.__name__ = label
    return made


def edited(answer: Callable, *edits: str) -> Callable:
    """The answer with pieces of its text replaced: `edited(answer, old, new, old, new)`."""
    label = "; ".join(
        f"{old.strip()} -> {new.strip()}" for old, new in zip(edits[::2], edits[1::2], strict=False)
    )
    variant = compiled(answer, replaced(answer, *edits), label)
    variant.made_by = Change(answer, edits)  # pyright: ignore
    return variant


def rebound(answer: Callable, **names: Callable) -> Callable:
    """The answer with other functions behind names that it calls."""
    source = source_of(answer)
    for name in names:
        if not re.search(rf"\b{name}\b", source):
            raise ValueError(f"{full_name(answer)} calls no {name!r}")
    label = ", ".join(f"{name}={one.__name__}" for name, one in names.items())
    variant = compiled(answer, source, label, **names)
    variant.made_by = Change(answer, names=names)  # pyright: ignore
    return variant


def made(answer: Callable, way: Way) -> Callable:
    """The answer edited in that way; an answer that is another program is itself."""
    if callable(way):
        return way
    if not (isinstance(way, tuple) and all(isinstance(piece, str) for piece in way)):
        raise ValueError(
            f"{full_name(answer)}: an edit is (old, new), or (old, new, old, new, ...), not {way!r}"
        )
    return edited(answer, *way)


def wrong(exercise: Exercise, answer: Callable, table: Mapping[str, Way | list[Way]]) -> None:
    """Give the exercise a wrong answer for each way, under the hint that names the mistake."""
    for hint, ways in table.items():
        for way in ways if isinstance(ways, list) else [ways]:
            try:
                exercise.mutant(hint)(made(answer, way))
            except (ValueError, SyntaxError) as error:
                raise ValueError(f"{error}, under the hint {hint!r}") from None


def right(exercise: Exercise, answer: Callable, *ways: Way) -> None:
    """Give the exercise a right answer for each way."""
    for way in ways:
        exercise.valid(made(answer, way))


def calling(
    exercise: Exercise,
    answer: Callable,
    names: str | tuple[str, ...],
    ways: Mapping[Any, str | None],
) -> None:
    """Give the exercise the answer with each of these behind a name that it calls, or several.

    `ways` goes from the function, or one for each name, to the hint; None where it is right.
    """
    for functions, hint in ways.items():
        pairs = (
            [(names, functions)] if isinstance(names, str) else zip(names, functions, strict=True)
        )
        variant = rebound(answer, **dict(pairs))
        (exercise.valid if hint is None else exercise.mutant(hint))(variant)
