"""A chapter's notebook has the numbers of its page, and its links lead to pages of the site."""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup

from tests import ROOT
from tests.conftest import CHAPTERS
from tools.urls import site_url

# what is numbered on a page, and how the notebook writes it
NUMBERED = {
    "h1 .section-number, h2 .section-number, h3 .section-number": r"^#+ ([\d.]+) ",
    ".eqno": r"\\tag\{([\d.]+)\}",
    ".caption-number": r"^\*\*((?:Fig\.|Table) [\d.]+)\.\*\*",
}


@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_notebook_has_the_numbers_and_the_links_of_its_page(site, slug):
    page = BeautifulSoup((site / f"chapters/{slug}.html").read_text("utf-8"), "html.parser")
    notebook = nbformat.read(ROOT / f"chapters/{slug}.ipynb", as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    text = "\n".join(cells)
    for shown, written in NUMBERED.items():
        on_page = [one.get_text().strip(" ()#") for one in page.select(shown)]
        assert sorted(on_page) == sorted(re.findall(written, text, re.MULTILINE)), shown
    for reference in page.select(".std-numref, a[href*='#equation-']:not(.headerlink)"):
        assert reference.get_text() in text
    home = site_url(notebook.metadata["attncourse"]["repository"])
    for name, anchor in re.findall(rf"\({home}/([\w/]+\.html)(?:#([\w.-]+))?\)", text):
        assert f'id="{anchor}"' in (site / name).read_text("utf-8") or not anchor
