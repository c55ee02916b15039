"""The points of a method that was handed in, and whom the course compares it with."""

from dataclasses import replace

import pytest

from attncourse.workbench.grader import MOST_APART, compared
from attncourse.workbench.points import STEP, Found, points_of, total
from attncourse.workbench.results import Front, front

FRONT = Front("linear", 1.5)
RIGHT = Found(
    {"state": 768, "operations": 49_152, "bits": 1.41}, state=768, operations=49_152, bits=1.4
)


def points(found: Found, front: Front | None = FRONT) -> list[int | None]:
    return [part.points for part in points_of(found, front)]


def test_a_right_method_with_a_large_gain_earns_all_points():
    assert total(points_of(RIGHT, FRONT)) == (20, 20)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"failed": "causal: when token 1 changes"}, [0, 0, 0, 0]),
        ({"cache_failed": "a state is a tuple", "state": None, "operations": None}, [0, 0, 5, 0]),
        ({"ours": "latent"}, [0, 5, 5, 0]),
        ({"expected": {}}, [5, 0, 0, 5]),
        ({"expected": {"state": 768, "operations": 1, "bits": 1.5}}, [5, 3, 0, 5]),
        ({"expected": {"bits": 1.445}}, [5, 0, 3, 5]),
        ({"bits": None}, [5, 5, None, None]),
        ({"bits": 1.6}, [5, 5, 0, 0]),
        ({"bits": 1.5 - 2.5 * STEP}, [5, 5, 3, 2]),
    ],
)
def test_each_part_is_given_for_what_it_says(change, expected):
    assert points(replace(RIGHT, **change)) == expected


def test_without_stored_results_the_gain_is_not_judged():
    assert points(RIGHT, None) == [5, 5, 5, None]
    assert total(points_of(RIGHT, None)) == (15, 15)


def test_the_front_is_the_best_with_no_larger_a_state_or_the_smallest():
    bits = {"softmax": [1.4, 1.42], "linear": [1.58], "latent": [1.45]}
    states = {"softmax": 200, "linear": 10, "latent": 70}
    assert front(bits, states, 100) == ("latent", 1.45)
    assert front(bits, states, 10) == ("linear", 1.58)
    assert front(bits, states, 1) == ("linear", 1.58)
    assert front(bits, states, 500).name == "softmax"


def test_a_training_anew_is_compared_within_the_spread_of_seeds():
    assert compared(MOST_APART - 1e-9).startswith("within")
    assert compared(0.2).startswith("0.200 more") and "ask how" in compared(0.2)
    assert compared(-0.2).startswith("0.200 fewer")
