"""What `make` says before it begins, where it cannot end well, and a machine that lacks much."""

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


def test_a_bare_machine_has_every_program_but_the_sandbox_and_the_browsers(tmp_path):
    folders = [tmp_path / name for name in ("first", "second")]
    missing = ("bwrap", "chromium-headless-shell", "google-chrome-stable", "firefox-esr")
    for folder in folders:
        folder.mkdir()
        for name in ("git", folder.name, *missing):
            (folder / name).touch()
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    assert run_make(tmp_path, "bare", PATH=path).returncode == 0
    bare_folder = tmp_path / ".venv/bare"
    assert {"git", "first", "second", "sh"} <= {path.name for path in bare_folder.iterdir()}
    assert (bare_folder / "git").readlink() == folders[0] / "git"
    assert not any((bare_folder / name).is_symlink() for name in missing)
    assert subprocess.run([bare_folder / "bwrap"], stderr=subprocess.DEVNULL).returncode == 1
