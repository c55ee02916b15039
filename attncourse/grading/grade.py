"""Grades one file: grafts it, has a process of its own judge it, returns the report."""

import atexit
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from threading import Event

import nbformat

from attncourse.grading import sandbox
from attncourse.grading.budget import EXERCISE, IMPORTS, LOOK, STARTUP, Budget
from attncourse.grading.graft import Graft, graft
from attncourse.grading.pristine import chapters, digest, exercise_files
from attncourse.grading.report import Report, Result, plain
from attncourse.grading.submissions import NotGradableError, Submission

AS_GIVEN = "its cell is as it was given"
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
        grafted.weights = weights
        prepare(report, grafted)
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
    """Give the report a line for each exercise of the chapter, not graded where code is written."""
    report.chapter, report.torch = grafted.chapter, version("torch")
    report.pristine_sha256 = digest(exercise_files()[grafted.chapter].read_bytes())
    chapter, answers = chapters()[grafted.chapter], grafted.answers()
    for name, facts in chapter.facts.items():
        result = Result(name, facts["title"], facts["points"], note=grafted.notes.get(name, ""))
        if name not in grafted.found:
            result.status, result.hint = "not found", f"no cell begins with `# exercise: {name}`"
        else:
            result.answer = answers[name]
            trained = "weights" in facts and grafted.weights
            if untouched := not trained and why_untouched(answers[name], chapter.stubs[name]):
                result.status, result.hint = "not attempted", untouched
        report.exercises.append(result)


def why_untouched(answer: str, stub: str) -> str:
    """Why nothing was attempted in an answer cell; "" where something was."""
    code = code_of(answer)
    return "its cell is empty" if not code else AS_GIVEN if code == code_of(stub) else ""


def code_of(source: str) -> list[str]:
    """The lines of a cell that are neither blank nor a comment."""
    lines = (line.rstrip() for line in source.splitlines())
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def judged(report: Report, grafted: Graft, timeout: float, memory: int, stop: Event) -> Report:
    """The report after pytest has run the grafted notebook in a folder of its own."""
    if all(one.status != "not graded" for one in report.exercises):
        return report
    folder = Path(tempfile.mkdtemp(prefix="attncourse-grade-"))
    try:
        for facts in chapters()[grafted.chapter].facts.values():
            if grafted.weights and "weights" in facts:
                (folder / facts["weights"]).write_bytes(grafted.weights)
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
    # each exercise is run twice at most, and once more for each that runs before it
    most = STARTUP + len(report.exercises) ** 2 * (STARTUP + IMPORTS + timeout)
    with one_judge() as judge:
        request = {"folder": str(folder), "seconds": timeout, "memory": memory}
        said = judge.asked(request, most, stop)
    report = Report.read(written)
    report.file = name
    if any(one.status == "not graded" and not one.hint for one in report.exercises):
        report.problem = plain(f"the grader failed: {reason_in(said)}")
    return report


class Judge:
    """A process that judges notebooks one after another; see `attncourse.grading.judge`."""

    def __init__(self):
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONSAFEPATH": "1"}
        for variable in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
            environment.pop(variable, None)
        self.said = tempfile.TemporaryFile("w+", errors="replace")
        self.socket, its = socket.socketpair()
        self.socket.settimeout(LOOK)
        with its:
            # Ctrl-C is for us, who then end it
            self.process = subprocess.Popen(
                [sys.executable, "-m", "attncourse.grading.judge"], env=environment,
                stdin=its.fileno(), stdout=self.said, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip

    def asked(self, request: dict, most: float, stop: Event) -> str:
        """What it prints; it is ended where it takes more than so many processor seconds."""
        self.said.seek(0)
        self.said.truncate()
        budget = Budget.of(self.process.pid, most)
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(json.dumps(request).encode() + b"\n")
        while not self.answered():
            if stop.is_set():
                self.end()
                raise StoppedError
            if why := budget.spent():
                self.process.kill()
                self.process.wait()
                return f"it {why}"
        self.said.seek(0)
        return self.said.read()

    def answered(self) -> bool:
        """Whether it has answered, or has ended: waits a little for it."""
        try:
            ended = not self.socket.recv(1)
        except TimeoutError:
            return False
        except ConnectionError:
            ended = True
        if ended:
            self.process.wait()
        return True

    def end(self) -> None:
        """End it: politely, so that it takes its kernels along, and then at once."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.close()

    def close(self) -> None:
        self.process.wait()
        self.socket.close()
        self.said.close()


idle: list[Judge] = []


@contextlib.contextmanager
def one_judge() -> Iterator[Judge]:
    """A judge for one notebook."""
    judge = taken()
    try:
        yield judge
    finally:
        if judge.process.poll() is None:
            idle.append(judge)
        else:
            judge.close()


def taken() -> Judge:
    """A judge that has judged before, since to start one takes seconds; a new one if none waits."""
    while True:
        try:
            judge = idle.pop()
        except IndexError:
            return Judge()
        if judge.process.poll() is None:
            return judge
        judge.close()


@atexit.register
def end_all() -> None:
    """End the judges that wait for work."""
    while idle:
        idle.pop().end()


def reason_in(output: str) -> str:
    """The line of pytest's output that says why our own part failed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    faults = [line for line in lines if line.startswith(("E ", "pytest plugin exception", "Exit:"))]
    return (faults or lines or ["it said nothing"])[-1].removeprefix("E ").strip()
