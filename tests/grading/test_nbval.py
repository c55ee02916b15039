"""nbval as people know it: `pytest --nbval-lax` says of each check what it says in the notebook."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from attncourse.grading.graft import exercise_files
from tools.notebooks import solved_notebook


def outcomes(folder: Path, notebook: NotebookNode) -> list[bool]:
    """Which code cells nbval passes, in their order."""
    nbformat.write(notebook, folder / "notebook.ipynb")
    # a busy machine takes its time to start a kernel
    command = ["pytest", "--nbval-lax", "--nbval-kernel-startup-timeout=600"]
    report = ["--junitxml=out.xml", "-p", "no:cacheprovider", "-q"]
    alone = os.environ | {"PYTEST_ADDOPTS": "", "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", *command, *report, "notebook.ipynb"],
        cwd=folder,
        env=alone,
        capture_output=True,
    )
    cases = ElementTree.parse(folder / "out.xml").iter("testcase")
    return [case.find("failure") is None and case.find("error") is None for case in cases]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("slug", exercise_files())
def test_each_check_fails_on_the_stub_and_passes_on_the_solution(slug, tmp_path):
    both = nbformat.read(exercise_files()[slug], as_version=4)
    stub, solved = code_cells(both), code_cells(solved_notebook(slug))
    # one after the other in one kernel, which costs more to start than to use
    for cell in solved:
        cell.id = f"solved-{cell.id}"
    both.cells = stub + solved
    passed = outcomes(tmp_path, both)
    checks = ["check" in cell.metadata.get("tags", []) for cell in stub]
    assert any(checks) and passed[: len(stub)] == [not one for one in checks]
    assert passed[len(stub) :] == [True] * len(solved)
