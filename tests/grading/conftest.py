"""A fixture of the tests of grading: a judge that needs no kernel."""

import pytest

from tests.grading import classes


@pytest.fixture
def all_pass(monkeypatch, grading):
    """Judge without a kernel: each answer passes, unless it says that it is wrong."""
    monkeypatch.setattr("judge.grading.grade.judged", classes.judge_by_mark)
