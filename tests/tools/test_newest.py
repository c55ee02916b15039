"""The site of a newer Sphinx is compared with ours: its pages, and what a link may lead to."""

import runpy

import pytest

from tests import ROOT
from tools.newest import differences, write_config

PAGE = "<nav id=side></nav><article><h1 id=title>T</h1><p id=eq-1></p></article>"


@pytest.fixture
def sites(tmp_path):
    for name in ("ours", "theirs"):
        (tmp_path / name / "_static").mkdir(parents=True)
        (tmp_path / name / "one.html").write_text(PAGE)
    return tmp_path / "ours", tmp_path / "theirs"


def test_of_sites_with_the_same_pages_nothing_is_said(sites):
    # what a theme has around the text may have other names
    (sites[1] / "one.html").write_text(PAGE.replace("side", "bar"))
    (sites[1] / "_static" / "more.html").write_text("")
    assert [*differences(*sites)] == []


def test_a_page_and_an_anchor_that_one_lacks_are_named(sites):
    (sites[0] / "two.html").write_text(PAGE)
    (sites[1] / "three.html").write_text(PAGE)
    (sites[1] / "one.html").write_text(PAGE.replace("eq-1", "equation-1"))
    assert [*differences(*sites)] == [
        "only ours has two.html",
        "only the new one has three.html",
        "one.html: lost are the anchors eq-1; new are equation-1",
    ]


def test_it_has_the_configuration_of_jupyter_book_and_our_extensions(tmp_path):
    write_config(ROOT, tmp_path)
    settings = runpy.run_path(str(tmp_path / "conf.py"))
    assert "tools.extensions" in settings["extensions"] and settings["nitpicky"]
    assert settings["html_theme"] == "sphinx_book_theme"
    # it lies elsewhere, so that no address may depend on where
    paths = [*settings["templates_path"], settings["html_favicon"], *settings["bibtex_bibfiles"]]
    assert all(path.startswith(str(ROOT)) for path in paths)
