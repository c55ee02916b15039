"""What `make` says before it begins, where it cannot end well."""

import os
import shutil
import subprocess

import pytest

from tests import ROOT

OLD = "case $1 in --version) echo Python 3.9.2;; *) exit 1;; esac"
BARE = 'case "$2" in *ensurepip*) exit 1;; esac; [ $1 = --version ] && echo Python 3.12.1; exit 0'


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (OLD, "Python 3.11 or newer is needed, and ./python is Python 3.9.2"),
        (BARE, "Python 3.12.1 lacks its venv module"),
        ("", "Python 3.11 or newer is needed, and none was found"),
    ],
)
def test_a_python_that_will_not_do_is_said_plainly(tmp_path, python, message):
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for tool in ("sh", "cat", "cksum", "tr"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    (tmp_path / "python").write_text(f"#!/bin/sh\n{python}\n")
    (tmp_path / "python").chmod(0o755)
    # a make inside `make test` would otherwise take part in the outer one
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        [shutil.which("make") or "make", "site", "PYTHON=./python" if python else "PYTHON="],
        cwd=tmp_path,
        env=outer | {"PATH": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode and message in done.stderr
    assert not (tmp_path / ".venv").exists()
