"""nbval as people know it: `pytest --nbval-lax` says of each check what it says in the notebook."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest

from attncourse.grading.graft import exercise_files
from tools.notebooks import solved_notebook


def outcomes(folder: Path, notebooks: dict) -> dict[str, dict[str, bool]]:
    """Which cells nbval passes in each notebook, by cell id."""
    for name, notebook in notebooks.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")
    command = ["pytest", "--nbval-lax", "--junitxml=out.xml", "-p", "no:cacheprovider", "-q"]
    alone = os.environ | {"PYTEST_ADDOPTS": "", "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", *command, *(f"{name}.ipynb" for name in notebooks)],
        cwd=folder,
        env=alone,
        capture_output=True,
        timeout=240,
    )
    cases = ElementTree.parse(folder / "out.xml").iter("testcase")
    passed = iter(case.find("failure") is None and case.find("error") is None for case in cases)
    ids = {
        name: [cell.id for cell in notebook.cells if cell.cell_type == "code"]
        for name, notebook in notebooks.items()
    }
    seen = {name: {cell: next(passed) for cell in cells} for name, cells in ids.items()}
    assert not list(passed)
    return seen


@pytest.mark.parametrize("slug", exercise_files())
def test_each_check_fails_on_the_stub_and_passes_on_the_solution(slug, tmp_path):
    stub = nbformat.read(exercise_files()[slug], as_version=4)
    checks = {cell.id for cell in stub.cells if "check" in cell.metadata.get("tags", [])}
    seen = outcomes(tmp_path, {"stub": stub, "solved": solved_notebook(slug)})
    assert checks and {name for name, passed in seen["stub"].items() if not passed} == checks
    assert all(seen["solved"].values())
