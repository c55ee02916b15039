"""What looks at the pages sees what it is there to see."""

import pytest

from tests.browser import watch

from .audit import ALL_BUT_COLOURS, Fault, axe, colours, in_short, widths

FINE = """<!doctype html><html lang="en"><head><title>Fine</title>
<style>.bare {{ color: #222; text-decoration: none }}</style></head><body><main><h1>Fine</h1>
<article><p>Text <a href="#here">here</a></p><details><summary>How the sum is made</summary>{}
</details></article></main></body></html>"""
BROKEN = {
    "page-scrolls-sideways": "<p style='width: 2000px'>wide</p>",
    "cell-squeezed": f"<table><td style='width: 40px; display: block'>{'word ' * 40}</td></table>",
    "scrolls-out-of-reach": "<div style='overflow: auto'><p style='width: 2000px'>wide</p></div>",
    "axe:button-name": "<button></button>",
    "axe:color-contrast": "<p style='color: #ddd; background: #fff'>pale</p>",
    "axe:link-in-text-block": "<p>Some text <a href='#' class='bare'>here</a>.",
}


@pytest.fixture
def page(browser):
    """One page to write into."""
    opened = browser.new_page(viewport={"width": 360, "height": 740})
    yield opened
    opened.close()


@pytest.mark.parametrize(("rule", "html"), [("", ""), *BROKEN.items()])
def test_a_broken_rule_is_named_with_its_place_in_a_closed_box_too(rule, html, page):
    page.set_content(FINE.format(html))
    faults = widths(page) + axe(page, ALL_BUT_COLOURS) + colours(page)
    assert {fault.rule for fault in faults} == ({rule} if rule else set())
    assert all(fault.where and fault.advice for fault in faults)


def test_of_much_that_looks_alike_in_light_and_dark_each_look_is_judged(page):
    words = "".join(f"<i>word {n}</i> " for n in range(9))
    pale = words.replace("<i>", "<i style='color: #ddd'>")
    short = "".join(f"<i style='color: #ccc'>{sign}</i>" for sign in ("=", "=", "=", "=", "long"))
    dark = "<style>@media (prefers-color-scheme: dark) { b { color: #eee } }</style>"
    grey = f"<p style='background: #666'>{words}</p>"
    page.set_content(FINE.format(f"<p>{words}{pale}{short}</p>{grey}{dark}<b>dark"))
    widths(page)
    places = [fault.where.rpartition(", ") for fault in colours(page)]
    # two of nine, the one that is no single letter, and two on another ground
    in_light = [where for where, _, scheme in places if scheme == "light"]
    assert len(in_light) == 5
    assert [where for where, _, scheme in places if scheme == "dark"] == [*in_light, "b"]


def test_faults_of_one_rule_take_one_line():
    faults = [Fault("rule", "p0", "fix it"), Fault("a", "p", "x"), Fault("rule", "p1", "fix it")]
    assert list(in_short(faults)) == ["a at p: x", "rule (2 times) at p0: fix it"]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<img alt='' src='https://example.org/a.png'>", "asked another host: https://example.org"),
        ("<script>fetch('http://localhost:1/a')</script>", "asked another host: http://localhost"),
        ("<script>nothing.there</script>", "raised: nothing is not defined"),
        ("<script>console.error('too late')</script>", "logged an error: too late"),
        ("<img alt='' src='missing.png'>", "logged an error: Failed to load resource"),
    ],
)
def test_a_fault_of_a_page_is_seen(body, fault, page, address):
    faults = watch(page)
    page.goto(address + "_static/pygments.css")
    page.set_content(body, wait_until="networkidle")
    assert any(fault in one for one in faults), faults
