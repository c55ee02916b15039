"""The figure of the chapter recurrence: every state against the numbers that it was given."""

import math
from itertools import product

import pytest
import torch

from attncourse import plot

from .test_figures import AXE, figure_in, page_of, read, visit

N, COLUMNS = 9, [1, 2, 4, 8]
FALLING = 10.0 ** -torch.arange(N, dtype=torch.float64)
GRADIENTS = {
    "falling": FALLING * 7,
    "ending": torch.tensor([1, 2, 1, 0.5, 0, 0, 0, 0, 0], dtype=torch.float64),
    "equal": torch.full((N,), 0.3, dtype=torch.float64),
}
FAR = torch.arange(N)
STEPS = {"falling": FAR, "ending": torch.where(FAR < 4, FAR, -1), "equal": FAR.clamp(max=1)}
FIGURE = plot.distances(GRADIENTS, STEPS, COLUMNS, alt="What is left.")
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(text: str) -> float:
    """A number that the figure shows, with or without a power of ten."""
    text = text.replace("−", "-")
    digits, _, raised = text.rpartition("10") if "⁻" in text else (text, "", "0")
    return float(digits.strip(" ·") or 1) * 10.0 ** int(raised.translate(RAISED))


def test_every_layer_and_distance_is_put_into_words(tab):
    tab.set_content(page_of(FIGURE))
    states = [{"layer": i, "distance": t - 1} for i, t in product(range(3), range(1, N))]
    for state, got in zip(states, visit(figure_in(tab), states), strict=True):
        name, t = list(GRADIENTS)[state["layer"]], state["distance"] + 1
        share, steps = (GRADIENTS[name][t] / GRADIENTS[name][1]).item(), STEPS[name][t].item()
        ((said, _),) = got["said"]
        assert said.startswith(f"{name}, {t} token{'s' if t > 1 else ''} back: "), said
        if steps < 0:
            assert said.endswith("no way from there, and no gradient."), said
            continue
        assert f"the way has {steps} step{'s' if steps > 1 else ''}, " in said, said
        shown = said.split("the gradient is ")[1].split(" times")[0]
        assert number(shown) == pytest.approx(share, rel=0.05), said


def test_the_table_shows_powers_of_ten_or_path_lengths(tab):
    tab.set_content(page_of(FIGURE))
    left = [number(text) for text in read(figure_in(tab), show=0)["cell"]]
    shares = [(one[t] / one[1]).item() for one in GRADIENTS.values() for t in COLUMNS]
    for shown, share in zip(left, shares, strict=True):
        assert shown == (10.0 ** round(math.log10(share)) if share else 0)
    ways = read(figure_in(tab), show=1)["cell"]
    steps = [one[t].item() for one in STEPS.values() for t in COLUMNS]
    assert ways == ["none" if one < 0 else str(one) for one in steps]


def test_arrow_keys_pick_a_layer_and_a_distance(tab):
    tab.set_content(page_of(FIGURE))
    figure = figure_in(tab)
    figure.locator('[name="layer"]').first.focus()
    tab.keyboard.press("ArrowDown")
    assert read(figure)["said"][0].startswith("ending, 8 tokens back: ")
    figure.locator('[name="distance"]').focus()
    for _ in range(5):
        tab.keyboard.press("ArrowLeft")
    assert read(figure)["said"][0].startswith("ending, 3 tokens back: the way has 3 steps")


def test_a_script_finds_what_python_wrote(new_tab):
    without, live = new_tab(java_script_enabled=False), new_tab()
    for page in (without, live):
        page.set_content(page_of(FIGURE))
    before, after = (page.locator("data").all_inner_texts() for page in (without, live))
    assert before == after and len(before) == 12


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_fits_a_phone_and_axe_finds_nothing(scheme, new_tab):
    tab = new_tab(color_scheme=scheme, viewport={"width": 360, "height": 700})
    tab.set_content(page_of(FIGURE, scheme=scheme))
    tab.add_script_tag(path=AXE)
    for state in ({"show": 0}, {"show": 1}, {"layer": 1, "distance": 7}):
        read(figure_in(tab), **state)
        scroll = figure_in(tab).locator(".scroll")
        assert scroll.evaluate("box => box.scrollWidth <= box.clientWidth"), state
        found = tab.evaluate("axe.run().then(found => found.violations.map(one => one.id))")
        assert found == [], state


CHAPTER = "chapters/recurrence.html"


def test_what_the_chapter_says_of_its_figure_is_so(new_tab, address):
    tab = new_tab(viewport={"width": 360, "height": 700})
    tab.goto(address + CHAPTER)
    figure = tab.locator("#fig-distance .attncourse-figure")
    assert figure.locator(".scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
    names = ["RNN", "LSTM", "LSTM, open", "CNN", "attention"]
    cells = [number(text) for text in read(figure)["cell"]]
    last = dict(zip(names, cells[5::6], strict=True))
    assert last["RNN"] == pytest.approx(1e-21) and last["LSTM"] < 1e-9 and last["CNN"] == 0
    assert last["LSTM, open"] == last["attention"] == 1

    def left(layer: str, distance: int) -> float:
        said = read(figure, layer=names.index(layer), distance=distance - 1)["said"][0]
        return number(said.split("gradient is ")[1].split(" times")[0])

    # a millionth is left at about 20, and every three steps cost a factor of about ten
    assert left("RNN", 17) > 1e-6 > left("RNN", 23)
    assert 5 < (left("RNN", 4) / left("RNN", 64)) ** (1 / 20) < 15
    for distance in (1, 4, 8, 16, 32, 64):
        for name in ("LSTM, open", "attention"):
            assert 1 / 3 < left(name, distance) < 3, (name, distance)
    assert "the way has 4 steps" in read(figure, layer=3, distance=7)["said"][0]
    assert "no way from there" in read(figure, layer=3, distance=8)["said"][0]
    ways = read(figure, show=1)["cell"]
    assert ways[5::6] == ["64", "64", "64", "none", "1"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
