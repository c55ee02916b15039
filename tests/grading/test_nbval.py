"""nbval as people know it: `pytest --nbval-lax` says of each check what it says in the notebook.

It is run as in an environment that has the package and nbval: no plugin of ours takes part.
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from attncourse import checks
from attncourse.grading.pristine import exercise_files
from tools.notebooks import solved_notebook

CHECKS = Path(checks.__file__).parent


def nbval(folder: Path, how: str) -> subprocess.CompletedProcess:
    # a busy machine takes its time to start a kernel
    command = ["pytest", how, "--nbval-kernel-startup-timeout=600"]
    report = ["--junitxml=out.xml", "-p", "no:cacheprovider", "-q"]
    alone = os.environ | {"PYTEST_ADDOPTS": "", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command, *report, "notebook.ipynb"],
        cwd=folder,
        env=alone,
        capture_output=True,
    )


def read(slug: str) -> NotebookNode:
    return nbformat.read(exercise_files()[slug], as_version=4)


def outcomes(folder: Path, notebook: NotebookNode, how: str = "--nbval-lax") -> list[bool]:
    """Which code cells nbval passes, in their order."""
    nbformat.write(notebook, folder / "notebook.ipynb")
    nbval(folder, how)
    cases = ElementTree.parse(folder / "out.xml").iter("testcase")
    return [case.find("failure") is None and case.find("error") is None for case in cases]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("slug", exercise_files())
def test_each_check_fails_on_the_stub_and_passes_on_the_solution(slug, tmp_path):
    both = read(slug)
    stub, solved = code_cells(both), code_cells(solved_notebook(slug))
    # one after the other in one kernel, which costs more to start than to use
    for cell in solved:
        cell.id = f"solved-{cell.id}"
    both.cells = stub + solved
    for weights in CHECKS.glob(f"{slug}/shared/*.safetensors"):
        shutil.copy(weights, tmp_path)
    passed = outcomes(tmp_path, both)
    checks = ["check" in cell.metadata.get("tags", []) for cell in stub]
    assert any(checks) and passed[: len(stub)] == [not one for one in checks]
    assert passed[len(stub) :] == [True] * len(solved)


SAVED = {
    "never run": "",
    "run when it was right": "{}: ok\n",
    "run when it was wrong": "{}: wrong: the shape is right, the numbers are not\n",
    # as this course once gave them out, and compared
    "given out with ok": "{}: ok\n",
}
ANSWERS = {"stub": False, "wrong": False, "solved": True}
FEW = ("prefix_mask", "decoder_mask")


def few_cells(answer: str) -> list[NotebookNode]:
    """The code cells of two exercises, answered in that way, and what stands before them."""
    notebook = solved_notebook("dot_product") if answer == "solved" else read("dot_product")
    cells = [
        cell
        for cell in code_cells(notebook)
        if cell.id.endswith(FEW) or not cell.metadata.get("tags")
    ]
    for cell in cells:
        if answer == "wrong" and cell.id.startswith("answer-"):
            cell.source = f"def {exercise_in(cell)}(*given, **named):\n    return None"
    return cells


def exercise_in(cell: NotebookNode) -> str:
    return cell.id.partition("-")[2]


@pytest.mark.parametrize("how", ["--nbval-lax", "--nbval"])
def test_what_an_earlier_run_has_left_in_the_notebook_does_not_count(how, tmp_path):
    every, wanted = nbformat.v4.new_notebook(), []
    for state, text in SAVED.items():
        for answer, right in ANSWERS.items():
            for cell in few_cells(answer):
                checks = cell.id.startswith("check-")
                if checks and text:
                    printed = text.format(exercise_in(cell))
                    cell.outputs = [nbformat.v4.new_output("stream", text=printed)]
                    cell.execution_count = 1
                if checks and state == "given out with ok":
                    cell.metadata.tags = ["check", "nbval-check-output"]
                cell.id = f"{len(wanted)}"
                every.cells.append(cell)
                wanted.append(right or not checks)
    assert outcomes(tmp_path, every, how) == wanted


def test_the_line_that_nbval_shows_is_that_of_the_check(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=few_cells("stub"))
    nbformat.write(notebook, tmp_path / "notebook.ipynb")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", nbval(tmp_path, "--nbval-lax").stdout.decode())
    found = re.findall(r"Traceback:\s*(.*?)\s*(?=\n[_=])", shown, re.DOTALL)
    assert found == [f"{name}: not attempted: write `{name}` in its answer cell" for name in FEW]
