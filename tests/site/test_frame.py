"""The frame of every page: its addresses, what search engines read, 404, print, the ways between
the chapters and the reference."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from tests import ROOT
from tools.urls import repository_url, site_url

ONE = """\
---
description: A page that says in its own words what it is about.
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---

# One

A page.
"""


@cache
def soup(path: Path) -> BeautifulSoup:
    """A page to be read, and not written into: the tests share it."""
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def pages(site: Path) -> dict[str, BeautifulSoup]:
    """Every page of a built site by its name."""
    found = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    return {path.relative_to(site).as_posix(): soup(path) for path in sorted(found)}


@pytest.fixture(scope="module")
def fork(tmp_path_factory) -> Path:
    """A small book, built as the CI of somebody's fork would build it."""
    book = tmp_path_factory.mktemp("book")
    for folder in ("chapters", "reference"):
        (book / folder).mkdir()
    shutil.copy(ROOT / "_config.yml", book)
    shutil.copytree(ROOT / "tools" / "theme", book / "tools" / "theme")
    (book / "reference" / "references.bib").touch()
    (book / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters: [{file: chapters/one}]\n"
    )
    (book / "index.md").write_text("# Book\n\nA book.\n")
    (book / "chapters" / "one.md").write_text(ONE)
    (book / "chapters" / "one.ipynb").touch()
    ci = {"GITHUB_REPOSITORY": "Someone/fork", "GITHUB_SERVER_URL": "https://github.com"}
    command = [sys.executable, "-m", "tools.site", str(book)]
    done = subprocess.run(command, env=os.environ | ci, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return book / "_build" / "html"


def test_every_address_of_a_fork_is_the_fork_s(fork):
    home = "https://someone.github.io/fork/"
    page = soup(fork / "chapters" / "one.html")
    links = {link["href"] for link in page.select("a[href^=https]")}
    repository = "https://github.com/Someone/fork"
    assert repository in links
    assert f"{repository}/edit/main/chapters/one.md" in links
    assert any(link.startswith(f"{repository}/issues/new?") for link in links)
    colab = "https://colab.research.google.com/github/Someone/fork/blob/main/chapters/one.ipynb"
    assert colab in links
    assert page.select_one("link[rel=canonical]")["href"] == f"{home}chapters/one.html"
    assert page.select_one("meta[property='og:url']")["content"] == f"{home}chapters/one.html"
    assert soup(fork / "index.html").select_one("link[rel=canonical]")["href"] == home
    # below a host's root nobody looks for it
    assert not (fork / "robots.txt").exists()
    mapped = {one.text for one in ElementTree.parse(fork / "sitemap.xml").findall("{*}url/{*}loc")}
    assert {home, f"{home}chapters/one.html"} <= mapped
    for name, text in pages(fork).items():
        assert "attncourse.github.io" not in str(text), name
        assert "github.com/attncourse" not in str(text), name


def test_a_page_may_give_its_description(fork):
    page = soup(fork / "chapters" / "one.html")
    words = page.select_one("meta[name=description]")["content"]
    assert words == "A page that says in its own words what it is about."
    assert words not in page.article.text


@pytest.mark.parametrize(("path", "there"), [("", True), ("course/", False)])
def test_crawlers_are_led_to_the_site_map_where_they_look(path, there, tmp_path, monkeypatch):
    from tools.extensions.discovery import map_site

    home = f"https://someone.github.io/{path}"
    map_site(
        SimpleNamespace(
            config=SimpleNamespace(html_baseurl=home, root_doc="index"),
            env=SimpleNamespace(found_docs={"index"}),
            outdir=tmp_path,
        ),
        None,
    )
    robots = tmp_path / "robots.txt"
    assert robots.is_file() == there
    assert not there or f"Sitemap: {home}sitemap.xml" in robots.read_text("utf-8")


def test_the_404_page_works_at_any_depth_below_the_project(fork):
    for tag in soup(fork / "404.html").select("[href], [src]"):
        address = tag.get("href") or tag.get("src")
        if not address.startswith(("https:", "#", "data:")):
            assert address.startswith("/fork/"), tag
            assert (fork / unquote(urlsplit(address).path).removeprefix("/fork/")).exists(), tag


def test_every_page_can_be_found_and_previewed(site):
    home = f"{site_url(repository_url())}/"
    told = {}
    for name, page in pages(site).items():
        assert page.html["lang"] == "en", name
        heading = page.h1.text.removesuffix("#")
        ours = "Self-attention" if name == "index.html" else f"{heading} — Self-attention"
        assert page.title.text == ours, name
        words = page.select_one("meta[name=description]")["content"]
        assert 10 < len(words) <= 202, f"{name}: {words}"
        assert page.select_one("link[rel=icon]")["href"].endswith("favicon.svg"), name
        if name == "404.html":
            assert page.select_one("meta[name=robots]")["content"] == "noindex"
            continue
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
    # what Sphinx makes itself is found through these
    made = re.compile(r"404\.html|genindex\.html|py-modindex\.html|search\.html")
    assert mapped == {name for name in pages(site) if not made.fullmatch(name)}


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


def test_a_function_of_another_module_leads_to_the_section_that_names_it(site):
    entry = soup(site / "reference" / "api.html").find(id="attncourse.cost.count").parent
    back = entry.find("a", href=re.compile(r"^\.\./chapters/dot_product\.html#additive-and-dot"))
    assert back.parent.text.startswith("Taught in section 1.")


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
        # defined in passing, and linked only where it is compared
        ("dot-product score", "the-equation"),
        # used long before it is linked
        ("length", "what-goes-in-and-three-things-that-come-out"),
        # emphasised where it is defined, which is not where its word comes first
        ("mask", "masks"),
    ],
)
def test_a_term_is_taught_where_it_is_defined_or_else_first_used(term, section, site):
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


def test_the_neighbours_of_a_page_are_named(site):
    page = soup(site / "reference" / "glossary.html")
    assert page.select_one(".left-prev .prev-next-title").text.strip()
    assert page.select_one(".right-next .prev-next-title").text.strip()
    assert "BSD-3-Clause" in page.select_one("footer .copyright").text


def test_print_is_light_and_without_the_frame(site, new_tab):
    page = new_tab(color_scheme="dark")
    page.goto((site / "chapters" / "dot_product.html").as_uri())
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    for hidden in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer"):
        assert not page.locator(hidden).is_visible(), hidden
    assert page.locator("article h1").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_index_fits_a_narrow_page(site, new_tab):
    page = new_tab(viewport={"width": 360, "height": 700})
    for name in ("genindex.html", "reference/api.html", "reference/claims.html"):
        page.goto((site / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
