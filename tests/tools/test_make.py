"""What `make` says before it begins, where it cannot end well."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT


def make(*words: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """Run make, which must fail."""
    # a make inside `make test` would otherwise take part in the outer one
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command, env = [shutil.which("make") or "make", *words], outer | environment
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    return done


def test_a_taken_port_is_said_before_anything_is_built():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = make("book", f"PORT={port}", f"PYTHON={sys.executable}")
    assert f"port {port} is taken" in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


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
    given = "PYTHON=./python" if python else "PYTHON="
    assert message in make("site", given, cwd=tmp_path, PATH=str(tmp_path)).stderr
    assert not (tmp_path / ".venv").exists()
