"""The figure of gradients over distance, before a control is moved."""

import pytest
import torch

from attncourse import plot
from tests.plot.elements import begins

GRADIENTS = {
    "near": torch.tensor([9.0, 4.0, 2.0, 0.0]),
    "far": torch.tensor([1.0, 2.0, 2e-7, 8e-30]),
}
STEPS = {"near": torch.tensor([0, 1, 1, -1]), "far": torch.tensor([0, 1, 2, 3])}


def test_the_figure_begins_with_shares_of_the_gradient_at_distance_one():
    texts = begins(plot.distances(GRADIENTS, STEPS, [1, 2, 3], alt="left"))
    assert texts["cell"] == ["1", "1", "0", "1", "10⁻⁷", "10⁻²⁹"]


def test_the_ground_fades_with_the_power_of_ten():
    html = plot.distances(GRADIENTS, STEPS, [1, 2, 3], alt="left")._repr_html_()
    grounds = [part.split('"')[0] for part in html.split('style="--share:')[1:]]
    assert grounds == ["1.000", "1.000", "0.000", "1.000", "0.562", "0.000"]


@pytest.mark.parametrize("shown", [[], [0, 1], [4], [1, 7]], ids=str)
def test_a_distance_that_is_not_there_is_refused(shown):
    with pytest.raises(ValueError, match=r"columns_at=.*, but distances go from 1 to 3"):
        plot.distances(GRADIENTS, STEPS, shown, alt="left")


@pytest.mark.parametrize(
    "steps", [{"near": STEPS["near"]}, {"near": STEPS["near"], "far": torch.zeros(3)}]
)
def test_layers_without_steps_of_their_own_are_refused(steps):
    with pytest.raises(ValueError, match="each layer needs both, of one size"):
        plot.distances(GRADIENTS, steps, [1], alt="left")


def test_a_gradient_that_is_no_number_is_refused():
    broken = GRADIENTS | {"far": torch.tensor([1.0, 2.0, torch.nan, 1.0])}
    with pytest.raises(ValueError, match="nan"):
        plot.distances(broken, STEPS, [1], alt="left")
