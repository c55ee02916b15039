"""The process that starts kernels: it loads torch once, each kernel is a copy of it."""

import contextlib
import json
import os
import secrets
import stat
import subprocess
import sys
import time
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO

import psutil

from judge.call import driver, fake_device, outcome, record, torch_internals, values, watch
from judge.course import course
from judge.grading import bootstrap
from judge.grading.budget import STARTUP, STOP, Budget, has_ended, tree
from judge.grading.sandbox import Sandbox

# so often the processes that an answer has left are killed, before all are: it may start others
ROUNDS = 200
MOST_FILES = 1000
# in the order in which they import each other
DRIVER = {
    module.__name__.rpartition(".")[2]: Path(str(module.__file__)).read_text(encoding="utf-8")
    for module in (torch_internals, fake_device, outcome, watch, values, record, driver)
}


class ServerError(Exception):
    """No kernel could be made ready, by no fault of an answer."""


class KernelServer:
    """Starts one kernel at a time; is started again itself where a kernel has ended it."""

    def __init__(self, chapter: str, memory: int, tier: str):
        self.sandbox = Sandbox(tier, chapter, memory)
        self.environment = self.sandbox.environment | {
            "HOME": self.sandbox.folder,
            "TMPDIR": self.sandbox.folder,
            "USER": "learner",
            "MPLBACKEND": "agg",
            "OMP_NUM_THREADS": "1",
            "PYTHONSAFEPATH": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "JUDGE_HIDDEN": ",".join((*course().hidden(chapter), "judge.grading")),
            "JUDGE_SILENT": course().session,
            "JUDGE_FOLDER": self.sandbox.folder,
            "JUDGE_ALONE": self.sandbox.alone,
        }
        self.command = self.sandbox.command(sys.executable, bootstrap.__file__)
        self.process: subprocess.Popen | None = None
        # what is said when the kernel ends by itself, and whether it was
        self.end, self.ended = b"", False

    def begin(self) -> subprocess.Popen:
        """Start the process itself, and wait until it has loaded torch."""
        self.kill()
        self.sandbox.empty()
        self.process = subprocess.Popen(
            self.command, env=self.environment, cwd=self.sandbox.made, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.lines: Queue[bytes] = Queue(100)
        Thread(target=pass_on, args=(self.process.stdout, self.lines), daemon=True).start()
        self.ask(self.process, DRIVER, STARTUP)
        return self.process

    def start(self) -> tuple[int, str]:
        """Start a kernel: the process below which it runs, and inside, the socket to call it at."""
        again = self.process is None or self.process.poll() is not None or not bootstrap.COPIES
        process = self.begin() if again or self.process is None else self.process
        # fresh, since it is on Python's path
        folder = f"{self.sandbox.folder}/{secrets.token_hex(4)}"
        word = self.ask(process, folder, STARTUP)[0]
        self.end, self.ended = word + b" ended", False
        return process.pid, f"{folder}/{bootstrap.SOCKET}"

    def kernel_ended(self) -> bool:
        """Whether the kernel has ended, or the process that it is a copy of."""
        while not self.lines.empty():
            self.ended = self.lines.get() == self.end or self.ended
        return self.ended or self.process is None or self.process.poll() is not None

    def started(self) -> int:
        """How many processes and threads there have been, where that can be known; else 0."""
        if self.process is None or not bootstrap.COPIES:
            return 0
        try:
            return int(self.ask(self.process, bootstrap.COUNT, STOP)[1])
        except ServerError:
            # a kernel may have stopped it: both are ended
            self.kill()
            return -1

    def processes(self) -> set[psutil.Process]:
        """All that run in the sandbox now."""
        return set(tree(self.process.pid)) if self.process else set()

    def end_all_but(self, spared: set[psutil.Process]) -> None:
        """End what runs in the sandbox, but for these; all of it, where that has no end."""
        for _ in range(ROUNDS):
            if not (others := self.processes() - spared):
                return
            for one in others:
                with contextlib.suppress(psutil.Error):
                    one.kill()
            if all(map(has_ended, others)):
                return
            time.sleep(0.002)
        self.kill()

    def files(self) -> dict[str, tuple] | None:
        """The state of each file in the sandbox; None where there are too many to look at."""
        if self.process is None:
            return None
        top, found = self.sandbox.seen_from_outside(self.sandbox.folder, self.process.pid), {}
        for folder, folders, names in os.walk(top):
            found |= {os.path.join(folder, name): () for name in folders}
            for name in names:
                with contextlib.suppress(OSError):
                    one = os.lstat(path := os.path.join(folder, name))
                    if not stat.S_ISSOCK(one.st_mode):
                        found[path] = one.st_ino, one.st_size, one.st_ctime_ns
                if len(found) > MOST_FILES:
                    return None
        return found

    def stop_kernel(self) -> None:
        """End the kernel and whatever it has started."""
        try:
            if self.process and bootstrap.COPIES:
                self.ask(self.process, None, STOP)
        except ServerError:
            self.kill()

    def ask(
        self, process: subprocess.Popen, request: dict | str | None, seconds: float
    ) -> list[bytes]:
        """Send a request, and read up to the line that answers it: its word, and the answer."""
        budget = Budget.of(process.pid, seconds)
        # what else is said, now or before, is not of the process that is asked
        word = secrets.token_hex(8)
        try:
            assert process.stdin
            process.stdin.write(json.dumps([word, request]).encode() + b"\n")
        except OSError as error:
            raise ServerError("the process that starts kernels has ended") from error
        while True:
            try:
                line = self.lines.get(timeout=0.05)
                self.ended = self.ended or line == self.end
                if line.startswith(word.encode()):
                    return line.split()
            except Empty:
                if process.poll() is not None:
                    raise ServerError("the process that starts kernels has ended") from None
            if why := budget.spent():
                raise ServerError(f"the process that starts kernels does not answer: it {why}")

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream:
                    stream.close()
            self.process = None
        self.sandbox.end()

    def stop(self) -> None:
        self.kill()
        self.sandbox.close()


def pass_on(stream: IO[bytes], lines: Queue) -> None:
    """Put what is said into the queue, line by line, none of them long."""
    while line := stream.readline(100):
        lines.put(line.strip())
