"""The figure of gradients over distance: at first, and the drawing in each state."""

import math
import re

import pytest
import torch

from attncourse import figures
from tests.figures.elements import Elements, slot_texts

from .in_page import DISTANCES, GRADIENTS, STEPS, all_states, bare_page, figure_in, read_states

NEAR = {
    "near": torch.tensor([9.0, 4.0, 2.0, 0.0]),
    "far": torch.tensor([1.0, 2.0, 2e-7, 8e-30]),
}
PATHS = {"near": torch.tensor([0, 1, 1, -1]), "far": torch.tensor([0, 1, 2, 3])}
# the points of the curves, the dots and the cursor, as shares of the drawing's width and height
READ_CURVES_JS = """svg => ({
  curves: [...svg.querySelectorAll("polyline")].map((one) => one.getAttribute("points")),
  dots: [...svg.querySelectorAll("circle")].map((one) => ["cx", "cy", "r"].map((name) =>
    parseFloat(one.getAttribute(name)))),
  cursor: parseFloat(svg.querySelector(".cursor").getAttribute("x1")),
  marked: [...svg.querySelectorAll("polyline")].findIndex((one) => one.matches(".on")),
})"""


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"(\S+),(\S+)", text)]


def test_the_figure_begins_with_shares_of_the_gradient_at_distance_one():
    texts = slot_texts(figures.distances(NEAR, PATHS, alt="left"))
    assert texts["left"] == ["0", "4.0 · 10⁻³⁰"] and texts["path"] == ["none", "3"]
    assert texts["at"] == ["3"]
    assert texts["tick"] == ["1", "10⁻⁸", "10⁻¹⁶", "10⁻²⁴", "10⁻³²"]


def test_a_curve_ends_with_the_gradient_and_falls_with_its_power_of_ten():
    html = figures.distances(NEAR, PATHS, alt="left")._repr_html_()
    polylines = [
        attributes["points"] for tag, attributes in Elements(html).elements if tag == "polyline"
    ]
    assert points(polylines[0]) == [(0, 0), (1, pytest.approx(-math.log10(0.5) / 32, abs=0.001))]
    assert [y for _, y in points(polylines[1])] == pytest.approx([0, 7 / 32, 29.4 / 32], abs=0.001)


def test_every_state_draws_the_numbers_that_stand_below(tab):
    tab.set_content(bare_page(DISTANCES))
    figure = figure_in(tab)
    shares = torch.stack([gradients / gradients[1] for gradients in GRADIENTS.values()])[:, 1:]
    counts = torch.stack([*STEPS.values()])[:, 1:]
    depths = -shares.log10() / 8
    heights = [torch.where(shares > 0, depths, -1), torch.where(counts < 0, -1, 1 - counts / 8)]
    for state in all_states(layer=3, distance=8, show=2):
        read_states(figure, [state])
        got, index = figure.locator(".plot").evaluate(READ_CURVES_JS), state["distance"]
        for line, dot, want in zip(got["curves"], got["dots"], heights[state["show"]], strict=True):
            drawn_points = [(t, y) for t, y in enumerate(want.tolist()) if y >= 0]
            assert points(line) == [(t, pytest.approx(y, abs=0.001)) for t, y in drawn_points]
            assert dot[0] == got["cursor"] == pytest.approx(100 * index / 7, abs=0.01)
            assert (dot[2] > 0) == (want[index] >= 0)
            assert want[index] < 0 or dot[1] == pytest.approx(100 * want[index].item(), abs=0.1)
        assert got["marked"] == state["layer"]


def test_too_few_distances_are_refused():
    short = {"near": torch.ones(2)}
    with pytest.raises(ValueError, match="2 distances, 0 first"):
        figures.distances(short, short, alt="left")


@pytest.mark.parametrize(
    "steps", [{"near": PATHS["near"]}, {"near": PATHS["near"], "far": torch.zeros(3)}]
)
def test_layers_without_steps_of_their_own_are_refused(steps):
    with pytest.raises(ValueError, match="each layer needs both, of one size"):
        figures.distances(NEAR, steps, alt="left")


def test_a_gradient_that_is_no_number_is_refused():
    broken = NEAR | {"far": torch.tensor([1.0, 2.0, torch.nan, 1.0])}
    with pytest.raises(ValueError, match="nan"):
        figures.distances(broken, PATHS, alt="left")
