"""Each claim notices a mutant: the tables are in `false_of`, one for each chapter.

A push draws some of them.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import resolve_name
from types import CodeType, FunctionType

import pytest

from attncourse.course.claim import claims
from attncourse.dot_product import attention
from tests.night import drawn

CHAPTERS = sorted({claim.id.partition(".")[0] for claim in claims()})
TABLES = {
    chapter: import_module(f"tests.course.false_of.{chapter}").FALSE_OF for chapter in CHAPTERS
}
PUSHED = 60
# each claim with a function's path below attncourse, and another function; or with a piece of the
# function's source, and what takes its place
MUTANTS = [
    (chapter, name, path, change)
    for chapter, table in TABLES.items()
    for name, mutants in table.items()
    for path, *change in (mutants if isinstance(mutants, list) else [mutants])
]
PUSHED_MUTANTS = drawn(MUTANTS, PUSHED)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("chapter", "name", "path", "change"),
    [
        pytest.param(
            *mutant,
            id="{}.{}-{}".format(*mutant),
            marks=[] if mutant in PUSHED_MUTANTS else [pytest.mark.slow],
        )
        for mutant in MUTANTS
    ],
)
def test_a_claim_does_not_hold_of_a_mutant(chapter, name, path, change, monkeypatch):
    match change:
        case [replacement]:
            monkeypatch.setattr(f"attncourse.{path}", replacement)
        case [piece, replacement]:
            function = inspect.unwrap(resolve_name(f"attncourse.{path}"))
            # the code, because other modules have imported the function
            monkeypatch.setattr(function, "__code__", mutant_code(function, piece, replacement))
    page = import_module(f"attncourse.course.{chapter}.claims")
    assert not getattr(page, name).measure().measured.holds


def mutant_code(function: FunctionType, piece: str, replacement: str) -> CodeType:
    """The function's code with this piece of its source replaced."""
    source, module = inspect.getsource(function), inspect.getmodule(function)
    if (count := source.count(piece)) != 1:
        raise ValueError(f"{piece!r} occurs {count} times in {function.__qualname__}")
    mutant = inspect.getsource(module).replace(source, source.replace(piece, replacement))
    codes = nested_codes(compile(mutant, function.__code__.co_filename, "exec"))
    return next(code for code in codes if code.co_qualname == function.__qualname__)


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of all functions and classes in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


def test_a_piece_that_is_gone_is_named():
    with pytest.raises(ValueError, match="'scores' occurs 0 times in attention"):
        mutant_code(inspect.unwrap(attention), "scores", "0")


def test_every_claim_about_the_package_has_a_mutant():
    tested_ids = {f"{chapter}.{name}" for chapter, table in TABLES.items() for name in table}
    assert {claim.id for claim in claims()} == tested_ids
