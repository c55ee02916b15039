"""The figures of the chapter convolution: every state against the package, and as a page."""

import re
from itertools import product

import pytest
import torch

from attncourse import plot
from attncourse.convolution import tap_offsets, tap_weights

from .test_figures import AXE, figure_in, page_of, read, visit

KERNELS = {"blur": [0.25, 0.5, 0.25], "edge": [-1.0, 0.0, 1.0]}
ALPHAS = [0, 0.5, 2, 8]
N = 9
KERNEL = plot.kernel(5, KERNELS, ALPHAS, position=2, start=1, alt="A kernel as heads.")
RECEPTIVE = plot.receptive(N, 3, [3, 5, 1], position=4, alt="What an output sees.")


def test_every_state_of_the_kernel_equals_the_package(tab):
    tab.set_content(page_of(KERNEL))
    names = ("kernel", "alpha", "query")
    states = [dict(zip(names, one, strict=True)) for one in product(range(2), range(4), range(5))]
    for state, got in zip(states, visit(figure_in(tab), states), strict=True):
        query, alpha = state["query"], ALPHAS[state["alpha"]]
        taps = torch.tensor(list(KERNELS.values())[state["kernel"]]).double()
        weights = tap_weights(tap_offsets((3,)).double(), (5,), float(alpha))[:, query]
        inside = torch.zeros(7).double()
        inside[query : query + 3] = taps
        expected = {"weight": weights.flatten(), "sum": taps @ weights, "true": inside[1:-1]}
        for slot, numbers in expected.items():
            held = torch.tensor([float(value) for _, value in got[slot]], dtype=torch.float64)
            torch.testing.assert_close(held, numbers, rtol=1e-6, atol=1e-6)
        ((said, _),) = got["said"]
        off = (expected["sum"] - expected["true"]).abs().max().item()
        assert f"by {f'up to {off:.2f}' if off >= 0.005 else 'less than 0.005'}." in said, state
        assert ("looks outside" in said) == (query in (0, 4)), state
        assert said.count("Head −1") == (query == 0), state


def steps(kind: int, width: int, layer: int) -> torch.Tensor:
    """Which inputs of a layer lead to which of its outputs."""
    apart = torch.arange(N) - torch.arange(N)[:, None]
    if kind == 2:
        return torch.ones(N, N).double()
    spread = 2**layer if kind == 1 else 1
    return ((apart % spread == 0) & (apart.abs() // spread <= width // 2)).double()


def test_every_state_of_what_an_output_sees_counts_the_paths(tab):
    tab.set_content(page_of(RECEPTIVE))
    states = [
        {"layers": kind, "width": width, "output": output}
        for kind, width, output in product(range(3), range(3), range(N))
    ]
    for state, got in zip(states, visit(figure_in(tab), states), strict=True):
        width, output = [3, 5, 1][state["width"]], state["output"]
        paths = [torch.eye(N)[output].double()]
        for layer in (2, 1, 0):
            paths.append(paths[-1] @ steps(state["layers"], width, layer))
        shares = torch.cat([row / row.max() for row in paths])
        held = torch.tensor([float(value) for _, value in got["path"]], dtype=torch.float64)
        torch.testing.assert_close(held, shares, rtol=1e-6, atol=1e-6)
        assert [text for text, _ in got["path"]] == ["•" if x else "·" for x in shares], state
        ((said, _),) = got["said"]
        seen = (paths[-1] > 0).nonzero().flatten().tolist()
        assert f"Output {output} sees {len(seen)} of {N} inputs" in said, state
        range_said = re.search(r"from (\d) to (\d)", said)
        ends = [int(x) for x in range_said.groups()] if range_said else [output, output]
        assert ends == [seen[0], seen[-1]], state


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_fits_a_phone_and_axe_finds_nothing(scheme, new_tab):
    tab = new_tab(color_scheme=scheme, viewport={"width": 360, "height": 700})
    tab.set_content(page_of(KERNEL, RECEPTIVE, scheme=scheme))
    tab.add_script_tag(path=AXE)
    kernel, receptive = figure_in(tab).all()
    fits = "box => box.scrollWidth <= box.clientWidth"
    for figure, states in (
        (kernel, [{"kernel": k, "alpha": a} for k, a in product(range(2), (0, 3))]),
        (receptive, [{"layers": kind, "width": w} for kind, w in product(range(3), range(3))]),
    ):
        for state in states:
            read(figure, **state)
            assert figure.locator(".scroll").evaluate(fits), state
            found = tab.evaluate("axe.run().then(found => found.violations.map(one => one.id))")
            assert found == [], state


@pytest.mark.parametrize("figure", [KERNEL, RECEPTIVE], ids=["kernel", "receptive"])
def test_the_keyboard_moves_every_control(figure, tab):
    tab.set_content(page_of(figure))
    table = figure_in(tab).locator("table")
    controls = figure_in(tab).locator("input:checked, input[type=range]")
    assert controls.count() == 3
    for control in controls.all():
        before = table.inner_text() + figure_in(tab).locator("[data-show=said]").inner_text()
        control.focus()
        tab.keyboard.press("ArrowRight")
        after = table.inner_text() + figure_in(tab).locator("[data-show=said]").inner_text()
        assert after != before, control


@pytest.mark.parametrize("figure", [KERNEL, RECEPTIVE], ids=["kernel", "receptive"])
def test_a_script_finds_what_python_wrote(figure, new_tab):
    without, live = new_tab(java_script_enabled=False), new_tab()
    for page in (without, live):
        page.set_content(page_of(figure))
    before, after = (page.locator("data").all_inner_texts() for page in (without, live))
    assert before == after and len(before) > 12


CHAPTER = "chapters/convolution.html"


def test_what_the_chapter_says_of_its_kernels_is_so(tab, address):
    tab.goto(address + CHAPTER)
    figure = tab.locator("#fig-kernel .attncourse-figure")
    # alpha = 8 is option 6, and 4 is 5; then each kernel at the end
    assert all("less than 0.005" in read(figure, alpha=6, kernel=k)["said"][0] for k in range(3))
    for k, off in ((0, "0.01"), (2, "0.09")):
        assert f"up to {off}" in read(figure, alpha=5, kernel=k)["said"][0]
    for k, tap in enumerate(("0.25", "1.00", "0.50")):
        assert f"up to {tap}" in read(figure, alpha=6, kernel=k, query=4)["said"][0]


def test_what_the_chapter_says_of_what_an_output_sees_is_so(tab, address):
    tab.goto(address + CHAPTER)
    figure = tab.locator("#fig-receptive .attncourse-figure")
    assert "sees 7 of 13 inputs, from 3 to 9." in read(figure)["said"][0]
    assert "sees 13 of 13" in read(figure, layers=1)["said"][0]
    assert "sees 4 of 13" in read(figure, layers=0, output=12)["said"][0]


def test_the_figures_of_the_chapter_fit_a_phone(new_tab, address):
    tab = new_tab(viewport={"width": 360, "height": 700})
    tab.goto(address + CHAPTER)
    fits = "box => box.scrollWidth <= box.clientWidth"
    for name, states in (
        ("kernel", [{"kernel": k, "alpha": a} for k, a in product(range(3), (0, 3, 6))]),
        ("receptive", [{"layers": kind, "width": w} for kind, w in product(range(3), (0, 1))]),
    ):
        figure = tab.locator(f"#fig-{name} .attncourse-figure")
        for state in states:
            read(figure, **state)
            assert figure.locator(".scroll").evaluate(fits), (name, state)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
