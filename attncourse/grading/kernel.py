"""A Jupyter kernel for answers not to be trusted: it may die, hang or grow, and only it suffers."""

import contextlib
import inspect
import json
import marshal
import re
import socket
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from queue import Empty
from types import CodeType
from typing import cast

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import KernelConnectionInfo

from attncourse.checks.explain import quoted
from attncourse.grading import bootstrap
from attncourse.grading.budget import BUSY, IMPORTS, STARTUP, TOO_BUSY, WAITS, WORKS, Budget
from attncourse.grading.server import DRIVER, KernelServer, ServerError

ENDED = "it ends the Python process it runs in"
# seconds to wait at a time, and until a path is tried again
WAIT, BETWEEN = 0.05, 0.002
MOST_OUTPUT = 1_000_000
MOST_RESULT = 50_000_000
IMPORT = re.compile(r"^[ \t]*(?:from\s+([\w.]+)\s+)?import[ \t(]+([\w., \t]+)", re.MULTILINE)
# an expression that answers calls at a path, whatever the learner's names mean
ANSWER_CALLS = (
    "(lambda code, made: exec(code, made) or made['answer_calls']({!r}, globals()))"
    "(__import__('marshal').loads({!r}), {{}})"
)


class LostKernelError(Exception):
    """The kernel is lost, by what it ran. `status` says how."""

    def __init__(self, status: str, hint: str):
        super().__init__(hint)
        self.status, self.hint = status, hint


class CellError(Exception):
    """A cell raised: the exception's name and text, without a traceback."""


class GradingKernel:
    """A kernel with a limit on work, output and memory, and nothing to find."""

    def __init__(self, server: KernelServer):
        self.server = server
        self.pid, connection = server.start()
        self.client = BlockingKernelClient()
        # the kernel may not be there yet: milliseconds
        self.client.context.setsockopt(zmq.RECONNECT_IVL, 5)
        self.client.load_connection_info(cast(KernelConnectionInfo, connection))
        self.client.start_channels(stdin=False, hb=False, control=False)
        self.calls: socket.socket | None = None
        self.printed = 0

    def close(self) -> None:
        self.client.stop_channels()
        if self.calls:
            self.calls.close()

    def budget(self, seconds: float, before: Budget | None = None) -> Budget:
        """What may be used here, less what was used before."""
        budget = Budget.of(self.pid, seconds, partial(self.server.sandbox.exceeds, self.pid))
        if before:
            budget.worked, budget.slept = before.worked, before.slept
        return budget

    def run(self, code: str, budget: Budget, expression: str | None = None) -> str:
        """Run code, then evaluate the expression and return its text.

        Raises CellError where the code raised, LostKernelError where the kernel was given up.
        """
        sent = self.execute(code, expression)
        budget.begin()
        self.printed = 0
        while True:
            try:
                reply = self.receive(self.client.get_shell_msg, WAIT)
            except Empty:
                self.go_on(budget)
                continue
            parent = reply["parent_header"]
            if isinstance(parent, dict) and parent.get("msg_id") == sent:
                break
        self.drain()
        return replied(reply["content"], expression)

    def execute(self, code: str, expression: str | None) -> str:
        """Ask for that; the number of the message by which its reply is known."""
        return self.client.execute(
            code, store_history=False, allow_stdin=False, stop_on_error=False,
            user_expressions={"result": expression} if expression else {},
        )  # fmt: skip

    def go_on(self, budget: Budget) -> None:
        """Raise LostKernelError where no answer is to be waited for any longer."""
        self.drain()
        if self.server.kernel_ended():
            raise LostKernelError("crashed", ENDED)
        if why := budget.spent():
            raise given_up(why, budget.seconds)

    def receive(self, get: Callable, seconds: float) -> dict:
        """The next message of a channel; Empty when there is none."""
        try:
            return get(timeout=seconds)
        except Empty:
            raise
        except Exception as error:
            # no signature, the same one twice, no JSON: the learner's code has changed the kernel
            raise LostKernelError(
                "crashed", f"it breaks the kernel that runs it ({error})"
            ) from None

    def drain(self) -> None:
        """Throw away what the kernel has published; LostKernelError where it is too much."""
        with contextlib.suppress(Empty):
            while True:
                message = self.receive(self.client.get_iopub_msg, 0)
                self.printed += len(str(message["content"]))
                if self.printed > MOST_OUTPUT:
                    raise LostKernelError(
                        "crashed", f"it prints without end: more than {MOST_OUTPUT} characters"
                    )

    def call(self, request: dict, budget: Budget) -> dict:
        """Have the driver make one call in the kernel; see `attncourse.checks.driver.drive`.

        The driver is sent anew each time: what a learner's code has done to it before is gone.
        """
        budget.begin()
        self.calls = self.calls or self.connected(budget)
        code, modules = driver_code()
        sent = marshal.dumps((code, modules, json.dumps(request)))
        try:
            self.send(b"%d\n" % len(sent) + sent, self.calls, budget)
            return json.loads(self.answer(self.calls, budget))
        except ConnectionError:
            self.go_on(budget)
            raise LostKernelError("crashed", "it breaks the kernel that runs it") from None
        except (ValueError, RecursionError, MemoryError):
            raise LostKernelError("error", "its result cannot be read") from None

    def connected(self, budget: Budget) -> socket.socket:
        """What reaches the code in the kernel that answers calls, once that runs."""
        inside, outside = self.server.calls
        answering = marshal.dumps(definition(bootstrap.answer_calls))
        self.execute("", ANSWER_CALLS.format(inside, answering))
        calls = socket.socket(socket.AF_UNIX)
        calls.settimeout(WAIT)
        while True:
            try:
                calls.connect(outside)
                return calls
            except OSError:
                self.go_on(budget)
                time.sleep(BETWEEN)

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
                    raise ValueError(f"{bytes(line[:20])} is no number of bytes")
                size = int(line)
            if max(size, len(said)) > MOST_RESULT:
                raise LostKernelError("crashed", f"its result has more than {MOST_RESULT} bytes")
            if size < 0 or len(said) < size:
                # also where it comes in drops
                self.go_on(budget)
        return bytes(said)

    def load(self, source: str) -> None:
        """Import what a cell will import, so that the time that takes is not counted as its own."""
        if names := imported(source):
            self.run("", self.budget(IMPORTS), driver("load({!r})", names))


@contextlib.contextmanager
def fresh_kernel(server: KernelServer, given: list[str]) -> Iterator[GradingKernel]:
    """A kernel in which the course's own cells have run; nothing of it is left in the end."""
    kernel = None
    try:
        try:
            kernel = GradingKernel(server)
            kernel.run("\n\n".join(given), kernel.budget(STARTUP))
        except (LostKernelError, CellError) as error:
            raise ServerError(f"a kernel could not be made ready: {error}") from None
        yield kernel
    finally:
        if kernel:
            kernel.close()
        server.stop_kernel()


def replied(content: dict, expression: str | None) -> str:
    """The text of the expression in a reply, which the learner's code may have written."""
    try:
        if content["status"] != "ok":
            raise CellError(f"{content['ename']}: {quoted(str(content['evalue']))}")
        # an answer cell with exit() in it replies first and dies then
        if any(one.get("source") == "ask_exit" for one in content.get("payload") or ()):
            raise LostKernelError("crashed", f"{ENDED}: take exit() out")
        if expression is None:
            return ""
        return str(content["user_expressions"]["result"].get("data", {}).get("text/plain", ""))
    except (KeyError, TypeError, AttributeError) as error:
        raise LostKernelError(
            "crashed", f"it breaks the kernel that runs it ({type(error).__name__})"
        ) from None


@cache
def driver_code() -> tuple[CodeType, dict[str, CodeType]]:
    """What loads the driver's modules, and those, compiled."""
    modules = {
        name: compile(source, f"attncourse_driver.{name}", "exec")
        for name, source in DRIVER.items()
    }
    return definition(bootstrap.load_driver), modules


def definition(function: Callable) -> CodeType:
    """What defines a function, compiled."""
    return compile(inspect.getsource(function), "attncourse_driver", "exec")


def driver(call: str, *values) -> str:
    """An expression that has the driver do something, whatever the learner's names mean."""
    return "__import__('sys').modules['attncourse_driver.driver']." + call.format(*values)


def given_up(why: str, seconds: float) -> LostKernelError:
    """Status and hint of an answer that did not come back."""
    if why == BUSY:
        return LostKernelError("not graded", TOO_BUSY)
    if why == WAITS:
        return LostKernelError(
            "too slow", "it does not come to an end: it waits, as for a sleep, a lock or an input"
        )
    if why == WORKS:
        return LostKernelError(
            "too slow", f"it does not come to an end: it has worked for {seconds:g} seconds"
        )
    return LostKernelError("crashed", why)


def imported(source: str) -> list[str]:
    """The modules, and what may be one, that a cell's text imports at any place."""
    return [
        f"{package}.{word}" if package else word
        for package, names in IMPORT.findall(source)
        for name in names.split(",")
        for word in name.split()[:1]
    ]
