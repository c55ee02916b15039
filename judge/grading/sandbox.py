"""The sandbox, in two tiers: bubblewrap where namespaces are allowed, else a user of its own.

In each, a learner's processes see the interpreter, the libraries and the course without answers,
write to one folder of their own, and reach no other process. A tier is used only where a process
inside it has tried all that must fail, and has failed; every report names it.
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
from functools import cache
from pathlib import Path

import psutil

import judge
from judge.course import course
from judge.grading import confine, proof
from judge.grading.budget import disk_of, memory_of, tree
from judge.grading.remedies import remedy
from judge.grading.temporary import Temporary, remove

JUDGE = Path(judge.__file__).parent
# these two may be relative to the folder in which the command was given
BWRAP = "".join(map(os.path.abspath, filter(None, [shutil.which("bwrap")])))
GIVEN_PATH = [
    os.path.abspath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one
]
BUBBLEWRAP, OWN_USER, NONE = "bubblewrap", "own user", "none"
NAMESPACES = (
    "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL",
)  # fmt: skip
# of the system: libraries, what finds them, what torch counts processors by
SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
    "/sys/devices/system/cpu",
)  # fmt: skip
# the folders that hold libraries, whatever else lies in them
LIBRARIES = ("site-packages", "dist-packages")
FACTS = ("/proc/cpuinfo", "/proc/meminfo")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# users of services that are started for a while, as systemd has them: nobody's by name
USERS = range(61184, 65520)
NOBODY = 65534
LEARNER, COURSE = "/learner", "/learner-course"
# what of the grader's environment a learner's process gets to see
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
# bytes in the folder that can be written, and in a file; processes and threads; open files. What
# lies in a socket is nobody's memory: all that can be open hold less than 4 GiB
DISK, FILE, PROCESSES, OPEN_FILES = 256 << 20, 64 << 20, 64, 128
PROVED_IN = 60
IPC_CREATE, IPC_REMOVE = 0o1000, 0


@cache
def strongest() -> tuple[str, str]:
    """The first tier that is proved here, and why those before it are not; "" where none is.

    Each that is not has a line, with the remedy where one is known.
    """
    return tried_in_turn()


def tried_in_turn() -> tuple[str, str]:
    if sys.platform != "linux":
        return "", with_remedy("they need Linux")
    faults = []
    for tier in (BUBBLEWRAP, OWN_USER):
        if not (fault := fault_of(tier)):
            return tier, "\n".join(faults)
        faults.append(f"{tier}: {with_remedy(fault)}")
    return "", "\n".join(faults)


def with_remedy(fault: str) -> str:
    return "; ".join(filter(None, (fault, remedy(fault))))


def fault_of(tier: str) -> str:
    """Why a tier may not be used here: what a process inside could do, or why it did not begin."""
    if tier == BUBBLEWRAP and not BWRAP:
        return "bwrap is not installed"
    if tier == OWN_USER and os.getuid():
        return "it needs root, which alone can make another user of a process"
    try:
        with ExitStack() as stack:
            sandbox = Sandbox(tier)
            stack.callback(sandbox.close)
            inside = {"own": sandbox.folder, "hidden": hidden(""), "needed": needed()}
            targets = json.dumps(outside(stack) | inside)
            done = subprocess.run(
                sandbox.command(sys.executable, "-I", proof.__file__, targets),
                env=sandbox.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PROVED_IN,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
    return ", ".join(json.loads(done.stdout))


def outside(stack: ExitStack) -> dict:
    """What a process in a sandbox must not reach, as open to all as can be."""
    folder = stack.enter_context(Temporary())
    folder.chmod(0o755)
    anyones = folder / "anyones"
    anyones.mkdir()
    anyones.chmod(0o777)
    file = folder / "file"
    file.write_text("another's work")
    abstract = f"judge-{random.getrandbits(64):x}"
    for address in (str(folder / "socket"), f"\0{abstract}"):
        one = stack.enter_context(socket.socket(socket.AF_UNIX))
        one.bind(address)
        one.listen()
    datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    datagrams.bind(str(folder / "datagrams"))
    for name in ("socket", "datagrams"):
        (folder / name).chmod(0o777)
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    victim = subprocess.Popen(["sleep", str(PROVED_IN)])
    stack.callback(victim.wait)
    stack.callback(victim.kill)
    return {
        "file": str(file),
        "folders": [str(anyones), *map(str, packages()), "/", "/etc", "/usr", "/var/tmp"],
        "socket": str(folder / "socket"),
        "abstract": abstract,
        "datagrams": str(folder / "datagrams"),
        "segment": shared_memory(stack),
        "network": server.getsockname(),
        "process": victim.pid,
    }


def shared_memory(stack: ExitStack) -> int:
    """The number of a piece of memory that whoever is on the machine may read and write."""
    segment = confine.called(confine.libc.shmget(0, 1, IPC_CREATE | 0o666))
    stack.callback(confine.libc.shmctl, segment, IPC_REMOVE, None)
    return segment


class Sandbox:
    """A place for the processes of one notebook; with the tier `none` they are only limited."""

    def __init__(self, tier: str, chapter: str = "", memory: int = 0):
        self.tier, self.chapter = tier, chapter
        self.root = tier != NONE and not os.getuid()
        self.memory = memory
        self.limits = {"RLIMIT_FSIZE": FILE, "RLIMIT_CORE": 0}
        if memory:
            self.limits["RLIMIT_AS"] = memory
        if tier != NONE:
            self.limits |= {"RLIMIT_NPROC": PROCESSES, "RLIMIT_NOFILE": OPEN_FILES}
        self.uid, self.reserved = unused_user() if self.root else (os.getuid(), None)
        # in bubblewrap it is in memory
        self.temporary = None if tier == BUBBLEWRAP else Temporary()
        self.made = self.temporary.path if self.temporary else None
        self.folder, self.course = LEARNER, COURSE
        if self.made:
            self.made.chmod(0o755)
            self.folder, self.course = str(self.made / "own"), str(self.made / "course")
            self.empty()
            # a folder that may not be listed is none to import from
            os.mkdir(self.course)
            for package in packages():
                os.symlink(package, f"{self.course}/{package.name}")

    def empty(self) -> None:
        """Make its folder anew: what was written there is not what the next process begins with."""
        # in bubblewrap each process that is started from outside has a folder of its own
        if self.made:
            remove(Path(self.folder))
            os.mkdir(self.folder, 0o700)
            os.chown(self.folder, self.uid, self.uid)

    @property
    def environment(self) -> dict[str, str]:
        """What a learner's process gets to see of the environment; the course is imported first."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        path = os.pathsep.join([self.course, *GIVEN_PATH])
        # modules below HOME, which a learner's code writes to, run before anything is watched
        return kept | {"PYTHONPATH": path, "PYTHONNOUSERSITE": "1"}

    @property
    def alone(self) -> str:
        """How a process inside knows that all it may kill is inside: by its user, or its number."""
        return str(self.uid) if self.root else "process" if self.tier == BUBBLEWRAP else ""

    def command(self, *command: str) -> list[str]:
        """What to run so that this command runs inside."""
        settings: dict = {"limits": self.limits}
        if self.tier != NONE:
            settings |= {"sealed": True, "landlock": self.landlock()}
        if self.root:
            settings["uid"] = self.uid
        confined = [sys.executable, "-I", confine.__file__, json.dumps(settings), *command]
        before = bubblewrap(self.root, self.chapter) if self.tier == BUBBLEWRAP else []
        return before + confined

    def landlock(self) -> dict:
        """What may be read and written by Landlock, and whether the tier rests on it."""
        write = [self.folder, "/dev/null"]
        if self.tier == BUBBLEWRAP:
            # there is nothing to read but what may be; processes outside are closed once more
            return {"read": ["/"], "hidden": [], "write": write, "must": False}
        read = [self.course, *map(os.path.realpath, shown()), *DEVICES, *FACTS]
        return {"read": read, "hidden": hidden(self.chapter), "write": write, "must": True}

    def seen_from_outside(self, path: str, pid: int) -> str:
        """A path inside, as the grader reaches it while the process that it started runs."""
        if self.tier != BUBBLEWRAP:
            return path
        (inside,) = psutil.Process(pid).children()
        return f"/proc/{inside.pid}/root{path}"

    def exceeds(self, pid: int) -> str:
        """What all its processes together take too much of; the grader started the first."""
        processes = tree(pid)
        if self.memory and sum(map(memory_of, processes)) > self.memory:
            return f"it takes more memory than {self.memory / 2**30:g} GiB"
        if len(processes) > PROCESSES:
            return f"it starts more than {PROCESSES} processes"
        if self.made and disk_of(Path(self.folder), processes) > DISK:
            return f"it writes more than {DISK >> 20} MiB"
        return ""

    def end(self) -> None:
        """End what is left of the processes: whatever that user has."""
        if self.tier == OWN_USER:
            subprocess.run(
                ["sh", "-c", "kill -9 -1"], user=self.uid, group=self.uid, extra_groups=()
            )

    def close(self) -> None:
        self.end()
        if self.temporary:
            self.temporary.close()
        if self.reserved:
            self.reserved.close()


def unused_user() -> tuple[int, socket.socket]:
    """A user whom nobody is, and who is not given out again until the socket is closed."""
    busy = set()
    for process in psutil.process_iter():
        try:
            busy |= set(process.uids())
        except psutil.Error:
            continue
    for uid in random.SystemRandom().sample(USERS, len(USERS)):
        try:
            pwd.getpwuid(uid)
        except KeyError:
            reserved = socket.socket(socket.AF_UNIX)
            try:
                # names of this kind are everyone's on a machine, and go with whoever has them
                reserved.bind(f"\0judge-user-{uid}")
            except OSError:
                reserved.close()
                continue
            if uid not in busy:
                return uid, reserved
            reserved.close()
    raise OSError("no user is left to run answers as")


def bubblewrap(root: bool, chapter: str) -> list[str]:
    """What to put before a command: its own world, of which one folder is writable."""
    # the root of a user namespace made by root would own root's files: confine changes the user
    who = (
        ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        if root
        else ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    )
    # process 1 is bubblewrap's own, which has the judge's pipes; if not root's, it is the learner's
    binds = ["--proc", "/proc", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", "--dev", "/dev"]
    binds += ["--perms", "1777", "--size", str(DISK), "--tmpfs", LEARNER]
    # those that bubblewrap makes by itself are root's alone
    for folder in sorted({str(one) for path in shown() for one in Path(path).parents} - {"/"}):
        binds += ["--perms", "755", "--dir", folder]
    for path in shown():
        real = os.path.realpath(path)
        binds += ["--ro-bind", path, path] if path == real else ["--symlink", real, path]
    binds += ["--perms", "755", "--dir", COURSE]
    for package in packages():
        binds += ["--symlink", str(package), f"{COURSE}/{package.name}"]
    for path in hidden(chapter):
        binds += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        binds += ["--remount-ro", path]
    binds += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", LEARNER]
    return [BWRAP, *NAMESPACES, *who, *binds]


def packages() -> list[Path]:
    """The folders of the course's package and of the judge's: the checks' lie in the first."""
    return [course().folder, JUDGE]


def shown() -> list[str]:
    """What a learner's process needs to read: system, interpreter, libraries, the course."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    found += map(str, packages())
    found += [path for path in sys.path if Path(path).name in LIBRARIES]
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    found += filter(os.path.isdir, [*GIVEN_PATH, *libraries])
    # beside the packages may lie tests, solutions, and what others have handed in
    closed = {copy.parent.resolve() for copy in copies() if copy.parent.name not in LIBRARIES}
    found = [one for one in found if Path(one).resolve() not in closed]
    paths = {*SYSTEM, *map(os.path.abspath, found)}
    paths = {path for path in paths | set(map(os.path.realpath, paths)) if os.path.exists(path)}
    return [path for path in sorted(paths) if not any(path.startswith(f"{one}/") for one in paths)]


def copies() -> list[Path]:
    """The packages, and the folders on Python's path that have the name of one."""
    path = [*sys.path, *GIVEN_PATH]
    on_path = (Path(one, package.name) for package in packages() for one in path)
    return [*packages(), *filter(Path.is_dir, on_path)]


def hidden(chapter: str) -> list[str]:
    """Where in the course the answers to a chapter's exercises lie; of other copies, all."""
    paths = []
    for name in course().hidden(chapter):
        module = course().folder.joinpath(*name.split(".")[1:])
        # a module may be a folder
        paths += [module, module.with_suffix(".py"), module.parent / "__pycache__"]
    found = {os.path.realpath(path) for path in paths if path.exists()}
    others = {*map(os.path.realpath, copies())} - {*map(os.path.realpath, packages())}
    seen = tuple(f"{path}/" for path in shown())
    return sorted(found | {other for other in others if other.startswith(seen)})


def needed() -> list[str]:
    """Files that an answer cannot do without, one of the course and one of its libraries."""
    return [str(course().folder / "__init__.py"), psutil.__file__]
