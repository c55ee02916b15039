"""A Jupyter kernel for answers not to be trusted: it may die, hang or grow, and only it suffers."""

import ast
import base64
import inspect
import json
import marshal
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from queue import Empty
from typing import cast

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import KernelConnectionInfo

from attncourse.checks.explain import quoted
from attncourse.grading import bootstrap
from attncourse.grading.budget import BUSY, IMPORTS, STARTUP, TOO_BUSY, WAITS, WORKS, Budget
from attncourse.grading.server import DRIVER, KernelServer, ServerError

MOST_OUTPUT = 1_000_000
MOST_RESULT = 50_000_000
IMPORT = re.compile(r"^[ \t]*(?:from\s+([\w.]+)\s+)?import[ \t(]+([\w., \t]+)", re.MULTILINE)
# an expression that makes a driver, calls it on the learner's names, and gives its answer
ANEW = (
    "(lambda parts, made: exec(parts[0], made) or made['load_driver'](parts[1]))"
    "(__import__('marshal').loads(__import__('base64').b64decode({!r})), {{}})"
    ".respond(globals(), {!r})"
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
        self.client.load_connection_info(cast(KernelConnectionInfo, connection))
        self.client.start_channels(stdin=False, hb=False, control=False)

    def budget(self, seconds: float) -> Budget:
        return Budget.of(self.pid, seconds, partial(self.server.sandbox.exceeds, self.pid))

    def run(self, code: str, budget: Budget, expression: str | None = None) -> str:
        """Run code, then evaluate the expression and return its text.

        Raises CellError where the code raised, LostKernelError where the kernel was given up.
        """
        sent = self.client.execute(
            code, store_history=False, allow_stdin=False, stop_on_error=False,
            user_expressions={"result": expression} if expression else {},
        )  # fmt: skip
        printed = 0
        budget.begin()
        while True:
            printed += self.drain()
            if printed > MOST_OUTPUT:
                raise LostKernelError(
                    "crashed", f"it prints without end: more than {MOST_OUTPUT} characters"
                )
            try:
                reply = self.receive(self.client.get_shell_msg, 0.05)
            except Empty:
                if self.server.kernel_ended():
                    raise LostKernelError(
                        "crashed", "it ends the Python process it runs in"
                    ) from None
                if why := budget.spent():
                    raise given_up(why, budget.seconds) from None
                continue
            parent = reply["parent_header"]
            if isinstance(parent, dict) and parent.get("msg_id") == sent:
                break
        return replied(reply["content"], expression)

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

    def drain(self) -> int:
        """Throw away what the kernel has published, and say how many characters it was."""
        size = 0
        while True:
            try:
                message = self.receive(self.client.get_iopub_msg, 0)
            except Empty:
                return size
            size += len(str(message["content"]))
            if size > MOST_OUTPUT:
                return size

    def call(self, request: dict, budget: Budget) -> dict:
        """Have the driver make one call in the kernel; see `attncourse.checks.driver.drive`.

        The driver is sent anew each time: what a learner's code has done to it before is gone.
        """
        answer = self.run("", budget, ANEW.format(sent(), json.dumps(request)))
        if len(answer) > MOST_RESULT:
            raise LostKernelError("crashed", f"its result is larger than {MOST_RESULT} characters")
        try:
            return json.loads(ast.literal_eval(answer))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            raise LostKernelError("error", "its result cannot be read") from None

    def load(self, source: str) -> None:
        """Import what a cell will import, so that the time that takes is not counted as its own."""
        if names := imported(source):
            self.run("", self.budget(IMPORTS), driver("load({!r})", names))


@contextmanager
def fresh_kernel(server: KernelServer, given: list[str]) -> Iterator[GradingKernel]:
    """A kernel in which the course's own cells have run; nothing of it is left in the end."""
    kernel = None
    try:
        try:
            kernel = GradingKernel(server)
            budget = kernel.budget(STARTUP)
            # zmq starts a thread for the first large message
            for source, expression in (("", "'0' * 10**6"), *((one, None) for one in given)):
                kernel.run(source, budget, expression)
        except (LostKernelError, CellError) as error:
            raise ServerError(f"a kernel could not be made ready: {error}") from None
        yield kernel
    finally:
        if kernel:
            kernel.client.stop_channels()
        server.stop_kernel()


def replied(content: dict, expression: str | None) -> str:
    """The text of the expression in a reply, which the learner's code may have written."""
    try:
        if content["status"] != "ok":
            raise CellError(f"{content['ename']}: {quoted(str(content['evalue']))}")
        # an answer cell with exit() in it replies first and dies then
        if any(one.get("source") == "ask_exit" for one in content.get("payload") or ()):
            raise LostKernelError(
                "crashed", "it ends the Python process it runs in: take exit() out"
            )
        if expression is None:
            return ""
        return str(content["user_expressions"]["result"].get("data", {}).get("text/plain", ""))
    except (KeyError, TypeError, AttributeError) as error:
        raise LostKernelError(
            "crashed", f"it breaks the kernel that runs it ({type(error).__name__})"
        ) from None


@cache
def sent() -> str:
    """The driver's modules, compiled, with what loads them and makes one call."""
    modules = {
        name: compile(source, f"attncourse_driver.{name}", "exec")
        for name, source in DRIVER.items()
    }
    loader = compile(inspect.getsource(bootstrap.load_driver), "attncourse_driver", "exec")
    return base64.b64encode(marshal.dumps((loader, modules))).decode()


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
