"""Mutants of a toy package are tried on each of its tests, and the result is counted."""

import csv
import os
import subprocess
import sys

import pytest

from tests import ROOT
from tests.needs import lacks

FILES = {
    "pytest.ini": "[pytest]\n",
    "attncourse/__init__.py": "",
    "attncourse/toy.py": "def half(x: int | None):\n    return x / 2 if x > 0 else 0\n",
    "tests/attncourse/test_toy.py": """
from attncourse.toy import half

def test_of_four(): assert half(4) == 2
def test_of_five(): assert half(5) == 2.5
def test_of_minus_one(): assert half(-1) == 0
""",
    "reference/kills.csv": "",
}


@pytest.fixture
def kills(tmp_path):
    """The command `kills` in the folder of the toy package."""
    if not (ROOT / ".cache" / "mutmut").is_dir():
        pytest.skip(lacks("mutmut"))
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "tools.kills", *words]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    return run


def test_a_mutant_that_no_test_kills_is_shown_and_a_test_that_kills_no_other_could_go(
    kills, tmp_path
):
    kills("run", "mechanisms")
    table = kills("table", "mechanisms")
    assert "5 of    7 killed  attncourse/toy.py" in table
    for line in ("x / 2 if x > 1 else 0", "x / 2 if x >= 0 else 0"):
        assert f"\n+    return {line}\n" in table
    # nothing is tried again
    assert kills("run", "mechanisms").count("\n") == 1
    could_go = kills("greedy", "mechanisms")
    assert ("test_of_four" in could_go) != ("test_of_five" in could_go)
    assert "test_of_minus_one" not in could_go
    kills("summary")
    with (tmp_path / "reference" / "kills.csv").open() as file:
        assert [*csv.reader(file)][1][:4] == ["mechanisms", "7", "5", "71%"]
