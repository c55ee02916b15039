"""Folders in the machine's temporary folder; what a killed run leaves, a later one removes.

Whoever makes one holds a lock on it, which the system takes back when that process ends, in
whatever way: so a folder that nobody has locked is nobody's.
"""

import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

# short, since the path of a socket below it may have 107 bytes
PREFIX = "judge_"


class TemporaryFolder:
    """A new folder, which is removed when it is closed."""

    def __init__(self):
        lock = None
        while lock is None:
            # another run may have removed it before it was locked
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            lock = lock_folder(self.path)
        self.lock = lock

    def close(self) -> None:
        remove(self.path)
        os.close(self.lock)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_) -> None:
        self.close()


def lock_folder(path: Path) -> int | None:
    """The folder, open, and locked until it is closed; None where another process has locked it."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(folder), os.stat(path)):
            return folder
    except OSError:
        pass
    os.close(folder)
    return None


def remove(path: Path) -> None:
    # however deep it is
    subprocess.run(["rm", "-rf", str(path)], stderr=subprocess.DEVNULL)


def remove_abandoned() -> None:
    """Remove the folders of runs that were killed, where they were this user's."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if (lock := lock_folder(path)) is not None:
            if os.fstat(lock).st_uid == os.getuid():
                remove(path)
            os.close(lock)
