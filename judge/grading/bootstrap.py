"""Starts the kernels that run a learner's answers (run as a script, inside the sandbox if any).

It puts stand-ins in the place of what the exercises ask for, of `check` and its like, and of
programs that install something. Then it loads torch, once: each kernel is a copy of this process,
and ends with all that it has started and written. A kernel may itself be copied, as it is when the
calls of an answer are made: what they do and leave is no part of what the notebook's later cells
find.

It reads lines of JSON, each with a word made anew and what is asked: first the driver's sources,
then the folder of a kernel to start, null to end it, or "count". It answers with that word and
`ready`, `started`, `stopped`, or the number of processes and threads that there have been; of a
kernel that ends by itself it says `ended`, with the word that started it. A kernel answers at a
socket in its folder.
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
from pathlib import Path
from types import FunctionType

import psutil

from judge.grading.stand_ins import Checks, HiddenModules, Programs

# elsewhere a copy of a process that has loaded much may not work: each kernel loads its own
COPIES = sys.platform == "linux"
COUNT, SOCKET = "count", "c"
MOST_OUTPUT, MOST_TEXT = 1_000_000, 10_000
FLOODS = f"it prints without end: more than {MOST_OUTPUT} characters"
SUBREAPER, DUMPABLE = 36, 4


def load_driver(modules):
    """Make a package of these modules, each of which may import those before it."""
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
    """Counts what is printed, and keeps none of it."""

    encoding = "utf-8"
    printed = 0

    def write(self, text):
        before, self.printed = self.printed, self.printed + len(text)
        # once: a traceback is printed afterwards
        if before <= MOST_OUTPUT < self.printed:
            raise OutputError(FLOODS)
        return len(text)


def new_shell():
    """What runs a learner's cells, as a notebook does."""
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
    """Let a cell ask for more of torch's threads in vain: a copy would wait for them for ever."""
    vars(sys.modules["torch"])["set_num_threads"] = lambda count: None


def raised(shell, source):
    """The name and the text of what a cell raises; None where it raises nothing."""
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
        """Do what is asked for; each call is made by a driver made anew.

        What it is made of are code objects, which nothing that a learner's code writes can change.
        """
        load = load_driver.__code__
        while size := requests.readline():
            kind, asked = json.loads(requests.read(int(size)))
            if kind == "cell":
                answer = json.dumps(self.ran(asked))
            elif kind == "take":
                answer = json.dumps(self.taken(asked))
            elif kind == "copy":
                requests, answer = copied(requests, asked)
            else:
                driver = FunctionType(load, {})(self.modules)
                answer = getattr(driver, kind)(self.shell.user_ns, asked)
            if answer:
                answer = answer.encode()
                requests.write(b"%d\n" % len(answer) + answer)
                requests.flush()

    def ran(self, source):
        """Run a cell: what it raises, and the commands in it that were not run."""
        if isinstance(sys.stdout, Output):
            sys.stdout.printed = 0
        self.programs.not_run.clear()
        error = raised(self.shell, source)
        return {"raised": error, "not_run": self.programs.not_run}

    def taken(self, name):
        """Bind an exercise's name to what `check` was given for it; whether it was given anything.

        That is what was right in the notebook, whatever became of the name in later cells.
        """
        given = name in self.checks.given
        if given:
            self.shell.user_ns[name] = self.checks.given[name]
        return given


def copied(requests, place):
    """Make a copy of this process, called at that place: requests of its own, and the answer there.

    In this process they are the requests as before, which the copy has answered.
    """
    if first := os.fork():
        # it need not be waited for, where a cell has said so
        with contextlib.suppress(ChildProcessError):
            os.waitpid(first, 0)
        return requests, ""
    between = os.getpid()
    if os.fork():
        # so that whoever starts kernels adopts the copy
        os._exit(0)
    while os.getppid() == between:
        time.sleep(0.0005)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(place)
        one.listen(1)
        requests.write(b"4\ntrue")
        requests.flush()
        judge, _ = one.accept()
    return judge.makefile("rwb"), ""


def listening(folder):
    """Make the folder of a kernel, and a socket in it where it will be called."""
    os.makedirs(folder, mode=0o700)
    place = socket.socket(socket.AF_UNIX)
    place.bind(f"{folder}/{SOCKET}")
    place.listen(1)
    return place


def serve(requests, answers, kernel_at):
    """Start and end kernels, one at a time, as the requests have it."""
    kernel, by = 0, ""
    try:
        while True:
            ready, _, _ = select.select([requests], [], [], 0.05)
            if kernel and ended(kernel):
                kernel = end()
                say(answers, by, "ended")
            if not ready:
                continue
            line = requests.readline()
            word, request = json.loads(line or b"[null, null]")
            if request == COUNT:
                say(answers, word, started())
                continue
            if kernel:
                kernel = end()
            if not line:
                return
            if request is None:
                say(answers, word, "stopped")
                continue
            with listening(request) as place:
                say(answers, word, "started")
                by = word
                if (kernel := os.fork()) == 0:
                    kernel_at(request, place, answers)
    finally:
        if kernel:
            end()


def ended(kernel):
    """Whether the kernel has ended; of what it has left, what has ended is taken away."""
    with contextlib.suppress(ChildProcessError):
        while one := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if one.si_pid == kernel:
                return True
            os.waitpid(one.si_pid, 0)
    return False


def say(answers, word, answer):
    """Answer the request that came with that word."""
    os.write(answers, f"{word} {answer}\n".encode())


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
    folder = os.environ["JUDGE_FOLDER"]
    for made in os.listdir(folder):
        # it holds nothing else, most times; whatever it holds, other programs take away
        with contextlib.suppress(OSError):
            os.remove(f"{folder}/{made}/{SOCKET}")
            os.rmdir(f"{folder}/{made}")
    if os.listdir(folder):
        subprocess.run(["chmod", "-R", "u+rwx", folder], stderr=subprocess.DEVNULL)
        subprocess.run(["find", folder, "-mindepth", "1", "-delete"], stderr=subprocess.DEVNULL)
    return 0


def kill_all():
    """Kill what this process has started and adopted."""
    alone = os.environ["JUDGE_ALONE"]
    # to kill all that it may is safe where all of it is the learner's
    if os.getppid() == 1 if alone == "process" else str(os.getuid()) == alone:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            one.kill()


def run(kernel, folder, place, answers):
    """Be the kernel that is called at that place, in a folder of its own."""
    os.close(answers)
    if COPIES:
        ctypes.CDLL(None).prctl(DUMPABLE, 1, 0, 0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    sys.stdout = sys.stderr = Output()
    os.environ |= {"HOME": folder, "TMPDIR": folder}
    os.chdir(folder)
    sys.path.insert(0, "")
    try:
        with place:
            judge, _ = place.accept()
        kernel.answer_requests(judge.makefile("rwb"))
    finally:
        os._exit(0)


if __name__ == "__main__":
    # what is printed here must not reach the judge as an answer
    answers = os.dup(1)
    os.dup2(2, 1)

    # those that this script has imported are none of a learner's
    for name in [one for one in sys.modules if one.partition(".")[0] == "judge"]:
        del sys.modules[name]
    checks, programs = Checks(os.environ["JUDGE_SILENT"]), Programs()
    sys.meta_path.insert(0, HiddenModules(os.environ["JUDGE_HIDDEN"].split(",")))

    with open(0, "rb", buffering=0, closefd=False) as requests:
        word, sources = json.loads(requests.readline())
        modules = tuple((name, compile(text, name, "exec")) for name, text in sources.items())
        load_driver(modules).warm_up()
        keep_to_one_thread()
        kernel_at = partial(run, Kernel(new_shell(), checks, programs, modules))
        say(answers, word, "ready")
        if COPIES:
            adopt()
            # a copy need not look through, and so copy, all that was loaded
            gc.freeze()
            serve(requests, answers, kernel_at)
        else:
            word, folder = json.loads(requests.readline())
            place = listening(folder)
            say(answers, word, "started")
            kernel_at(folder, place, answers)
