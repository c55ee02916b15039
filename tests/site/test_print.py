"""What stands on paper: all that is to be read, nothing that is to be pressed, nothing cut."""

import pytest

CHAPTER, EXERCISES = "chapters/dot_product.html", "exercises/dot_product.html"
# a sheet of A4 between its margins, in the browser's pixels
PAPER = {"width": 672, "height": 1001}
CUT = """() => [...document.querySelectorAll("article *")].filter((one) => {
  const style = getComputedStyle(one);
  const hides = style.overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
  const inside = one.closest("svg, .tick, .visually-hidden");
  const outside = one.getBoundingClientRect().right > innerWidth + 1;
  return !inside && one.checkVisibility() && (hides || outside);
}).map((one) => `${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 60)}`)"""
TO_PRESS = ".learner button, .copybtn, details.folded > summary"
FRAME = ".bd-sidebar-primary, .bd-header-article, .prev-next-footer"
GROUND = "getComputedStyle(document.body).backgroundColor"
BREAKS = "e => getComputedStyle(e).breakInside"


def visible(page, selector: str) -> int:
    return len([one for one in page.locator(selector).all() if one.is_visible()])


@pytest.mark.parametrize("name", ["index.html", CHAPTER, EXERCISES, "reference/mutation.html"])
def test_a_page_on_paper_is_light_whole_and_without_what_is_pressed(name, new_tab, address):
    paper = new_tab(viewport=PAPER, color_scheme="dark")
    paper.goto(address + name)
    dark = paper.evaluate(GROUND)
    paper.emulate_media(media="print", color_scheme="dark")
    paper.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert paper.evaluate(GROUND) != dark
    assert paper.evaluate(CUT) == []
    assert visible(paper, TO_PRESS) == visible(paper, FRAME) == 0
    assert paper.locator("article h1").is_visible()
    if name == EXERCISES:
        hints_are_printed_where_they_are_open(paper)
    if name == CHAPTER:
        assert paper.locator(".claim details").count() > 10
        assert visible(paper, ".claim details") == 0
        only_what_is_short_stays_in_one_piece(paper)
    paper.evaluate("dispatchEvent(new Event('afterprint'))")
    assert paper.evaluate("document.documentElement.dataset.theme") == "dark"


def hints_are_printed_where_they_are_open(paper):
    summaries = "article details > summary"
    assert paper.locator(summaries).count() > 30
    assert visible(paper, summaries) == 0
    paper.evaluate("document.querySelector('article section details.folded').open = true")
    assert visible(paper, summaries) == 1


def only_what_is_short_stays_in_one_piece(paper):
    for selector in ("article h1", "article h2", "article h3", "article tr", ".claim", "figure"):
        assert paper.locator(selector).first.evaluate(BREAKS) == "avoid", selector
    for selector in (".cell", "article div.highlight", "article pre", "article table"):
        found = {one.evaluate(BREAKS) for one in paper.locator(selector).all()}
        assert found == {"auto"}, selector
