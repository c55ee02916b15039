"""How long to wait for a process: in seconds of its own work, since a clock also counts others'.

One that does not come back either works, or waits for something of its own choice (a sleep, a
lock), or could run and is not let. Each has its own end; only the last is the machine's fault.
"""

import contextlib
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil

# processor seconds: to start a kernel, for what an answer imports, for the answer itself, to stop
STARTUP = 60
IMPORTS = 60
EXERCISE = 30
STOP = 5
# of the judge itself, for one exercise
JUDGING = 120
# a busy machine gets this many times as long as an answer
BUSY_FACTOR = 20
# seconds between two looks, and the most that one of them counts: whoever looks may be kept waiting
LOOK = 0.2
LONGEST_LOOK = 1.0

# where the kernel says what a process holds in memory, and in which rows
MEMORY = {"smaps_rollup": ("Pss_Anon:", "Pss_Shmem:"), "status": ("RssAnon:", "RssShmem:")}

WORKS = "works without end"
WAITS = "waits without end"
BUSY = "is kept waiting for a processor"


class Used(NamedTuple):
    """What a process and those that it has started have done since they began."""

    work: float  # processor seconds
    delay: float  # seconds in which a thread could have run and was not let
    asleep: bool  # whether no thread runs, could run or waits for a disk
    processes: frozenset[int] = frozenset()


def used(pid: int) -> Used:
    """What the process of that number and all below it have used."""
    work = delay = 0.0
    processes, threads = tree(pid), []
    for process in processes:
        # any of them may end meanwhile
        with contextlib.suppress(psutil.Error, OSError):
            # its own, and that of its children which have ended
            work += sum(process.cpu_times()[:4])
            for thread in Path(f"/proc/{process.pid}/task").iterdir():
                threads.append(age_and_state(thread))
                delay += waited(thread / "schedstat")
    numbers = frozenset(process.pid for process in processes)
    return Used(work, delay, asleep(threads), numbers)


def age_and_state(thread: Path) -> tuple[int, int, str]:
    """When a thread began, its number, and the letter of its state."""
    state, *rest = (thread / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return int(rest[18]), int(thread.name), state


def asleep(threads: list[tuple[int, int, str]]) -> bool:
    """Whether no thread runs, could run or waits for a disk, where that is known.

    One that nothing interrupts (D) waits for a disk, or for what it has itself started, as after a
    vfork: then a younger thread is there.
    """
    states = [state for *_, state in sorted(threads)]
    return Path("/proc/self/task").is_dir() and "R" not in states and "D" not in states[-1:]


def tree(pid: int) -> list[psutil.Process]:
    """The process of that number and all below it."""
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    return []


def has_ended(process: psutil.Process | None) -> bool:
    """Whether a process, if it is known, has ended; what is left of it may still be there."""
    try:
        return process is not None and process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def memory_of(process: psutil.Process) -> int:
    """The bytes that a process holds and no file does; 0 where the system cannot say.

    What it shares with its copies is divided among them, where the system lets that be read.
    """
    for file, held in MEMORY.items():
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{process.pid}/{file}").read_text("utf-8", "replace")
            rows = (line.split() for line in text.splitlines())
            return sum(int(row[1]) << 10 for row in rows if row[0] in held)
    return 0


def disk_of(folder: Path, processes: list[psutil.Process]) -> int:
    """The bytes of all files in a folder, and of those without a name that are still open."""
    found = [path for path, _, _ in os.walk(folder)]
    places = [os.path.join(path, name) for path in found for name in os.listdir(path)]
    for process in processes:
        with contextlib.suppress(OSError):
            handles = f"/proc/{process.pid}/fd"
            places += [os.path.join(handles, name) for name in os.listdir(handles)]
    sizes = {}
    for place in places:
        with contextlib.suppress(OSError):
            named = not place.startswith("/proc/")
            one = os.stat(place, follow_symlinks=not named)
            if stat.S_ISREG(one.st_mode) and (named or not one.st_nlink):
                sizes[one.st_dev, one.st_ino] = one.st_blocks * 512
    return sum(sizes.values())


def waited(schedstat: Path) -> float:
    """For how many seconds a thread has waited for a processor; 0 where the system cannot say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(schedstat.read_text().split()[1]) / 1e9
    return 0.0


class Budget:
    """What is left for a process to use, over one wait for it or several."""

    def __init__(
        self,
        seconds: float,
        measure: Callable[[], Used],
        clock: Callable = time.monotonic,
        exceeds: Callable[[], str] = str,
    ):
        self.seconds, self.measure, self.clock, self.exceeds = seconds, measure, clock, exceeds
        self.worked = self.slept = self.stalled = 0.0
        self.last: tuple[float, Used] | None = None

    @classmethod
    def of(cls, pid: int, seconds: float, exceeds: Callable[[], str] = str) -> "Budget":
        return cls(seconds, partial(used, pid), exceeds=exceeds)

    def begin(self) -> None:
        """Begin to wait: what happened since the last wait is not counted."""
        self.last = None

    def spent(self) -> str:
        """WORKS, WAITS or BUSY, once it has done so for too long, or what it takes too much of."""
        now = self.clock()
        if self.last is None:
            self.last = now, self.measure()
            return ""
        then, before = self.last
        if now - then < LOOK:
            return ""
        after = self.measure()
        self.last = now, after
        passed = min(now - then, LONGEST_LOOK)
        worked, delay = max(0, after.work - before.work), max(0, after.delay - before.delay)
        if before.processes != after.processes and not after.asleep:
            # a process that nobody waits for takes the count of its work along when it ends
            worked = max(worked, passed - delay)
        self.worked += worked
        # a thread that now sleeps may have stood in line before; one in line has no delay as yet
        if after.asleep and worked + delay < passed / 2:
            self.slept += passed
        else:
            self.stalled += max(0, passed - worked)
        if why := self.exceeds():
            return why
        if self.worked > self.seconds:
            return WORKS
        if self.slept > self.seconds:
            return WAITS
        return BUSY if self.stalled > BUSY_FACTOR * self.seconds else ""


class OverworkedError(BaseException):
    """Raised in a process that works for too long itself; no `except Exception` holds it."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OverworkedError where this process needs more processor seconds; in the main thread."""

    def give_up(number, frame):
        raise OverworkedError(f"more than {seconds:g} processor seconds")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
