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
from judge.grading.kernel.client import CellError, LostKernelError, fresh_kernel  # noqa: E402
from judge.grading.kernel.server import KernelServer  # noqa: E402
from judge.grading.sandbox import proof, tiers  # noqa: E402
from judge.grading.sandbox.temporary import PREFIX, TemporaryFolder  # noqa: E402
from tests.grading.machines import SECRET  # noqa: E402
from tests.grading.submissions import SLUG  # noqa: E402

# each raises where it fails; {paths} are made by `targets`
ATTEMPTS = {
    "the tests' own answers": "assert any(contents({oracles!r}))",
    "the worked solutions": "assert any(contents({solutions!r}))",
    "the course's answers": "assert any(contents({answers!r}))",
    "the chapter's functions": "open({chapter!r}).read()",
    "another's notebook": "open({notebook!r}).read()",
    "the report": "assert glob({reports!r})",
    "the connection of another's kernel": (
        "assert [p for p in glob({connections!r}) + glob('/learner/*/c')"
        " if os.path.dirname(p) != os.environ['HOME']]"
    ),
    "homes": "assert os.listdir('/home') or os.listdir('/root/.ssh')",
    "what runs on the machine": "assert os.listdir('/run')",
    "the grader's memory": (
        "assert any({secret!r} in content for content in contents('/proc/*/environ'))"
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
    "a new namespace": "assert attempts({proof!r})['creates_namespace']()",
    "a datagram socket of the machine": "assert attempts({proof!r})['sends']({datagrams!r})",
    "memory that the machine shares": "assert attempts({proof!r})['attaches_memory']({segment!r})",
}
IMPORTS = "import ctypes, os, socket, sys, time\nfrom glob import glob\n"
ATTEMPTS_CODE = """
def attempts(source):
    exec(source, space := {'__name__': 'proof'})
    return space

def contents(pattern):
    for path in glob(pattern):
        try:
            yield open(path, 'rb').read()
        except OSError:
            pass

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
        memory = bytearray(400 << 20)
        memory[::4096] = bytes(len(memory[::4096])).replace(b'\\0', b'x')
        time.sleep(60)
time.sleep(60)
"""
DISK = """
files = []
for i in range(20):
    file = open(f'{os.environ["HOME"]}/{i}', 'wb')
    file.write(b'x' * (60 << 20))
    file.flush()
    os.unlink(file.name)
    files.append(file)
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
WALK_CODE = """
def folders():
    # Landlock lets "/" not be listed
    for top in ('/', os.path.dirname(os.environ['HOME']), '/tmp', '/var/tmp', '/dev/shm'):
        for path, inner, names in os.walk(top):
            inner[:] = [name for name in inner if os.path.join(path, name) not in ('/proc', '/sys')]
            yield path, names
"""
LEAVE_FILES = f"""{WALK_CODE}
marked = []
for path, _ in folders():
    try:
        open(os.path.join(path, '{MARK}'), 'w').close()
        marked.append(path)
    except OSError:
        pass
assert marked
"""
FIND_FILES = f"""{WALK_CODE}
assert [path for path, names in folders() if '{MARK}' in names]
"""
# ends the server before anything is cleared away
KILL_SERVER = "os.kill(os.getppid(), 9)"
# work that an answer may do: processes, threads and pairs of sockets, made in all ways
ALLOWED_WORK = """
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
receiver, sender = multiprocessing.get_context('fork').Pipe()
sender.send(2)
assert receiver.recv() == 2
torch.set_num_threads(2)
assert torch.ones(500, 500).requires_grad_().exp().sum().backward() is None
"""
GREEDY = {"processes": FORKS, "memory": MEMORY, "disk": DISK}


def targets(folder: Path, stack: ExitStack) -> dict:
    """The names and contents that no answer may reach, as accessible as they can be made."""
    folder.chmod(0o777)
    (folder / "solved.ipynb").write_text("{}")
    graded_folder = stack.enter_context(TemporaryFolder())
    graded_folder.chmod(0o755)
    (graded_folder / "report.json").write_text("{}")
    any_folder = f"{graded_folder.parent}/{PREFIX}*"
    escape_targets = tiers.escape_targets(stack)
    paths = {
        "oracles": str(ROOT / "tests/judge/oracles/*.py"),
        "solutions": str(PACKAGE / "course/*/exercises/*.md"),
        "answers": str(PACKAGE / "course/*/exercises/*.py"),
        "chapter": str(PACKAGE / f"{SLUG}.py"),
        "checks": str(PACKAGE / "course").encode(),
        "course": str(PACKAGE / "cost.py"),
        "notebook": str(folder / "solved.ipynb"),
        "reports": f"{any_folder}/report.json",
        "connections": f"{any_folder}/own/*/c",
        **{name: escape_targets[name] for name in ("socket", "datagrams", "segment", "network")},
        "proof": Path(proof.__file__).read_text("utf-8"),
        "outside": str(folder / "written"),
        "secret": SECRET.encode(),
    }
    # a missing file could not be read in any case
    assert all(glob(paths[name]) for name in ("oracles", "solutions", "answers", "reports"))
    assert paths["secret"] in Path("/proc/self/environ").read_bytes()
    return paths


def run_failure(kernel, code: str, seconds: float = 20) -> str:
    """The error that the code ends with in a kernel, as text; empty if there is none."""
    try:
        kernel.run(IMPORTS + ATTEMPTS_CODE + code, kernel.budget(seconds))
    except (CellError, LostKernelError) as error:
        return str(error) or type(error).__name__
    return ""


def main() -> None:
    tier = tiers.select_tier()[0]
    server, neighbour = (KernelServer(SLUG, 2 << 30, tier) for _ in range(2))
    failures = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        ExitStack() as stack,
        fresh_kernel(neighbour, []),
    ):
        reachable = targets(Path(folder), stack)
        with fresh_kernel(server, []) as kernel:
            for name, code in ATTEMPTS.items():
                failures[name] = run_failure(kernel, code.format(**reachable))
        for name, code in GREEDY.items():
            with fresh_kernel(server, []) as kernel:
                failures[name] = run_failure(kernel, code)
        with fresh_kernel(server, []) as kernel:
            daemon_started = not run_failure(kernel, DAEMON) and bool(daemons())
        with fresh_kernel(server, []) as kernel:
            file_is_left = not run_failure(kernel, LEAVE_FILES)
        with fresh_kernel(server, []) as kernel:
            failures["a file of the answer before"] = (
                run_failure(kernel, FIND_FILES) if file_is_left else ""
            )
        failures["a daemon"] = "it ended" if daemon_started and not daemons() else ""
        with fresh_kernel(server, []) as kernel:
            file_is_left = not run_failure(kernel, LEAVE_FILES)
            run_failure(kernel, KILL_SERVER)
        with fresh_kernel(server, []) as kernel:
            failures["a file of a server that was killed"] = (
                run_failure(kernel, FIND_FILES) if file_is_left else ""
            )
        with fresh_kernel(server, []) as kernel:
            work_failure = run_failure(kernel, ALLOWED_WORK)
    for process in (server, neighbour):
        process.stop()
    print(json.dumps({"tier": tier, "works": work_failure, "failed": failures}))


def daemons() -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if MARK in (process.info["cmdline"] or ())
    ]


if __name__ == "__main__":
    main()
