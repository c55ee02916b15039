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
BUTTONS = ".learner button, .copybtn, .to-run, .exercise ~ details > summary"
FRAME = ".bd-sidebar-primary, .bd-header-article, .prev-next-footer"
GROUND = "getComputedStyle(document.body).backgroundColor"
BREAK_INSIDE_JS = "all => [...new Set(all.map((one) => getComputedStyle(one).breakInside))]"
UNDIVIDED = "article :is(h1, h2, h3, tr, .claim, figure)"
DIVISIBLE = ".cell, article :is(div.highlight, pre, table)"


def visible_count(page, selector: str) -> int:
    return page.locator(selector).filter(visible=True).count()


@pytest.mark.parametrize("name", ["index.html", CHAPTER, EXERCISES, "reference/mutation.html"])
def test_a_page_on_paper_is_light_whole_and_without_what_is_pressed(name, new_tab, address):
    paper = new_tab(viewport=PAPER, color_scheme="dark")
    paper.goto(address + name)
    dark = paper.evaluate(GROUND)
    paper.emulate_media(media="print", color_scheme="dark")
    paper.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert paper.evaluate(GROUND) != dark
    assert paper.evaluate(CUT) == []
    assert visible_count(paper, BUTTONS) == visible_count(paper, FRAME) == 0
    assert paper.locator("article h1").is_visible()
    if name == EXERCISES:
        # a hint is printed where it is open
        paper.evaluate("document.querySelector('.exercise ~ details.folded').open = true")
        assert visible_count(paper, ".exercise ~ details > summary") == 1
        # as are the boxes above the first exercise
        boxes = paper.locator("article details.folded:not(.exercise ~ *, .to-run)")
        assert boxes.count() == visible_count(paper, "article details > summary") - 1
        assert boxes.count() and all(element.is_visible() for element in boxes.all())
        assert paper.get_by_text("hints and worked solutions that were open").is_visible()
    if name == CHAPTER:
        answers = paper.locator("section details.folded:not(.taught, .to-run, .claim *, .cell *)")
        assert answers.count() and all(answer.is_visible() for answer in answers.all())
        assert paper.locator(".claim details").count() > 2
        assert visible_count(paper, ".claim details") == 0
        # only what is short stays in one piece
        assert paper.locator(UNDIVIDED).evaluate_all(BREAK_INSIDE_JS) == ["avoid"]
        assert paper.locator(DIVISIBLE).evaluate_all(BREAK_INSIDE_JS) == ["auto"]
    paper.evaluate("dispatchEvent(new Event('afterprint'))")
    assert paper.evaluate("document.documentElement.dataset.theme") == "dark"
