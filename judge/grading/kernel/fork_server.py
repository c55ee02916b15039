"""Starts the kernels that run a learner's answers (run as a script, inside the sandbox if any).

It puts stand-ins in the place of what the exercises ask for, of `check` and its like, and of
programs that install something. Then it loads torch, once: each kernel is a fork of this process,
and ends with all that it has started and written. A kernel may itself be forked, as it is when the
calls of an answer are made: what they do and leave is no part of what the notebook's later cells
find.

It reads requests, each a line of JSON with a new token and what is asked: first the driver's
sources, then the folder of a kernel to start, or null to end it. It replies with that token and
`ready`, `started` or `stopped`; when a kernel ends by itself it says `ended`, with the token that
started it. A kernel takes requests of its own at a socket in its folder.
"""

import contextlib
import ctypes
import gc
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from types import FunctionType

import psutil

from judge.grading.kernel.stand_ins import Checks, HiddenModules, Programs

# elsewhere a fork of a process that has loaded much may not work: each kernel loads its own
CAN_FORK = sys.platform == "linux"
SOCKET = "c"
MOST_OUTPUT, MOST_TEXT = 1_000_000, 10_000
FLOODS = f"this code prints without end: more than {MOST_OUTPUT} characters"
# of prctl
SET_CHILD_SUBREAPER, SET_DUMPABLE = 36, 4


def load_driver(modules):
    """The driver, from a package of these modules, each of which may import those before it."""
    import sys
    from types import ModuleType

    package = sys.modules["judge_driver"] = ModuleType("judge_driver")
    package.__path__ = []
    for name, code in modules:
        module = sys.modules[f"{package.__name__}.{name}"] = ModuleType(f"judge_driver.{name}")
        setattr(package, name, module)
        module.__package__ = package.__name__
        exec(code, vars(module))
    return package.driver


class OutputError(BaseException):
    """Raised in a cell that prints too much; not an Exception, so that a cell does not catch it."""


class Output(io.TextIOBase):
    """A stream that counts the characters written to it, and keeps none of them."""

    encoding = "utf-8"
    printed = 0

    def write(self, text):
        before, self.printed = self.printed, self.printed + len(text)
        # once: a traceback is printed afterwards
        if before <= MOST_OUTPUT < self.printed:
            raise OutputError(FLOODS)
        return len(text)


def new_shell():
    """An IPython shell, which runs a learner's cells as a notebook does."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        def enable_gui(self, gui=None):
            """Nothing is drawn: `%matplotlib` does no harm."""

        def ask_exit(self):
            os._exit(0)

        # for `!ls`: elsewhere a terminal is made, which not every sandbox has
        system = InteractiveShell.system_raw

        def showtraceback(self, *args, **kwargs):
            """Nobody reads what a cell raises, and to write it down takes longer than the cell."""

    shell = Shell.instance(config=Config(HistoryManager={"enabled": False}))
    # what it loads for a first cell, each would load
    shell.run_cell("1 + 1")
    return shell


def keep_to_one_thread():
    """Let a cell ask for more of torch's threads in vain: a fork would wait for them for ever."""
    vars(sys.modules["torch"])["set_num_threads"] = lambda count: None


def run_cell(shell, source):
    """Run a cell: the name and the text of what it raises; None where it raises nothing."""
    try:
        result = shell.run_cell(source)
        errors = result.error_before_exec, result.error_in_exec
    # of IPython's own: a text that cannot be encoded
    except UnicodeError as error:
        errors = (error,)
    return next(((type(one).__name__, text_of(one)) for one in errors if one is not None), None)


def text_of(error):
    """What an exception says, as much of it as a hint could show."""
    try:
        return str(error)[:MOST_TEXT]
    except Exception:
        return ""


class Kernel:
    """Runs cells and makes calls, as it is asked to at a connection."""

    def __init__(self, shell, checks, programs, modules):
        self.shell, self.checks, self.programs, self.modules = shell, checks, programs, modules

    def answer_requests(self, requests):
        """Reply to each request; a call is made by a driver that is loaded for it.

        It is loaded from code objects, which nothing that a learner's code writes can change.
        """
        load = load_driver.__code__
        while size := requests.readline():
            kind, argument = json.loads(requests.read(int(size)))
            if kind == "cell":
                reply = json.dumps(self.cell(argument))
            elif kind == "take":
                reply = json.dumps(self.take(argument))
            elif kind == "copy":
                requests, reply = fork_kernel(requests, argument)
            else:
                driver = FunctionType(load, {})(self.modules)
                reply = getattr(driver, kind)(self.shell.user_ns, argument)
            if reply:
                reply = reply.encode()
                requests.write(b"%d\n" % len(reply) + reply)
                requests.flush()

    def cell(self, source):
        """Run a cell: what it raises, and the commands in it that were not run."""
        if isinstance(sys.stdout, Output):
            sys.stdout.printed = 0
        self.programs.not_run.clear()
        error = run_cell(self.shell, source)
        return {"raised": error, "not_run": self.programs.not_run}

    def take(self, name):
        """Bind an exercise's name to what `check` was given for it; whether it was given anything.

        That is what was right in the notebook, whatever became of the name in later cells.
        """
        given = name in self.checks.given
        if given:
            self.shell.user_ns[name] = self.checks.given[name]
        return given


def fork_kernel(requests, address):
    """Fork this process: the requests that it goes on with, and a reply, which is empty.

    In the fork they come from a socket at that address; here they are as before, and the fork has
    replied.
    """
    if first := os.fork():
        # it need not be waited for, where a cell has said so
        with contextlib.suppress(ChildProcessError):
            os.waitpid(first, 0)
        return requests, ""
    between = os.getpid()
    if os.fork():
        # so that whoever starts kernels adopts the fork
        os._exit(0)
    while os.getppid() == between:
        time.sleep(0.0005)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(1)
        requests.write(b"4\ntrue")
        requests.flush()
        judge, _ = listener.accept()
    return judge.makefile("rwb"), ""


def listen_in(folder):
    """Make the folder of a kernel, and a socket in it that the judge will connect to."""
    os.makedirs(folder, mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/{SOCKET}")
    listener.listen(1)
    return listener


def serve(requests, replies, run_kernel):
    """Start and end kernels, one at a time, as the requests have it."""
    kernel, started_by = 0, ""
    try:
        while True:
            ready, _, _ = select.select([requests], [], [], 0.05)
            if kernel and has_ended(kernel):
                kernel = end_kernel()
                reply_to(started_by, replies, "ended")
            if not ready:
                continue
            line = requests.readline()
            token, request = json.loads(line or b"[null, null]")
            if kernel:
                kernel = end_kernel()
            if not line:
                return
            if request is None:
                reply_to(token, replies, "stopped")
                continue
            with listen_in(request) as listener:
                reply_to(token, replies, "started")
                started_by = token
                if (kernel := os.fork()) == 0:
                    run_kernel(request, listener, replies)
    finally:
        if kernel:
            end_kernel()


def has_ended(kernel):
    """Whether the kernel has ended; zombies of other processes are waited for."""
    with contextlib.suppress(ChildProcessError):
        while zombie := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if zombie.si_pid == kernel:
                return True
            os.waitpid(zombie.si_pid, 0)
    return False


def reply_to(token, replies, reply):
    """Reply to the request that came with that token."""
    os.write(replies, f"{token} {reply}\n".encode())


def adopt_orphans():
    """Have what a kernel leaves behind become a child of this process, and close its memory."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)


def end_kernel():
    """Kill the kernel and all that it has started, remove all that it has written; return 0."""
    with contextlib.suppress(ChildProcessError):
        while True:
            kill_all()
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.001)
    folder = os.environ["JUDGE_FOLDER"]
    for name in os.listdir(folder):
        # it holds nothing else, most times; whatever it holds, other programs remove
        with contextlib.suppress(OSError):
            os.remove(f"{folder}/{name}/{SOCKET}")
            os.rmdir(f"{folder}/{name}")
    if os.listdir(folder):
        subprocess.run(["chmod", "-R", "u+rwx", folder], stderr=subprocess.DEVNULL)
        subprocess.run(["find", folder, "-mindepth", "1", "-delete"], stderr=subprocess.DEVNULL)
    return 0


def kill_all():
    """Kill what this process has started and adopted."""
    # in a sandbox, all that it may kill is the learner's: in bubblewrap it cannot name another
    # process, and elsewhere it has a user of its own
    if os.environ["JUDGE_SANDBOXED"]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            process.kill()


def run_kernel(kernel, folder, listener, replies):
    """Be the kernel, in a folder of its own, that the judge connects to there."""
    os.close(replies)
    if CAN_FORK:
        ctypes.CDLL(None).prctl(SET_DUMPABLE, 1, 0, 0, 0)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    sys.stdout = sys.stderr = Output()
    os.environ |= {"HOME": folder, "TMPDIR": folder}
    os.chdir(folder)
    sys.path.insert(0, "")
    try:
        with listener:
            judge, _ = listener.accept()
        kernel.answer_requests(judge.makefile("rwb"))
    finally:
        os._exit(0)


if __name__ == "__main__":
    # what is printed here must not reach the judge as a reply
    replies = os.dup(1)
    os.dup2(2, 1)

    # those that this script has imported are none of a learner's
    for name in [name for name in sys.modules if name.partition(".")[0] == "judge"]:
        del sys.modules[name]
    checks, programs = Checks(os.environ["JUDGE_SILENT"]), Programs()
    sys.meta_path.insert(0, HiddenModules(os.environ["JUDGE_HIDDEN"].split(",")))

    with open(0, "rb", buffering=0, closefd=False) as requests:
        token, sources = json.loads(requests.readline())
        modules = tuple((name, compile(text, name, "exec")) for name, text in sources.items())
        load_driver(modules).warm_up()
        keep_to_one_thread()
        kernel = Kernel(new_shell(), checks, programs, modules)
        reply_to(token, replies, "ready")
        if CAN_FORK:
            adopt_orphans()
            # a fork need not look through, and so copy, all that was loaded
            gc.freeze()
            serve(requests, replies, partial(run_kernel, kernel))
        else:
            token, folder = json.loads(requests.readline())
            listener = listen_in(folder)
            reply_to(token, replies, "started")
            run_kernel(kernel, folder, listener, replies)
