"""What `make` says before it begins, where it cannot end well; and the pins, which need no CUDA."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

OLD = "case $1 in --version) echo Python 3.9.2;; *) exit 1;; esac"
BARE = 'case "$2" in *ensurepip*) exit 1;; esac; [ $1 = --version ] && echo Python 3.12.1; exit 0'


def run_make(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess:
    """Run the course's make in this folder."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    # a make inside `make test` would otherwise take part in the outer one
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    program = shutil.which("make") or "make"
    return subprocess.run(
        [program, *words], cwd=folder, env=outer | settings, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (OLD, "Python 3.11 or newer is needed, and ./python is Python 3.9.2"),
        (BARE, "Python 3.12.1 lacks its venv module"),
        ("", "Python 3.11 or newer is needed, and none was found"),
    ],
)
def test_a_python_that_will_not_do_is_said_plainly(tmp_path, python, message):
    for tool in ("sh", "cat", "cksum", "tr"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    (tmp_path / "python").write_text(f"#!/bin/sh\n{python}\n")
    (tmp_path / "python").chmod(0o755)
    result = run_make(
        tmp_path, "site", "PYTHON=./python" if python else "PYTHON=", PATH=str(tmp_path)
    )
    assert result.returncode and message in result.stderr
    assert not (tmp_path / ".venv").exists()


def test_torch_is_a_plain_version_and_what_it_needs_of_cuda_is_nowhere():
    for name in ("requirements.txt", "requirements-grade.txt"):
        text = (ROOT / name).read_text()
        assert re.search(r"^torch==[\d.]+$", text, re.MULTILINE), name
        assert not re.search("nvidia|cuda|triton|--hash", text), name
