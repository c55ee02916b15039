"""The code is laid out, named and typed as the house rules say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

COMMANDS = [
    "ruff check --quiet",
    "ruff format --check",
    "pyright",
    # the tools that build the site use no private name of Sphinx or of the theme
    "ruff check --quiet --select SLF tools",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_left_to_fix(command):
    process = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stdout + process.stderr


def test_the_judge_imports_no_course_and_has_no_circles():
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
