"""Grades one file: grafts it, has pytest judge it in its own process, returns the report."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from threading import Event

import nbformat

from attncourse.checks import exercises
from attncourse.checks.capstone import Capstone
from attncourse.grading import sandbox
from attncourse.grading.budget import EXERCISE, IMPORTS, LOOK, STARTUP, Budget
from attncourse.grading.graft import Graft, digest, exercise_files, graft
from attncourse.grading.report import Report, Result, plain
from attncourse.grading.submissions import NotGradableError, Submission

# nothing of the submission's folder, nor of the machine's set-up, has a say
PYTEST = (
    "-p", "nbval.plugin", "-p", "attncourse.grading.plugin", "--noconftest",
    "-p", "no:cacheprovider", "-q", "-c", "pytest.ini", "--rootdir", ".", "graft.ipynb",
)  # fmt: skip
# seconds that a judge has to end what it has started
GRACE = 0.5


class StoppedError(Exception):
    """Grading was told to stop before the file was judged."""


def grade(
    file: Path | Submission, seed: int, device: str = "cpu", timeout: float = EXERCISE,
    sandboxed: bool = True, memory: int = 4 << 30, stop: Event | None = None,
    partial: bool = False,
) -> Report:  # fmt: skip
    """The report on one file. Never raises for what a file holds: the report says what is wrong.

    `timeout` is in processor seconds, for each exercise; `memory` in bytes, for the learner's
    process.
    Without `sandboxed`, answers run as the grader's own user. With `partial`, an answer that has
    not passed earns points for the groups of cases that it has right. Raises StoppedError soon
    after `stop` is set.
    """
    if isinstance(file, Path):
        file = Submission(str(file), file)
    report = Report(file.name, seed=seed, device=device, partial=partial)
    try:
        if sandboxed:
            report.sandbox, why = sandbox.strongest()
            if not report.sandbox:
                raise NotGradableError(f"no sandbox is safe here: {why}")
        notebook, weights = file.handed_in()
        report.submission_sha256 = digest(notebook + weights)
        grafted = graft(notebook)
        prepare(report, grafted)
        grafted.weights = weights
        return judged(report, grafted, timeout, memory, stop or Event())
    except NotGradableError as reason:
        report.problem = plain(str(reason))
    except StoppedError:
        raise
    except Exception as error:
        # whatever it is, the other files are graded
        report.problem = plain(f"the grader failed: {type(error).__name__}: {error}")
    return report


def prepare(report: Report, grafted: Graft) -> None:
    """Give the report a line for each exercise of the chapter, not graded as yet."""
    report.chapter = grafted.chapter
    report.pristine_sha256 = digest(exercise_files()[grafted.chapter].read_bytes())
    answers = grafted.answers()
    for name, exercise in exercises(grafted.chapter).items():
        result = Result(name, exercise.title, exercise.points, note=grafted.notes.get(name, ""))
        if name in grafted.found:
            result.answer = answers[name]
        else:
            result.status, result.hint = "not found", f"no cell begins with `# exercise: {name}`"
        report.exercises.append(result)


def judged(report: Report, grafted: Graft, timeout: float, memory: int, stop: Event) -> Report:
    """The report after pytest has run the grafted notebook in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="attncourse-grade-"))
    try:
        for one in exercises(grafted.chapter).values():
            if grafted.weights and isinstance(one, Capstone):
                (folder / one.file).write_bytes(grafted.weights)
        return judged_in(folder, report, grafted, timeout, memory, stop)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judged_in(
    folder: Path, report: Report, grafted: Graft, timeout: float, memory: int, stop: Event
) -> Report:
    nbformat.write(grafted.notebook, folder / "graft.ipynb")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    written = folder / "report.json"
    # the judge is not told whose it is
    name, report.file = report.file, "graft.ipynb"
    report.write(written)
    environment = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONSAFEPATH": "1",
        "ATTNCOURSE_REPORT": str(written),
        "ATTNCOURSE_TIMEOUT": str(timeout),
        "ATTNCOURSE_MEMORY_LIMIT": str(memory),
    }
    for variable in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        environment.pop(variable, None)
    # each exercise is run twice at most, and once more for each that runs before it
    most = STARTUP + len(report.exercises) ** 2 * (STARTUP + IMPORTS + timeout)
    command = [sys.executable, "-m", "pytest", *PYTEST]
    said = watched(command, folder, environment, most, stop)
    report = Report.read(written)
    report.file = name
    if any(one.status == "not graded" and not one.hint for one in report.exercises):
        report.problem = plain(f"the grader failed: {reason_in(said)}")
    return report


def watched(
    command: list[str], folder: Path, environment: Mapping[str, str], most: float, stop: Event
) -> str:
    """What a command prints; it is ended where it takes more than so many processor seconds."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        # Ctrl-C is for us, who then end the command
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said,
            stderr=subprocess.STDOUT, start_new_session=True,
        ) as process:  # fmt: skip
            budget = Budget.of(process.pid, most)
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK)
                if stop.is_set():
                    end(process)
                    raise StoppedError
                if why := budget.spent():
                    process.kill()
                    return f"it {why}"
        said.seek(0)
        return said.read()


def end(process: subprocess.Popen) -> None:
    """End a judge: politely, so that it takes its kernels and folders along, and then at once."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


def reason_in(output: str) -> str:
    """The line of pytest's output that says why our own part failed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    faults = [line for line in lines if line.startswith(("E ", "pytest plugin exception", "Exit:"))]
    return (faults or lines or ["it said nothing"])[-1].removeprefix("E ").strip()
