"""The figures of the chapter efficient: every state against the package."""

import re
from itertools import product

import pytest
import torch

from attncourse import plot
from attncourse.dot_product import causal_mask
from attncourse.efficient import longformer_mask
from attncourse.plot.numbers import shown

from .test_figures import AXE, figure_in, page_of, read, visit

N = 6
PATTERNS = plot.patterns(N, 3, alt="Pairs.")
SCORES = torch.tensor([0.5, 1.5, 0.0, 2.5, 1.0, 2.0, 3.0])
VALUES = torch.tensor([2.0, 0.0, 4.0, 1.0, -1.0, 3.0, 0.5])
RUNNING = plot.running(SCORES, VALUES, 2, alt="The running softmax.")
FULL, CAUSAL, WINDOW, LONGFORMER, BIGBIRD = range(5)


def masks(n, width):
    """The package's mask of each pattern that draws nothing."""
    return {
        FULL: torch.ones(n, n, dtype=torch.bool),
        CAUSAL: causal_mask(n),
        WINDOW: longformer_mask(n, width),
        LONGFORMER: longformer_mask(n, width, [0]),
    }


def test_every_state_of_the_patterns_is_the_package_s_mask(tab):
    tab.set_content(page_of(PATTERNS))
    states = [
        {"pattern": p, "n": n, "width": w} for p, n, w in product(range(5), range(5), range(3))
    ]
    for state, got in zip(states, visit(figure_in(tab), states), strict=True):
        n, width = state["n"] + 2, 2 * state["width"] + 1
        dots = torch.tensor([text == "•" for text, _ in got["pair"]]).view(N, N)
        assert not dots[n:].any() and not dots[:, n:].any(), state
        found, known = dots[:n, :n], masks(n, width)
        if state["pattern"] == BIGBIRD:
            fixed = known[LONGFORMER]
            assert (found | ~fixed).all(), state
            more = (~fixed).sum(-1).clamp(max=2)
            assert torch.equal((found & ~fixed).sum(-1), more), state
        else:
            assert torch.equal(found, known[state["pattern"]]), state
        ((said, _),) = got["said"]
        assert said.startswith(f"{found.sum()} of {n * n} pairs, "), state


@pytest.mark.parametrize("width", [0, 2])
def test_the_pairs_of_1024_tokens_are_counted_without_drawing_them(width, tab):
    tab.set_content(page_of(PATTERNS))
    known = masks(1024, 2 * width + 1)
    for pattern, mask in known.items():
        (said,) = read(figure_in(tab), pattern=pattern, width=width)["said"]
        assert f"1024 tokens: {mask.sum()} of 1048576 pairs" in said
    (said,) = read(figure_in(tab), pattern=BIGBIRD)["said"]
    fixed = known[LONGFORMER]
    more = (~fixed).sum(-1).clamp(max=2).sum()
    assert f"1024 tokens: {fixed.sum() + more} of 1048576 pairs" in said


def test_after_each_block_the_figure_has_the_softmax_of_all_keys_so_far(tab):
    tab.set_content(page_of(RUNNING))
    states = [{"after block": step} for step in range(4)]
    for state, got in zip(states, visit(figure_in(tab), states), strict=True):
        end = min(2 * state["after block"] + 2, 7)
        seen, values = SCORES[:end].double(), VALUES[:end].double()
        parts, rest = (seen - seen.max()).exp(), [""] * (7 - end)
        assert [text for text, _ in got["part"]] == [*map(shown, parts.tolist()), *rest]
        weights = parts / parts.sum()
        assert [text for text, _ in got["weight"]] == [*map(shown, weights.tolist()), *rest]
        ((said, _),) = got["said"]
        sums = (parts.sum(), (parts * values).sum(), (weights * values).sum())
        total, z, out = (shown(x.item()) for x in sums)
        assert f"exponentials is {total}, that of the values {z}; divided, {out}." in said
        assert ("no key is left" in said) == (end == 7)


def test_the_factor_that_is_told_is_that_of_the_two_maxima(tab):
    tab.set_content(page_of(RUNNING))
    told = [read(figure_in(tab), **{"after block": step})["said"][0] for step in range(4)]
    assert told[0].startswith("The largest score is 1.50. ")
    assert "rises from 1.50 to 2.50, so what was summed before is multiplied by 0.37." in told[1]
    assert told[2].startswith("The largest score is still 2.50, so what was summed before stays.")
    assert "rises from 2.50 to 3.00, so what was summed before is multiplied by 0.61." in told[3]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_fits_a_phone_and_axe_finds_nothing(scheme, new_tab):
    tab = new_tab(color_scheme=scheme, viewport={"width": 360, "height": 700})
    six = plot.running(SCORES[:6], VALUES[:6], 2, alt="The running softmax.")
    tab.set_content(page_of(plot.patterns(10, 3, alt="Pairs."), six, scheme=scheme))
    tab.add_script_tag(path=AXE)
    pairs, softmax = figure_in(tab).all()
    fits = "box => box.scrollWidth <= box.clientWidth"
    for figure, states in (
        (pairs, [{"pattern": p} for p in range(5)]),
        (softmax, [{"after block": step} for step in range(3)]),
    ):
        for state in states:
            read(figure, **state)
            assert figure.locator(".scroll").evaluate(fits), state
            found = tab.evaluate("axe.run().then(found => found.violations.map(one => one.id))")
            assert found == [], state


@pytest.mark.parametrize("figure", [PATTERNS, RUNNING], ids=["patterns", "running"])
def test_a_script_finds_what_python_wrote(figure, new_tab):
    without, live = new_tab(java_script_enabled=False), new_tab()
    for page in (without, live):
        page.set_content(page_of(figure))
    before, after = (page.locator("data").all_inner_texts() for page in (without, live))
    assert before == after and len(before) > 12


def test_the_arrow_keys_go_from_block_to_block(tab):
    tab.set_content(page_of(RUNNING))
    tab.locator("[type=radio]").first.focus()
    tab.keyboard.press("ArrowRight")
    assert "rises from 1.50 to 2.50" in tab.locator("[data-show=said]").inner_text()


CHAPTER = "chapters/efficient.html"


def test_what_the_chapter_says_of_its_patterns_is_so(tab, address):
    tab.goto(address + CHAPTER)
    figure = tab.locator("#fig-patterns .attncourse-figure")

    def pairs(**state):
        (said,) = read(figure, **state)["said"]
        here, far = re.findall(r"(\d+) of \d+ pairs", said)
        return int(here), int(far)

    counts = {pattern: pairs(pattern=pattern) for pattern in range(5)}
    assert min(counts, key=lambda one: counts[one]) == WINDOW
    assert min(counts, key=lambda one: counts[one][1]) == WINDOW
    assert (counts[BIGBIRD][0], counts[CAUSAL][0]) == (62, 55)
    assert counts[CAUSAL][1] > 2**20 / 2 and counts[BIGBIRD][1] < 2**20 / 100
    wide = [pairs(pattern=pattern, width=4)[0] for pattern in (WINDOW, LONGFORMER, BIGBIRD)]
    assert wide == [100 - 30, 100 - 30 + 10, 100 - 30 + 10 + 14]


def test_every_state_of_the_chapter_s_figures_fits_a_phone(new_tab, address):
    tab = new_tab(viewport={"width": 360, "height": 700})
    tab.goto(address + CHAPTER)
    fits = "box => box.scrollWidth <= box.clientWidth"
    for name, states in (
        ("patterns", [{"pattern": p, "n": n} for p, n in product(range(5), (0, 8))]),
        ("running", [{"after block": step} for step in range(3)]),
    ):
        figure = tab.locator(f"#fig-{name} .attncourse-figure")
        for state in states:
            read(figure, **state)
            assert figure.locator(".scroll").evaluate(fits), (name, state)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
