"""Exercises that a function of the package answers under another name are warm-ups."""

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
from judge.call.torch_internals import leaves
from judge.compare.tolerance import close
from judge.course import FIRST
from judge.exercise import Case, Draw, Exercise
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
# the same at each run, because copies do not depend on the numbers
SEED = 3
# a function that takes none of the first cases, or not one of them rightly, is given no others
TRIED_CASES = 3
# no chance agreement, as on a single token
MIN_AGREEMENTS = 2


def functions_of(slug: str) -> dict[str, Callable]:
    """The public functions and classes of a chapter's module, or of those in its folder."""
    module = import_module(f"attncourse.{slug}")
    submodules = [source.name for source in iter_modules(getattr(module, "__path__", []))]
    return {
        f"{source.__name__}.{name}": function
        for source in (
            module,
            *(import_module(f"attncourse.{slug}.{submodule}") for submodule in submodules),
        )
        for name, function in vars(source).items()
        if callable(function)
        and getattr(function, "__module__", "") == source.__name__
        and name[0] != "_"
    }


@cache
def functions_before(chapter: str) -> dict[str, Callable]:
    """The functions of the package for a chapter and for all earlier chapters."""
    order = slugs(ROOT)
    functions = {}
    for slug in order[: order.index(chapter) + 1]:
        functions |= functions_of(slug)
    return functions


def variants_of(function: Callable) -> Iterator[Callable]:
    """Yield the function and its simple variants: with an exp, a flag, or one bias for two."""
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


def accepts(function: Callable, case: Case) -> bool:
    """Whether the function can be called with as many arguments, or the class be made of them."""
    try:
        inspect.signature(function).bind(*(case.build or case.args))
    except (TypeError, ValueError):
        return False
    return isinstance(function, type) == bool(case.build)


def gives_expected(function: Callable, expected_results: list[tuple[Case, object]]) -> bool:
    """Whether a function gives the expected result in every case that it does not refuse."""
    agreements = 0
    for index, (case, expected) in enumerate(expected_results):
        if index == TRIED_CASES and not agreements:
            return False
        try:
            result = case.result(function)
        except ValueError:
            # of a size that is not meant, such as a window of even width
            continue
        except Exception:
            return False
        # results that come in another order are as good as copied
        if not close(result, expected, 64) and not same_tensors(result, expected):
            return False
        agreements += 1
    return agreements >= MIN_AGREEMENTS


def same_tensors(result: object, expected: object) -> bool:
    """Whether two results of several tensors have the same tensors in any order."""
    tensors, expected_tensors = leaves(result), leaves(expected)
    if len(expected_tensors) < 2 or len(tensors) != len(expected_tensors):
        return False
    return all(
        any(close(tensor, expected_tensor, 64) for expected_tensor in expected_tensors)
        for tensor in tensors
    )


def copying_functions(exercise: Exercise) -> list[str]:
    """The names of the package's functions that answer an exercise as they are, or nearly."""
    cases = list(exercise.draw_cases(Draw(SEED)))
    expected_results = [(case, case.result(exercise.reference_answer)) for case in cases]
    return [
        name
        for name, function in functions_before(exercise.chapter).items()
        if any(
            gives_expected(variant, expected_results)
            for variant in variants_of(function)
            if accepts(variant, cases[0])
        )
    ]


@cache
def copies_by_exercise() -> dict[str, list[str]]:
    """For each exercise that a function of the package answers, the functions that do."""
    all_exercises = (exercise for slug in chapters() for exercise in exercises(slug).values())
    asked_exercises = [exercise for exercise in all_exercises if exercise.kind not in OWN_KINDS]
    # a layer draws its first weights, which must not count elsewhere
    with one_thread(), torch.random.fork_rng(devices=[]), catch_warnings(action="ignore"):
        copied_names = {exercise.name: copying_functions(exercise) for exercise in asked_exercises}
    return {
        name: names for name, names in copied_names.items() if names and name not in ANOTHER_WAY
    }


WARM_UPS = [
    task for slug in chapters() for task in exercises(slug).values() if task.kind == "warm-up"
]


def test_what_the_package_answers_under_another_name_is_called_a_warm_up():
    missing_warm_ups = copies_by_exercise().keys() - {exercise.name for exercise in WARM_UPS}
    assert not missing_warm_ups, (
        f"ask for what is not shown, or call it a warm-up: {copies_by_exercise()}"
    )


@pytest.mark.parametrize("task", WARM_UPS, ids=lambda task: task.name)
def test_a_warm_up_names_what_it_repeats_in_its_first_sentence(task):
    assert task.name in copies_by_exercise(), f"{task.name} is no copy: give it another kind"
    assert (task.difficulty, task.minutes) == (1, 5)
    assert task not in groups(task.chapter).get(FIRST, [])
    first_sentence = task.task.prose.split("\n")[0]
    assert first_sentence.startswith("A warm-up: "), first_sentence
    names = {name.rpartition(".")[2] for name in copies_by_exercise()[task.name]}
    assert any(f"`{name}`" in first_sentence for name in names), (
        f"name one of {sorted(names)}: {first_sentence}"
    )
