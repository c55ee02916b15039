"""Each notebook in JupyterLab, in a browser, where neither the browser nor a kernel has a network.

Chapters run whole, on the samples of their data. Exercises run as a learner finds them; their
solutions are run by `tests/grading/test_nbval.py`.
"""

import urllib.request

import nbformat
import pytest
from playwright.sync_api import Error

from tests import ROOT
from tests.browser import CONTROL_FIGURES, TEXT_FIGURES, responds_to_key, responds_to_text
from tests.test_layout import TEXTS

pytestmark = pytest.mark.slow

SLUGS = sorted(path.stem for path in ROOT.glob("chapters/*.md"))
# whether each picture of the text can be seen
PICTURES = """async () => {
  const seen = [];
  for (const one of document.querySelectorAll(".jp-RenderedMarkdown img")) {
    one.scrollIntoView();
    seen.push(await one.decode().then(() => one.checkVisibility(), () => false));
  }
  return seen;
}"""


def read_notebook(folder: str, slug: str):
    return nbformat.read(ROOT / folder / f"{slug}.ipynb", 4)


def cell_text(cell) -> str:
    """The text outputs of a cell."""
    return "".join(output.get("text") or output.data["text/plain"] for output in cell.outputs)


def outputs(notebook) -> list:
    """The outputs of all cells, in order."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def run_notebook(lab, notebook):
    """Run a notebook, assert no errors and visible pictures, and return it."""
    result = lab.run(notebook)
    assert [output for output in outputs(result) if output.output_type == "error"] == []
    drawings = sum(cell.source.startswith("<img ") for cell in notebook.cells)
    assert lab.page.evaluate(PICTURES) == [True] * drawings
    return result


def check_messages(notebook) -> dict[str, str]:
    """The message of each check, by exercise."""
    prefix = "check-"
    return {
        cell.id.removeprefix(prefix): cell_text(cell).strip()
        for cell in notebook.cells
        if cell.id.startswith(prefix)
    }


def test_neither_a_kernel_nor_the_browser_reaches_another_machine(lab, browser):
    port = lab.address.rstrip("/").rpartition(":")[2]
    # JupyterLab is this machine's: by its address and by its name this process finds it
    for host in ("127.0.0.1", "localhost"):
        with urllib.request.urlopen(f"http://{host}:{port}/api") as answer:
            assert answer.status == 200
    connect = f"import socket\nsocket.create_connection(('127.0.0.1', {port}))"
    interfaces = "import socket\nsocket.if_nameindex()"
    cells = [
        nbformat.v4.new_code_cell(source, id=f"c{i}")
        for i, source in enumerate((interfaces, connect))
    ]
    # a kernel is named, or else JupyterLab asks which
    metadata = read_notebook("chapters", SLUGS[0]).metadata
    result = lab.run(nbformat.v4.new_notebook(cells=cells, metadata=metadata))
    assert cell_text(result.cells[0]) == "[(1, 'lo')]"
    assert result.cells[1].outputs[0].ename == "ConnectionRefusedError"
    page = browser.new_page()
    page.goto(f"{lab.address}api")
    with pytest.raises(Error, match="NAME_NOT_RESOLVED"):
        page.goto(f"http://localhost:{port}/api")
    page.close()


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_page_runs_whole_shows_its_drawings_and_its_figures_answer_a_key(text, lab):
    ran = run_notebook(lab, read_notebook(text.parent.name, text.stem))
    chosen, sliders = (lab.page.locator(kind).all() for kind in (CONTROL_FIGURES, TEXT_FIGURES))
    html = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs(ran)]
    assert len(chosen + sliders) == sum("attncourse-figure" in text for text in html)
    assert all(map(responds_to_key, chosen)) and all(map(responds_to_text, sliders))


@pytest.mark.parametrize("slug", SLUGS)
def test_exercises_that_nobody_has_touched_are_told_so(slug, lab):
    result = run_notebook(lab, read_notebook("exercises", slug))
    messages = check_messages(result)
    assert messages and all(
        text.startswith(f"{name}: not attempted: ") for name, text in messages.items()
    )
    assert not any("Traceback" in cell_text(cell) for cell in result.cells if "outputs" in cell)
