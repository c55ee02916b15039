"""What Firefox may do in its own way: layout, formulas, figures, search, what opens."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser import (
    CONTROL_FIGURES,
    TEXT_FIGURES,
    VIEW_SCRIPT,
    responds_to_key,
    responds_to_text,
)
from tests.site.audit import width_faults

pytestmark = pytest.mark.slow

SIZES = PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 800}
DARK = "matchMedia('(prefers-color-scheme: dark)').matches"
THEME = "document.documentElement.dataset.theme"
FONTS = "[...document.fonts].map((one) => one.status === 'loaded' && one.family)"
# formulas that are not drawn, or not as they are meant
FORMULAS = """document.fonts.ready.then(() => {
  const drawn = (one) => one.getBoundingClientRect().width > 0 && !one.querySelector("merror");
  const all = [...document.querySelectorAll("article math")].filter((one) => one.checkVisibility());
  return all.filter((one) => !drawn(one)).map((one) => one.textContent);
})"""
# words of a drawing that its frame cuts, where a font is wider
CUT = """[...document.querySelectorAll("svg.drawing")].flatMap((one) => {
  const { left, right } = one.getBoundingClientRect();
  const inside = ({ left: a, right: b }) => a > left - 1 && b < right + 1;
  return [...one.querySelectorAll("text")].filter((text) => !inside(text.getBoundingClientRect()));
}).map((text) => text.textContent)"""
CONTROLS_TO_CHANGE = (
    "label:has([type=radio]:not(:checked)), form:not(:has([type=radio])) [type=range]"
)


def test_every_page_fits_and_draws_its_formulas_in_the_preferred_colours(tab, names, address):
    scheme = "dark" if tab.evaluate(DARK) else "light"
    for page in names:
        tab.set_viewport_size(PHONE)
        tab.goto(f"{address}{page}?q=softmax")
        assert tab.evaluate(THEME) == scheme
        assert tab.evaluate(FORMULAS) == tab.evaluate(CUT) == [], page
        assert "STIX2" in tab.evaluate(FONTS) or not page.startswith("chapters"), page
        assert width_faults(tab) == [], page
        tab.set_viewport_size(DESK)
        assert width_faults(tab) == [], page


@pytest.mark.parametrize("size", SIZES, ids=["phone", "desk"])
def test_every_figure_answers_a_click_and_a_key(size, new_tab, names, address):
    tab = new_tab(viewport=size)
    for page in [name for name in names if name.startswith(("index", "chapters"))]:
        tab.goto(address + page)
        for figure in tab.locator(CONTROL_FIGURES).all():
            controls = figure.locator(CONTROLS_TO_CHANGE).locator("visible=true")
            states = [figure.evaluate(VIEW_SCRIPT)]
            # a slider stands at one of its ends at most
            for control, end in ((controls.first, 0.05), (controls.last, 0.95)):
                box = control.bounding_box()
                assert box
                is_slider = control.get_attribute("type") == "range"
                position = {"x": end * box["width"], "y": box["height"] / 2} if is_slider else None
                control.click(position=position)
                states.append(figure.evaluate(VIEW_SCRIPT))
            assert len({*states}) > 1 and responds_to_key(figure), page
        assert all(map(responds_to_text, tab.locator(TEXT_FIGURES).all())), page


def test_a_word_is_found_a_citation_shown_and_what_measures_a_claim_opened(tab, address):
    tab.goto(f"{address}search.html?q=softmax")
    tab.locator("#search-results li a").first.click()
    expect(tab).not_to_have_url(re.compile("search"))
    expect(tab.locator("article")).to_contain_text("softmax", ignore_case=True)
    tab.goto(f"{address}chapters/dot_product.html")
    tab.locator("article a[href*='bibliography.html#']").first.focus()
    expect(tab.get_by_role("tooltip")).to_be_visible()
    fold = tab.locator(".claim details").first
    fold.locator("summary").click()
    expect(fold.locator("pre").first).to_be_visible()
