"""What `make` says before it begins, where it cannot end well."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

OLD = "case $1 in --version) echo Python 3.9.2;; *) exit 1;; esac"
BARE = 'case "$2" in *ensurepip*) exit 1;; esac; [ $1 = --version ] && echo Python 3.12.1; exit 0'


def make(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    """Run make with this Makefile in another folder."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    # a make inside `make test` would otherwise take part in the outer one
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command, env = [shutil.which("make") or "make", *words], outer | environment
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_quick_runs_the_tests_that_have_the_name_of_an_edited_file(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "new").mkdir()
    for name in ("one.py", "test_two.py", "three.md", "__init__.py"):
        (tmp_path / "new" / name).touch()
    asked = make(tmp_path, "--dry-run", "quick", f"PYTHON={sys.executable}").stdout
    assert "test_release or one or two)" in asked


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
    given = "PYTHON=./python" if python else "PYTHON="
    done = make(tmp_path, "site", given, PATH=str(tmp_path))
    assert done.returncode and message in done.stderr
    assert not (tmp_path / ".venv").exists()
