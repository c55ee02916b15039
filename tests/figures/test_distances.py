"""The figure of gradients over distance: the drawing in each state."""

import re

import pytest
import torch

from .in_page import DISTANCES, GRADIENTS, STEPS, all_states, bare_page, figure_in, read_states

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
