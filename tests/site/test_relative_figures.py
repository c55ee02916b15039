"""The figures of the chapter relative: every state against the package, by index and by skew."""

import re
from itertools import product

import pytest
import torch

from attncourse import plot
from attncourse.relative import causal_skew, relative_index, skew

from .test_figures import AXE, figure_in, page_of, read, visit

N = 6
CLIPPING = plot.clipping(N, 2, alt="Rows of the table.")
SKEWING = plot.skewing(4, alt="The skew.")


def test_every_state_of_the_clipping_table_equals_the_package(tab):
    tab.set_content(page_of(CLIPPING))
    states = [{"n": n, "k": k} for n, k in product(range(N), range(N + 1))]
    for state, got in zip(states, visit(figure_in(tab), states), strict=True):
        n, max_distance = state["n"] + 1, state["k"]
        rows = relative_index(n, max_distance)
        shown = [text for text, _ in got["row"]]
        kept = [shown[i * N : i * N + n] for i in range(n)]
        assert kept == [[str(one) for one in row] for row in rows.tolist()], state
        assert sum(text != "" for text in shown) == n * n, state
        ((said, _),) = got["said"]
        assert said.startswith(f"The table has {2 * max_distance + 1} row"), state
        assert {int(x) for x in re.findall(r"(?:rows?|to) (\d+)(?= to| are| is)", said)} == {
            rows.min().item(), rows.max().item()
        }, state  # fmt: skip
        for row, pairs in re.findall(r"[Rr]ow (\d+) serves (?:all )?(\d+) pair", said):
            assert (rows == int(row)).sum() == int(pairs), state
        shared = any(
            (rows == row).sum() > max(0, n - abs(row - max_distance))
            for row in range(2 * max_distance + 1)
        )
        assert ("No two offsets" in said) != shared, state


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize(("direction", "skewed"), [(0, skew), (1, causal_skew)])
def test_the_last_step_of_the_skew_is_the_package_s(n, direction, skewed, tab):
    tab.set_content(page_of(plot.skewing(n, alt="The skew.")))
    got = read(figure_in(tab), direction=direction, step=3)["entry"]
    offsets = torch.arange(1 - n, 1 if direction else n, dtype=torch.float64)
    # a number for the query beside the offset, so that an entry of another query is noticed
    expected = skewed(offsets + 100 * torch.arange(1, n + 1)[:, None])
    values = visit(figure_in(tab), [{}])[0]["entry"]
    for i, j in product(range(n), repeat=2):
        text, value = got[i * 2 * n + j], float(values[i * 2 * n + j][1])
        shown = 0 if text == "·" else int(text.replace("−", "-")) + 100 * n * value
        assert shown == pytest.approx(expected[i, j].item())


def test_no_step_of_the_skew_but_the_last_changes_the_order_of_the_entries(tab):
    tab.set_content(page_of(SKEWING))
    for direction in (0, 1):
        read(figure_in(tab), direction=direction)
        table, padded, reshaped = (
            [text for text in read(figure_in(tab), step=step)["entry"] if text] for step in range(3)
        )
        assert [text for text in padded if text != "pad"] == table
        assert reshaped == padded[4:]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_fits_a_phone_and_axe_finds_nothing(scheme, new_tab):
    tab = new_tab(color_scheme=scheme, viewport={"width": 360, "height": 700})
    tab.set_content(page_of(plot.clipping(10, 3, alt="Rows."), SKEWING, scheme=scheme))
    tab.add_script_tag(path=AXE)
    clipping, skewing = figure_in(tab).all()
    fits = "box => box.scrollWidth <= box.clientWidth"
    for figure, states in (
        (clipping, [{"k": k} for k in (0, 3, 10)]),
        (skewing, [{"direction": d, "step": s} for d, s in product(range(2), range(4))]),
    ):
        for state in states:
            read(figure, **state)
            assert figure.locator(".scroll").evaluate(fits), state
            found = tab.evaluate("axe.run().then(found => found.violations.map(one => one.id))")
            assert found == [], state


@pytest.mark.parametrize("figure", [CLIPPING, SKEWING], ids=["clipping", "skewing"])
def test_a_script_finds_what_python_wrote(figure, new_tab):
    without, live = new_tab(java_script_enabled=False), new_tab()
    for page in (without, live):
        page.set_content(page_of(figure))
    before, after = (page.locator("data").all_inner_texts() for page in (without, live))
    assert before == after and len(before) > 12


CHAPTER = "chapters/relative.html"


def test_what_the_chapter_says_of_its_clipping_table_is_so(tab, address):
    tab.goto(address + CHAPTER)
    figure = tab.locator("#fig-clipping .attncourse-figure")
    assert read(figure)["row"][:10] == list("3456666666")
    assert "no offset is told from another" in read(figure, k=0)["said"][0]
    assert "rows 0 to 8 are used. No two offsets" in read(figure, n=4, k=4)["said"][0]
    assert "rows 1 to 9 are used. No two offsets" in read(figure, k=5)["said"][0]
    # the outermost rows go first
    assert "rows 0 to 6 are used" in read(figure, n=3, k=3)["said"][0]
    assert "rows 1 to 5 are used" in read(figure, n=2)["said"][0]


def test_every_state_of_the_chapter_s_figures_fits_a_phone(new_tab, address):
    tab = new_tab(viewport={"width": 360, "height": 700})
    tab.goto(address + CHAPTER)
    fits = "box => box.scrollWidth <= box.clientWidth"
    for name, states in (
        ("clipping", [{"n": n, "k": k} for n, k in product((0, 4, 9), (0, 5, 10))]),
        ("skew", [{"direction": d, "step": s} for d, s in product(range(2), range(4))]),
    ):
        figure = tab.locator(f"#fig-{name} .attncourse-figure")
        for state in states:
            read(figure, **state)
            assert figure.locator(".scroll").evaluate(fits), (name, state)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
