"""The process that starts kernels: it loads torch once, each kernel is a fork of it."""

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
from judge.grading.kernel import fork_server
from judge.grading.kernel.budget import STARTUP, STOP, Budget
from judge.grading.sandbox.tiers import Sandbox, Tier
from judge.grading.sandbox.usage import has_ended, tree

# so often the processes that an answer has left are killed, before all are: it may start others
MAX_KILLS = 200
MAX_FILES = 1000
# in the order in which they import each other
DRIVER = {
    module.__name__.rpartition(".")[2]: Path(str(module.__file__)).read_text(encoding="utf-8")
    for module in (torch_internals, fake_device, outcome, watch, values, record, driver)
}


class ServerError(Exception):
    """No kernel could be made ready, by no fault of an answer."""


class KernelServer:
    """Starts one kernel at a time; is started again itself where a kernel has ended it."""

    def __init__(self, chapter: str, memory: int, tier: Tier):
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
            "JUDGE_SANDBOXED": "" if tier == Tier.NONE else "1",
        }
        self.command = self.sandbox.command(sys.executable, fork_server.__file__)
        self.process: subprocess.Popen | None = None
        # the line that says that the kernel has ended by itself, and whether it has come
        self.ended_line, self.ended = b"", False

    def start(self) -> subprocess.Popen:
        """Start the process itself, and wait until it has loaded torch."""
        self.kill()
        self.sandbox.empty()
        self.process = subprocess.Popen(
            self.command, env=self.environment, bufsize=0,
            cwd=self.sandbox.temporary.path if self.sandbox.temporary else None,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.lines: Queue[bytes] = Queue(100)
        Thread(target=queue_lines, args=(self.process.stdout, self.lines), daemon=True).start()
        self.request(self.process, DRIVER, STARTUP)
        return self.process

    def start_kernel(self) -> tuple[int, str]:
        """Start a kernel: the pid of the process above it, and the path of its socket inside."""
        process = self.process
        if process is None or process.poll() is not None or not fork_server.CAN_FORK:
            process = self.start()
        # fresh, since it is on Python's path
        folder = f"{self.sandbox.folder}/{secrets.token_hex(4)}"
        token = self.request(process, folder, STARTUP)[0]
        self.ended_line, self.ended = token + b" ended", False
        return process.pid, f"{folder}/{fork_server.SOCKET}"

    def kernel_ended(self) -> bool:
        """Whether the kernel has ended, or the process that it is a fork of."""
        while not self.lines.empty():
            self.ended = self.lines.get() == self.ended_line or self.ended
        return self.ended or self.process is None or self.process.poll() is not None

    def processes(self) -> set[psutil.Process]:
        """The processes in the sandbox now."""
        return set(tree(self.process.pid)) if self.process else set()

    def kill_all_but(self, spared: set[psutil.Process]) -> None:
        """Kill the processes in the sandbox, but for these; all, where others come without end."""
        for _ in range(MAX_KILLS):
            if not (others := self.processes() - spared):
                return
            for process in others:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            if all(map(has_ended, others)):
                return
            time.sleep(0.002)
        self.kill()

    def file_states(self) -> dict[str, tuple] | None:
        """What identifies the content of each file in the sandbox; None if they are too many."""
        if self.process is None:
            return None
        top, states = self.sandbox.path_from_outside(self.sandbox.folder, self.process.pid), {}
        for folder, folders, names in os.walk(top):
            states |= {os.path.join(folder, name): () for name in folders}
            for name in names:
                with contextlib.suppress(OSError):
                    status = os.lstat(path := os.path.join(folder, name))
                    if not stat.S_ISSOCK(status.st_mode):
                        states[path] = status.st_ino, status.st_size, status.st_ctime_ns
                if len(states) > MAX_FILES:
                    return None
        return states

    def stop_kernel(self) -> None:
        """End the kernel and whatever it has started."""
        try:
            if self.process and fork_server.CAN_FORK:
                self.request(self.process, None, STOP)
        except ServerError:
            self.kill()

    def request(
        self, process: subprocess.Popen, request: dict | str | None, seconds: float
    ) -> list[bytes]:
        """Send a request, and read up to the line that replies to it: its token, and the reply."""
        budget = Budget.of(process.pid, seconds)
        # a line without it, now or before, is not of the process that is asked
        token = secrets.token_hex(8)
        try:
            assert process.stdin
            process.stdin.write(json.dumps([token, request]).encode() + b"\n")
        except OSError as error:
            raise ServerError("the process that starts kernels has ended") from error
        while True:
            try:
                line = self.lines.get(timeout=0.05)
                self.ended = self.ended or line == self.ended_line
                if line.startswith(token.encode()):
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


def queue_lines(stream: IO[bytes], lines: Queue) -> None:
    """Put the lines of a stream into the queue, in parts of at most 100 bytes."""
    # whoever ends the process may close the stream first
    with contextlib.suppress(OSError, ValueError):
        while line := stream.readline(100):
            lines.put(line.strip())
