"""What the tests of grading share."""

import pytest


@pytest.fixture
def all_pass(monkeypatch):
    """Whatever is grafted passes, without a kernel: for what a file decides and no answer."""

    def judged(report, grafted, timeout, memory, stop):
        for one in report.exercises:
            if one.status == "not graded":
                one.status = "passed"
        return report

    monkeypatch.setattr("attncourse.grading.grade.judged", judged)
