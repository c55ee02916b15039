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
# seconds between two looks at the memory
LOOK = 0.5


class Cost(NamedTuple):
    """Seconds on the clock, seconds of the processor, and the most MiB held at once."""

    wall: float
    processor: float
    peak: float


def measured(commands: list[list], folders: list[Path], environment: dict[str, str]) -> Cost:
    """What commands take that run side by side, each in its folder, where `said` has its words.

    The memory is looked at twice a second. Pages that processes share count once.
    """
    # what a killed process leaves behind becomes ours, and its seconds with it
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    before, begun, looked, peak = seconds_of_children(), time.monotonic(), 0.0, 0
    running = [started(*one, environment) for one in zip(commands, folders, strict=True)]
    while any(one.poll() is None for one in running):
        if time.monotonic() > looked + LOOK:
            peak = max(peak, sum(map(proportional, psutil.Process().children(recursive=True))))
            looked = time.monotonic()
        time.sleep(0.02)
    wall = time.monotonic() - begun
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return Cost(wall, seconds_of_children() - before, peak / 2**20)


def started(command: list, folder: Path, environment: dict[str, str]) -> subprocess.Popen:
    with (folder / "said").open("w") as said:
        return subprocess.Popen(
            [str(part) for part in command], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def proportional(process: psutil.Process) -> int:
    """The bytes of a process, of shared pages its part."""
    try:
        return process.memory_full_info().pss
    except psutil.Error:
        return 0
