"""What a reader does on a page: hints, search, copying, room; with scripts and without."""

import re

import pytest
from playwright.sync_api import expect

from attncourse.course import exercises

CHAPTER, EXERCISES = "chapters/dot_product.html", "exercises/dot_product.html"
PHONE = {"width": 360, "height": 740}
# where what people type is found, among the first three places
TARGET_BY_QUERY = {
    "KV cache": "glossary.html#term-",
    "GQA": "glossary.html#term-",
    "MQA": "glossary.html#term-",
    "RoPE": "glossary.html#term-RoPE",
    "rotary": "glossary.html#term-RoPE",
    "ALiBi": "glossary.html#term-ALiBi",
    "flash attention": "glossary.html#term-flash-attention",
    "causal": "dot_product.html#causal-and-padding-masks",
    "causal_mask": "api.html#attncourse.dot_product.causal_mask",
    "cross-attention": "glossary.html#term-cross-attention",
    "encoder": "glossary.html#term-encoder",
    "decoder": "glossary.html#term-decoder",
    "temperature": "glossary.html#term-temperature",
    "logits": "glossary.html#term-logits",
    # words that every sentence has, and a sign by its name
    "why divide by sqrt": "dot_product.html#",
    # no section has all of these
    "why divide attention by xyzzy": "dot_product.html#",
    "softmax": "glossary.html#term-softmax",
}
COLOURS = """() => ["body", "article a", "article pre", ".bd-header-article", "article .k"].map(
  (name) => {
    const { color, backgroundColor } = getComputedStyle(document.querySelector(name));
    return [name, color, backgroundColor];
  }
)"""


def test_without_scripts_no_button_stands_there_and_hints_open(new_tab, address):
    tab = new_tab(java_script_enabled=False, viewport=PHONE)
    for page in ("index.html", CHAPTER, EXERCISES):
        tab.goto(address + page)
        assert tab.locator(".learner").count()
        buttons = tab.locator(".learner, .bd-header-article button")
        expect(buttons.filter(visible=True)).to_have_count(0)
    name, card = next(iter(exercises("dot_product").items()))
    hint = tab.get_by_text(card.hints[0])
    assert not hint.is_visible()
    tab.get_by_text(f"Hint 1 for {name}: the idea").click()
    assert hint.is_visible()
    # a phone has the contents of the side bar below the text
    contents = tab.locator(".bd-sidebar-primary a[href]").filter(has_text="Glossary")
    article_box = tab.locator("article").bounding_box()
    assert contents.bounding_box()["y"] > article_box["y"] + article_box["height"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_a_page_has_the_colours_of_the_preferred_scheme(new_tab, address, scheme):
    colours = []
    for scripts in (True, False):
        tab = new_tab(color_scheme=scheme, java_script_enabled=scripts, reduced_motion="reduce")
        tab.goto(address + CHAPTER)
        colours.append(tab.evaluate(COLOURS))
    assert colours[0] == colours[1]


def test_the_lines_to_type_can_be_copied(new_tab, address):
    tab = new_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.goto(address + EXERCISES)
    tab.get_by_text("Run this page in").click()
    box = tab.locator("details[open]")
    box.locator("pre").first.hover()
    box.locator("button.copybtn").first.click()
    lines = tab.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0].startswith("git clone https://github.com/")
    assert lines[-1] == ".venv/bin/jupyter lab exercises/dot_product.ipynb"


def test_on_a_phone_what_scrolls_shows_it_and_words_are_not_squeezed(new_tab, address):
    tab = new_tab(viewport=PHONE)
    tab.goto(address + CHAPTER)
    for selector in ("article pre", ".formula", ".pst-scrollable-table-container"):
        attached = "one => getComputedStyle(one).backgroundAttachment"
        assert "local" in tab.locator(selector).first.evaluate(attached), selector
    numbered = tab.locator("div.math:has(.eqno)").first
    formula, number = (
        numbered.locator(selector).bounding_box() for selector in (".formula", ".eqno")
    )
    assert number["y"] >= formula["y"] + formula["height"]
    cells = tab.locator("article table.table:has(td:nth-child(4)) td:nth-child(2)").all()
    assert min(cell.bounding_box()["width"] for cell in cells) >= 140


def test_what_is_searched_for_is_found_first_quoted_in_prose_and_marked_nowhere_else(tab, site):
    for query, target in TARGET_BY_QUERY.items():
        # a page from a folder may read no other
        tab.goto(f"{site.as_uri()}/search.html?q={query}")
        results = tab.locator("#search-results li")
        first_links = results.locator("a").evaluate_all(
            "all => all.slice(0, 3).map((one) => one.href)"
        )
        assert any(target in result for result in first_links), (query, first_links)
        for excerpt in results.locator(".context").all_inner_texts():
            # a formula is in it as it is drawn, and not as TeX
            assert excerpt and not re.search(r"Colab|Repository|import torch|\\[a-z]", excerpt)
    assert tab.locator("mark").first.inner_text() == query
    results.locator("a", has_text="Dot-product attention").first.click()
    expect(tab).to_have_url(re.compile(f"^file:.*{CHAPTER}"))
    assert tab.locator("mark, .highlighted").count() == 0


def test_a_search_without_words_or_with_strange_ones_says_so(tab, address):
    tab.goto(f"{address}search.html")
    assert tab.locator("#search-results").inner_text() == ""
    tab.goto(f"{address}search.html?q=xyzzy+%3Cb%3E(%5B*%5C")
    assert tab.locator("#search-results").inner_text().strip() == "Nothing was found."
    # a piece of a word, and another form of one
    for words in ("ftmax", "masking"):
        tab.goto(f"{address}search.html?q={words}")
        assert tab.locator("#search-results li").count() > 5


def test_from_a_folder_formulas_figures_and_icons_are_drawn(tab, site):
    tab.goto((site / CHAPTER).as_uri())
    tab.wait_for_function("document.fonts.status === 'loaded'")
    assert tab.locator("article svg").count() and tab.locator("math").count() > 50
    assert tab.locator(".temml-error, merror").count() == 0
    tab.evaluate("document.querySelectorAll('pre').forEach((one) => one.remove())")
    text = tab.locator("article").inner_text()
    assert [sign for sign in ("\\frac", "\\mathrm", "\\(", "\\[", "$$") if sign in text] == []
    fonts = tab.evaluate("[...document.fonts].map(({ family, status }) => family + status)")
    assert "STIX2loaded" in [font.replace('"', "") for font in fonts]
    assert any("Font Awesome" in font and font.endswith("loaded") for font in fonts)
    assert [font for font in fonts if font.endswith("error")] == []
