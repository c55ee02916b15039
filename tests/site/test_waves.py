"""The figure of the sinusoids: the package's numbers in every state, and the room that it takes."""

import pytest
import torch

from attncourse import plot
from attncourse.plot.numbers import shown
from attncourse.positional import sinusoids

from .test_figures import AXE, figure_in, page_of, read, visit

WIDTHS = [8, 6, 64, 256]
N = 12
FIGURE = plot.waves(N, WIDTHS, position=3, alt="Waves of twelve positions.")


def test_every_state_equals_the_package(tab):
    tab.set_content(page_of(FIGURE))
    states = [{"position": t, "d": i} for t in range(N) for i in range(len(WIDTHS))]
    for state, got in zip(states, visit(figure_in(tab), states), strict=True):
        t, d = state["position"], WIDTHS[state["d"]]
        p = sinusoids(N, d, dtype=torch.float64)
        product = p @ p[t]
        for slot, numbers in {"wave": p[:, :4].flatten(), "share": product / (d / 2)}.items():
            held = torch.tensor([float(value) for _, value in got[slot]], dtype=torch.float64)
            torch.testing.assert_close(held, numbers, rtol=0, atol=1e-5, msg=f"{slot} at {state}")
            assert [text for text, _ in got[slot]] == [shown(x) for x in held.tolist()]
        assert [text.replace("−", "-") for text, _ in got["offset"]] == [
            f"{s - t:+d}" if s != t else "0" for s in range(N)
        ]
        near = t + 1 if t + 1 < N else t - 1
        ((said, _),) = got["said"]
        assert said == (
            f"Position {t}, width {d}: product {shown(product[t].item())} with itself, "
            f"{shown(product[near].item())} with {near}."
        )
        assert got["half"] == [[f"{d // 2}", None]]


def test_a_script_finds_what_python_wrote(new_tab):
    html = page_of(FIGURE)
    without, live = new_tab(java_script_enabled=False), new_tab()
    for page in (without, live):
        page.set_content(html)
    before, after = (page.locator("td").all_inner_texts() for page in (without, live))
    assert before == after and len(before) == N * 6
    assert "Shown: d 8. With scripts" in without.locator("main").inner_text()
    assert [one for one in without.locator("input").all() if one.is_visible()] == []


def test_arrow_keys_and_pointing_pick_a_position(tab):
    tab.set_content(page_of(FIGURE))
    figure = figure_in(tab)
    # the slider comes first
    for key in ("Tab", "ArrowRight", "Tab", "ArrowDown"):
        tab.keyboard.press(key)
    assert read(figure)["said"][0].startswith("Position 4, width 6: ")
    tab.locator("tr").nth(6).locator("td").nth(1).hover()
    assert read(figure)["said"][0].startswith("Position 5, width 6: ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 900])
def test_axe_finds_nothing_and_every_width_fits_the_page(scheme, width, new_tab):
    tab = new_tab(color_scheme=scheme, viewport={"width": width, "height": 700})
    tab.set_content(page_of(FIGURE, scheme=scheme))
    tab.add_script_tag(path=AXE)
    assert tab.evaluate("axe.run().then(found => found.violations.map(one => one.id))") == []
    for d in range(len(WIDTHS)):
        read(figure_in(tab), d=d)
        fits = "box => box.scrollWidth <= box.clientWidth"
        assert tab.locator(".scroll").evaluate(fits), WIDTHS[d]


def test_above_0_and_below_0_have_colours_of_their_own(tab):
    tab.set_content(page_of(FIGURE))
    look = "cells => cells.map(cell => [+cell.value, getComputedStyle(cell).backgroundColor])"
    # in order of their values: the lowest, 0 and the highest
    cells = sorted(tab.locator(".signed").evaluate_all(look))
    (none,) = {colour for value, colour in cells if value == 0}
    assert len({cells[0][1], none, cells[-1][1]}) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"widths": [8, 7]}, r"widths=\[8, 7\]: each must be even, and at least 4"),
        ({"widths": [2]}, r"widths=\[2\]"),
        ({"widths": []}, r"widths=\[\]"),
        ({"position": 12}, "position starts at option 12, but it has 12"),
        ({"n": 0}, "position starts at option 0, but it has 0"),
        ({"alt": " "}, "alt is empty"),
    ],
)
def test_what_no_figure_can_show_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        plot.waves(**({"n": 12, "widths": [8], "alt": "waves"} | arguments))
