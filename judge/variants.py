"""Answers made of a right one: steps or pieces of its text replaced, functions behind names."""

import ast
import builtins
import dis
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from textwrap import dedent, indent
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from warnings import catch_warnings

from judge.exercise import Exercise
from judge.exercise_text import defined

# statements, each in the place of the step that it is; or pieces of the text, each followed by what
# takes its place; or an answer that is another program
Way = str | tuple[str, ...] | Callable


class Change(NamedTuple):
    """What is changed in a right answer: steps, pieces of its text, functions behind names."""

    answer: Callable
    steps: Mapping[str, str] = {}
    edits: tuple[str, ...] = ()
    names: Mapping[str, Callable] = {}

    @property
    def source(self) -> str:
        """The text of the answer with its steps and pieces replaced."""
        return replaced(self.answer, *self.edits, steps=self.steps)

    def joined(self, other: "Change") -> Callable | None:
        """The answer with both changes; None where they cannot be made side by side."""
        if self.answer is not other.answer or self.names.keys() & other.names.keys():
            return None
        steps = {**self.steps, **other.steps}
        if steps != {**other.steps, **self.steps}:
            return None
        # one edit may have made a second place for the other
        edits = tuple(map(every, (*self.edits, *other.edits)))
        both = Change(self.answer, steps, edits, {**self.names, **other.names})
        try:
            with catch_warnings(action="ignore", category=SyntaxWarning):
                return compiled(both, "two mistakes")
        except (ValueError, SyntaxError):
            return None


def function_in(answer: Callable) -> FunctionType | None:
    """The function itself, or a method that the class has of its own."""
    parts = vars(answer).values() if isinstance(answer, type) else [answer]
    return next((one for one in parts if isinstance(one, FunctionType)), None)


def names_for(answer: Callable) -> dict[str, Any]:
    """The names of the module that a function, or a class, is in, and those that it has beside."""
    found = function_in(answer)
    return vars(sys.modules[answer.__module__]) | (found.__globals__ if found else {})


@cache
def source_of(answer: Callable) -> str:
    """The text of a function or a class, without its decorators, which would register it again."""
    file = found.__code__.co_filename if (found := function_in(answer)) else ""
    # a text that was compiled here is a file of its own
    made = file.startswith("<") and "".join(linecache.getlines(file))
    source = made or dedent(inspect.getsource(answer))
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


def step(statement: ast.stmt) -> str:
    """What a statement is known by: what it assigns to, `return`, or the head of an `if`."""
    match statement:
        case ast.Assign(targets=[target]):
            return ast.unparse(target)
        case ast.Return():
            return "return"
        case ast.If(test=test):
            return f"if {ast.unparse(test)}"
    return ""


@cache
def steps_of(answer: Callable) -> list[tuple[str, ast.stmt]]:
    """The steps of a function, or of each method of a class, but for those inside of others."""
    node = defined(source_of(answer), answer.__qualname__)
    methods = node.body if isinstance(node, ast.ClassDef) else [node]
    return [
        (name, statement)
        for one in methods
        if isinstance(one, ast.FunctionDef)
        for statement in one.body
        if (name := step(statement))
    ]


def steps_in(answer: Callable, statements: str) -> dict[str, str]:
    """By the name of each step of an answer, the statement among these that takes its place.

    A statement that is no step stands before the next one that is. ValueError where none follows,
    and for a step that is there twice.
    """
    known = [name for name, _ in steps_of(answer)]
    steps: dict[str, str] = {}
    before: list[str] = []
    for statement in ast.parse(statements).body:
        before.append(ast.get_source_segment(statements, statement) or "")
        if (name := step(statement)) in known:
            if known.count(name) > 1 or name in steps:
                raise ValueError(f"{full_name(answer)}: the step {name!r} is there twice")
            steps[name], before = "\n".join(before), []
    if before:
        raise ValueError(f"{full_name(answer)} has no step for {before}, among {known}")
    return steps


def restated(answer: Callable, steps: Mapping[str, str]) -> str:
    """The text of an answer with these statements in place of its steps."""
    lines = source_of(answer).splitlines(keepends=True)
    # from the end, because what stands before keeps its place
    for name, old in reversed(steps_of(answer) if steps else []):
        if name in steps:
            new = indent(steps[name], " " * old.col_offset)
            lines[old.lineno - 1 : old.end_lineno] = [f"{new}\n"]
    return "".join(lines)


def replaced(answer: Callable, *edits: str, steps: Mapping[str, str] = {}) -> str:
    """The text of an answer, edited: `edits` are a piece, what takes its place, and so on in turn.

    Raises ValueError for a piece that the text does not have, or has at several places, where that
    is not asked for with `every`, and for one without a replacement.
    """
    if len(edits) % 2:
        raise ValueError(f"{full_name(answer)}: {edits[-1]!r} has nothing to take its place")
    source = restated(answer, steps)
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


def compiled(change: Change, label: str) -> Callable:
    """The answer with that change, where it stands; the label is its name."""
    answer = change.answer
    names = {**names_for(answer), **change.names}
    return defined_by(change.source, answer.__qualname__, label, names)


def defined_by(source: str, name: str, label: str, names: dict[str, Any]) -> Callable:
    """The function or class of that name in a text; a traceback shows the text."""
    file = f"<{names['__name__']}.{name}: {label}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    code = compile(source, file, "exec")
    exec(code, names)
    if missing := sorted(set(globals_of(code)) - names.keys() - vars(builtins).keys()):
        raise ValueError(f"{label}: {names['__name__']} has no {', '.join(missing)}")
    made = names[name]
    made.__name__ = label
    return made


def changed(change: Change, label: str) -> Callable:
    """The answer with that change, which it remembers: it may be joined with another."""
    variant = compiled(change, label)
    variant.made_by = change  # pyright: ignore
    return variant


def made(answer: Callable, way: Way, **names: Callable) -> Callable:
    """The answer edited in that way, with functions behind names; another program is itself."""
    if callable(way):
        return way
    if isinstance(way, str):
        return changed(Change(answer, steps_in(answer, way), names=names), way)
    if not (isinstance(way, tuple) and all(isinstance(piece, str) for piece in way)):
        raise ValueError(
            f"{full_name(answer)}: an edit is a statement, or (old, new, old, new, ...), "
            f"not {way!r}"
        )
    label = "; ".join(
        f"{old.strip()} -> {new.strip()}" for old, new in zip(way[::2], way[1::2], strict=False)
    )
    return changed(Change(answer, edits=way, names=names), label)


def edited(answer: Callable, *edits: str) -> Callable:
    """The answer with pieces of its text replaced: `edited(answer, old, new, old, new)`."""
    return made(answer, edits)


def worked(exercise: Exercise) -> Callable:
    """The worked answer of the exercise's text."""
    return of_text(exercise, "answer")


def stub(exercise: Exercise) -> Callable:
    """The code to repair in the exercise's text."""
    return of_text(exercise, "stub")


def of_text(exercise: Exercise, tag: str) -> Callable:
    """What the cell with that tag in the exercise's text defines, where its notebook would run it.

    It has the names of the bank as well, for what is made of it.
    """
    task = exercise.task
    assert task is not None
    names = dict(vars(sys.modules[exercise.module]))
    exec(task.imports, names)
    return defined_by(f"{task.code(tag)}\n", exercise.name, f"{tag} of the text", names)


def wrong(
    exercise: Exercise, table: Mapping[str, Way | list[Way]], *, of: Callable | None = None
) -> None:
    """Give the exercise a wrong answer for each way, under the hint that names the mistake.

    What is edited is its first right answer, or another one that is named. A way that is one text
    holds statements, each of which takes the place of the step that it is (see `steps_in`).
    """
    answer = of or exercise.valid_answers[0]
    for hint, ways in table.items():
        for way in ways if isinstance(ways, list) else [ways]:
            try:
                exercise.mutant(hint)(made(answer, way))
            except (ValueError, SyntaxError) as error:
                raise ValueError(f"{error}, under the hint {hint!r}") from None


def right(exercise: Exercise, *ways: Way, of: Callable | None = None) -> None:
    """Give the exercise a right answer for each way."""
    answer = of or exercise.valid_answers[0]
    for way in ways:
        exercise.valid(made(answer, way))


def calling(
    exercise: Exercise,
    names: str | tuple[str, ...],
    ways: Mapping[Any, str | None],
    *,
    of: Callable | None = None,
    instead: str = "",
) -> None:
    """Give the exercise the answer with each of these behind a name that it calls, or several.

    `ways` goes from the function, or one for each name, to the hint; None where it is right.
    `instead` are the steps that call it, where the answer as it is does not.
    """
    answer = of or exercise.valid_answers[0]
    steps = steps_in(answer, instead)
    for functions, hint in ways.items():
        pairs = dict(
            [(names, functions)] if isinstance(names, str) else zip(names, functions, strict=True)
        )
        change = Change(answer, steps, names=pairs)
        for name in pairs:
            if not re.search(rf"\b{name}\b", change.source):
                raise ValueError(f"{full_name(answer)} calls no {name!r}")
        label = ", ".join(f"{name}={one.__name__}" for name, one in pairs.items())
        variant = changed(change, label)
        (exercise.valid if hint is None else exercise.mutant(hint))(variant)
