"""A test that starts a grader says in which sandbox; what is skipped is counted."""

import os
import re
import subprocess
import sys

import pytest

from tests import ROOT
from tests.graders import NO_SANDBOX_NAMED

TESTS = """
import subprocess, sys
import pytest
from judge.grading.sandbox import tiers
{setup}

def refused(folder, *options):
    (folder / "one.ipynb").write_text("a mistake")
    command = [sys.executable, "-m", "attncourse", "grade", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return "no sandbox is safe here" in done.stderr

def test_silent_here():
    tiers.select_tier()

def test_silent_below(tmp_path):
    assert not refused(tmp_path)

def test_says_so_here(grading):
    assert tiers.select_tier()[0]

def test_says_so_below(grading, tmp_path):
    assert not refused(tmp_path, *grading)

@pytest.mark.sandbox
def test_is_about_it():
    assert tiers.select_tier()[0] in (tiers.Tier.BUBBLEWRAP, tiers.Tier.OWN_USER)
"""


@pytest.mark.parametrize("setup", ["", "tiers.proof_failure = lambda tier: 'it is a test'"])
def test_who_starts_a_grader_and_does_not_say_in_which_sandbox_fails(setup, tmp_path, grading):
    (tmp_path / "test_it.py").write_text(TESTS.format(setup=setup))
    plugins = ["-p", "tests.needs", "-p", "tests.graders", "-p", "no:cacheprovider"]
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-rA", "-c", str(ROOT / "pyproject.toml")],
        # where CI is set, pytest repeats each message at the end
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CI": ""},
        capture_output=True,
        text=True,
    )
    outcomes = re.findall(r"^(FAILED|PASSED) .*::test_(\w+)", process.stdout, re.MULTILINE)
    passed, failed = {"says_so_here", "says_so_below"}, {"silent_here", "silent_below"}
    skipped = setup or grading
    if not skipped:
        passed.add("is_about_it")
    for expected_outcome, names in (("PASSED", passed), ("FAILED", failed)):
        assert {name for outcome, name in outcomes if outcome == expected_outcome} == names, (
            process.stdout
        )
    assert process.stdout.count(NO_SANDBOX_NAMED) == 2
    if skipped:
        *_, summary, last_line = process.stdout.splitlines()
        assert summary.startswith("    1  ") and "1 skipped" in last_line, process.stdout
