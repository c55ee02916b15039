"""The frame of every page: its addresses, what search engines read, the ways between the chapters
and the reference."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from tools.urls import repository_url, site_url

# what Sphinx makes itself is found through the others
MADE = re.compile(r"404\.html|genindex\.html|py-modindex\.html|search\.html|_modules/.*")


@cache
def soup(path: Path) -> BeautifulSoup:
    """A page to be read, and not written into: the tests share it."""
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def pages(site: Path) -> dict[str, BeautifulSoup]:
    """Every page of a built site by its name."""
    found = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    return {path.relative_to(site).as_posix(): soup(path) for path in sorted(found)}


def test_every_page_can_be_found_and_previewed(site):
    home = f"{site_url(repository_url())}/"
    told = {}
    for name, page in pages(site).items():
        assert page.html["lang"] == "en", name
        heading = page.h1.text.removesuffix("#")
        ours = "Self-attention" if name == "index.html" else f"{heading} — Self-attention"
        assert page.title.text == ours, name
        assert page.select_one("link[rel=icon]")["href"].endswith("favicon.svg"), name
        if name == "404.html":
            assert page.select_one("meta[name=robots]")["content"] == "noindex"
        if MADE.fullmatch(name):
            continue
        words = page.select_one("meta[name=description]")["content"]
        assert 10 < len(words) <= 200, f"{name}: {words}"
        address = home if name == "index.html" else home + name
        assert page.select_one("link[rel=canonical]")["href"] == address, name
        preview = {tag["property"]: tag["content"] for tag in page.select("meta[property^='og:']")}
        assert preview["og:url"] == address, name
        assert preview["og:description"] == words, name
        assert preview["og:title"] == re.sub(r"^\d+\. ", "", heading), name
        told.setdefault(words, []).append(name)
    assert [names for names in told.values() if len(names) > 1] == []


def test_the_site_map_has_every_page_with_a_text(site):
    home = f"{site_url(repository_url())}/"
    tree = ElementTree.parse(site / "sitemap.xml")
    mapped = {one.text.removeprefix(home) or "index.html" for one in tree.findall("{*}url/{*}loc")}
    assert mapped == {name for name in pages(site) if not MADE.fullmatch(name)}


def test_a_function_and_its_section_lead_to_each_other(site):
    reference = soup(site / "reference" / "api.html")
    shown = 0
    for path in sorted((site / "chapters").glob("*.html")):
        chapter = soup(path)
        for way in chapter.select(".in-the-reference a"):
            shown += 1
            section = way.find_parent("section")["id"]
            entry = reference.find(id=urlsplit(way["href"]).fragment).parent
            back = entry.find("a", href=f"../chapters/{path.name}#{section}")
            assert re.match(r"section \d+(\.\d+)*, \w", back.text), way
            assert back.parent.text.startswith("Taught in section"), way
    assert shown >= 6


def test_every_term_says_where_it_is_taught(site):
    entries = soup(site / "reference" / "glossary.html").select("dl.glossary > dd")
    assert len(entries) > 20
    for entry in entries:
        link = entry.select("p")[-1].a
        page, _, anchor = link["href"].partition("#")
        assert soup(site / "reference" / page).find(id=anchor), entry.text


@pytest.mark.parametrize(
    ("term", "section"),
    [
        # linked where it is compared
        ("dot-product score", "additive-and-dot-product-scores-side-by-side"),
        # emphasised where it is defined, which is not where its word comes first
        ("mask", "masks"),
    ],
)
def test_a_term_is_taught_where_it_is_defined_or_else_first_linked(term, section, site):
    page = soup(site / "reference" / "glossary.html")
    entry = page.find(id=f"term-{term.replace(' ', '-')}").find_next("dd")
    assert entry.select("p")[-1].a["href"] == f"../chapters/dot_product.html#{section}"


def test_the_exercises_have_one_number_each(site):
    page = soup(site / "exercises" / "dot_product.html")
    boxes = [re.sub(r"\s+", " ", box.text) for box in page.select(".exercise .admonition-title")]
    assert len(boxes) > 5
    assert [box.split(" (")[0] for box in boxes] == [
        f"Exercise 1.{number}" for number, _ in enumerate(boxes, 1)
    ]
    assert page.h1.text == "Exercises: dot-product attention#"
    assert not page.select("section .section-number")
    chapter = soup(site / "chapters" / "dot_product.html")
    ways = chapter.select("a[href$='exercises/dot_product.html']")
    assert "Exercises" in {way.text for way in ways}
    assert not [way.text for way in ways if "1.15" in way.text]


def test_a_page_has_one_title_and_its_landmarks(site):
    for name, page in pages(site).items():
        assert len(page.select("h1")) == 1, name
        assert page.select_one("nav[aria-label=Home] a.logo"), name
        assert page.select_one("#pst-skip-link a[href='#main-content']"), name


def test_nothing_on_a_page_is_loaded_from_another_host(site):
    loads = "[src^=http], [src^='//'], [srcset*='//'], link[href^=http]:not([rel=canonical])"
    for name, page in pages(site).items():
        assert not page.select(loads), name
    assert not re.search(r"url\([\"']?(https?:)?//", (site / "_static/site.css").read_text("utf-8"))


def test_the_neighbours_of_a_page_are_named(site):
    page = soup(site / "reference" / "glossary.html")
    assert page.select_one(".left-prev .prev-next-title").text.strip()
    assert page.select_one(".right-next .prev-next-title").text.strip()
    assert "BSD-3-Clause" in page.select_one("footer .copyright").text
