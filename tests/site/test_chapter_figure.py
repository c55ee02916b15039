"""The chapter's interactive figure, in the built site."""

from itertools import product

import pytest
import torch

from attncourse.dot_product import attention_weights
from attncourse.plot.explorer import TEMPERATURES

from .test_figures import read

CHAPTER = "chapters/dot_product.html"


def chapter_figure(page):
    return page.locator("#fig-steps .attncourse-figure")


@pytest.mark.parametrize("place", ["server", "file"])
def test_the_chapter_s_figure_begins_with_the_example_done_by_hand(place, tab, site, address):
    tab.goto((address if place == "server" else f"{site.as_uri()}/") + CHAPTER)
    x = torch.tensor([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    figure, weights = chapter_figure(tab), attention_weights(x, x)[2]
    assert read(figure)["weight"] == [f"{w:.2f}" for w in (*weights, 0.0)]
    assert read(figure)["output"] == [f"{y:.2f}" for y in weights @ x]
    assert read(figure)["dot"] == ["0.00", "2.00", "2.00", "4.00"]


def test_what_the_chapter_says_of_its_figure_is_so(tab, address):
    tab.goto(address + CHAPTER)
    figure = chapter_figure(tab)

    def weights(**state) -> list[float]:
        return [float(text) for text in read(figure, **state)["weight"]]

    unmasked = weights(mask=1)
    assert max(unmasked) == unmasked[3]
    one, eight = TEMPERATURES.index(1), TEMPERATURES.index(8)
    for query in range(4):
        scaled = weights(mask=0, d_k=5, query=query, scale=True, temperature=one)
        assert max(scaled) < 0.7
        assert max(weights(scale=False)) > 0.9
        assert weights(temperature=eight) == scaled
    assert weights(mask=2, query=0) == [1, 0, 0, 0]
    assert read(figure, mask=3, query=3)["output"] == ["0.00", "0.00"]


def test_every_state_of_the_chapter_s_figure_fits_a_phone(new_tab, address):
    tab = new_tab(viewport={"width": 360, "height": 700})
    tab.goto(address + CHAPTER)
    figure = chapter_figure(tab)
    fits = "box => box.scrollWidth <= box.clientWidth"
    for query, mask, width, scale, temperature in product(
        range(4), (1, 2), (0, 5), (True, False), (0, 6)
    ):
        state = {"query": query, "mask": mask, "d_k": width, "scale": scale}
        state["temperature"] = temperature
        read(figure, **state)
        assert figure.locator(".scroll").evaluate(fits), state


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_site_s_styles_leave_the_figure_as_it_is(scheme, new_tab, address):
    tab = new_tab(color_scheme=scheme, viewport={"width": 360, "height": 700})
    tab.goto(address + CHAPTER)
    look = """cell => {
      const { backgroundColor, color, display, textAlign } = getComputedStyle(cell);
      return [backgroundColor, color === getComputedStyle(document.body).color, display, textAlign];
    }"""
    cell = chapter_figure(tab).locator("td").first
    cell.hover()
    assert cell.evaluate(look) == ["rgba(0, 0, 0, 0)", True, "table-cell", "right"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
