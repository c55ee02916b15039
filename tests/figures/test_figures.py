"""Every interactive figure alike: on a phone, in the dark, by keyboard, without scripts, and in its
chapter, where the text says what it shows."""

import re
from functools import partial
from itertools import product

import pytest
import torch

from attncourse.course import chapters
from attncourse.dot_product import attention_weights
from attncourse.figures.explorer import TEMPERATURES
from tests import ROOT
from tests.site.audit import scheme_faults
from tools.book import chapter_texts

from .in_page import (
    FIGURES,
    PHONE,
    all_states,
    bare_page,
    control_options,
    figure_in,
    read_slots,
    read_states,
    slot_numbers,
    states_that_scroll,
)

# the attributes of each slot, and how large it is drawn
READ_SLOTS_JS = """figure => {
  const slots = [...figure.querySelectorAll("[data-show]")];
  const own = (name) => !["style", "value"].includes(name);
  const names = (slot) => slot.getAttributeNames().filter(own);
  return [
    slots.map((slot) => names(slot).map((name) => `${name}: ${slot.getAttribute(name)}`)),
    slots.map((slot) => slot.style.length ? +slot.style.getPropertyValue("--share") : null),
  ];
}"""


def extreme_states(options: dict[str, int]) -> list[dict[str, int]]:
    """All states in which each control has its first or last option."""
    corners = all_states(**dict.fromkeys(options, 2))
    return [{name: (options[name] - 1) * end for name, end in corner.items()} for corner in corners]


@pytest.mark.parametrize("name", FIGURES)
def test_axe_finds_nothing_in_a_figure_and_the_page_fits_a_phone(name, new_tab):
    # what fades in is looked at when it is there
    tab = new_tab(viewport=PHONE, reduced_motion="reduce")
    tab.set_content(bare_page(FIGURES[name]))
    first, *_, last = extreme_states(control_options(figure_in(tab)))
    for state in (first, last):
        read_states(figure_in(tab), [state])
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], state
        assert scheme_faults(tab) == [], state


@pytest.mark.parametrize("name", FIGURES)
def test_a_script_finds_what_python_wrote_and_without_one_no_control_is_shown(name, new_tab):
    tab_without_scripts, tab_with_scripts = new_tab(java_script_enabled=False), new_tab()
    for page in (tab_without_scripts, tab_with_scripts):
        page.set_content(bare_page(FIGURES[name]))
    before, after = (
        page.locator("data").all_inner_texts() for page in (tab_without_scripts, tab_with_scripts)
    )
    assert before == after and len(before) >= 5
    (before, at_first), (after, now) = (
        figure_in(page).evaluate(READ_SLOTS_JS) for page in (tab_without_scripts, tab_with_scripts)
    )
    assert before == after
    sizes = [(old, new) for old, new in zip(at_first, now, strict=True) if old is not None]
    assert [size for size, _ in sizes] == pytest.approx([new for _, new in sizes], abs=0.001)
    assert tab_without_scripts.locator("data").first.is_visible()
    assert [
        element for element in tab_without_scripts.locator("input").all() if element.is_visible()
    ] == []
    words = repr(FIGURES[name])
    shown = tab_without_scripts.locator("main").inner_text()
    assert f"{words}\n\n" in shown and "\nWith scripts" in shown
    assert words not in tab_with_scripts.locator("main").inner_text()
    assert tab_with_scripts.get_by_role("group", name=words, exact=True).count() == 1


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "skewing 1"])
def test_the_keyboard_moves_every_control(name, tab):
    tab.set_content(bare_page(FIGURES[name]))
    figure = figure_in(tab)
    for control in control_options(figure):
        tab.set_content(bare_page(FIGURES[name]))
        texts_before = read_slots(figure)
        control_element = figure.locator(f'[name="{control}"]:is(:checked, [type=range], select)')
        control_element.focus()
        assert control_element.evaluate("e => getComputedStyle(e).outlineStyle") == "solid", control
        # Space for a switch; and what is at its end goes back
        for key in ("ArrowRight", "Home", "Space"):
            tab.keyboard.press(key)
            if read_slots(figure) != texts_before:
                break
        assert read_slots(figure) != texts_before, control


def check_text_of_dot_product(figure):
    # the example that the chapter computes by hand
    x = torch.tensor([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    weights, slots = attention_weights(x, x)[2], read_slots(figure("steps"))
    assert slots["weight"] == [f"{w:.2f}" for w in (*weights, 0.0)]
    assert slots["output"] == [f"{y:.2f}" for y in weights @ x]
    assert slots["dot"] == ["0.00", "2.00", "2.00", "4.00"]

    def weights(**state) -> list[float]:
        return [float(text) for text in read_slots(figure("steps"), **state)["weight"]]

    unmasked = weights(mask=1)
    assert max(unmasked) == unmasked[3]
    at_1, at_8 = TEMPERATURES.index(1), TEMPERATURES.index(8)
    for query in range(4):
        scaled = weights(mask=0, d_k=5, query=query, scale=True, temperature=at_1)
        assert max(scaled) < 0.7
        assert max(weights(scale=False)) > 0.9
        assert weights(temperature=at_8) == scaled
    assert weights(mask=2, query=0) == [1, 0, 0, 0]
    assert read_slots(figure("steps"), mask=3, query=3)["output"] == ["0.00", "0.00"]


def check_text_of_convolution(figure):
    def kernel(**state):
        return read_slots(figure("kernel"), **state)["said"][0]

    # alpha = 8 is option 6; then each kernel at the end
    assert all("less than 0.005" in kernel(alpha=6, kernel=k) for k in range(3))
    for k, tap in enumerate(("0.25", "1.00", "0.50")):
        assert f"up to {tap}" in kernel(alpha=6, kernel=k, query=4)
    assert (
        "sees 7 of 13 inputs, from 3 to 9." in read_slots(figure("receptive"), width=1)["said"][0]
    )
    assert "sees 13 of 13" in read_slots(figure("receptive"), width=1, layers=1)["said"][0]
    assert (
        "sees 4 of 13" in read_slots(figure("receptive"), width=1, layers=0, output=12)["said"][0]
    )


def check_text_of_efficient(figure):
    full, causal, window, _, bigbird = range(5)

    def pair_counts(**state):
        (sentence,) = read_slots(figure("patterns"), **state)["said"]
        near_pairs, far_pairs = re.findall(r"(\d+) of \d+ pairs", sentence)
        return int(near_pairs), int(far_pairs)

    counts = {pattern: pair_counts(pattern=pattern) for pattern in range(5)}
    assert min(counts, key=lambda i: counts[i]) == window
    assert min(counts, key=lambda i: counts[i][1]) == window
    assert counts[full][0] == 100 and (counts[bigbird][0], counts[causal][0]) == (62, 55)
    assert counts[causal][1] > 2**20 / 2 and counts[bigbird][1] < 2**20 / 100


def check_text_of_recurrence(figure):
    names = ["RNN", "LSTM", "LSTM, open", "CNN", "attention"]

    def shares_left(distance: int) -> dict[str, float]:
        (cells,) = read_states(figure("distance"), [{"distance": distance - 1}])
        return dict(zip(names, slot_numbers(cells["left"]).tolist(), strict=True))

    last = shares_left(64)
    assert 10**-21.5 < last["RNN"] < 10**-20.5 and last["LSTM"] < 1e-9 and last["CNN"] == 0
    assert min(last["LSTM, open"], last["attention"]) > 0.3
    # a millionth is left at about 20, and every three steps cost a factor of about ten
    assert shares_left(17)["RNN"] > 1e-6 > shares_left(23)["RNN"]
    assert 5 < (shares_left(4)["RNN"] / last["RNN"]) ** (1 / 20) < 15
    for distance, name in product((1, 4, 8, 16, 32, 64), ("LSTM, open", "attention")):
        assert 1 / 3 < shares_left(distance)[name] < 3, (name, distance)
    assert "the path has 4 steps" in read_slots(figure("distance"), layer=3, distance=7)["said"][0]
    assert (
        "no path leads from there to here"
        in read_slots(figure("distance"), layer=3, distance=8)["said"][0]
    )
    lengths = read_slots(figure("distance"), show=1, distance=63)
    assert lengths["path"] == ["64", "64", "64", "none", "1"]
    assert lengths["tick"] == ["64", "48", "32", "16", "0"]


def check_text_of_relative(figure):
    def clipping_sentence(**state):
        return read_slots(figure("clipping"), **state)["said"][0]

    assert read_slots(figure("clipping"))["row"][:10] == list("3456666666")
    assert "no two offsets can be told apart" in clipping_sentence(k=0)
    assert "rows 0 to 8 are used. No two offsets" in clipping_sentence(n=4, k=4)
    assert "rows 1 to 9 are used. No two offsets" in clipping_sentence(k=5)
    # the outermost rows go first
    assert "rows 0 to 6 are used" in clipping_sentence(n=3, k=3)
    assert "rows 1 to 5 are used" in clipping_sentence(n=2)

    read_slots(figure("skew"), direction=1, step=3)
    rows = figure("skew").locator(".board").get_attribute("aria-label")
    assert rows.startswith("Row 0: 0, pad, −3, −2. Row 1: −1, 0, pad, −3. Row 2: −2, −1, 0, pad. ")

    def sentence_and_scores(method: int, i: int, j: int) -> tuple[str, list[str]]:
        texts = read_slots(figure("family"), **{"method": method, "query at": i, "key at": j})
        return texts["said"][0], texts["score"]

    shaw, t5, alibi = 0, 2, 3
    assert "Shaw: −2.16, the same from offset 4 to 12." in sentence_and_scores(shaw, 4, 10)[0]
    assert "the same from offset −12 to −4." in sentence_and_scores(shaw, 12, 5)[0]
    for side in (1, -1):
        for far_offset in (8, 11):
            assert (
                "the same from"
                in sentence_and_scores(t5, 6 - side * 6, 6 + side * (far_offset - 6))[0]
            )
        for near_offset in (*range(1, 8), 12):
            assert (
                "the same"
                not in sentence_and_scores(t5, 6 - side * 6, 6 + side * (near_offset - 6))[0]
            )
    alibi_scores = [sentence_and_scores(alibi, 6, j)[1][alibi] for j in (4, 5, 7, 8)]
    assert alibi_scores == ["−1.00", "−0.50", "−0.50", "−1.00"]
    # both further on
    assert (
        sentence_and_scores(alibi, 0, 3)[1]
        == sentence_and_scores(alibi, 9, 12)[1]
        != sentence_and_scores(alibi, 9, 11)[1]
    )


def check_text_of_transformer(figure):
    def chances(**state) -> list[str]:
        return read_slots(figure("sampling"), **state)["chance"]

    assert chances(temperature=6, k=5)[::5] == ["0.22", "0.10"]
    assert chances(temperature=0, k=5)[0] == "1.00"
    assert chances(temperature=6, k=4)[5] == "0.00"
    warm = TEMPERATURES.index(1)
    assert chances(temperature=warm, k=5)[0] == "0.59"
    tallies = []
    for presses in (1, 9):
        for _ in range(presses):
            figure("sampling").get_by_role("button", name="draw 100").click()
        texts = read_slots(figure("sampling"))
        tallies.append((texts["count"][0], texts["share"][0]))
    assert tallies == [("66", "0.66"), ("607", "0.61")]


def figure_on(tabs, name: str):
    """The interactive figure of a name, on whichever of a chapter's pages it stands."""
    found = (tab.locator(f"#fig-{name} .attncourse-figure") for tab in tabs)
    return next(figure for figure in found if figure.count())


CHAPTER_CHECKS = {
    name.removeprefix("check_text_of_"): check
    for name, check in globals().items()
    if "check_text_of" in name
}


@pytest.mark.parametrize("slug", chapters())
def test_a_chapter_says_what_its_figures_show_and_they_fit_a_phone(slug, new_tab, address):
    tabs = []
    for text in chapter_texts(ROOT, slug):
        tabs.append(new_tab(viewport=PHONE))
        tabs[-1].goto(f"{address}{text.parent.name}/{slug}.html")
    if slug in CHAPTER_CHECKS:
        CHAPTER_CHECKS[slug](partial(figure_on, tabs))
    assert figure_in(tabs[0]).count()
    for tab in tabs:
        # the state beside the tokens is as wide as both; the writer has more controls than there
        # are pairs to try, and tests of its own on a phone
        for figure in figure_in(tab).all() if slug not in ("linear", "language_model") else []:
            assert states_that_scroll(figure, extreme_states(control_options(figure))) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
