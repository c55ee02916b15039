"""What a learner's code can do in the sandbox of this machine: run as a script, prints JSON.

The tests run it on several machines: as root, as a user, and where namespaces are refused.
"""

import json
import socket
import sys
import tempfile
from glob import glob
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from attncourse.course import PACKAGE  # noqa: E402
from judge.grading import sandbox  # noqa: E402
from judge.grading.kernel import CellError, LostKernelError, fresh_kernel  # noqa: E402
from judge.grading.server import KernelServer  # noqa: E402
from tests.grading.machines import SECRET  # noqa: E402
from tests.grading.submissions import SLUG  # noqa: E402

# each raises where it fails; {paths} are made by `targets`
ATTEMPTS = {
    "the tests' own answers": "assert [open(p).read() for p in glob({oracles!r})]",
    "the worked solutions": "assert [open(p).read() for p in glob({solutions!r})]",
    "the course's answers": "assert [open(p).read() for p in glob({answers!r})]",
    "the chapter's functions": "open({chapter!r}).read()",
    "another's notebook": "open({notebook!r}).read()",
    "the report": "assert glob('/tmp/attncourse_*/report.json')",
    "the connection of another's kernel": (
        "assert [p for p in glob('/tmp/attncourse_*/own/*/c') + glob('/learner/*/c')"
        " if os.path.dirname(p) != os.environ['HOME']]"
    ),
    "homes": "assert os.listdir('/home') or os.listdir('/root/.ssh')",
    "what runs on the machine": "assert os.listdir('/run')",
    "the grader's memory": (
        "assert [1 for p in glob('/proc/*/environ') if {secret!r} in open(p, 'rb').read()]"
    ),
    "a socket of the machine": "socket.socket(socket.AF_UNIX).connect({socket!r})",
    "the network": "socket.create_connection({network!r}, 2)",
    "the course on disk": "open({course!r}, 'a').write(' ')",
    "a mount": "assert not ctypes.CDLL(None).umount2({checks!r}, 2)",
    "a file outside": "open({outside!r}, 'w')",
    "another user": "os.setuid(0)",
    "a trace of the process that started it": (
        "assert not ctypes.CDLL(None).ptrace(16, os.getppid(), None, None)"
    ),
    "the open files of the process that started it": "os.listdir(f'/proc/{{os.getppid()}}/fd')",
    "the memory of the process that started it": "open(f'/proc/{{os.getppid()}}/mem', 'rb')",
    "the open files of process 1": "os.listdir('/proc/1/fd')",
    "the memory of process 1": "open('/proc/1/mem', 'rb')",
}
IMPORTS = "import ctypes, os, socket, sys, time\nfrom glob import glob\n"
FORKS = """
children = []
try:
    for _ in range(600):
        if (child := os.fork()) == 0:
            time.sleep(60)
            os._exit(0)
        children.append(child)
finally:
    for child in children:
        os.kill(child, 9)
"""
MEMORY = """
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(400 << 20)
        held[::4096] = bytes(len(held[::4096])).replace(b'\\0', b'x')
        time.sleep(60)
time.sleep(60)
"""
DISK = """
held = []
for place in range(20):
    one = open(f'{os.environ["HOME"]}/{place}', 'wb')
    one.write(b'x' * (60 << 20))
    one.flush()
    os.unlink(one.name)
    held.append(one)
time.sleep(5)
"""
MARK = "a_daemon_of_a_test"
DAEMON = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)', '{MARK}'])
    os._exit(0)
time.sleep(1)
"""
PLACES = """
def places():
    # Landlock lets "/" not be listed
    for top in ('/', os.path.dirname(os.environ['HOME']), '/tmp', '/var/tmp', '/dev/shm'):
        for at, folders, names in os.walk(top):
            folders[:] = [one for one in folders if os.path.join(at, one) not in ('/proc', '/sys')]
            yield at, names
"""
LEAVE = f"""{PLACES}
left = []
for place, _ in places():
    try:
        open(os.path.join(place, '{MARK}'), 'w').close()
        left.append(place)
    except OSError:
        pass
assert left
"""
FIND = f"""{PLACES}
assert [place for place, names in places() if '{MARK}' in names]
"""
GREEDY = {"processes": FORKS, "memory": MEMORY, "disk": DISK}


def targets(folder: Path, listening: socket.socket, server: socket.socket) -> dict:
    """What must not be reached: as open to all as can be."""
    folder.chmod(0o777)
    (folder / "solved.ipynb").write_text("{}")
    listening.bind(str(folder / "socket"))
    listening.listen()
    (folder / "socket").chmod(0o777)
    there = {
        "oracles": str(ROOT / "tests/checks/oracles/*.py"),
        "solutions": str(ROOT / "solutions/*.md"),
        "answers": str(PACKAGE / "checks/*.py"),
        "chapter": str(PACKAGE / f"{SLUG}.py"),
        "checks": str(PACKAGE / "checks").encode(),
        "course": str(PACKAGE / "cost.py"),
        "notebook": str(folder / "solved.ipynb"),
        "socket": str(folder / "socket"),
        "network": server.getsockname(),
        "outside": str(folder / "written"),
        "secret": SECRET.encode(),
    }
    # what is not there could not be read in any case
    assert all(glob(there[name]) for name in ("oracles", "solutions", "answers"))
    assert there["secret"] in Path("/proc/self/environ").read_bytes()
    return there


def ran(kernel, code: str, seconds: float = 20) -> str:
    """How it fails; nothing where it does not."""
    try:
        kernel.run(IMPORTS + code, kernel.budget(seconds))
    except (CellError, LostKernelError) as error:
        return str(error) or type(error).__name__
    return ""


def main() -> None:
    tier = sandbox.strongest()[0]
    server, neighbour = (KernelServer(SLUG, 2 << 30, tier) for _ in range(2))
    failed = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX) as listening,
        socket.create_server(("127.0.0.1", 0)) as there,
        fresh_kernel(neighbour, []),
    ):
        given = targets(Path(folder), listening, there)
        with fresh_kernel(server, []) as kernel:
            for name, code in ATTEMPTS.items():
                failed[name] = ran(kernel, code.format(**given))
        for name, code in GREEDY.items():
            with fresh_kernel(server, []) as kernel:
                failed[name] = ran(kernel, code)
        with fresh_kernel(server, []) as kernel:
            begun = not ran(kernel, DAEMON) and bool(daemons())
        with fresh_kernel(server, []) as kernel:
            left = not ran(kernel, LEAVE)
        with fresh_kernel(server, []) as kernel:
            failed["a file of the answer before"] = ran(kernel, FIND) if left else ""
        failed["a daemon"] = "it ended" if begun and not daemons() else ""
        with fresh_kernel(server, []) as kernel:
            works = not ran(kernel, "import torch; assert torch.ones(2).sum() == 2")
    for one in (server, neighbour):
        one.stop()
    print(json.dumps({"tier": tier, "works": works, "failed": failed}))


def daemons() -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["cmdline"]) if MARK in (one.info["cmdline"] or ())]


if __name__ == "__main__":
    main()
