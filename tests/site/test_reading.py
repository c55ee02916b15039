"""What a reader finds on a page: ways, hints, formulas, search, room; with scripts and without."""

import re
from html import unescape

import pytest
from fontTools.ttLib import TTFont
from playwright.sync_api import expect

from attncourse.checks import exercises

CHAPTER, EXERCISES = "chapters/dot_product.html", "exercises/dot_product.html"
NAMES = list(exercises("dot_product"))
PHONE = {"width": 360, "height": 740}


def test_without_scripts_no_button_stands_there_and_hints_open(new_tab, address):
    tab = new_tab(java_script_enabled=False)
    for page in ("index.html", CHAPTER, EXERCISES):
        tab.goto(address + page)
        assert tab.locator(".learner").count()
        assert not any(one.is_visible() for one in tab.locator(".learner").all())
    hint = tab.get_by_text(exercises("dot_product")[NAMES[0]].hints[0])
    assert not hint.is_visible()
    tab.get_by_text(f"Hint 1 for {NAMES[0]}: the idea").click()
    assert hint.is_visible()


def test_minutes_and_ways_between_chapter_and_exercises(tab, address):
    cards = exercises("dot_product").values()
    minutes = sum(card.minutes for card in cards)
    tab.goto(address + CHAPTER)
    time = tab.locator(".page-time").inner_text()
    assert re.fullmatch(
        r"About (\d+ minutes|\d+ h.*) to read; 9 exercises, about 2 h 10 min\.", time
    )
    assert minutes == 128
    assert tab.locator("a.right-next").get_attribute("href").endswith(EXERCISES)
    tab.locator(".page-time a").click()
    assert tab.url == address + EXERCISES
    assert tab.locator("a.left-prev").get_attribute("href").endswith(CHAPTER)
    assert f"{sum(card.points for card in cards)} points" in tab.locator(".page-time").inner_text()
    tab.locator(".page-time a").click()
    assert tab.url == address + CHAPTER


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


def test_an_exercise_page_holds_each_exercise_and_folds_what_helps(site):
    page = (site / EXERCISES).read_text("utf-8")
    folded = [unescape(one) for one in re.findall(r"<summary>(.+?)</summary>", page)]
    for number, name in enumerate(NAMES, start=1):
        assert re.search(rf"Exercise \d+\.{number} .+?>{name}<", page)
        starts = [f"Hint {level} for {name}: " for level in (1, 2, 3)]
        for start in [*starts, f"Worked solution of {name}"]:
            assert len([one for one in folded if one.startswith(start)]) == 1
    assert len(set(folded)) == len(folded)
    assert "raise NotImplementedError" in re.sub("<.+?>", "", page)
    assert re.search(r'href="https://github.com/[^"]+/edit/\w+/solutions/dot_product.md"', page)
    assert len(re.findall(r'href="https://colab[^"]+/exercises/dot_product.ipynb"', page)) == 2


def test_marks_can_be_hidden(tab, address):
    tab.goto(address + CHAPTER)
    tab.evaluate("localStorage.setItem('sphinx_highlight_terms', 'entropy')")
    tab.reload()
    tab.get_by_text("Hide Search Matches").click()
    assert tab.locator("article .highlighted").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_a_page_has_the_colours_of_the_preferred_scheme(new_tab, address, scheme):
    colours = """() => ["body", "article a", "article pre", ".bd-header-article", "article .k"]
      .map((name) => document.querySelector(name)).filter(Boolean).map((one) => {
        const { color, backgroundColor } = getComputedStyle(one);
        return [one.tagName, color, backgroundColor];
      })"""
    shown = []
    for scripts in (True, False):
        tab = new_tab(color_scheme=scheme, java_script_enabled=scripts, reduced_motion="reduce")
        tab.goto(address + CHAPTER)
        shown.append(tab.evaluate(colours))
    assert shown[0] == shown[1]


def test_without_scripts_a_phone_shows_the_contents_and_no_dead_button(new_tab, address):
    tab = new_tab(java_script_enabled=False, viewport=PHONE)
    tab.goto(address + CHAPTER)
    assert not [one for one in tab.locator(".bd-header-article button").all() if one.is_visible()]
    contents = tab.locator(".bd-sidebar-primary a[href]").filter(has_text="Glossary")
    assert contents.is_visible()
    below = tab.locator("article").bounding_box()
    assert contents.bounding_box()["y"] > below["y"] + below["height"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_line_of_code_has_room(new_tab, address):
    tab = new_tab(viewport={"width": 1280, "height": 800})
    tab.goto(address + EXERCISES)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    code = tab.locator("article div.highlight pre").last
    code.evaluate("one => (one.textContent = 'm'.repeat(88))")
    assert code.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_on_a_phone_what_scrolls_shows_it_and_words_are_not_squeezed(new_tab, address):
    tab = new_tab(viewport=PHONE)
    tab.goto(address + CHAPTER)
    for selector in ("article pre", ".formula", ".pst-scrollable-table-container"):
        attached = "one => getComputedStyle(one).backgroundAttachment"
        assert "local" in tab.locator(selector).first.evaluate(attached), selector
    numbered = tab.locator("div.math:has(.eqno)").first
    formula, number = (numbered.locator(one).bounding_box() for one in (".formula", ".eqno"))
    assert number["y"] >= formula["y"] + formula["height"]
    cells = tab.locator("article table.table:has(td:nth-child(4)) td:nth-child(2)").all()
    assert min(cell.bounding_box()["width"] for cell in cells) >= 140


def test_an_answer_under_a_figure_is_folded(tab, address):
    tab.goto(address + CHAPTER)
    answer = tab.get_by_text("is nothing but a temperature of 8")
    assert answer.is_hidden()
    tab.get_by_text("The temperature that gives the scaled weights back").click()
    assert answer.is_visible()


def test_what_is_found_is_quoted_from_the_text(tab, address):
    tab.goto(f"{address}search.html?q=softmax")
    tab.locator("#search-results .context").first.wait_for()
    tab.wait_for_load_state("networkidle")
    found = tab.locator("#search-results li")
    excerpts = found.locator(".context").all_inner_texts()
    assert len([one for one in excerpts if "softmax" in one.lower()]) > 10
    for excerpt in excerpts:
        assert "Colab" not in excerpt and "Repository" not in excerpt
        # a formula is in it as it is drawn, and not as TeX
        assert "\\" not in excerpt
    assert "Glossary" in found.locator("a").all_inner_texts()


def test_from_a_folder_a_word_is_found_and_its_page_opens(tab, site):
    tab.goto((site / "index.html").as_uri())
    tab.get_by_role("button", name="Search").first.click()
    tab.keyboard.type("softmax")
    tab.keyboard.press("Enter")
    result = tab.locator(f"#search-results li a[href*='{CHAPTER}']").first
    expect(result).to_be_visible()
    result.click()
    expect(tab).to_have_url(re.compile(rf"^file:.*{CHAPTER}"))
    expect(tab.locator("article")).to_contain_text("softmax", ignore_case=True)


def test_from_a_folder_formulas_figures_and_icons_are_drawn(tab, site):
    tab.goto((site / CHAPTER).as_uri())
    tab.wait_for_function("document.fonts.status === 'loaded'")
    assert tab.evaluate("[...document.images].every((one) => one.naturalWidth > 0)")
    assert tab.locator("article svg").count() + tab.locator("article img").count() > 0
    assert tab.locator("math").count() > 50
    assert tab.locator(".temml-error, merror").count() == 0
    shown = tab.locator("article").evaluate(
        "node => { node.querySelectorAll('pre').forEach(one => one.remove());"
        " return node.innerText }"
    )
    assert not [sign for sign in ("\\frac", "\\mathrm", "\\(", "\\[", "$$") if sign in shown]
    fonts = tab.evaluate("[...document.fonts].map(({ family, status }) => [family, status])")
    loaded = {family.strip('"') for family, status in fonts if status == "loaded"}
    assert "STIX2" in loaded
    assert any("Font Awesome" in family for family in loaded)
    assert "error" not in {status for _, status in fonts}


def test_every_sign_of_a_formula_is_in_the_font(site):
    font = TTFont(site / "_static" / "STIXTwoMath.woff2")
    signs = set()
    for page in site.rglob("*.html"):
        for formula in re.findall(r"<math.*?</math>", page.read_text("utf-8"), re.DOTALL):
            signs |= {*unescape(re.sub("<.*?>", "", formula))}
    # not drawn: spaces, and what tells programs that a function is applied
    unseen = {chr(code) for code in range(0x2061, 0x2065)} | {"\n", "\u2009"}
    assert {sign for sign in signs - unseen if ord(sign) not in font.getBestCmap()} == set()


def test_side_bars_menus_and_colours_still_work(address, new_tab):
    tab = new_tab(viewport=PHONE)
    tab.goto(address + CHAPTER, wait_until="networkidle")
    tab.locator("button.primary-toggle").click()
    assert tab.locator("#pst-primary-sidebar-modal").is_visible()
    tab.keyboard.press("Escape")
    tab.locator(".dropdown-source-buttons button").click()
    assert tab.locator(".dropdown-source-buttons .dropdown-menu").is_visible()
    before = tab.locator("html").get_attribute("data-mode")
    tab.locator("button.theme-switch-button").first.click()
    assert tab.locator("html").get_attribute("data-mode") != before
