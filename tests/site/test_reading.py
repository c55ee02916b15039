"""What a reader does on a page: hints, search, copying, room; with scripts and without."""

import re

import pytest
from playwright.sync_api import expect

from attncourse.course import exercises

from .audit import FRAMES

CHAPTER, EXERCISES = "chapters/dot_product.html", "exercises/dot_product.html"
MASKS = "a-mask-says-who-may-attend-to-whom"
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
    "why divide by sqrt": "dot_product.html#why-divide-by-the-square-root",
    # no section has all of these
    "why divide attention by xyzzy": "dot_product.html#",
    "why divide by sqrt of xyzzy": "dot_product.html#why-divide-by-the-square-root",
    "softmax": "glossary.html#term-softmax",
}
COLOURS = """() => ["body", "article a", "article pre", ".bd-header-article", "article .k"].map(
  (name) => {
    const { color, backgroundColor } = getComputedStyle(document.querySelector(name));
    return [name, color, backgroundColor];
  }
)"""
# whether formulas scroll, and take the focus
SCROLLING_JS = "all => all.map((one) => [one.scrollWidth > one.clientWidth, one.tabIndex])"


def test_an_address_of_what_has_moved_leads_to_it_and_without_scripts_to_the_line_that_does(
    new_tab, address
):
    tab, still = new_tab(), new_tab(java_script_enabled=False)
    for one in (tab, still):
        one.goto(f"{address}{CHAPTER}#a-finite-fill")
    tab.wait_for_url("**/deeper/dot_product.html#a-finite-fill")
    heading = tab.locator("section:has(> #a-finite-fill) > h3")
    expect(heading).to_contain_text("A finite fill must be far below")
    expect(heading).to_be_in_viewport()
    expect(still.get_by_role("link", name="More about masks")).to_be_in_viewport()


def test_without_scripts_no_button_stands_there_and_hints_open(new_tab, address):
    tab = new_tab(java_script_enabled=False, viewport=PHONE)
    for page in ("index.html", CHAPTER, EXERCISES):
        tab.goto(address + page)
        assert tab.locator(".learner").count()
        buttons = tab.locator(".learner, .bd-header-article button")
        expect(buttons.filter(visible=True)).to_have_count(0)
    name, card = next(iter(exercises("dot_product").items()))
    hint = tab.get_by_text(card.hints[0].replace("'", "’"))
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


def test_on_a_phone_what_scrolls_shows_it_and_keys_scroll_a_formula(new_tab, address):
    tab = new_tab(viewport=PHONE)
    tab.goto(address + "chapters/efficient.html")
    tab.evaluate(FRAMES)
    for selector in ("article pre", ".formula", ".pst-scrollable-table-container"):
        attached = "one => getComputedStyle(one).backgroundAttachment"
        assert "local" in tab.locator(selector).first.evaluate(attached), selector
    formulas = tab.locator(".formula").evaluate_all(SCROLLING_JS)
    assert all(focus == (0 if scrolls else -1) for scrolls, focus in formulas)
    wide = tab.locator(".formula[tabindex='0']").first
    wide.press("ArrowRight")
    tab.wait_for_function("one => one.scrollLeft > 0", arg=wide.element_handle())


def test_the_contents_of_a_phone_go_away_when_a_section_is_chosen(new_tab, address):
    tab = new_tab(viewport=PHONE, reduced_motion="reduce")
    tab.goto(address + CHAPTER)
    tab.locator("button.secondary-toggle").click()
    contents = tab.locator("#pst-secondary-sidebar-modal")
    contents.locator(f"a[href='#{MASKS}']").click()
    expect(contents).to_be_hidden()
    expect(tab.locator(f"#{MASKS} > h2")).to_be_in_viewport()


def test_exercises_of_a_chapter_are_links_in_a_table_that_fits_a_phone(new_tab, address):
    tab = new_tab(viewport=PHONE)
    tab.goto(address + CHAPTER)
    table = tab.locator("table.exercise-list")
    assert table.evaluate("one => one.parentElement.scrollWidth <= one.parentElement.clientWidth")
    links = table.locator("td:first-child a")
    assert links.all_inner_texts() == list(exercises("dot_product"))
    links.nth(1).click()
    expect(tab.locator(":target .admonition-title")).to_be_in_viewport()


def test_a_citation_shows_its_entry_to_mouse_and_keyboard_under_the_name_in_the_list(tab, address):
    tab.goto(address + CHAPTER)
    links = tab.locator("article a[href*='bibliography.html#']")
    link, entry = links.first, tab.get_by_role("tooltip")
    link.hover()
    expect(entry).to_be_visible()
    # the mouse may go there
    entry.hover()
    expect(entry).to_be_visible()
    tab.mouse.move(0, 0)
    expect(entry).to_have_count(0)
    link.focus()
    expect(entry).to_be_in_viewport(ratio=1)
    tab.keyboard.press("Escape")
    expect(entry).to_have_count(0)
    cited = tab.locator("article a", has_text=re.compile(r"^\D+, \d{4}[a-z]?$")).first
    name = cited.inner_text()
    cited.click()
    assert tab.locator(":target .label").inner_text() == f"[{name}]"


def test_a_page_without_a_number_counts_its_figures_from_1(tab, address):
    tab.goto(address + "reference/figures.html")
    expect(tab.locator(".caption-number")).to_have_text("Fig. 1")


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
    assert tab.locator("mark").first.inner_text().lower() == query
    results.locator("a", has_text="Dot-product attention").first.click()
    expect(tab).to_have_url(re.compile(r"^file:.*(chapters|deeper)/dot_product\.html"))
    assert tab.locator("mark, .highlighted").count() == 0


def test_a_search_without_words_or_with_strange_ones_says_so(tab, address):
    tab.goto(f"{address}search.html")
    assert tab.locator("#search-results").inner_text() == ""
    tab.goto(f"{address}search.html?q=xyzzy+%3Cplugh%3E(%5B*%5C")
    assert tab.locator("#search-results").inner_text().strip() == "Nothing found."
    # a piece of a word, and another form of one
    for words in ("ftmax", "masking"):
        tab.goto(f"{address}search.html?q={words}")
        assert tab.locator("#search-results li").count() > 5


def test_a_search_names_the_words_that_no_page_has_and_goes_by_the_others(tab, address):
    message, results = tab.get_by_role("status"), tab.locator("#search-results li a")
    tab.goto(f"{address}search.html?q=xyzzy+rotary+plugh")
    expect(message).to_have_text(
        re.compile(r"^No page has “xyzzy” or “plugh”\. Found in \d+ places\.$")
    )
    links = results.all_inner_texts()
    tab.goto(f"{address}search.html?q=rotary")
    assert results.all_inner_texts() == links
    # a piece of a word, beside a word that begins another
    tab.goto(f"{address}search.html?q=scaled+ftmax")
    expect(message).to_have_text(re.compile("^Found"))
    # each has a page, and no section has both
    tab.goto(f"{address}search.html?q=otter+ALiBi")
    expect(message).to_have_text("No section has all these words. The closest are:")
    both = tab.locator("#search-results li").all_inner_texts()
    assert any("ALiBi" in one for one in both) and any("otter" in one for one in both)


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


def test_the_page_for_a_wrong_address_has_its_style_wherever_it_is_shown(new_tab, site, tmp_path):
    (tmp_path / "404.html").write_text((site / "404.html").read_text("utf-8"), "utf-8")
    tab = new_tab(java_script_enabled=False)
    tab.route("**/*.js*", lambda route: route.abort())
    tab.goto((tmp_path / "404.html").as_uri())
    assert tab.locator(".bd-sidebar-primary").bounding_box()["width"] < 300
