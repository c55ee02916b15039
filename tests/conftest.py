"""Shared by all tests: annotations checked at every call, seeds, GPU tests, the order of files.

A test of a bad input asks for the fixture `unchecked`, so that the input reaches the function's
own message instead of the annotations' check.
"""

import os
import secrets
import signal

import jaxtyping
import pytest
import torch
from xdist.scheduler import LoadScopeScheduling

from attncourse.course import ADDRESS
from judge.course import TOLD
from tests import ROOT
from tests.needs import lacks, night, pytest_terminal_summary  # noqa: F401

pytest_plugins = ["tests.graders"]

CHAPTERS = sorted(path.stem for path in ROOT.glob("chapters/*.md"))

jaxtyping.install_import_hook([f"attncourse.{slug}" for slug in CHAPTERS], "beartype.beartype")


# a shell starts what it puts into the background with interrupts ignored, and so would be
# the programs that tests interrupt
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# processes that the grader starts inherit the course
os.environ.setdefault(TOLD, ADDRESS)
# one seed for all workers, which are started with this environment
SEED = os.environ.setdefault("ATTNCOURSE_SEED", str(secrets.randbits(31)))
# a third of all tests' time
EXERCISE_TESTS = "tests/judge/test_checks.py"
# the longest begin first, and what is left to the end takes seconds
SLOWEST_FIRST = (
    "site/test_pages",
    "firefox",
    "jupyterlab",
    "judge/test_checks",
    "grading/test_nbval",
    "grading/test_attacks",
    "grading",
    "tools/test_colab",
    "course/test_claims",
    "course",
    "tools",
    "test_style",
    "page",
    "site",
    "judge",
    "figures",
)


def pytest_addoption(parser):
    """Add `--all`."""
    parser.addoption("--all", action="store_true", help="run what a push leaves to the night, too")


def pytest_report_header():
    """Name the seed, with which a run can be repeated."""
    return f"ATTNCOURSE_SEED={SEED}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than cores, because workers wait for kernels, browsers and programs."""
    return (os.cpu_count() or 1) + 1


class FileScheduling(LoadScopeScheduling):
    """Runs each file on one worker, so that its fixtures run once; splits one file by exercise."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        if file != EXERCISE_TESTS:
            return file
        exercise = test.partition("[")[2].partition("-")[0].removesuffix("]")
        return f"{file}::{exercise}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Schedule tests by file."""
    return FileScheduling(config, log)


def pytest_collection_modifyitems(config, items):
    """Run the slowest files first; skip GPU tests without a GPU, and slow ones without `--all`."""

    def rank(item) -> int:
        name = item.path.relative_to(ROOT / "tests").as_posix()
        return next(
            (index for index, prefix in enumerate(SLOWEST_FIRST) if name.startswith(prefix)),
            len(SLOWEST_FIRST),
        )

    items.sort(key=rank)
    for item in items:
        if item.get_closest_marker("slow") and not config.getoption("all"):
            file = item.path.relative_to(ROOT).as_posix()
            item.add_marker(pytest.mark.skip(reason=night(f"tests of {file}")))
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason=lacks("a CUDA GPU")))


@pytest.fixture
def g() -> torch.Generator:
    """A random generator with a fixed seed."""
    return torch.Generator().manual_seed(0)


@pytest.fixture
def unchecked():
    """Switch the check of annotations off during the test."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
