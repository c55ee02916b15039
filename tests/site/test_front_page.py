"""What the front page shows before anyone scrolls."""

import pytest
from playwright.sync_api import expect

# a laptop and a phone
SIZES = [{"width": 1280, "height": 900}, {"width": 390, "height": 844}]
# the sentence, the button, and of the figure the words and each bar
FIRST = "article section > p >> nth=0", ".start a >> nth=0", ".strip", ".side .next"


@pytest.mark.parametrize("size", SIZES)
def test_sentence_button_words_and_bars_are_on_the_first_screen(size, new_tab, address):
    tab = new_tab(viewport=size)
    tab.goto(f"{address}index.html")
    for selector in FIRST:
        parts = [part for part in tab.locator(selector).all() if part.is_visible()]
        assert len(parts) == (6 if selector == FIRST[-1] else 1), selector
        for part in parts:
            box = part.bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= size["height"], selector
            assert box["x"] >= 0 and box["x"] + box["width"] <= size["width"], selector


def test_the_word_that_is_named_changes_what_comes_next(new_tab, address):
    tab = new_tab(viewport=SIZES[1], has_touch=True)
    tab.goto(f"{address}index.html")
    first = tab.locator(".next [data-show=word]").first
    before = first.inner_text()
    tab.locator(".item.tipped input").tap()
    assert first.inner_text() != before


def test_a_button_of_the_figure_presses_nothing_in_the_editor(tab, address):
    tab.goto(f"{address}index.html")
    requests = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.get_by_role("button", name="draw one").first.click()
    expect(tab.locator("textarea").first).not_to_have_value("The war with")
    assert not [url for url in requests if "editor" in url]
