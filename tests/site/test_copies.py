"""A chapter's notebook has the numbers of its page, its links lead to pages of the site, and with
the reader's own copies of the functions it computes what the page shows."""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient

from tests import ROOT
from tests.conftest import CHAPTERS
from tools.execute import kept_outputs, notebooks
from tools.kernels import CopiedKernel
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


def code_cells(notebook) -> list:
    """Cells but those of a claim, which measures the package, and those that go by the clock."""
    timed = re.compile(r"\.measure\(\)|time_ratio\(")
    cells = (one for one in notebook.cells if one.cell_type == "code")
    return [one for one in cells if not timed.search(one.source)]


def said(cells) -> dict[str, str]:
    """What cells print and return as text, but for where in memory a thing is."""
    texts = {
        cell.source: "".join(one.get("text") or one.data["text/plain"] for one in cell.outputs)
        for cell in cells
    }
    return {source: re.sub(r"0x[0-9a-f]+", "", text) for source, text in texts.items() if text}


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_notebook_whose_functions_are_the_reader_s_computes_what_its_page_shows(slug):
    copy = nbformat.read(ROOT / f"chapters/{slug}.ipynb", as_version=4)
    copy.cells = code_cells(copy)
    place = {"metadata": {"path": str(ROOT / "chapters")}}
    NotebookClient(copy, kernel_manager_class=CopiedKernel, resources=place).execute()
    text = notebooks(ROOT)[ROOT / f"chapters/{slug}.md"]
    _, page = kept_outputs(ROOT).merge_match_into_notebook(text)
    assert len(copy.cells) > len(code_cells(page)) and said(copy.cells) == said(code_cells(page))
