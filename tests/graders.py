"""The sandbox of a test's grader: each test that starts a grader names one, or fails.

With the fixture `grading` it grades in the sandbox of this machine, and without one where there is
none; with the mark `sandbox` it is about the sandbox itself, and skipped where there is none. A
grader is noticed while the test runs, on any machine, in this process and its subprocesses.
"""

import os
import sys
import tempfile
from functools import partial, update_wrapper
from pathlib import Path

import pytest

from judge.grading.sandbox import tiers
from tests.needs import lacks

NO_SANDBOX_NAMED = (
    "it starts a grader, and does not say in which sandbox: ask for the fixture `grading`, and "
    "give a command its options; or mark it `sandbox`, where it is about the sandbox itself"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the watch."""
    config.pluginmanager.register(GraderWatch())


class GraderWatch:
    """Notices graders: each selects a sandbox, in this process, or runs bubblewrap."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="attncourse-watch-")
        self.marker = Path(self.folder.name, "noticed")
        # a grader in another process finds this bwrap first, where the test names no sandbox
        program = Path(self.folder.name, "bwrap")
        program.write_text(f"#!/bin/sh\n: > '{self.marker}'\nexit 1\n")
        program.chmod(0o755)
        self.path, self.select_tier = os.environ["PATH"], tiers.select_tier
        # `__wrapped__` is the original without its cache, as ever
        tiers.select_tier = update_wrapper(
            partial(self.fake_select_tier), self.select_tier.__wrapped__
        )
        self.tests_sandbox = self.names_sandbox = True

    def pytest_unconfigure(self) -> None:
        """Delete the temporary folder."""
        self.folder.cleanup()

    def fake_select_tier(self) -> tuple[tiers.Tier | None, str]:
        """Replaces `tiers.select_tier`: `NONE` where no sandbox works and the test allows it."""
        if not self.names_sandbox:
            self.marker.touch()
            return None, NO_SANDBOX_NAMED
        tier, reason = self.select_tier()
        return (tier, reason) if tier or self.tests_sandbox else (tiers.Tier.NONE, "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Read which sandbox the test names, and skip it if that is missing."""
        self.tests_sandbox = item.get_closest_marker("sandbox") is not None
        self.names_sandbox = self.tests_sandbox or "grading" in getattr(item, "fixturenames", ())
        prefix = "" if self.names_sandbox else f"{self.folder.name}{os.pathsep}"
        os.environ["PATH"] = f"{prefix}{self.path}"
        self.marker.unlink(missing_ok=True)
        if self.tests_sandbox and (reason := self.missing_requirement()):
            pytest.skip(reason)

    def missing_requirement(self) -> str:
        """The reason why no sandbox works here; empty if one does."""
        tier, reason = self.select_tier()
        if tier:
            return ""
        if sys.platform != "linux":
            return lacks("Linux")
        if not tiers.BWRAP:
            return lacks("bubblewrap")
        return f"no sandbox is safe here: {'; '.join(reason.splitlines())}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item):
        """Fail a test that has started a grader without naming a sandbox."""
        try:
            return (yield)
        finally:
            if self.marker.exists():
                pytest.fail(NO_SANDBOX_NAMED, pytrace=False)


@pytest.fixture(scope="session")
def grading() -> list[str]:
    """The options with which a command grades: in a sandbox if this machine has one."""
    return ["--no-sandbox"] if tiers.select_tier()[0] == tiers.Tier.NONE else []
