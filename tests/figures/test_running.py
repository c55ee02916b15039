"""The figure of the running softmax, before another block is chosen, and the curves."""

import re

import pytest
import torch

from attncourse import figures
from attncourse.figures.numbers import format_number
from tests.figures.elements import slot_texts

SCORES, VALUES = torch.tensor([0.5, 2.0, -1.0, 3.0, 0.0]), torch.tensor([1.0, 0.0, 2.0, -1.0, 4.0])


@pytest.mark.parametrize("block", [1, 2, 5])
def test_the_figure_begins_with_the_softmax_of_the_first_block(block):
    texts = slot_texts(figures.running(SCORES, VALUES, block, alt="softmax"))
    scores_seen = SCORES[:block]
    rest = [""] * (5 - block)
    assert (
        texts["part"]
        == [format_number(x) for x in (scores_seen - scores_seen.max()).exp().tolist()] + rest
    )
    assert texts["weight"] == [format_number(x) for x in scores_seen.softmax(0).tolist()] + rest
    assert texts["score"] == [format_number(x) for x in SCORES.tolist()]


@pytest.mark.parametrize(
    ("scores", "values", "block", "message"),
    [
        (SCORES, VALUES[:4], 2, r"scores=\(5,\), values=\(4,\)"),
        (SCORES, VALUES, 0, "block=0"),
        (SCORES, VALUES, 6, "block=6"),
        (SCORES.log(), VALUES, 2, "scores.* is nan"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_numbers(scores, values, block, message):
    with pytest.raises(ValueError, match=message):
        figures.running(scores, values, block, alt="softmax")


def test_each_curve_is_named_and_too_many_are_refused():
    series = {f"line {i}": [(0.1, 1.0), (1.0, 0.1)] for i in range(7)}
    six = dict(list(series.items())[:6])
    figure = figures.curves(six, alt="Six falling lines.", title="error", xlabel="cost")
    assert all(f">{name}</text>" in figure.svg for name in (*six, "error", "cost"))
    assert figure.alt == "Six falling lines." and "currentColor" in figure.svg
    with pytest.raises(ValueError, match="7 series, but only 6 curves"):
        figures.curves(series, alt="Seven.")


def test_dots_stand_in_lines_from_the_least_mean_on_and_what_has_none_is_refused():
    groups = {"first": {"large": [3.0, 2.0], "small": [1.0]}, "second": {"other": [5.0]}}
    figure = figures.dots(groups, alt="Three lines of dots.", xlabel="bits")
    names = re.findall(r">(large|small|other|first|second|bits)</text>", figure.svg)
    assert names == ["bits", "small", "large", "other", "first", "second"]
    assert figure.alt == "Three lines of dots." and "currentColor" in figure.svg
    with pytest.raises(ValueError, match="empty has no number"):
        figures.dots({"first": {"empty": []}}, alt="Nothing.")
    with pytest.raises(ValueError, match="4 groups, but only 3"):
        figures.dots({str(i): {"one": [1.0]} for i in range(4)}, alt="Four.")
