"""What the tests of grading share: a judge that needs no kernel."""

import pytest

from tests.grading import classes


@pytest.fixture
def all_pass(monkeypatch, grading):
    """Whatever is grafted passes, without a kernel: for what a file decides and no answer."""
    monkeypatch.setattr("judge.grading.grade.judged", classes.judged)
