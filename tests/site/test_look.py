"""How the pages look: their type, boxes, tables, citations, and what is marked or opened."""

import re

import pytest
from playwright.sync_api import Page, expect

from attncourse.course import exercises

from .audit import FRAMES, OPEN

CHAPTER, EXERCISES = "chapters/dot_product.html", "exercises/dot_product.html"
PHONE = {"width": 360, "height": 740}
WIDTHS = (360, 820, 1280, 1600)
STYLE = "(one, name) => parseFloat(getComputedStyle(one)[name])"
GROUND = "one => getComputedStyle(one).backgroundColor"
# how far a box in the text is from what is above and from what is below it
GAPS_JS = """() => [...document.querySelectorAll(
  "article p + :is(.cell, .folded, .claim, .admonition, div.math):has(+ p:not(.d-none))"
)].filter((one) => !one.closest(".claim *, .folded *")).map((one) => {
  const { top, bottom } = one.getBoundingClientRect();
  const above = top - one.previousElementSibling.getBoundingClientRect().bottom;
  const below = one.nextElementSibling.getBoundingClientRect().top - bottom;
  return [Math.round(above), Math.round(below), one.className];
})"""
# where each line of a long line of code begins, how wide it may be, and what it says
CODE_LINES_JS = """() => [...document.querySelectorAll("article .hung")].map((one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  const shown = [...range.getClientRects()].filter(({ width }) => width);
  const lines = [...Map.groupBy(shown, ({ top }) => Math.round(top)).values()];
  const { left, right } = one.closest("pre").getBoundingClientRect();
  const lefts = lines.map((line) => Math.min(...line.map((part) => part.left)) - left);
  return [lefts, right - left, one.textContent];
}).filter(([, width]) => width)"""
# the characters of each long paragraph for each of its lines
CHARACTERS_A_LINE_JS = """() => [...document.querySelectorAll("article section > p")]
  .filter((one) => one.textContent.length > 300 && !one.querySelector("math"))
  .map((one) => one.textContent.length / Math.round(
    one.clientHeight / parseFloat(getComputedStyle(one).lineHeight)))"""

# where boxes begin, and how wide they are
BOXES_JS = """all => all.filter((one) => one.checkVisibility()).map((one) => {
  const { left, width } = one.getBoundingClientRect();
  return [Math.round(left), Math.round(width)];
})"""
# where the words of captions begin, and how large they are
CAPTIONS_JS = """all => all.map((one) => {
  const words = document.createRange();
  words.selectNodeContents(one);
  const lefts = [...words.getClientRects()].map(({ left }) => left);
  return [Math.round(Math.min(...lefts)), parseFloat(getComputedStyle(one).fontSize)];
})"""
# whether formulas scroll, take the focus, and have a shade that goes where nothing more follows
SCROLLING_JS = """all => all.map((one) => [
  one.scrollWidth > one.clientWidth,
  one.tabIndex,
  getComputedStyle(one).backgroundAttachment.includes("local"),
])"""
# how much of each formula lies beyond its box
OVERFLOW_JS = "all => all.map((one) => one.scrollWidth - one.clientWidth)"
# at the start or at the end: what the fade is, if it ends in the colour below, and links under it
FADE_JS = """(box, end) => {
  box.scrollTop = end * box.scrollHeight;
  const { position, height, backgroundImage } = getComputedStyle(box, "::after");
  const { bottom } = box.getBoundingClientRect();
  const under = [...box.querySelectorAll("a")].map((link) => link.getBoundingClientRect())
    .filter((link) => link.bottom > bottom - parseFloat(height) && link.top < bottom);
  const ends = backgroundImage.includes(getComputedStyle(box).backgroundColor);
  return [position, ends, under.length];
}"""


def css_number(tab: Page, selector: str, name: str = "fontSize") -> float:
    """A computed CSS property of the first match, in pixels."""
    return tab.locator(selector).first.evaluate(STYLE, name)


def test_headings_and_names_of_claims_step_down_and_no_icon_is_larger_than_another(tab, address):
    tab.goto(address + "chapters/relative.html")
    sizes = [css_number(tab, f"article {tag}") for tag in ("h1", "h2", "h3", "p")]
    assert sizes == sorted(set(sizes), reverse=True)
    assert len({css_number(tab, f"article {tag}", "fontWeight") for tag in ("h1", "h2", "h3")}) == 1
    assert css_number(tab, ".claim a code") < css_number(tab, "article p")
    icons = tab.locator(".bd-header-article .btn > :is(i, span)").filter(visible=True)
    assert len({icon.evaluate(STYLE, "fontSize") for icon in icons.all()}) == 1


def test_above_a_box_is_as_much_room_as_below(tab, address):
    for page in ("chapters/multi_head.html", EXERCISES):
        tab.goto(address + page)
        gaps = tab.evaluate(GAPS_JS)
        (gap,) = {height for above, below, _ in gaps for height in (above, below)}
        assert gap > css_number(tab, "article p") / 2, gaps


def test_a_cell_and_what_it_prints_stand_in_one_box_at_every_width(tab, address):
    tab.goto(address + CHAPTER)
    cell = tab.locator(".cell:has(> .cell_input):has(> .cell_output pre)").first
    code, output = cell.locator(".cell_input"), cell.locator(".cell_output")
    grounds = [block.locator("pre").evaluate(GROUND) for block in (code, output)]
    assert len({*grounds, tab.locator("body").evaluate(GROUND)}) == 2
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        for side in ("borderTopWidth", "borderLeftWidth"):
            assert cell.evaluate(STYLE, side) == 1
        code_box, output_box = code.bounding_box(), output.bounding_box()
        assert code_box["y"] + code_box["height"] == pytest.approx(output_box["y"], abs=1)
        if width >= 1280:
            # of prose, a line has about 70 characters
            lines = tab.evaluate(CHARACTERS_A_LINE_JS)
            assert len(lines) > 5 and 60 < sum(lines) / len(lines) < 78, lines


def test_at_a_desk_text_and_figures_have_one_width_and_code_has_another(new_tab, address):
    tab = new_tab(viewport={"width": 1600, "height": 900})
    kinds = {
        "line": "p:not(.in-the-reference), figure, .folded, .admonition, .claim",
        "code": ".cell:has(> .cell_input), div[class*='highlight-']",
        "either": "div.math, .pst-scrollable-table-container",
    }
    for page in (CHAPTER, "chapters/efficient.html"):
        tab.goto(address + page)
        boxes = {
            kind: tab.locator(f"article section > :is({selector})").evaluate_all(BOXES_JS)
            for kind, selector in kinds.items()
        }
        assert len({left for lines in boxes.values() for left, _ in lines}) == 1
        (line,), (code,) = ({width for _, width in boxes[kind]} for kind in ("line", "code"))
        assert line < code and all(line <= width <= code for _, width in boxes["either"])


def test_every_caption_begins_where_the_text_does_in_one_size(tab, address):
    for page in (CHAPTER, "chapters/efficient.html"):
        tab.goto(address + page)
        captions = tab.locator("article :is(figure > figcaption, caption)")
        outer = captions.filter(visible=True).and_(
            tab.locator(":not(.attncourse-figure *, details *)")
        )
        (caption_box,) = {tuple(box) for box in outer.evaluate_all(CAPTIONS_JS)}
        text = tab.locator("article section > p").first.bounding_box()
        assert text and caption_box[0] == round(text["x"])
        assert 0.9 * css_number(tab, "article p") < caption_box[1] <= css_number(tab, "article p")


def test_on_a_phone_a_formula_fits_or_shows_that_keys_scroll_it(new_tab, address):
    tab = new_tab(viewport={"width": 390, "height": 844})
    states_by_page = {}
    for page in (CHAPTER, "chapters/efficient.html"):
        tab.goto(address + page)
        tab.evaluate(FRAMES)
        states_by_page[page] = tab.locator(".formula").evaluate_all(SCROLLING_JS)
        assert all(
            shade and focus == (0 if scrolls else -1)
            for scrolls, focus, shade in states_by_page[page]
        )
    assert not any(scrolls for scrolls, _, _ in states_by_page[CHAPTER])
    wide = tab.locator(".formula[tabindex='0']").first
    wide.press("ArrowRight")
    tab.wait_for_function("one => one.scrollLeft > 0", arg=wide.element_handle())


@pytest.mark.parametrize("width", [320, 360, 390])
@pytest.mark.parametrize("slug", ["linear", "recurrence", "relative"])
def test_on_a_phone_a_formula_of_an_exercise_fits_or_its_shade_is_seen(
    slug, width, new_tab, address
):
    tab = new_tab(viewport={"width": width, "height": 740})
    tab.goto(f"{address}exercises/{slug}.html")
    tab.evaluate(FRAMES)
    overflows = tab.locator(".exercise .formula").evaluate_all(OVERFLOW_JS)
    # as wide as what covers the shade where nothing follows
    assert overflows and all(overflow <= 0 or overflow > 1.2 * 16 for overflow in overflows), (
        overflows
    )


def test_on_the_narrowest_phone_the_cards_of_chapters_are_as_wide_as_the_text(new_tab, address):
    tab = new_tab(viewport={"width": 320, "height": 740})
    tab.goto(f"{address}index.html")
    text, card = (
        tab.locator(f"article {selector}").first.bounding_box()
        for selector in ("section > p", ".course-chapters li")
    )
    assert text and card and card["width"] <= text["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_contents_fade_out_where_they_go_on_and_not_at_their_end(scheme, new_tab, address):
    tab = new_tab(viewport={"width": 1280, "height": 600}, color_scheme=scheme)
    tab.goto(address + "chapters/efficient.html")
    contents = tab.locator("#pst-secondary-sidebar")
    (*at_top, covered), at_end = (contents.evaluate(FADE_JS, end) for end in (0, 1))
    assert at_top == ["sticky", True] and covered
    assert at_end == ["sticky", True, 0]


@pytest.mark.parametrize("folder", ["chapters", "exercises"])
def test_a_long_line_of_code_goes_on_further_in_than_it_began(folder, new_tab, address):
    # a side bar that slides would give it room
    tab = new_tab(reduced_motion="reduce")
    tab.goto(f"{address}{folder}/relative.html")
    tab.evaluate(OPEN)
    letters, line = (
        css_number(tab, "article pre", property) for property in ("fontSize", "lineHeight")
    )
    assert 14 <= letters <= css_number(tab, "article p") and 1.3 < line / letters < 1.7
    for width in WIDTHS[1:]:
        tab.set_viewport_size({"width": width, "height": 900})
        code_lines = tab.evaluate(CODE_LINES_JS)
        wrapped = [line_starts for line_starts, _, _ in code_lines if len(line_starts) > 1]
        assert wrapped or width > 820
        assert all(
            line_start > line_starts[0] + 30
            for line_starts in wrapped
            for line_start in line_starts[1:]
        )
        # 90 characters fit beside both side bars
        lines_that_fit = [
            line_starts
            for line_starts, code_width, text in code_lines
            if code_width > 830 and len(text.rstrip()) <= 90
        ]
        assert (lines_that_fit or width < 1280) and all(
            len(line_starts) == 1 for line_starts in lines_that_fit
        )
        wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
        assert tab.locator("article pre").evaluate_all(wide) == 0


def test_a_chapter_begins_with_its_question_and_its_imports_are_folded(tab, address):
    tab.goto(address + CHAPTER)
    expect(tab.locator("article section > *").nth(1)).to_contain_text("?")
    box = ".admonition-in-this-chapter"
    selectors = ("article h1", box, f"{box} p:not([class])")
    heading, frame, words = (
        tab.locator(selector).first.bounding_box()["x"] for selector in selectors
    )
    assert heading == frame and words - frame < 50
    expect(tab.get_by_text("Show the imports", exact=True)).to_be_visible()
    first = tab.locator("article section section h2").first
    assert first.bounding_box()["y"] < 900


def test_a_page_without_a_number_counts_its_figures_from_1(tab, address):
    tab.goto(address + "reference/figures.html")
    expect(tab.locator(".caption-number")).to_have_text("Fig. 1")


def test_a_link_marks_its_place_without_alarm(tab, address):
    tab.goto(f"{address}{CHAPTER}#masks")
    red, _, blue = map(int, re.findall(r"\d+", tab.locator(":target > h2").evaluate(GROUND))[:3])
    assert blue > red


def test_the_contents_of_a_phone_go_away_when_a_section_is_chosen(new_tab, address):
    tab = new_tab(viewport=PHONE, reduced_motion="reduce")
    tab.goto(address + CHAPTER)
    tab.locator("button.secondary-toggle").click()
    contents = tab.locator("#pst-secondary-sidebar-modal")
    contents.locator("a[href='#masks']").click()
    expect(contents).to_be_hidden()
    expect(tab.locator("#masks > h2")).to_be_in_viewport()


def test_exercises_of_a_chapter_are_links_in_a_table_that_fits_a_phone(new_tab, address):
    tab = new_tab(viewport=PHONE)
    tab.goto(address + CHAPTER)
    table = tab.locator("table.exercise-list")
    assert table.evaluate("one => one.parentElement.scrollWidth <= one.parentElement.clientWidth")
    links = table.locator("td:first-child a")
    assert links.all_inner_texts() == list(exercises("dot_product"))
    expect(table.locator("td").nth(4)).to_have_class("text-right")
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


def test_the_page_for_a_wrong_address_has_its_style_wherever_it_is_shown(new_tab, site, tmp_path):
    (tmp_path / "404.html").write_text((site / "404.html").read_text("utf-8"), "utf-8")
    tab = new_tab(java_script_enabled=False)
    tab.route("**/*.js*", lambda route: route.abort())
    tab.goto((tmp_path / "404.html").as_uri())
    assert tab.locator(".bd-sidebar-primary").bounding_box()["width"] < 300
    assert tab.locator("h1").evaluate(STYLE, "fontSize") > 30
