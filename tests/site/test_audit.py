"""What looks at the pages sees what it is there to see."""

import pytest

from tests.browser import watch

from .audit import Fault, in_all_modes, in_short, widths

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 720}
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
FAULTY = {
    "asked another host: https://example.org": "<img alt='' src='https://example.org/a.png'>",
    "asked another host: http://localhost": "<script>fetch('http://localhost:1/a')</script>",
    "raised: nothing is not defined": "<script>nothing.there</script>",
    "logged an error: too late": "<script>console.error('too late')</script>",
    "logged an error: Failed to load resource": "<img alt='' src='missing.png'>",
}


@pytest.fixture
def page(browser):
    """One page to write into."""
    opened = browser.new_page(viewport=PHONE)
    yield opened
    opened.close()


@pytest.mark.parametrize("broken", [{}, BROKEN], ids=["fine", "broken"])
def test_broken_rules_are_named_with_their_places_in_a_closed_box_too(broken, page):
    page.set_content(FINE.format("".join(broken.values())))
    faults = widths(page) + in_all_modes(page, [PHONE], set())
    assert {fault.rule for fault in faults} == {*broken}
    assert all(fault.where and fault.advice for fault in faults)


def test_of_much_that_looks_alike_each_look_is_judged_once_wherever_it_is_seen(page):
    words = "".join(f"<i>word {n}</i> " for n in range(9))
    pale = words.replace("<i>", "<i style='color: #ddd'>")
    short = "".join(f"<i style='color: #ccc'>{sign}</i>" for sign in ("=", "=", "=", "=", "long"))
    dark = "<style>@media (prefers-color-scheme: dark) { b { color: #eee } }</style><b>dark</b>"
    narrow = "<style>@media (width < 900px) { u { color: #eee } }</style><u>narrow</u>"
    code = "<pre>code <span style='color: #ddd'>is code</span></pre>"
    grey = f"<p style='background: #666'>{words}</p>"
    seen = set()

    def judged(text: str) -> dict[str, list[str]]:
        page.set_content(FINE.format(text))
        widths(page)
        modes = {}
        for fault in in_all_modes(page, [PHONE, DESK], seen):
            where, _, mode = fault.where.partition(", ")
            modes.setdefault(mode, []).append(where)
        return modes

    found = judged(f"<p>{words}{pale}{short}</p>{grey}{dark}{narrow}{code}")
    # two of nine, the one that is no single letter, two on another ground, the code's
    in_light = [*found["light, 1280 px wide"]]
    assert len(in_light) == 6
    assert found == {
        "light, 360 px wide": [*in_light[:5], "u", *in_light[5:]],
        "dark, 360 px wide": [*in_light[:5], "b", "u", *in_light[5:]],
        "light, 1280 px wide": in_light,
        "dark, 1280 px wide": [*in_light[:5], "b", *in_light[5:]],
    }
    # on the next page nothing but what is new
    new = "<i style='color: #eee'>new</i>"
    assert {*map(len, judged(f"<p>{pale}{new}</p>{dark}").values())} == {1}


def test_faults_of_one_rule_take_one_line():
    faults = [Fault("rule", "p0", "fix it"), Fault("a", "p", "x"), Fault("rule", "p1", "fix it")]
    assert list(in_short(faults)) == ["a at p: x", "rule (2 times) at p0: fix it"]


def test_faults_of_a_page_are_seen(page, address):
    faults = watch(page)
    page.goto(address + "_static/pygments.css")
    page.set_content("".join(FAULTY.values()), wait_until="networkidle")
    assert [fault for fault in FAULTY if not any(fault in one for one in faults)] == []
