"""The figure of the patterns, before a control is moved, against the package."""

import pytest

from attncourse import figures
from attncourse.efficient import longformer_mask
from tests.figures.elements import slot_texts


@pytest.mark.parametrize(("length", "width"), [(2, 1), (5, 1), (7, 3), (10, 9)])
def test_the_figure_begins_with_the_pairs_of_the_package(length, width):
    pairs = slot_texts(figures.patterns(length, width, alt="pairs"))["pair"]
    expected = longformer_mask(length, width, [0]).flatten().tolist()
    assert [text == "•" for text in pairs] == expected


@pytest.mark.parametrize(("length", "width"), [(1, 1), (6, 4), (6, 7), (6, -1)])
def test_what_cannot_be_shown_is_refused_with_the_numbers(length, width):
    with pytest.raises(ValueError, match=f"length={length}, width={width}: "):
        figures.patterns(length, width, alt="pairs")
