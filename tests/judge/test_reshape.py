"""A learner's test can tell implementations by what they do, and by nothing else."""

import hashlib
import random

import pytest

from attncourse.course import chapters, exercises
from judge.call.values import implementation
from judge.exercise import Draw
from judge.reshape import reshaped

TESTS = [
    exercise
    for slug in chapters()
    for exercise in exercises(slug).values()
    if exercise.kind == "test"
]


def fingerprints(exercise, seed: int) -> dict[str, str]:
    """The name of each implementation's case, by a hash of its code."""
    names = {}
    for case in exercise.draw_cases(Draw(seed)):
        code = implementation(case.args[0].name, case.args[0].source).__code__
        parts = (code.co_code, code.co_names, code.co_varnames)
        names[hashlib.sha256(repr(parts).encode()).hexdigest()] = case.name
    return names


@pytest.mark.parametrize("exercise", TESTS, ids=lambda exercise: exercise.name)
def test_no_implementation_looks_the_same_in_two_runs(exercise):
    first, second = fingerprints(exercise, 1), fingerprints(exercise, 2)
    assert sorted(first.values()) == sorted(second.values())
    assert not first.keys() & second.keys()
    # of one seed they are the same: it replays a verdict
    assert fingerprints(exercise, 1) == first


SOURCE = '''
def f(x, scale=2.0, *, shift=0.0):
    """What it does."""
    total = [one * scale for one in x]
    for place, one in enumerate(total):
        total[place] = one + shift

    def inner(x):
        part = x[::-1]
        return part

    if not x:
        return
    largest, *others = inner(total)
    return [largest, *others, sum(map(lambda one: one - 1, total))]
'''


@pytest.mark.parametrize("seed", range(20))
def test_it_does_what_it_did(seed):
    original_namespace, reshaped_namespace = {}, {}
    exec(SOURCE, original_namespace)
    text = reshaped(SOURCE, random.Random(seed))
    exec(text, reshaped_namespace)
    assert "total" not in text and "What it does" not in text
    for numbers in ([1.0, 2.0, 4.0], [3.0], []):
        for keywords in ({}, {"scale": 3.0, "shift": 1.0}):
            assert original_namespace["f"](numbers, **keywords) == reshaped_namespace["f"](
                numbers, **keywords
            )
