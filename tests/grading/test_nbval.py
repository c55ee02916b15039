"""nbval as people know it: `pytest --nbval-lax` says of each check what it says in the notebook.

It is run as in an environment that has the package and nbval: no plugin of ours takes part.
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest
from nbformat import NotebookNode

from judge.grading.notebook.pristine import exercise_files
from judge.verdict import UNWRITTEN
from tests import WEIGHTS
from tools.notebooks import solved_notebook

# the chapters whose notebooks a push runs: the first, and that with weights beside the notebook
ON_A_PUSH = ("dot_product", "tasks")


class CellOutcome(NamedTuple):
    """nbval's result for a cell."""

    passed: bool
    message: str


def nbval_results(
    folder: Path, option: str, cells_by_part: dict[Any, list[NotebookNode]]
) -> dict[Any, list[CellOutcome]]:
    """nbval's results for the code cells of each part.

    All are in one notebook, since a kernel costs more to start than to use, and is reset before
    each part.
    """
    notebook = nbformat.v4.new_notebook()
    for cells in cells_by_part.values():
        notebook.cells += [nbformat.v4.new_code_cell("%reset -f"), *cells]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{number}"
    nbformat.write(notebook, folder / "notebook.ipynb")
    # a busy machine takes its time to start a kernel
    command = ["pytest", option, "--nbval-kernel-startup-timeout=600"]
    report = ["--junitxml=out.xml", "-p", "no:cacheprovider", "-q"]
    subprocess.run(
        [sys.executable, "-m", *command, *report, "notebook.ipynb"],
        cwd=folder,
        env=os.environ | {"PYTEST_ADDOPTS": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
    )
    cases = ElementTree.parse(folder / "out.xml").iter("testcase")
    results = iter(
        [
            CellOutcome(failure is None, failure.text if failure is not None else "")
            for failure in map(fault, cases)
        ]
    )
    return {
        part: [next(results) for _ in ["%reset", *cells]][1:]
        for part, cells in cells_by_part.items()
    }


def fault(case: ElementTree.Element) -> ElementTree.Element | None:
    return next((child for child in case if child.tag in ("failure", "error")), None)


def read_notebook(slug: str) -> NotebookNode:
    return nbformat.read(exercise_files()[slug], as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def lax(tmp_path_factory, pytestconfig) -> dict[Any, list[CellOutcome]]:
    """The results of `--nbval-lax` for the exercise notebooks and for saved outputs."""
    folder = tmp_path_factory.mktemp("lax")
    for weights in WEIGHTS.glob("*/*.safetensors"):
        shutil.copy(weights, folder)
    cells_by_part = {}
    for slug in exercise_files() if pytestconfig.getoption("all") else ON_A_PUSH:
        cells_by_part[slug, "stub"] = code_cells(read_notebook(slug))
        cells_by_part[slug, "solved"] = code_cells(solved_notebook(slug))
    return nbval_results(folder, "--nbval-lax", cells_by_part | earlier_run_cells())


@pytest.fixture(scope="module")
def strict(tmp_path_factory) -> dict[Any, list[CellOutcome]]:
    """The results of `--nbval`, which compares outputs, for saved outputs."""
    return nbval_results(tmp_path_factory.mktemp("strict"), "--nbval", earlier_run_cells())


@pytest.mark.parametrize(
    "slug",
    [
        pytest.param(slug, marks=[pytest.mark.slow] * (slug not in ON_A_PUSH))
        for slug in exercise_files()
    ],
)
def test_each_check_fails_on_the_stub_and_passes_on_the_solution(slug, lax):
    checks = ["check" in cell.metadata.get("tags", []) for cell in code_cells(read_notebook(slug))]
    assert any(checks) and pass_flags(lax[slug, "stub"]) == [not check for check in checks]
    assert pass_flags(lax[slug, "solved"]) == [True] * len(checks)


def pass_flags(cells: list[CellOutcome]) -> list[bool]:
    return [cell.passed for cell in cells]


SAVED_OUTPUTS = {
    "never run": "",
    "run when it was right": "{}: ok\n",
    "run when it was wrong": "{}: wrong: the shape is right, but the numbers aren't\n",
    # as this course once gave them out, and compared
    "given out with ok": "{}: ok\n",
}
ANSWERS = {"stub": False, "wrong": False, "solved": True}
TWO_EXERCISES = ("prefix_mask", "decoder_mask")


def cells_of_two(answer: str) -> list[NotebookNode]:
    """The code cells of two exercises, answered in that way, and the cells above all exercises."""
    notebook = (
        solved_notebook("dot_product") if answer == "solved" else read_notebook("dot_product")
    )
    cells = [
        cell
        for cell in code_cells(notebook)
        if cell.id.endswith(TWO_EXERCISES) or not cell.metadata.get("tags")
    ]
    for cell in cells:
        if answer == "wrong" and cell.id.startswith("answer-"):
            cell.source = f"def {exercise_in(cell)}(*given, **named):\n    return None"
    return cells


def exercise_in(cell: NotebookNode) -> str:
    return cell.id.partition("-")[2]


def earlier_run_cells() -> dict[Any, list[NotebookNode]]:
    """The cells of two exercises, answered in each way, with each kind of saved output."""
    cells_by_part = {}
    for state, text in SAVED_OUTPUTS.items():
        for answer in ANSWERS:
            cells_by_part[state, answer] = cells = cells_of_two(answer)
            for cell in cells:
                if cell.id.startswith("check-") and text:
                    printed = text.format(exercise_in(cell))
                    cell.outputs = [nbformat.v4.new_output("stream", text=printed)]
                    cell.execution_count = 1
                if cell.id.startswith("check-") and state == "given out with ok":
                    cell.metadata.tags = ["check", "nbval-check-output"]
    return cells_by_part


@pytest.mark.parametrize("mode", ["lax", "strict"])
def test_what_an_earlier_run_has_left_in_the_notebook_does_not_count(mode, request):
    cells = request.getfixturevalue(mode)
    for state, answer in product(SAVED_OUTPUTS, ANSWERS):
        expected = [
            ANSWERS[answer] or not cell.id.startswith("check-") for cell in cells_of_two(answer)
        ]
        assert pass_flags(cells[state, answer]) == expected, (state, answer)


def test_the_line_that_nbval_shows_is_that_of_the_check(lax):
    # a report in XML spells the colours of a terminal out
    message_text = "\n".join(
        re.sub(r"(\x1b|#x1B)\[[0-9;]*m", "", cell.message) for cell in lax["never run", "stub"]
    )
    messages = re.findall(r"Traceback:\s*(.*?)\s*$", message_text, re.MULTILINE)
    assert messages == [f"{name}: not attempted: {UNWRITTEN}" for name in TWO_EXERCISES]
