"""What a learner's code can do in the sandbox of this machine: run as a script, prints JSON.

The tests run it on several machines: as root, as a user, and where namespaces are refused.
"""

import json
import sys
import tempfile
from contextlib import ExitStack
from glob import glob
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from attncourse.course import PACKAGE  # noqa: E402
from judge.grading import proof, sandbox  # noqa: E402
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
    # by the functions with which the proof tries it
    "a world of its own": "assert attempts({proof!r})['makes_a_world']()",
    "a datagram socket of the machine": "assert attempts({proof!r})['sends']({datagrams!r})",
    "memory that the machine shares": "assert attempts({proof!r})['shares']({segment!r})",
}
IMPORTS = "import ctypes, os, socket, sys, time\nfrom glob import glob\n"
ATTEMPTED = """
def attempts(source):
    exec(source, space := {'__name__': 'proof'})
    return space

"""
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
# so soon that nothing is cleared away
KILL = "os.kill(os.getppid(), 9)"
# what an answer may do, and does, by all the ways of making a process, a thread and a pair of
# sockets
WORK = """
import asyncio, multiprocessing, subprocess, threading
import torch

def add(numbers):
    numbers.append(2)

numbers = []
thread = threading.Thread(target=add, args=(numbers,))
thread.start()
thread.join()
assert numbers == [2]
assert subprocess.run(['/bin/echo', '2'], capture_output=True, check=True).stdout == b'2\\n'
assert os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)[1] == 0
if (child := os.fork()) == 0:
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
assert asyncio.run(asyncio.sleep(0, 2)) == 2
here, there = multiprocessing.get_context('fork').Pipe()
there.send(2)
assert here.recv() == 2
torch.set_num_threads(2)
assert torch.ones(500, 500).requires_grad_().exp().sum().backward() is None
"""
GREEDY = {"processes": FORKS, "memory": MEMORY, "disk": DISK}


def targets(folder: Path, stack: ExitStack) -> dict:
    """What must not be reached: as open to all as can be."""
    folder.chmod(0o777)
    (folder / "solved.ipynb").write_text("{}")
    outside = sandbox.outside(stack)
    there = {
        "oracles": str(ROOT / "tests/judge/oracles/*.py"),
        "solutions": str(PACKAGE / "course/*/exercises/*.md"),
        "answers": str(PACKAGE / "course/*/exercises/*.py"),
        "chapter": str(PACKAGE / f"{SLUG}.py"),
        "checks": str(PACKAGE / "course").encode(),
        "course": str(PACKAGE / "cost.py"),
        "notebook": str(folder / "solved.ipynb"),
        **{name: outside[name] for name in ("socket", "datagrams", "segment", "network")},
        "proof": Path(proof.__file__).read_text("utf-8"),
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
        kernel.run(IMPORTS + ATTEMPTED + code, kernel.budget(seconds))
    except (CellError, LostKernelError) as error:
        return str(error) or type(error).__name__
    return ""


def main() -> None:
    tier = sandbox.strongest()[0]
    server, neighbour = (KernelServer(SLUG, 2 << 30, tier) for _ in range(2))
    failed = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        ExitStack() as stack,
        fresh_kernel(neighbour, []),
    ):
        reachable = targets(Path(folder), stack)
        with fresh_kernel(server, []) as kernel:
            for name, code in ATTEMPTS.items():
                failed[name] = ran(kernel, code.format(**reachable))
        for name, code in GREEDY.items():
            with fresh_kernel(server, []) as kernel:
                failed[name] = ran(kernel, code)
        with fresh_kernel(server, []) as kernel:
            started = not ran(kernel, DAEMON) and bool(daemons())
        with fresh_kernel(server, []) as kernel:
            left = not ran(kernel, LEAVE)
        with fresh_kernel(server, []) as kernel:
            failed["a file of the answer before"] = ran(kernel, FIND) if left else ""
        failed["a daemon"] = "it ended" if started and not daemons() else ""
        with fresh_kernel(server, []) as kernel:
            left = not ran(kernel, LEAVE)
            ran(kernel, KILL)
        with fresh_kernel(server, []) as kernel:
            failed["a file of a server that was killed"] = ran(kernel, FIND) if left else ""
        with fresh_kernel(server, []) as kernel:
            works = ran(kernel, WORK)
    for process in (server, neighbour):
        process.stop()
    print(json.dumps({"tier": tier, "works": works, "failed": failed}))


def daemons() -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if MARK in (process.info["cmdline"] or ())
    ]


if __name__ == "__main__":
    main()
