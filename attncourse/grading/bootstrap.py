"""Starts the kernels that run a learner's answers (run as a script, inside the sandbox if any).

It limits the process, hides what the exercises ask for, and makes check and its like silent:
an answer cell that still calls them does no harm. Then it loads torch, once: each kernel is a copy
of this process, and ends with all that it has started.

It reads lines of JSON: first the driver's sources, then the file of a kernel to start, or null to
end it. It answers `ready`, `started`, `ended` (by itself) and `stopped`.
"""

import contextlib
import json
import os
import select
import signal
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType

# elsewhere a copy of a process that has loaded much may not work: each kernel loads its own
COPIES = sys.platform == "linux"


class Hidden(MetaPathFinder):
    """Refuses to import modules that hold answers."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, fullname, path=None, target=None):
        if any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            raise ImportError(f"{fullname} is not there while you are graded: write it yourself")


def limit(memory):
    """Cap the address space, the size of files and core dumps, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def silent_checks():
    """Stand-ins for `attncourse.checks.notebook`: the verdict falls elsewhere."""
    package, notebook = ModuleType("attncourse.checks"), ModuleType("attncourse.checks.notebook")
    vars(package).update(__path__=[], notebook=notebook)
    for name in ("check", "failed", "hint", "status"):
        setattr(notebook, name, lambda *args, **kwargs: None)
    sys.modules |= {package.__name__: package, notebook.__name__: notebook}


def load_driver(sources):
    """Make a package of these modules, each of which may import those before it."""
    package = sys.modules["attncourse_driver"] = ModuleType("attncourse_driver")
    package.__path__ = []
    for name, source in sources.items():
        module = sys.modules[f"{package.__name__}.{name}"] = ModuleType(f"attncourse_driver.{name}")
        setattr(package, name, module)
        module.__package__ = package.__name__
        exec(compile(source, module.__name__, "exec"), vars(module))
    package.driver.warm_up()


def serve(requests, answers):
    """Start and end kernels, one at a time, as the requests have it."""
    kernel = 0
    try:
        while True:
            ready, _, _ = select.select([requests], [], [], 0.05)
            if kernel and os.waitid(os.P_PID, kernel, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                kernel = end(kernel)
                os.write(answers, b"ended\n")
            if not ready:
                continue
            line = requests.readline()
            if kernel:
                kernel = end(kernel)
            if not line:
                return
            connection = json.loads(line)
            if connection is None:
                os.write(answers, b"stopped\n")
                continue
            os.write(answers, b"started\n")
            kernel = os.fork()
            if kernel == 0:
                os.setpgid(0, 0)
                run(connection, answers)
    finally:
        if kernel:
            end(kernel)


def end(kernel):
    """Kill the kernel and what it has started: in the sandbox, all there is."""
    if os.environ["ATTNCOURSE_SANDBOXED"] and os.getppid() == 1:
        targets = [(os.kill, -1)]
    else:
        targets = [(os.kill, kernel), (os.killpg, kernel)]
    for kill, target in targets:
        with contextlib.suppress(ProcessLookupError):
            kill(target, signal.SIGKILL)
    # only now may its number be another's
    os.waitpid(kernel, 0)
    return 0


def run(connection, *streams):
    """Be the kernel that is reached through this file, in the file's own folder."""
    for stream in streams:
        os.close(stream)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    home = str(Path(connection).parent)
    os.environ |= {"HOME": home, "TMPDIR": home, "IPYTHONDIR": str(Path(home) / "ipython")}
    os.chdir(home)
    try:
        launch_new_instance(argv=["-f", connection])
    finally:
        os._exit(0)


if __name__ == "__main__":
    # what is printed here must not reach the judge as an answer
    answers = os.dup(1)
    os.dup2(2, 1)

    limit(int(os.environ["ATTNCOURSE_MEMORY"]))
    silent_checks()
    sys.meta_path.insert(0, Hidden(os.environ["ATTNCOURSE_HIDDEN"].split(",")))

    with open(0, "rb", buffering=0, closefd=False) as requests:
        load_driver(json.loads(requests.readline()))
        from ipykernel.kernelapp import launch_new_instance

        os.write(answers, b"ready\n")
        if COPIES:
            serve(requests, answers)
        else:
            connection = json.loads(requests.readline())
            os.write(answers, b"started\n")
            run(connection, answers)
