"""Grades one file: grafts it, has pytest judge it in its own process, returns the report."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import nbformat

from attncourse.checks import exercises
from attncourse.checks.capstone import Capstone
from attncourse.grading import sandbox
from attncourse.grading.budget import EXERCISE, IMPORTS, LOOK, STARTUP, Budget
from attncourse.grading.graft import NotGradableError, digest, exercise_files, graft
from attncourse.grading.report import Report, Result, plain

# nothing of the submission's folder, nor of the machine's set-up, has a say
PYTEST = (
    "-p", "nbval.plugin", "-p", "attncourse.grading.plugin", "--noconftest",
    "-p", "no:cacheprovider", "-q", "-c", "pytest.ini", "--rootdir", ".", "graft.ipynb",
)  # fmt: skip


def grade(
    path: Path, seed: int, device: str = "cpu", timeout: float = EXERCISE,
    sandboxed: bool = True, memory: int = 4 << 30,
) -> Report:  # fmt: skip
    """The report on one file. Never raises for what a file holds: the report says what is wrong.

    `timeout` is in processor seconds, for each exercise; `memory` in bytes, for the learner's
    process.
    Without `sandboxed`, answers run as the grader's own user.
    """
    report = Report(str(path), seed=seed, device=device)
    if sandboxed:
        report.sandbox, why = sandbox.strongest()
        if not report.sandbox:
            report.problem = plain(f"no sandbox is safe here: {why}")
            return report
    try:
        grafted = graft(path)
    except NotGradableError as reason:
        report.problem = plain(str(reason))
        return report
    except OSError as error:
        report.problem = f"it cannot be read: {error.strerror}"
        return report
    report.chapter = grafted.chapter
    report.submission_sha256 = digest(path)
    report.pristine_sha256 = digest(exercise_files()[grafted.chapter])
    for name, exercise in exercises(grafted.chapter).items():
        result = Result(name, exercise.title, exercise.points, note=grafted.notes.get(name, ""))
        if name not in grafted.found:
            result.status, result.hint = "not found", f"no cell begins with `# exercise: {name}`"
        report.exercises.append(result)
    folder = Path(tempfile.mkdtemp(prefix="attncourse-grade-"))
    for one in exercises(grafted.chapter).values():
        if isinstance(one, Capstone) and (weights := one.beside(path)):
            (folder / one.file).symlink_to(weights.resolve())
    try:
        return judged(report, grafted.notebook, folder, timeout, memory)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judged(report: Report, notebook, folder: Path, timeout: float, memory: int) -> Report:
    nbformat.write(notebook, folder / "graft.ipynb")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    written = folder / "report.json"
    report.write(written)
    environment = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONSAFEPATH": "1",
        "ATTNCOURSE_REPORT": str(written),
        "ATTNCOURSE_TIMEOUT": str(timeout),
        "ATTNCOURSE_MEMORY_LIMIT": str(memory),
    }
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        environment.pop(name, None)
    # each exercise is run twice at most, and once more for each that runs before it
    most = STARTUP + len(report.exercises) ** 2 * (STARTUP + IMPORTS + timeout)
    said = watched([sys.executable, "-m", "pytest", *PYTEST], folder, environment, most)
    report = Report.read(written)
    if any(one.status == "not graded" and not one.hint for one in report.exercises):
        report.problem = plain(f"the grader failed: {reason_in(said)}")
    return report


def watched(command: list[str], folder: Path, environment: Mapping[str, str], most: float) -> str:
    """What a command prints; it is ended where it takes more than so many processor seconds."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said,
            stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            budget = Budget.of(process.pid, most)
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK)
                if why := budget.spent():
                    process.kill()
                    return f"it {why}"
        said.seek(0)
        return said.read()


def reason_in(output: str) -> str:
    """The line of pytest's output that says why our own part failed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    faults = [line for line in lines if line.startswith(("E ", "pytest plugin exception", "Exit:"))]
    return (faults or lines or ["it said nothing"])[-1].removeprefix("E ").strip()
