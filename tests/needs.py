"""What a machine may lack; the tests that need it are skipped, and the last lines count them."""

from collections import Counter

import pytest

ADDED_BY = {
    "bubblewrap": "`make system` adds it on Debian and Ubuntu",
    "a browser": "`make system` adds it on Debian and Ubuntu, ATTNCOURSE_CHROMIUM=/path/to/it "
    "names one",
    "Firefox": "`make system ALL=1` adds it on Debian and Ubuntu, ATTNCOURSE_FIREFOX=/path/to/it "
    "names one",
    "nbgrader": "`pip install nbgrader` adds it, in an environment of its own: NBGRADER names its "
    "command",
    "the IPython of Colab": "`make .cache/wheels` fetches it",
    "JupyterLab": "`make .cache/jupyterlab` installs it, in an environment of its own",
    "root": "`sudo make test` runs as root",
    "Linux": "a container has it",
    "a CUDA GPU": "Colab has one",
}


def lacks(what: str) -> str:
    """The reason to skip a test that needs this."""
    return f"needs {what}: {ADDED_BY[what]}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say last what was skipped: how many tests, and what adds what they need."""
    yield
    skipped = terminalreporter.stats.get("skipped", ())
    if skipped:
        terminalreporter.section("skipped")
    for reason, count in Counter(map(reason_of, skipped)).most_common():
        terminalreporter.line(f"{count:5}  {reason}")


def reason_of(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    return report.longrepr[2].removeprefix("Skipped: ").strip()
