"""What looks at the pages sees what it is there to see."""

import pytest

from tests.browser import watch

from .audit import Fault, scheme_faults, summary_lines, width_faults

FINE = """<!doctype html><html lang="en"><head><title>Fine</title>
<style>.bare {{ color: #222; text-decoration: none }}</style></head><body><main><h1>Fine</h1>
<article><p>Text <a href="#here">here</a></p><details><summary>How the sum is made</summary>{}
</details></article></main></body></html>"""
HTML_BY_RULE = {
    "page-scrolls-sideways": "<p style='width: 2000px'>wide</p>",
    "cut-off": "<div style='overflow: hidden'><p style='width: 2000px'>wide</p></div>",
    "cell-squeezed": f"<table><td style='width: 40px; display: block'>{'word ' * 40}</td></table>",
    "scrolls-out-of-reach": "<div style='overflow: auto'><p style='width: 2000px'>wide</p></div>",
    "axe:button-name": "<button></button>",
    "axe:color-contrast": "<p style='color: #ddd; background: #fff'>pale</p>",
    "axe:link-in-text-block": "<p>Some text <a href='#' class='bare'>here</a>.",
}
HTML_BY_FAULT = {
    "asked another host: https://example.org": "<img alt='' src='https://example.org/a.png'>",
    "asked another host: http://localhost": "<script>fetch('http://localhost:1/a')</script>",
    "raised: nothing is not defined": "<script>nothing.there</script>",
    "logged an error: too late": "<script>console.error('too late')</script>",
    "logged an error: Failed to load resource": "<img alt='' src='missing.png'>",
}


@pytest.mark.parametrize("html_by_rule", [{}, HTML_BY_RULE], ids=["fine", "broken"])
def test_broken_rules_are_named_with_their_places_in_a_closed_box_too(html_by_rule, tab):
    tab.set_content(FINE.format("".join(html_by_rule.values())))
    faults = width_faults(tab) + scheme_faults(tab, set())
    assert {fault.rule for fault in faults} == {*html_by_rule}
    assert all(fault.where and fault.advice for fault in faults)


def test_of_much_that_looks_alike_each_look_is_judged_once_wherever_it_is_seen(tab):
    words = "".join(f"<i>word {n}</i> " for n in range(9))
    pale = words.replace("<i>", "<i style='color: #ddd'>")
    short = "".join(f"<i style='color: #ccc'>{sign}</i>" for sign in ("=", "=", "=", "=", "long"))
    dark = "<style>@media (prefers-color-scheme: dark) { b { color: #eee } }</style><b>dark</b>"
    code = "<pre>code <span style='color: #dde'>is code</span></pre>"
    grey = f"<p style='background: #666'>{words}</p>"
    seen_looks = set()

    def pale_on(text: str, scheme: str) -> list[str]:
        tab.set_content(FINE.format(text))
        width_faults(tab)
        fault_places = [fault.where.rpartition(", ") for fault in scheme_faults(tab, seen_looks)]
        return [selector for selector, _, mode in fault_places if mode == scheme]

    html = f"<p>{words}{pale}{short}</p>{grey}{code}"
    # two of nine, the one that is no single letter, two on another ground, the code's
    assert len(pale_on(html + dark, "light")) == 6
    seen_looks.clear()
    assert "b" in pale_on(html + dark, "dark")
    # on the next page nothing but what is new
    assert pale_on(f"{html}{dark}<u style='color: #eee'>new</u>", "dark") == ["u"]


def test_faults_of_one_rule_take_one_line():
    faults = [Fault("rule", "p0", "fix it"), Fault("a", "p", "x"), Fault("rule", "p1", "fix it")]
    assert list(summary_lines(faults)) == ["a at p: x", "rule (2 times) at p0: fix it"]


def test_faults_of_a_page_are_seen(browser, address):
    with browser.new_page() as page:
        messages = watch(page)
        page.goto(address + "_static/site.css")
        page.set_content("".join(HTML_BY_FAULT.values()), wait_until="networkidle")
    assert [
        expected
        for expected in HTML_BY_FAULT
        if not any(expected in message for message in messages)
    ] == []
