"""The judges: each judges one notebook at a time, and waits for the next.

They are copies of a process that has loaded torch once, where a process may be copied.
"""

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from threading import Event, Lock

import psutil

from judge.grading.kernel.budget import LOOK, Budget
from judge.grading.kernel.fork_server import CAN_FORK
from judge.grading.sandbox.paths import SITE_PACKAGES, packages
from judge.grading.sandbox.temporary import remove_abandoned

# seconds that a judge has to end what it has started
GRACE = 0.5


class StoppedError(Exception):
    """Grading was told to stop before the file was judged."""


def places() -> list[str]:
    """Where the course and the judge are imported from, if not from where libraries are."""
    folders = dict.fromkeys(package.parent for package in packages())
    return [str(one) for one in folders if one.name not in SITE_PACKAGES]


class Template:
    """What judges are copies of, or the only judge; see `judge.grading.judging.process`."""

    def __init__(self):
        remove_abandoned()
        # nothing is imported from where it begins, which may be the course's own folder
        path = [*places(), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {
            "PYTHONSAFEPATH": "1",
            "PYTHONPATH": os.pathsep.join(path),
        }
        self.said = tempfile.TemporaryFile("w+", errors="replace")
        self.socket, its = socket.socketpair()
        with its:
            # Ctrl-C is for us, who then end it
            self.process = subprocess.Popen(
                [sys.executable, "-m", "judge.grading.judging.process"],
                env=environment,
                stdin=its.fileno(),
                stdout=self.said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def judge(self, *streams: int) -> psutil.Process:
        """A judge that is asked at the first stream and prints to the second."""
        with contextlib.suppress(ConnectionError):
            socket.send_fds(self.socket, [b"\n"], streams)
            if number := self.socket.recv(20):
                return psutil.Process(int(number))
        self.process.wait()
        self.said.seek(0)
        raise OSError(f"no judge could be started: {reason_in(self.said.read())}")

    def end(self) -> None:
        self.socket.close()
        self.process.wait()
        self.said.close()


class Judge:
    """A process that judges notebooks one after another."""

    def __init__(self):
        self.said = tempfile.TemporaryFile("w+", errors="replace")
        self.socket, its = socket.socketpair()
        self.socket.settimeout(LOOK)
        try:
            with its:
                self.process = begun(its.fileno(), self.said.fileno())
        except OSError:
            self.socket.close()
            self.said.close()
            raise

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
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(GRACE)
            except psutil.TimeoutExpired:
                self.process.kill()
        self.close()

    def close(self) -> None:
        self.process.wait()
        self.socket.close()
        self.said.close()


idle: list[Judge] = []
templates: list[Template] = []
one_at_a_time = Lock()


def begun(*streams: int) -> psutil.Process:
    """A new judge, of the template that there is, or of a new one."""
    with one_at_a_time:
        if templates and templates[0].process.poll() is not None:
            templates.pop().end()
        if not templates:
            templates.append(Template())
        judge = templates[0].judge(*streams)
        if not CAN_FORK:
            templates.clear()
        return judge


@contextlib.contextmanager
def one_judge() -> Iterator[Judge]:
    """A judge for one notebook."""
    judge = taken()
    try:
        yield judge
    finally:
        if judge.process.is_running():
            idle.append(judge)
        else:
            judge.close()


def taken() -> Judge:
    """A judge that has judged before, since its kernels are warm; a new one if none waits."""
    while True:
        try:
            judge = idle.pop()
        except IndexError:
            return Judge()
        if judge.process.is_running():
            return judge
        judge.close()


@atexit.register
def end_all() -> None:
    """End the judges that wait for work, and what they are copies of."""
    while idle:
        idle.pop().end()
    while templates:
        templates.pop().end()


def reason_in(output: str) -> str:
    """The line of a judge's output that says why our own part failed: a traceback's last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return (lines or ["its process has ended"])[-1]
