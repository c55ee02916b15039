"""Time and memory of commands, with all the processes that they start (Linux only)."""

import contextlib
import ctypes
import os
import resource
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import psutil

SUBREAPER = 36
# seconds between two looks at the seconds of the processor, and such looks between two at memory
LOOK, MEMORY = 0.1, 5


class Cost(NamedTuple):
    """Seconds on the clock, seconds of the processor, and the most MiB held at once."""

    wall: float
    processor: float
    peak: float


def measured(commands: list[list], folders: list[Path], environment: dict[str, str]) -> Cost:
    """What commands take that run side by side, each in its folder, where `said` has its words."""
    # what a killed process leaves behind becomes ours
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    begun, below = time.monotonic(), Below()
    running = [started(*one, environment) for one in zip(commands, folders, strict=True)]
    for one in running:
        while one.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(LOOK)
            below.look()
    wall = time.monotonic() - begun
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    below.look()
    return Cost(wall, below.used + below.lost - below.before, below.peak / 2**20)


class Below:
    """What all processes below this one have used.

    A system adds the seconds of a process to those of its parent when the parent asks for its end,
    and at no other time. So those of a killed namespace are lost, where we do not add them.
    """

    def __init__(self):
        self.before = self.used = seconds()
        self.lost, self.peak, self.looks = 0.0, 0, 0

    def look(self) -> None:
        used = seconds()
        if used < self.used:
            # one that ended between two reads is in neither: then it is with its parent now
            used = max(used, seconds())
        self.lost += max(0.0, self.used - used)
        self.used = used
        if self.looks % MEMORY == 0:
            self.peak = max(self.peak, sum(proportional(one) for one in below()))
        self.looks += 1


def below() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def seconds() -> float:
    """Of the processor, of all processes below this one that have ended or still run."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(map(seconds_of, below()))


def seconds_of(process: psutil.Process) -> float:
    try:
        return sum(process.cpu_times()[:4])
    except psutil.Error:
        return 0.0


def started(command: list, folder: Path, environment: dict[str, str]) -> subprocess.Popen:
    with (folder / "said").open("w") as said:
        return subprocess.Popen(
            [str(part) for part in command], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip


def proportional(process: psutil.Process) -> int:
    """The bytes of a process, of shared pages its part."""
    try:
        return process.memory_full_info().pss
    except psutil.Error:
        return 0
