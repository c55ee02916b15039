"""A kernel for answers not to be trusted: it may die, hang or grow, and only it suffers."""

import contextlib
import json
import re
import secrets
import socket
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from judge.grading.kernel.budget import BUSY, IMPORTS, STARTUP, WAITS, WORKS, Budget
from judge.grading.kernel.fork_server import FLOODS, OutputError
from judge.grading.kernel.server import KernelServer, ServerError
from judge.grading.report.results import TOO_BUSY
from judge.grading.sandbox.usage import has_ended
from judge.quotation import exception, quoted
from judge.status import Status

ENDED = "this code ends or breaks the Python process that it runs in: remove exit() and the like"
# seconds to wait at a time
WAIT = 0.05
# of a result: bytes, and lists and objects, each of which takes many bytes more; the largest of a
# right answer has 107,076 bytes, or 3,607 parts
MOST_RESULT, MOST_PARTS = 8_000_000, 100_000
IMPORT = re.compile(r"^[ \t]*(?:from\s+([\w.]+)\s+)?import[ \t(]+([\w., \t]+)", re.MULTILINE)


class LostKernelError(Exception):
    """The kernel is lost, by what it ran. `status` says how."""

    def __init__(self, status: Status, hint: str):
        super().__init__(hint)
        self.status, self.hint = status, hint


class CellError(Exception):
    """A cell raised: the exception's name and text, without a traceback."""


class GradingKernel:
    """A kernel with a limit on work, output and memory, and nothing to find."""

    def __init__(self, server: KernelServer, pid: int, place: str):
        """The kernel that is called at that place, below the process of that number."""
        self.server, self.pid, self.place = server, pid, place
        self.calls = socket.socket(socket.AF_UNIX)
        self.calls.settimeout(WAIT)
        self.calls.connect(server.sandbox.path_from_outside(place, pid))
        self.process = listener(self.calls)
        self.spoiled = False

    @contextlib.contextmanager
    def copied(self, budget: Budget) -> Iterator["GradingKernel"]:
        """A copy of this kernel as it is now, which ends with all that it has started.

        Where it has changed files, this kernel is no longer what it was: it is `spoiled`.
        """
        place = str(Path(self.place).with_name(secrets.token_hex(4)))
        processes, files = self.server.processes(), self.server.file_states()
        self.ask(budget, "copy", place)
        copy = GradingKernel(self.server, self.pid, place)
        try:
            yield copy
        finally:
            copy.close()
            self.server.kill_all_but(processes)
            self.spoiled = files is None or self.server.file_states() != files

    def close(self) -> None:
        self.calls.close()

    def budget(self, seconds: float, before: Budget | None = None) -> Budget:
        """What may be used here, less what was used before."""
        budget = Budget.of(self.pid, seconds, partial(self.server.sandbox.exceeds, self.pid))
        if before:
            budget.worked, budget.slept = before.worked, before.slept
        return budget

    def run(self, source: str, budget: Budget) -> list[str]:
        """Run a cell, and return the commands in it that were not run.

        Raises CellError where it raised, LostKernelError where the kernel was given up.
        """
        match self.ask(budget, "cell", source):
            case {"raised": None, "not_run": [*commands]}:
                return [quoted(one) for one in commands if isinstance(one, str)]
            case {"raised": [OutputError.__name__, str()]}:
                raise LostKernelError(Status.CRASHED, FLOODS)
            case {"raised": [str(name), str(text)]}:
                raise CellError(exception(name, text))
        raise LostKernelError(Status.CRASHED, ENDED)

    def take(self, name: str, budget: Budget) -> bool:
        """Bind an exercise's name to what `check` was given for it; False where that is nothing."""
        return self.ask(budget, "take", name) is True

    def call(self, request: dict, budget: Budget) -> dict:
        """Have a new driver make one call in the kernel; see `judge.call.driver.drive`."""
        return self.ask(budget, "respond", request)

    def load(self, source: str) -> None:
        """Import what a cell will import, so that the time that takes is not counted as its own."""
        if names := imported(source):
            self.ask(self.budget(IMPORTS), "load", names)

    def ask(self, budget: Budget, kind: str, asked: dict | list | str) -> Any:
        """What the kernel answers to a request; the learner's code may have written it."""
        budget.begin()
        sent = json.dumps([kind, asked]).encode()
        try:
            self.send(b"%d\n" % len(sent) + sent, self.calls, budget)
            said = self.answer(self.calls, budget)
            if (parts := said.count(b"[") + said.count(b"{")) > MOST_PARTS:
                raise LostKernelError(
                    Status.CRASHED,
                    f"the result has {parts:,} lists and objects, more than {MOST_PARTS:,}",
                )
            return json.loads(said)
        except ConnectionError:
            self.go_on(budget)
            raise LostKernelError(Status.CRASHED, ENDED) from None
        except (ValueError, RecursionError, MemoryError):
            raise LostKernelError(Status.ERROR, "the result can't be read") from None

    def go_on(self, budget: Budget) -> None:
        """Raise LostKernelError where no answer is to be waited for any longer."""
        if self.server.kernel_ended() or has_ended(self.process):
            raise LostKernelError(Status.CRASHED, ENDED)
        if why := budget.spent():
            raise given_up(why, budget.seconds)

    def send(self, data: bytes, calls: socket.socket, budget: Budget) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[calls.send(rest) :]
            except TimeoutError:
                self.go_on(budget)

    def answer(self, calls: socket.socket, budget: Budget) -> bytes:
        """An answer, below the number of its bytes; the learner's code may have written it."""
        said, size = bytearray(), -1
        while size < 0 or len(said) < size:
            with contextlib.suppress(TimeoutError):
                if not (part := calls.recv(1 << 20)):
                    raise ConnectionResetError
                said += part
            if size < 0 and b"\n" in said:
                line, _, said = said.partition(b"\n")
                if not line.isdigit():
                    raise ValueError(f"{bytes(line[:20])} isn't a number of bytes")
                size = int(line)
            if max(size, len(said)) > MOST_RESULT:
                raise LostKernelError(
                    Status.CRASHED, f"the result has more than {MOST_RESULT:,} bytes"
                )
            if size < 0 or len(said) < size:
                # also where it comes in drops
                self.go_on(budget)
        return bytes(said)


@contextlib.contextmanager
def fresh_kernel(server: KernelServer, given: list[str]) -> Iterator[GradingKernel]:
    """A kernel in which the course's own cells have run; nothing of it is left in the end."""
    kernel = None
    try:
        try:
            kernel = GradingKernel(server, *server.start_kernel())
            kernel.run("\n\n".join(given), kernel.budget(STARTUP))
        except (LostKernelError, CellError, OSError) as error:
            raise ServerError(f"a kernel couldn't be prepared: {error}") from None
        yield kernel
    finally:
        if kernel:
            kernel.close()
        server.stop_kernel()


def listener(connection: socket.socket) -> psutil.Process | None:
    """The process that listens at the other end; None where the system does not say."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    said = connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
    with contextlib.suppress(psutil.Error):
        return psutil.Process(struct.unpack("3i", said)[0])
    return None


def given_up(why: str, seconds: float) -> LostKernelError:
    """Status and hint of an answer that did not come back."""
    if why == BUSY:
        return LostKernelError(Status.NOT_GRADED, TOO_BUSY)
    if why == WAITS:
        return LostKernelError(
            Status.TOO_SLOW,
            "this code never ends: it waits, perhaps in a sleep, for a lock or for input",
        )
    if why == WORKS:
        return LostKernelError(
            Status.TOO_SLOW,
            f"this code never ends: it was stopped after {seconds:g} seconds of work",
        )
    return LostKernelError(Status.CRASHED, why)


def imported(source: str) -> list[str]:
    """The modules, and what may be one, that a cell's text imports at any place."""
    return [
        f"{package}.{word}" if package else word
        for package, names in IMPORT.findall(source)
        for name in names.split(",")
        for word in name.split()[:1]
    ]
