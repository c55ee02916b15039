"""nbval as people know it: `pytest --nbval-lax` says of each check what it says in the notebook."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest

from attncourse.grading.graft import exercise_files
from attncourse.publish.notebooks import solved_notebook


def outcomes(folder: Path, notebook) -> dict[str, bool]:
    """Which cells nbval passes in a notebook, by cell id."""
    nbformat.write(notebook, folder / "exercises.ipynb")
    command = ["pytest", "--nbval-lax", "--junitxml=out.xml", "-p", "no:cacheprovider", "-q"]
    alone = os.environ | {"PYTEST_ADDOPTS": "", "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", *command, "exercises.ipynb"],
        cwd=folder,
        env=alone,
        capture_output=True,
        timeout=240,
    )
    cases = ElementTree.parse(folder / "out.xml").iter("testcase")
    passed = [case.find("failure") is None and case.find("error") is None for case in cases]
    ids = [cell.id for cell in notebook.cells if cell.cell_type == "code"]
    return dict(zip(ids, passed, strict=True))


@pytest.mark.parametrize("slug", exercise_files())
def test_each_check_fails_on_the_stub_and_passes_on_the_solution(slug, tmp_path):
    stub = nbformat.read(exercise_files()[slug], as_version=4)
    checks = {cell.id for cell in stub.cells if "check" in cell.metadata.get("tags", [])}
    (tmp_path / "stub").mkdir()
    seen = outcomes(tmp_path / "stub", stub)
    assert checks and {name for name, passed in seen.items() if not passed} == checks
    (tmp_path / "solved").mkdir()
    assert all(outcomes(tmp_path / "solved", solved_notebook(slug)).values())
