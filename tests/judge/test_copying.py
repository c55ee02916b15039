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
    parts = [one.name for one in iter_modules(getattr(module, "__path__", []))]
    return {
        f"{one.__name__}.{name}": made
        for one in (module, *(import_module(f"attncourse.{slug}.{part}") for part in parts))
        for name, made in vars(one).items()
        if callable(made) and getattr(made, "__module__", "") == one.__name__ and name[0] != "_"
    }


@cache
def known(chapter: str) -> dict[str, Callable]:
    """What the package has for a chapter and for those before it."""
    order = slugs(ROOT)
    made = {}
    for slug in order[: order.index(chapter) + 1]:
        made |= made_of(slug)
    return made


def ways(function: Callable) -> Iterator[Callable]:
    """The function, and what a few words more make of it: an exp, a flag, one bias for two."""
    yield function
    with suppress(ValueError):
        given = inspect.signature(function).parameters
        if "feature_map" in given:
            yield (made := partial(function, feature_map=lambda x: x))
            yield lambda S, z, *more: leaves(made((S, z), *more))
            if "chunk" in given:
                yield lambda q, k, v, chunk: made(q, k, v, chunk=chunk)
        yield from (partial(function, **{x: True}) for x, p in given.items() if p.default is False)
        if "b_hh" in given:

            def with_one_bias(x, w_ih, w_hh, b, first=None):
                return function(x, w_ih, w_hh, b, torch.zeros_like(b), first)

            yield with_one_bias
            yield lambda *args: with_one_bias(*args)[0]
        if "rotations" in given:
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
    for place, (case, wanted) in enumerate(asked):
        if place == FIRST and not agreed:
            return False
        try:
            found = case.result(function)
        except ValueError:
            # of a size that is not meant, such as a window of even width
            continue
        except Exception:
            return False
        # results that come in another order are as good as copied
        if not close(found, wanted, 64) and not same_parts(found, wanted):
            return False
        agreed += 1
    return agreed >= LEAST


def same_parts(found: object, wanted: object) -> bool:
    """Whether two results of several tensors have the same ones, in whatever order."""
    some, others = leaves(found), leaves(wanted)
    if len(others) < 2 or len(some) != len(others):
        return False
    return all(any(close(one, other, 64) for other in others) for one in some)


def copied_from(one: Exercise) -> list[str]:
    """The names of what answers the exercise as it is, or nearly."""
    cases = list(one.draw_cases(Draw(SEED)))
    asked = [(case, case.result(one.reference_answer)) for case in cases]
    return [
        name
        for name, function in known(one.chapter).items()
        if any(answers(way, asked) for way in ways(function) if takes(way, cases[0]))
    ]


@cache
def copied() -> dict[str, list[str]]:
    """For each exercise that a function of the package answers, the functions that do."""
    every = (one for slug in chapters() for one in exercises(slug).values())
    asked = [one for one in every if one.kind not in OWN_KINDS]
    # a layer draws its first weights, which must not count elsewhere
    with one_thread(), torch.random.fork_rng(devices=[]), catch_warnings(action="ignore"):
        found = {one.name: copied_from(one) for one in asked}
    return {name: names for name, names in found.items() if names and name not in ANOTHER_WAY}


WARM_UPS = [one for slug in chapters() for one in exercises(slug).values() if one.kind == "warm-up"]


def test_what_the_package_answers_under_another_name_is_called_a_warm_up():
    unnamed = copied().keys() - {exercise.name for exercise in WARM_UPS}
    assert not unnamed, f"ask for what is not shown, or call it a warm-up: {copied()}"


@pytest.mark.parametrize("one", WARM_UPS, ids=lambda one: one.name)
def test_a_warm_up_names_what_it_repeats_in_its_first_sentence(one):
    assert one.name in copied(), f"{one.name} is no copy: give it another kind"
    assert (one.difficulty, one.minutes) == (1, 5)
    assert one not in groups(one.chapter).get(CARRY, [])
    first = one.task.prose.split("\n")[0]
    assert first.startswith("A warm-up: "), first
    shown = {name.rpartition(".")[2] for name in copied()[one.name]}
    assert any(f"`{name}`" in first for name in shown), f"name one of {sorted(shown)}: {first}"
