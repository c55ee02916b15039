"""The site opened from a folder, without a server and without a network."""

import re

from playwright.sync_api import expect

CHAPTER = "chapters/dot_product.html"


def test_a_word_is_found_and_its_page_opens(tab, site):
    tab.goto((site / "index.html").as_uri())
    tab.get_by_role("button", name="Search").first.click()
    tab.keyboard.type("softmax")
    tab.keyboard.press("Enter")
    result = tab.locator(f"#search-results li a[href*='{CHAPTER}']").first
    expect(result).to_be_visible()
    result.click()
    expect(tab).to_have_url(re.compile(rf"^file:.*{CHAPTER}"))
    expect(tab.locator("article")).to_contain_text("softmax", ignore_case=True)


def test_formulas_figures_and_icons_are_drawn(tab, site):
    tab.goto((site / CHAPTER).as_uri())
    tab.wait_for_function("document.fonts.status === 'loaded'")
    assert tab.evaluate("[...document.images].every((one) => one.naturalWidth > 0)")
    assert tab.locator("article svg").count() + tab.locator("article img").count() > 0
    assert tab.locator(".katex").count() > 50
    assert tab.locator(".katex-error").count() == 0
    shown = tab.locator("article").evaluate(
        "node => { node.querySelectorAll('pre, annotation').forEach(one => one.remove());"
        " return node.innerText }"
    )
    assert not [sign for sign in ("\\frac", "\\mathrm", "\\(", "\\[", "$$") if sign in shown]
    fonts = tab.evaluate("[...document.fonts].map(({ family, status }) => [family, status])")
    drawn = {family.strip('"') for family, status in fonts if status == "loaded"}
    assert {"KaTeX_Main", "KaTeX_Math"} <= drawn
    assert any("Font Awesome" in family for family in drawn)
    assert "error" not in {status for _, status in fonts}


def test_each_page_is_reached_from_the_front_page(tab, site):
    tab.goto((site / "index.html").as_uri())
    pages = tab.locator("nav a.internal").evaluate_all("links => links.map((one) => one.href)")
    assert pages and all(page.startswith(site.as_uri()) for page in pages)
    for page in sorted({page.partition("#")[0] for page in pages}):
        tab.goto(page)
        assert tab.locator("h1:visible").count() == 1
