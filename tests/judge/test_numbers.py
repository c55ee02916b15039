"""Sentences about an answer's numbers where no known mistake accounts for them."""

import pytest
import torch

from judge import messages
from judge.compare.tolerance import close, close_gradient
from judge.say import numbers
from judge.say.evidence import expected_got, of_value

W = torch.tensor([[1.0, -2, 3], [4, 5, 6], [7, 8, 10]], dtype=torch.float64)
MASK = torch.tensor([[True, False], [True, True]])
PATTERNS = [
    (W.mT, W, "rows and columns are swapped"),
    (W.flip(0), W, "the rows come in reverse order"),
    (W.flip(1), W, "the columns come in reverse order"),
    (W[0].flip(0), W[0], "the columns come in reverse order"),
    (-W, W, "each number has the wrong sign"),
    (W * 3**0.5, W, "each number is 1.732 times the right one"),
    (W + 1, W, "each number is 1 larger than the right one"),
    (W.long() - 2, W.long(), "each number is 2 smaller than the right one"),
    # a place or a count is a multiple by chance
    (W.long() * 2, W.long(), numbers.NUMBERS),
    (W * 0, W, "every number is 0"),
    (~MASK, MASK, "True and False are swapped"),
    (W**2, W, numbers.NUMBERS),
    (W * torch.nan, W, numbers.NUMBERS),
    # one number says nothing of all
    (W[0, :1] * 2, W[0, :1], numbers.NUMBERS),
    # a factor and a shift are one where all are the same
    (torch.full((3,), 2.0), torch.ones(3), numbers.NUMBERS),
]


@pytest.mark.parametrize(("got", "expected", "sentence"), PATTERNS)
def test_what_was_done_to_all_numbers_is_named(got, expected, sentence):
    assert sentence in numbers.pattern([(got, expected)], 3)


V = W + 0.3 * W.flip(0)
PATTERNS_OF_CALLS = [
    ([(W * 3, W), (V * 3, V)], "each number is 3 times the right one"),
    ([(W * 3, W), (V * 5, V)], "off by the same factor, which differs from call"),
    ([(W - 0.05, W), (V - 0.05, V)], "each number is 0.05 smaller"),
    ([(W - 0.05, W), (V - 0.5, V)], "off by the same amount, which differs from call"),
    # a coincidence of one call
    ([(W - 0.05, W), (V**2, V)], numbers.NUMBERS),
    ([(W * 0, W), (V.mT, V)], numbers.NUMBERS),
    # said of the call that is shown
    ([(W + 1e-6, W), (V + 1, V)], messages.NEARLY),
    # a single number tells nothing by itself, and may not speak against it
    ([(W * 3, W), (W[0, :1] * 3, W[0, :1])], "each number is 3 times the right one"),
    ([(W * 3, W), (W[0, :1] * 2, W[0, :1])], "off by the same factor"),
]


@pytest.mark.parametrize(("pairs", "sentence"), PATTERNS_OF_CALLS)
def test_what_is_said_of_all_numbers_holds_in_every_wrong_result(pairs, sentence):
    assert sentence in numbers.pattern(pairs, 3)


@pytest.mark.parametrize(
    ("indices", "sentence"),
    [
        ([(1, 0), (1, 2)], "2 of 9 entries are wrong, all in row 1"),
        ([(0, 2), (2, 2)], "2 of 9 entries are wrong, all in column 2"),
        ([(0, 0), (1, 1)], "2 of 9 entries are wrong"),
    ],
)
def test_where_the_numbers_differ_is_said(indices, sentence):
    differs = torch.zeros(3, 3, dtype=torch.bool)
    for index in indices:
        differs[index] = True
    assert numbers.where(differs) == sentence
    assert numbers.where(differs.expand(2, 3, 3)).startswith("4 of 18")


def test_the_first_of_the_numbers_that_are_far_off_is_shown():
    errors = torch.tensor([0, 1e-6, 2, 5, 0], dtype=torch.float64)
    expected = torch.zeros(5, dtype=torch.float64)
    assert numbers.place_to_show(expected + errors, expected, 5) == (2,)
    assert numbers.place_to_show(errors.log(), errors, 5) == (0,)


@pytest.mark.parametrize(
    ("errors", "sentence"), [([1e-6, 1e-8], messages.NEARLY), ([1e-8, 1e-6], messages.NEARLY_ZERO)]
)
def test_what_is_said_of_zeros_is_said_where_one_is_shown(errors, sentence):
    expected = torch.tensor([1.0, 0], dtype=torch.float64)
    got = expected + torch.tensor(errors, dtype=torch.float64)
    assert numbers.pattern([(got, expected)], 2) == sentence


def test_two_numbers_that_are_nan_are_the_same():
    assert close(float("nan"), float("nan"), 3)
    assert not close(float("nan"), 1.0, 3) and not close(1.0, float("nan"), 3)


def test_of_one_number_nothing_is_said():
    assert numbers.where(torch.tensor(True)) == ""


@pytest.mark.parametrize("digits", [2, 6, 14])
def test_two_numbers_are_shown_with_the_digits_that_tell_them_apart(digits):
    """Where every number counts, such as in an answer that should be exact."""
    expected, got = expected_got(1.5, 1.5 + 10.0**-digits).split(", ")
    assert expected.removeprefix("expected ") != got.removeprefix("got ")


def test_a_whole_number_is_no_floating_point_number():
    assert close(2.0, 2.0, 3) and close(2, 2, 3)
    assert not close(2, 2.0, 3) and not close(2.0, 2, 3) and not close(True, 1, 3)


def test_a_place_where_both_are_rightly_infinite_is_not_shown():
    expected = torch.tensor([-torch.inf, 1.0, 2.0])
    got = torch.tensor([-torch.inf, 1.0, 3.0])
    assert "at [2] expected 2, got 3" in of_value(got, expected, "On a row", 3)[1]


def test_where_no_gradient_flows_zeros_are_as_good():
    zeros = torch.zeros(3)
    assert close_gradient(zeros, None, 3) and close_gradient(None, zeros, 3)
    assert close_gradient(None, None, 3)
    assert not close_gradient(zeros + 1, None, 3) and not close_gradient(None, zeros + 1, 3)


@pytest.mark.parametrize(
    ("got", "expected", "sentence"),
    [
        ((2, 46), (2, 3), "here: expected (2, 3), got (2, 46)"),
        (
            ([5], [[1], [2] * 3 + [4]]),
            ([5], [[1], [2] * 4]),
            "here: result 2, at [1][3]: expected 2, got 4",
        ),
        (["a", "b\n"], ["a", "b"], "here: result 2: expected 'b', got 'b\\n'"),
        (torch.tensor(1), torch.tensor(3), "here: expected 3, got 1"),
        (
            W + MASK.new_ones(3, 3).triu(2),
            W,
            "here: at [0, 2] expected 3, got 4; 1 of 9 entries are wrong, all in row 0",
        ),
    ],
)
def test_the_place_that_differs_is_named(got, expected, sentence):
    assert of_value(got, expected, "here", 1)[1] == sentence
