"""The figure of a kernel as heads, before any control is moved, against the package."""

import pytest
import torch

from attncourse import figures
from attncourse.convolution import tap_offsets, tap_weights
from attncourse.figures.numbers import format_number
from tests.figures.elements import slot_texts

KERNELS = {"blur": [0.25, 0.5, 0.25], "edge": [-1, 0, 1]}


def texts_of(**options):
    return slot_texts(figures.kernel_as_heads(5, KERNELS, [1, 8], alt="heads", **options))


@pytest.mark.parametrize("position", [0, 2, 4])
@pytest.mark.parametrize("start, alpha", [(0, 1.0), (1, 8.0)])
def test_the_figure_begins_with_the_weights_of_the_package(position, start, alpha):
    texts = texts_of(position=position, start=start)
    weights = tap_weights(tap_offsets((3,)).double(), (5,), alpha)[:, position]
    assert texts["weight"] == [format_number(x) for x in weights.flatten().tolist()]
    together = torch.tensor(KERNELS["blur"]).double() @ weights
    assert texts["sum"] == [format_number(x) for x in together.tolist()]


def test_the_kernel_stands_around_the_query_and_is_cut_at_the_end():
    assert texts_of(position=2)["true"] == ["0.00", "0.25", "0.50", "0.25", "0.00"]
    assert texts_of(position=0)["true"] == ["0.50", "0.25", "0.00", "0.00", "0.00"]


@pytest.mark.parametrize("kernels", [{}, {"four": [1, 2, 3, 4]}])
def test_kernels_without_three_taps_are_refused(kernels):
    with pytest.raises(ValueError, match="each must have 3 taps"):
        figures.kernel_as_heads(5, kernels, [1], alt="heads")
