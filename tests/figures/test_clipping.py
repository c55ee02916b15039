"""The figure of the clipped offsets, before any slider is moved, against the package."""

import pytest
import torch

from attncourse import figures
from attncourse.relative import relative_index
from tests.figures.elements import slot_texts


@pytest.mark.parametrize(
    ("length", "max_distance"), [(1, 0), (1, 1), (5, 0), (7, 2), (10, 3), (4, 4)]
)
def test_the_figure_begins_with_the_row_numbers_of_the_package(length, max_distance):
    texts = slot_texts(figures.clipping(length, max_distance, alt="rows"))
    expected = relative_index(length, max_distance)
    assert torch.equal(torch.tensor([int(text) for text in texts["row"]]), expected.flatten())


def test_a_word_knows_ten_others_by_seven_rows():
    texts = slot_texts(figures.clipping(10, 3, alt="rows"))
    assert texts["row"][:10] == list("3456666666")
    assert texts["name"] == [str(i) for i in range(10)] * 2


@pytest.mark.parametrize(("length", "max_distance"), [(0, 0), (4, 5), (4, -1)])
def test_what_cannot_be_shown_is_refused_with_the_numbers(length, max_distance):
    with pytest.raises(ValueError, match=f"length={length}, max_distance={max_distance}: "):
        figures.clipping(length, max_distance, alt="rows")
