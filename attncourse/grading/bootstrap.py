"""Starts the kernels that run a learner's answers (run as a script, inside the sandbox if any).

It hides what the exercises ask for, and makes check and its like silent: an answer cell that still
calls them does no harm. Then it loads torch, once: each kernel is a copy of this process, and ends
with all that it has started and written.

It reads lines of JSON: first the driver's sources, then the folder and the connection of a kernel
to start, null to end it, or "count". It answers `ready`, `started`, `ended` (by itself), `stopped`,
and the number of processes and threads that there have been.
"""

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import subprocess
import sys
import time
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType

import psutil

# elsewhere a copy of a process that has loaded much may not work: each kernel loads its own
COPIES = sys.platform == "linux"
COUNT = "count"
# what every kernel imports when it starts, and what takes it longest
OF_A_KERNEL = ("ipykernel.debugger", "IPython.core.completerlib", "IPython.extensions.storemagic")
SUBREAPER, DUMPABLE = 36, 4


class Hidden(MetaPathFinder):
    """Refuses to import modules that hold answers."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, fullname, path=None, target=None):
        if any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            raise ImportError(f"{fullname} is not there while you are graded: write it yourself")


def silent_checks():
    """Stand-ins for `attncourse.checks.notebook`: the verdict falls elsewhere."""
    package, notebook = ModuleType("attncourse.checks"), ModuleType("attncourse.checks.notebook")
    vars(package).update(__path__=[], notebook=notebook)
    for name in ("check", "failed", "hint", "status"):
        setattr(notebook, name, lambda *args, **kwargs: None)
    sys.modules |= {package.__name__: package, notebook.__name__: notebook}


def load_driver(sources):
    """Make a package of these modules, each of which may import those before it."""
    import sys
    from types import ModuleType

    package = sys.modules["attncourse_driver"] = ModuleType("attncourse_driver")
    package.__path__ = []
    for name, source in sources.items():
        module = sys.modules[f"{package.__name__}.{name}"] = ModuleType(f"attncourse_driver.{name}")
        setattr(package, name, module)
        module.__package__ = package.__name__
        exec(source, vars(module))
    return package.driver


def answer_calls(path, namespace):
    """Make the calls that are asked for at a socket there, each by a driver made anew."""
    import marshal
    import socket

    with socket.socket(socket.AF_UNIX) as place:
        place.bind(path)
        place.listen(1)
        judge, _ = place.accept()
    with judge, judge.makefile("rwb") as calls:
        while size := calls.readline():
            code, modules, request = marshal.loads(calls.read(int(size)))
            made = {}
            exec(code, made)
            answer = made["load_driver"](modules).respond(namespace, request).encode()
            calls.write(b"%d\n" % len(answer) + answer)
            calls.flush()


def serve(requests, answers):
    """Start and end kernels, one at a time, as the requests have it."""
    kernel = 0
    try:
        while True:
            ready, _, _ = select.select([requests], [], [], 0.05)
            if kernel and os.waitid(os.P_PID, kernel, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                kernel = end()
                os.write(answers, b"ended\n")
            if not ready:
                continue
            line = requests.readline()
            request = json.loads(line or b"null")
            if request == COUNT:
                os.write(answers, f"{started()}\n".encode())
                continue
            if kernel:
                kernel = end()
            if not line:
                return
            if request is None:
                os.write(answers, b"stopped\n")
                continue
            os.write(answers, b"started\n")
            kernel = os.fork()
            if kernel == 0:
                run(request, answers)
    finally:
        if kernel:
            end()


def adopt():
    """Have what a kernel leaves behind become a child of this process, and close its memory."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    ctypes.CDLL(None).prctl(DUMPABLE, 0, 0, 0, 0)


def started():
    """How many processes and threads there have been in bubblewrap; elsewhere it is not known."""
    if os.getppid() != 1:
        return 0
    # the number of the youngest: a kernel cannot give it back
    return int(Path("/proc/loadavg").read_text().split()[-1])


def end():
    """Kill the kernel and whatever it has started, and take away what it has written."""
    with contextlib.suppress(ChildProcessError):
        while True:
            kill_all()
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.001)
    folder = os.environ["ATTNCOURSE_FOLDER"]
    subprocess.run(["chmod", "-R", "u+rwx", folder], stderr=subprocess.DEVNULL)
    subprocess.run(["find", folder, "-mindepth", "1", "-delete"], stderr=subprocess.DEVNULL)
    return 0


def kill_all():
    """Kill what this process has started and adopted."""
    alone = os.environ["ATTNCOURSE_ALONE"]
    # to kill all that it may is safe where all of it is the learner's
    if os.getppid() == 1 if alone == "process" else str(os.getuid()) == alone:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            one.kill()


def run(request, *streams):
    """Be the kernel that is reached in that way, in a folder of its own."""
    for stream in streams:
        os.close(stream)
    if COPIES:
        ctypes.CDLL(None).prctl(DUMPABLE, 1, 0, 0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    home = request["folder"]
    os.makedirs(home, mode=0o700)
    connection = Path(home) / "kernel.json"
    connection.write_text(json.dumps(request["connection"]))
    os.environ |= {"HOME": home, "TMPDIR": home, "IPYTHONDIR": str(Path(home) / "ipython")}
    os.chdir(home)
    try:
        launch_new_instance(argv=["-f", str(connection), "--HistoryManager.enabled=False"])
    finally:
        os._exit(0)


if __name__ == "__main__":
    # what is printed here must not reach the judge as an answer
    answers = os.dup(1)
    os.dup2(2, 1)

    silent_checks()
    sys.meta_path.insert(0, Hidden(os.environ["ATTNCOURSE_HIDDEN"].split(",")))

    with open(0, "rb", buffering=0, closefd=False) as requests:
        driver = load_driver(json.loads(requests.readline()))
        driver.warm_up()
        driver.load(OF_A_KERNEL)
        from ipykernel.kernelapp import launch_new_instance

        os.write(answers, b"ready\n")
        if COPIES:
            adopt()
            # a copy need not look through, and so copy, all that was loaded
            gc.freeze()
            serve(requests, answers)
        else:
            request = json.loads(requests.readline())
            os.write(answers, b"started\n")
            run(request, answers)
