"""A test that starts a grader says in which sandbox; what is skipped is counted."""

import subprocess
import sys

import pytest

from tests import ROOT

TESTS = """
import subprocess, sys
import pytest
from attncourse.grading import sandbox
{first}

def refused(folder, *options):
    (folder / "one.ipynb").write_text("a mistake")
    command = [sys.executable, "-m", "attncourse.grading", "grade", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return "no sandbox is safe here" in done.stderr

def test_silent_here():
    sandbox.strongest()

def test_silent_below(tmp_path):
    assert not refused(tmp_path)

def test_says_so_here(grading):
    assert sandbox.strongest()[0]

def test_says_so_below(grading, tmp_path):
    assert not refused(tmp_path, *grading)

@pytest.mark.sandbox
def test_is_about_it():
    assert sandbox.strongest()[0] in (sandbox.BUBBLEWRAP, sandbox.OWN_USER)
"""


@pytest.mark.parametrize("first", ["", "sandbox.fault_of = lambda tier: 'it is a test'"])
def test_who_starts_a_grader_and_does_not_say_in_which_sandbox_fails(first, tmp_path, grading):
    file = tmp_path / "test_it.py"
    file.write_text(TESTS.format(first=first))
    plugins = ["-p", "tests.needs", "-p", "tests.graders", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", *plugins, "-rA", "-c", str(ROOT / "pyproject.toml"),
            f"--rootdir={tmp_path}", str(file),
        ],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    for name in ("silent_here",):
        assert f"FAILED test_it.py::test_{name} - Failed: it starts a grader" in done.stdout, done
    for name in ("says_so_here", "says_so_below"):
        assert f"PASSED test_it.py::test_{name}\n" in done.stdout, done
    skipped = "" if first or grading else "PASSED test_it.py::test_is_about_it\n"
    assert skipped in done.stdout
    if not skipped:
        *_, counted, last = done.stdout.splitlines()
        assert counted.startswith("    1  ") and "1 skipped" in last, done.stdout
