"""Where no sandbox is safe, as on macOS, the tests grade without one."""

import pytest

from attncourse.grading import sandbox


@pytest.fixture(autouse=True, scope="session")
def without_a_sandbox():
    with pytest.MonkeyPatch.context() as patch:
        if not sandbox.strongest()[0]:
            patch.setattr(sandbox, "strongest", lambda: (sandbox.NONE, ""))
        yield
