"""A word in the text lights up what it names in a figure of its page."""

import pytest
from playwright.sync_api import expect

from tests import ROOT
from tests.test_layout import TEXTS

PAGES = [
    path.relative_to(ROOT).with_suffix("").as_posix()
    for path in TEXTS
    if "{lights}" in path.read_text("utf-8")
]


@pytest.mark.parametrize("page", PAGES)
def test_each_word_lights_a_part_of_its_figure_by_mouse_and_by_keyboard(page, tab, address):
    tab.goto(f"{address}{page}.html")
    for fold in tab.locator("details:has(.lights)").all():
        fold.evaluate("fold => { fold.open = true }")
    for word in tab.locator(".lights").all():
        figure = word.get_attribute("href")
        lit, all_lit = tab.locator(f"{figure} .lit"), tab.locator(".lit")
        for light, leave in ((word.hover, lambda: tab.mouse.move(0, 0)), (word.focus, word.blur)):
            light()
            expect(lit.first).to_be_attached()
            assert all_lit.count() == lit.count(), word.inner_text()
            leave()
            expect(all_lit).to_have_count(0)


def test_without_scripts_a_word_leads_to_its_figure(new_tab, address):
    tab = new_tab(java_script_enabled=False)
    tab.goto(f"{address}{PAGES[0]}.html")
    tab.locator(".lights").first.click()
    assert tab.url.endswith(tab.locator(".lights").first.get_attribute("href"))
