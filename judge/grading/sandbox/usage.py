"""What a process and all below it use: processor time, memory and disk, as the system counts."""

import contextlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

import psutil

# where the kernel says what a process holds in memory, and in which rows
MEMORY = {"smaps_rollup": ("Pss_Anon:", "Pss_Shmem:"), "status": ("RssAnon:", "RssShmem:")}


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
