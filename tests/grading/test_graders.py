"""A test that starts a grader says in which sandbox; what is skipped is counted."""

import os
import re
import subprocess
import sys

import pytest

from tests import ROOT
from tests.graders import UNSAID

TESTS = """
import subprocess, sys
import pytest
from judge.grading import sandbox
{first}

def refused(folder, *options):
    (folder / "one.ipynb").write_text("a mistake")
    command = [sys.executable, "-m", "attncourse", "grade", str(folder), *options]
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
    (tmp_path / "test_it.py").write_text(TESTS.format(first=first))
    plugins = ["-p", "tests.needs", "-p", "tests.graders", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-rA", "-c", str(ROOT / "pyproject.toml")],
        # where it is set, pytest repeats each message at the end
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CI": ""},
        capture_output=True,
        text=True,
    )
    ended = re.findall(r"^(FAILED|PASSED) .*::test_(\w+)", done.stdout, re.MULTILINE)
    passed, failed = {"says_so_here", "says_so_below"}, {"silent_here", "silent_below"}
    skipped = first or grading
    if not skipped:
        passed.add("is_about_it")
    for how, names in (("PASSED", passed), ("FAILED", failed)):
        assert {name for outcome, name in ended if outcome == how} == names, done.stdout
    assert done.stdout.count(UNSAID) == 2
    if skipped:
        *_, summary, last = done.stdout.splitlines()
        assert summary.startswith("    1  ") and "1 skipped" in last, done.stdout
