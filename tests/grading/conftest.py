"""What the tests of grading share."""

import pytest

from tests.grading import classes


@pytest.fixture
def all_pass(monkeypatch):
    """Whatever is grafted passes, without a kernel: for what a file decides and no answer."""
    monkeypatch.setattr("attncourse.grading.grade.judged", classes.judged)
