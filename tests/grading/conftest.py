"""What the tests of grading share: a judge that needs no kernel, and a machine with no sandbox."""

import pytest

from attncourse.grading import sandbox
from tests.grading import classes


@pytest.fixture(autouse=True, scope="session")
def without_a_sandbox():
    """Where no sandbox is safe, as on macOS, the tests grade without one."""
    with pytest.MonkeyPatch.context() as patch:
        if not sandbox.strongest()[0]:
            patch.setattr(sandbox, "strongest", lambda: (sandbox.NONE, ""))
        yield


@pytest.fixture
def all_pass(monkeypatch):
    """Whatever is grafted passes, without a kernel: for what a file decides and no answer."""
    monkeypatch.setattr("attncourse.grading.grade.judged", classes.judged)
