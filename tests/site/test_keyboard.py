"""The site without a mouse, and without motion for those who ask for none."""

import re

import pytest
from playwright.sync_api import Page, expect

CHAPTER = "chapters/dot_product.html"
KINDS = ["index.html", CHAPTER, "exercises/dot_product.html", "search.html", "reference/api.html"]
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}

# of the reference, the first entry of each section shows all that the others have
FIRST_ENTRIES = "document.querySelectorAll('dl.py ~ dl.py').forEach((one) => one.remove())"
# Whether the element in focus has an outline that it has not without the focus.
FOCUS_SHOWN_JS = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const focused = getComputedStyle(one).outline;
  one.blur();
  const shown = focused !== getComputedStyle(one).outline;
  one.focus({ preventScroll: true });
  one.dataset.reached = "";
  return shown ? "" : one.outerHTML.slice(0, 200);
}"""
UNREACHED_JS = """() => [...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, [tabindex='0']"
)].filter((one) =>
  !("reached" in one.dataset) && !one.disabled && one.tabIndex >= 0 && one.type !== "radio" &&
  one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length
).map((one) => one.outerHTML.slice(0, 200))"""
FOCUSED_NAME_JS = """() => {
  const one = document.activeElement;
  return one.getAttribute("aria-label") || one.innerText || one.title || one.placeholder || "";
}"""
MOVING_ELEMENTS_JS = """() => [...document.querySelectorAll("*")].flatMap((one) =>
  [null, "::before", "::after"].filter((part) => {
    const { transitionDuration, animationDuration, animationName, scrollBehavior } =
      getComputedStyle(one, part);
    const some = (times) => times.split(", ").some((time) => parseFloat(time) > 0);
    return some(transitionDuration) || scrollBehavior === "smooth" ||
      (animationName !== "none" && some(animationDuration));
  }).map((part) => [one.localName, ...one.classList].join(".") + (part ?? "")))"""


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the name of the focused element matches."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if re.search(name, page.evaluate(FOCUSED_NAME_JS), re.IGNORECASE):
            return
    raise AssertionError(f"Tab never reaches {name!r} on {page.url}")


def focus_faults(page: Page) -> list[str]:
    """Press Tab through a page: elements without a visible focus, and those not reached."""
    faults = []
    for _ in range(1000):
        page.keyboard.press("Tab")
        element = page.evaluate(FOCUS_SHOWN_JS)
        if element is None:
            break
        faults += [f"shows no focus: {element}"] if element else []
    return faults + [f"is not reached: {element}" for element in page.evaluate(UNREACHED_JS)]


@pytest.mark.parametrize("page", KINDS)
def test_tab_reaches_everything_with_a_sign_and_without_motion(page, new_tab, address):
    tab = new_tab(viewport=DESKTOP, reduced_motion="reduce")
    tab.goto(address + page)
    tab.evaluate(FIRST_ENTRIES)
    faults = focus_faults(tab)
    assert not faults, "\n".join(["", *faults])
    for size in (DESKTOP, PHONE):
        tab.set_viewport_size(size)
        assert not set(tab.evaluate(MOVING_ELEMENTS_JS)), size


def test_a_page_is_chosen_from_the_navigation_on_a_phone(new_tab, address):
    tab = new_tab(viewport=PHONE, reduced_motion="reduce")
    tab.goto(address + CHAPTER)
    link = tab.get_by_role("link", name="Glossary", exact=True)
    expect(link).to_be_hidden()
    tab_to(tab, "navigation|side ?bar|menu")
    tab.keyboard.press("Enter")
    expect(link).to_be_visible()
    tab.keyboard.press("Escape")
    expect(link).to_be_hidden()
    tab.reload()
    tab_to(tab, "navigation|side ?bar|menu")
    tab.keyboard.press("Enter")
    tab_to(tab, "^glossary")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile("/reference/glossary.html"))


def test_after_the_skip_link_a_word_is_searched_and_its_page_opened(tab, address):
    tab.goto(address)
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("link", name="Skip to main content")).to_be_focused()
    tab_to(tab, "search")
    field = tab.locator("dialog input[type=search]")
    tab.keyboard.press("Enter")
    expect(field).to_be_focused()
    tab.keyboard.press("Escape")
    expect(field).to_be_hidden()
    tab.keyboard.press("Enter")
    tab.keyboard.type("softmax")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile(r"search\.html\?q=softmax"))
    result = tab.locator("#search-results li a").first
    expect(result).to_be_visible()
    tab_to(tab, f"^{re.escape(result.inner_text())}$")
    tab.keyboard.press("Enter")
    expect(tab).not_to_have_url(re.compile("search"))
    expect(tab.locator("article")).to_contain_text("softmax", ignore_case=True)


def test_the_colour_scheme_is_chosen_and_kept(tab, address):
    page = tab.locator("html")
    tab.emulate_media(color_scheme="light")
    tab.goto(address)
    expect(page).to_have_attribute("data-theme", "light")
    tab_to(tab, "colou?r|theme|dark")
    tab.keyboard.press("Enter")
    expect(page).to_have_attribute("data-theme", "dark")
    tab.goto(address + CHAPTER)
    expect(page).to_have_attribute("data-theme", "dark")
