"""Which exercises a function of the package answers under another name: those are warm-ups."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial, wraps
from importlib import import_module
from pkgutil import iter_modules
from warnings import catch_warnings

import pytest
import torch

from attncourse.course import chapters, exercises, groups
from judge.compare import close
from judge.course import CARRY
from judge.exercise import Case, Draw, Exercise
from judge.torch_internals import leaves
from judge.verdict import one_thread
from tests import ROOT
from tests.test_layout import slugs

# as in a notebook: where the course is called, its annotations are not checked
pytestmark = pytest.mark.usefixtures("unchecked")
# a learner's test takes a function, and the capstone a model
OWN_KINDS = "test", "capstone"
# the same numbers, but no text to copy
ANOTHER_WAY = {
    "causal_local_attention": "the code to repair unfolds each window; the page works in blocks",
}
# the same at each run: what is copied does not depend on the numbers
SEED = 3
# a function that takes none of the first cases, or not one of them rightly, is given no others
FIRST = 3
# no chance agreement, as on a single token
LEAST = 2


def made_of(slug: str) -> dict[str, Callable]:
    """The public functions and classes of a chapter's module, or of those in its folder."""
    module = import_module(f"attncourse.{slug}")
    parts = [source.name for source in iter_modules(getattr(module, "__path__", []))]
    return {
        f"{source.__name__}.{name}": function
        for source in (module, *(import_module(f"attncourse.{slug}.{part}") for part in parts))
        for name, function in vars(source).items()
        if callable(function)
        and getattr(function, "__module__", "") == source.__name__
        and name[0] != "_"
    }


@cache
def functions_before(chapter: str) -> dict[str, Callable]:
    """What the package has for a chapter and for those before it."""
    order = slugs(ROOT)
    functions = {}
    for slug in order[: order.index(chapter) + 1]:
        functions |= made_of(slug)
    return functions


def variants_of(function: Callable) -> Iterator[Callable]:
    """The function, and what a few words more make of it: an exp, a flag, one bias for two."""
    yield function
    with suppress(ValueError):
        parameters = inspect.signature(function).parameters
        if "feature_map" in parameters:
            yield (variant := partial(function, feature_map=lambda x: x))
            yield lambda S, z, *more: leaves(variant((S, z), *more))
            if "chunk" in parameters:
                yield lambda q, k, v, chunk: variant(q, k, v, chunk=chunk)
        yield from (
            partial(function, **{x: True}) for x, p in parameters.items() if p.default is False
        )
        if "b_hh" in parameters:

            def with_one_bias(x, w_ih, w_hh, b, first=None):
                return function(x, w_ih, w_hh, b, torch.zeros_like(b), first)

            yield with_one_bias
            yield lambda *args: with_one_bias(*args)[0]
        if "rotations" in parameters:
            yield lambda x, rotations: function(x, rotations[None])[..., 0, :]
    if not isinstance(function, type):
        yield wraps(function)(lambda *args, **kwargs: function(*args, **kwargs).exp())


def takes(function: Callable, case: Case) -> bool:
    """Whether the function can be called with as many arguments, or the class be made of them."""
    try:
        inspect.signature(function).bind(*(case.build or case.args))
    except (TypeError, ValueError):
        return False
    return isinstance(function, type) == bool(case.build)


def answers(function: Callable, asked: list[tuple[Case, object]]) -> bool:
    """Whether it gives what is asked for in every case that it does not refuse."""
    agreed = 0
    for place, (case, expected) in enumerate(asked):
        if place == FIRST and not agreed:
            return False
        try:
            result = case.result(function)
        except ValueError:
            # of a size that is not meant, such as a window of even width
            continue
        except Exception:
            return False
        # results that come in another order are as good as copied
        if not close(result, expected, 64) and not same_parts(result, expected):
            return False
        agreed += 1
    return agreed >= LEAST


def same_parts(result: object, expected: object) -> bool:
    """Whether two results of several tensors have the same ones, in whatever order."""
    parts, others = leaves(result), leaves(expected)
    if len(others) < 2 or len(parts) != len(others):
        return False
    return all(any(close(part, other, 64) for other in others) for part in parts)


def copied_from(one: Exercise) -> list[str]:
    """The names of what answers the exercise as it is, or nearly."""
    cases = list(one.draw_cases(Draw(SEED)))
    asked = [(case, case.result(one.reference_answer)) for case in cases]
    return [
        name
        for name, function in functions_before(one.chapter).items()
        if any(
            answers(variant, asked) for variant in variants_of(function) if takes(variant, cases[0])
        )
    ]


@cache
def copied() -> dict[str, list[str]]:
    """For each exercise that a function of the package answers, the functions that do."""
    all_exercises = (one for slug in chapters() for one in exercises(slug).values())
    asked = [one for one in all_exercises if one.kind not in OWN_KINDS]
    # a layer draws its first weights, which must not count elsewhere
    with one_thread(), torch.random.fork_rng(devices=[]), catch_warnings(action="ignore"):
        copied_names = {one.name: copied_from(one) for one in asked}
    return {
        name: names for name, names in copied_names.items() if names and name not in ANOTHER_WAY
    }


WARM_UPS = [
    task for slug in chapters() for task in exercises(slug).values() if task.kind == "warm-up"
]


def test_what_the_package_answers_under_another_name_is_called_a_warm_up():
    unnamed = copied().keys() - {exercise.name for exercise in WARM_UPS}
    assert not unnamed, f"ask for what is not shown, or call it a warm-up: {copied()}"


@pytest.mark.parametrize("task", WARM_UPS, ids=lambda task: task.name)
def test_a_warm_up_names_what_it_repeats_in_its_first_sentence(task):
    assert task.name in copied(), f"{task.name} is no copy: give it another kind"
    assert (task.difficulty, task.minutes) == (1, 5)
    assert task not in groups(task.chapter).get(CARRY, [])
    first = task.task.prose.split("\n")[0]
    assert first.startswith("A warm-up: "), first
    names = {name.rpartition(".")[2] for name in copied()[task.name]}
    assert any(f"`{name}`" in first for name in names), f"name one of {sorted(names)}: {first}"
