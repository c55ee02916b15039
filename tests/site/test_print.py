"""What stands on paper: all that is to be read, nothing that is to be pressed, nothing cut."""

import pytest

PAGES = ("chapters/dot_product.html", "exercises/dot_product.html", "reference/mutation.html")
# a sheet of A4 between its margins, in the browser's pixels
PAPER = {"width": 672, "height": 1001}
CUT = """() => [...document.querySelectorAll("article *")].filter((one) => {
  const style = getComputedStyle(one);
  const hides = style.overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
  const inside = one.closest("svg, .katex-mathml, .tick-words, .visually-hidden");
  const outside = one.getBoundingClientRect().right > innerWidth + 1;
  return !inside && one.checkVisibility() && (hides || outside);
}).map((one) => `${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 60)}`)"""


@pytest.fixture
def paper(new_tab):
    """A tab that shows a page as it is printed."""
    page = new_tab(viewport=PAPER)
    page.emulate_media(media="print")
    return page


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut(paper, address, name):
    paper.goto(address + name)
    assert paper.evaluate(CUT) == []


@pytest.mark.parametrize("name", [*PAGES, "index.html"])
def test_nothing_to_press_and_nothing_to_unfold_is_printed(paper, address, name):
    paper.goto(address + name)
    dead = paper.locator(".learner button, .learner textarea, .copybtn, details.folded > summary")
    assert not [one for one in dead.all() if one.is_visible()]


def test_hints_and_solutions_are_printed_only_where_they_are_open(paper, address):
    paper.goto(address + PAGES[1])
    summaries = paper.locator("article details > summary")
    assert summaries.count() > 30
    assert not [one for one in summaries.all() if one.is_visible()]
    paper.evaluate("document.querySelector('article section details.folded').open = true")
    assert len([one for one in summaries.all() if one.is_visible()]) == 1
    sources = paper.goto(address + PAGES[0]) and paper.locator(".claim details")
    assert sources.count() > 10
    assert not [one for one in sources.all() if one.is_visible()]


def test_only_what_is_short_stays_in_one_piece(paper, address):
    paper.goto(address + PAGES[0])
    breaks = "e => getComputedStyle(e).breakInside"
    for selector in ("article h1", "article h2", "article h3", "article tr", ".claim", "figure"):
        assert paper.locator(selector).first.evaluate(breaks) == "avoid", selector
    for selector in (".cell", "article div.highlight", "article pre", "article table"):
        found = {one.evaluate(breaks) for one in paper.locator(selector).all()}
        assert found == {"auto"}, selector
