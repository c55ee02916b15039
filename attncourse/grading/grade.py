"""Grades one file: grafts it, has pytest judge it in its own process, returns the report."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

from attncourse.checks import exercises
from attncourse.grading import sandbox
from attncourse.grading.graft import NotGradable, digest, exercise_files, graft
from attncourse.grading.report import Report, Result, plain

# nothing of the submission's folder, nor of the machine's set-up, has a say
PYTEST = (
    "-p", "nbval.plugin", "-p", "attncourse.grading.judge", "--noconftest",
    "-p", "no:cacheprovider", "-q", "-c", "pytest.ini", "--rootdir", ".", "graft.ipynb",
)  # fmt: skip
# a hung grader is our fault: so much longer than its exercises could take
PATIENCE = 4


def grade(
    path: Path, seed: int, device: str = "cpu", timeout: float = 30, sandboxed: bool | None = None,
    memory: int = 4 << 30,
) -> Report:  # fmt: skip
    """The report on one file. Never raises for what a file holds: the report says what is wrong.

    `timeout` is in seconds, for each exercise; `memory` in bytes, for the learner's process.
    `sandboxed` None uses the sandbox where there is one.
    """
    report = Report(str(path), seed=seed, device=device)
    report.sandboxed = sandbox.available() if sandboxed is None else sandboxed
    try:
        grafted = graft(path)
    except NotGradable as reason:
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
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *PYTEST], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=120 + PATIENCE * timeout * len(report.exercises),
        )  # fmt: skip
        said = run.stdout
    except subprocess.TimeoutExpired:
        said = "the grader did not come to an end"
    report = Report.read(written)
    if not report.graded:
        report.problem = plain("the grader failed: " + reason_in(said))
    return report


def reason_in(output: str) -> str:
    """The line of pytest's output that says why our own part failed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    faults = [line for line in lines if line.startswith(("E ", "pytest plugin exception", "Exit:"))]
    return (faults or lines or ["it said nothing"])[-1].removeprefix("E ").strip()
