"""Each rule that the pages are held to, on a page that breaks it and one that keeps it."""

import pytest

from . import audit

FINE = """<!doctype html><html lang="en"><head><title>Fine</title></head><body><main><h1>Fine</h1>
<article><p id="here">Text <a href="#here">here</a></p><img alt="A dot" src="data:,">
<details><summary>How the sum is made</summary>Text</details>{}</article></main></body></html>"""
BROKEN = {
    "page-scrolls-sideways": "<p style='width: 2000px'>wide</p>",
    "cell-squeezed": f"<table><td style='width: 40px; display: block'>{'word ' * 40}</td></table>",
    "id-repeated": "<i id='here'></i>",
    "picture-without-name": "<svg><path d='M0 0'></path></svg>",
    "box-names-repeated": "<details><summary>How the sum is made</summary>Again</details>",
    "box-name-says-little": "<details><summary>Hint 1</summary>Again</details>",
    "one-h1": "<h1>Another</h1>",
    "axe:color-contrast": "<p style='color: #ddd; background: #fff'>pale</p>",
    "axe:button-name": "<button></button>",
}


@pytest.fixture(scope="module")
def page(browser):
    """One page to write into."""
    opened = browser.new_page(viewport={"width": 360, "height": 740})
    yield opened
    opened.close()


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_named_with_its_place(rule, page):
    page.set_content(FINE.format(BROKEN[rule]))
    faults = audit.facts(page).faults + (audit.axe(page) if rule.startswith("axe:") else [])
    assert {fault.rule for fault in faults} == {rule}
    assert all(fault.where and fault.advice for fault in faults)


def test_a_page_that_keeps_the_rules_is_left_in_peace(page):
    page.set_content(FINE.format(""))
    found = audit.facts(page)
    assert found.faults + audit.axe(page) == []
    assert found.title == "Fine" and found.ids == ["here"] and "here" in found.words


def test_a_page_without_language_is_named(page):
    page.set_content(FINE.format("").replace(' lang="en"', ""))
    assert [fault.rule for fault in audit.facts(page).faults] == ["no-language"]


def test_what_is_in_a_closed_box_is_looked_at(page):
    hidden = "<details><summary>What is pale</summary><p style='color: #ddd'>pale</p></details>"
    page.set_content(FINE.format(hidden))
    audit.facts(page)
    assert [fault.rule for fault in audit.axe(page)] == ["axe:color-contrast"]


def test_of_much_that_looks_alike_each_look_is_judged(page):
    words = "".join(f"<i>word {n}</i> " for n in range(9))
    pale = words.replace("<i>", "<i style='color: #ddd'>")
    short = "".join(f"<i style='color: #ccc'>{sign}</i>" for sign in ("=", "=", "=", "=", "long"))
    page.set_content(FINE.format(f"<p>{words}{pale}{short}</p><p style='background: #666'>{words}"))
    faults = audit.axe(page)
    # three of nine, the one that is not a sign, and three on another ground
    assert [fault.rule for fault in faults] == ["axe:color-contrast"] * 7


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("b.html#there", ""),
        ("b.html?q=word", ""),
        ("folder/", ""),
        ("file.txt", ""),
        ("https://example.org/missing", ""),
        ("c.html", "the site has no file c.html"),
        ("b.html#nowhere", "b.html has no #nowhere"),
        ("empty/", "the site has no file empty/index.html"),
    ],
)
def test_a_dead_link_is_named_with_what_is_missing(link, why, tmp_path):
    for folder in ("folder", "empty"):
        (tmp_path / folder).mkdir()
    for name in ("b.html", "file.txt", "folder/index.html"):
        (tmp_path / name).touch()
    address = "http://127.0.0.1:80/"
    link = link if "://" in link else address + link
    pages = {
        "a.html": audit.Facts([], "A", [], [(link, "p > a")], []),
        "b.html": audit.Facts([], "B", ["there"], [], []),
    }
    dead = audit.dead_links(pages, tmp_path, address)
    assert dead == {"a.html": [audit.Fault("dead-link", "p > a", why)] if why else [], "b.html": []}


def test_faults_of_one_rule_take_one_line():
    faults = [audit.Fault("rule", f"p{n}", "mend it") for n in range(3)]
    assert list(audit.in_short(faults)) == ["rule (3 times) at p0: mend it"]
