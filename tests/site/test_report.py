"""The link that reports an error: the form on GitHub that it opens knows where the reader is."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

import attncourse
from tests import ROOT
from tools.extensions.report import version
from tools.urls import ERROR_FORM, repository_url, site_url

CHAPTER, NAME = "chapters/dot_product.html", "Report an error"
HOME = f"{site_url(repository_url())}/"
SECTION = "one-word-waits-for-another"
SECTION_BEFORE = "attention-costs-four-times-as-much-at-twice-the-length"
# a menu opens it in a new tab, from a mouse or from a keyboard; a screen reader has neither
FOLLOW_BY_WAY = {
    "click": lambda link: link.click(),
    "menu of the mouse": lambda link: link.click(button="right"),
    "menu of the keyboard": lambda link: link.focus(),
    "screen reader": lambda link: link.evaluate("one => one.click()"),
}
SCROLL = """(one, share) => scrollBy({
  top: one.getBoundingClientRect().top - share * innerHeight, behavior: "instant"
})"""


def form_fields(address: str) -> dict[str, str]:
    """The form fields in the query of an address."""
    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))


def follow_link(tab, follow) -> dict[str, str]:
    """Follow the link, without reaching GitHub, and return the form fields of its address."""
    tab.context.route(f"{repository_url()}/**", lambda route: route.fulfill(body=""))
    with tab.context.expect_page() as new_page:
        follow(tab.get_by_role("link", name=NAME))
    new_page.value.wait_for_url(f"{repository_url()}/issues/new?**")
    return form_fields(new_page.value.url)


def scroll_to(tab, anchor: str, share: float) -> None:
    """Scroll until a section begins at a share of the window's height."""
    tab.locator(f"#{anchor} > h2").evaluate(SCROLL, share)


def test_each_field_that_the_link_fills_in_is_one_of_the_form():
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / ERROR_FORM).read_text("utf-8"))
    fields = {field["id"]: field for field in form["body"]}
    assert ["address", "section", "version", "error"] == list(fields)
    # GitHub fills in a text, and no list
    assert {field["type"] for field in fields.values()} == {"input", "textarea"}
    required = [name for name, field in fields.items() if field.get("validations")]
    assert required == ["address", "error"]


def test_the_version_has_the_commit_where_ci_builds():
    assert version({}) == attncourse.__version__
    version_in_ci = version({"GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567"})
    assert version_in_ci == f"{attncourse.__version__} (0123456)"


@pytest.mark.parametrize("way_to_follow", FOLLOW_BY_WAY)
def test_the_section_in_view_is_named_however_the_link_is_reached(way_to_follow, tab, address):
    tab.goto(address + CHAPTER)
    scroll_to(tab, SECTION, 0.4)
    tab.context.route(f"{repository_url()}/**", lambda route: route.fulfill(body=""))
    link = tab.get_by_role("link", name=NAME)
    FOLLOW_BY_WAY[way_to_follow](link)
    form = form_fields(link.get_attribute("href"))
    assert form["address"] == f"{HOME}{CHAPTER}#{SECTION}"
    assert re.fullmatch(r"\d+\.\d+\. One word waits for another", form["section"])
    assert form["title"] == "Error in 1. Dot-product attention"
    assert form["version"] == version()


def test_a_section_that_begins_below_the_middle_is_not_yet_read(tab, address):
    tab.goto(address + CHAPTER)
    scroll_to(tab, SECTION, 0.6)
    form = follow_link(tab, lambda link: link.click())
    assert form["address"] == f"{HOME}{CHAPTER}#{SECTION_BEFORE}"
    # and when the reader has gone on, the link names the next section
    scroll_to(tab, SECTION, 0.4)
    assert follow_link(tab, lambda link: link.press("Enter"))["address"].endswith(f"#{SECTION}")


def test_from_a_folder_on_a_phone_the_link_names_the_page_of_the_host(new_tab, site):
    phone = new_tab(viewport={"width": 360, "height": 740}, has_touch=True)
    phone.goto(f"{site.as_uri()}/exercises/dot_product.html")
    assert phone.get_by_role("link", name=NAME).inner_text() == NAME
    form = follow_link(phone, lambda link: link.tap())
    assert form["address"] == f"{HOME}exercises/dot_product.html#exercises-dot-product-attention"
    assert form["section"] == "Exercises: dot-product attention"


def test_without_scripts_the_page_and_the_version_are_there(new_tab, address):
    tab_without_scripts = new_tab(java_script_enabled=False)
    tab_without_scripts.goto(f"{address}{CHAPTER}#{SECTION}")
    form = follow_link(tab_without_scripts, lambda link: link.click())
    assert (form["address"], form["section"]) == (HOME + CHAPTER, "")
    assert form["version"] == version()


def test_where_no_page_was_found_the_wrong_address_is_named(browser, site):
    def answer(route):
        path = site / route.request.url.removeprefix(HOME).partition("?")[0]
        route.fulfill(path=path if path.is_file() else site / "404.html")

    # a host of which nothing is asked
    with browser.new_context() as context:
        context.route(f"{HOME}**", answer)
        page = context.new_page()
        page.goto(f"{HOME}chapters/gone.html")
        assert (
            follow_link(page, lambda link: link.click())["address"] == f"{HOME}chapters/gone.html"
        )
