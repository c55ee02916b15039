"""The figure of what an output sees, before any control is moved, against gradients."""

import pytest
import torch

from attncourse import figures
from attncourse.course.convolution.claims import compose, convolution, footprint
from tests.figures.elements import slot_texts


@pytest.mark.parametrize("width", [1, 3, 5])
@pytest.mark.parametrize("position", [0, 4, 8])
def test_the_figure_begins_with_the_footprint_of_each_stack_of_layers(g, position, width):
    texts = slot_texts(figures.receptive(9, 3, [width], position=position, alt="x"))
    weight, x = torch.ones(1, 1, width).double(), torch.randn(9, 1, generator=g).double()
    rows = [texts["path"][start : start + 9] for start in range(0, 36, 9)]
    for layers, row in enumerate(rows):
        receptive = footprint(compose([lambda x: convolution(x, weight)] * layers), x)[position]
        assert row == ["•" if size else "·" for size in receptive.tolist()]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"widths": []}, r"widths=\[\]"),
        ({"widths": [3, 4]}, r"widths=\[3, 4\]: each must be odd"),
        ({"widths": [3], "position": 9}, "position=9, but the positions are 0 to 8"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_numbers(options, message):
    with pytest.raises(ValueError, match=message):
        figures.receptive(9, 3, alt="x", **options)
