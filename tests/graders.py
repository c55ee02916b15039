"""Which sandbox a test grades in: each test that starts a grader says so, or fails.

With the fixture `grading` it grades in the sandbox of this machine, and without one where there is
none; with the mark `sandbox` it is about the sandbox itself, and skipped where there is none. Who
starts a grader is found while the test runs, on any machine, in this process and in those below.
"""

import os
import shutil
import sys
import tempfile
from functools import partial, update_wrapper
from pathlib import Path

import pytest

from judge.grading import sandbox
from tests.needs import lacks

UNSAID = (
    "it starts a grader, and does not say in which sandbox: ask for the fixture `grading`, and "
    "give a command its options; or mark it `sandbox`, where it is about the sandbox itself"
)


def pytest_configure(config: pytest.Config) -> None:
    """Watch who grades."""
    config.pluginmanager.register(Watch())


class Watch:
    """Stands where each grader begins: it asks for the strongest sandbox, and tries bubblewrap."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="attncourse-watch-")
        self.noticed = Path(self.folder.name, "noticed")
        # found first by a grader in another process, where nothing was said
        program = Path(self.folder.name, "bwrap")
        program.write_text(f"#!/bin/sh\n: > '{self.noticed}'\nexit 1\n")
        program.chmod(0o755)
        self.path, self.strongest = os.environ["PATH"], sandbox.strongest
        # as what it stands for, also to be called anew
        sandbox.strongest = update_wrapper(partial(self.asked), self.strongest.__wrapped__)
        self.about_it = self.said = True

    def pytest_unconfigure(self) -> None:
        """Leave nothing in the temporary folder."""
        self.folder.cleanup()

    def asked(self) -> tuple[str, str]:
        """In place of `sandbox.strongest`: with `none` a test grades where nothing is proved."""
        if not self.said:
            self.noticed.touch()
            return "", UNSAID
        tier, why = self.strongest()
        return (tier, why) if tier or self.about_it else (sandbox.NONE, "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Hear what the test says, and skip it where it needs what is not here."""
        self.about_it = item.get_closest_marker("sandbox") is not None
        self.said = self.about_it or "grading" in getattr(item, "fixturenames", ())
        before = "" if self.said else f"{self.folder.name}{os.pathsep}"
        os.environ["PATH"] = f"{before}{self.path}"
        self.noticed.unlink(missing_ok=True)
        if self.about_it and (why := self.lacking()):
            pytest.skip(why)

    def lacking(self) -> str:
        """What is missing where no sandbox is proved."""
        tier, why = self.strongest()
        if tier:
            return ""
        if sys.platform != "linux":
            return lacks("Linux")
        if shutil.which("bwrap") is None:
            return lacks("bubblewrap")
        return f"no sandbox is safe here: {'; '.join(why.splitlines())}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item):
        """Fail what has started a grader, and did not say which."""
        try:
            return (yield)
        finally:
            if self.noticed.exists():
                pytest.fail(UNSAID, pytrace=False)


@pytest.fixture(scope="session")
def grading() -> list[str]:
    """The test grades, in a sandbox where there is one: the options with which a command does."""
    return ["--no-sandbox"] if sandbox.strongest()[0] == sandbox.NONE else []
