"""A kernel for answers not to be trusted: it may die, hang, flood or grow, and only it suffers."""

import ast
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from nbval.kernel import RunningKernel

from attncourse.checks import driver
from attncourse.grading import bootstrap, sandbox

MOST_OUTPUT = 1_000_000
MOST_RESULT = 50_000_000
STARTUP_SECONDS = 60
DRIVER = Path(driver.__file__).read_text(encoding="utf-8")
LOAD_DRIVER = f"""
import sys, types
sys.modules["attncourse_driver"] = types.ModuleType("attncourse_driver")
exec(compile({DRIVER!r}, "attncourse_driver", "exec"), sys.modules["attncourse_driver"].__dict__)
del sys, types
"""


class Trouble(Exception):
    """The kernel is lost, by the learner's code. `status` says how."""

    def __init__(self, status: str, hint: str):
        super().__init__(hint)
        self.status, self.hint = status, hint


class CellError(Exception):
    """A cell raised: the exception's name and text, without a traceback."""


class GradingKernel(RunningKernel):
    """nbval's running kernel with a deadline, a cap on output and memory, and nothing to find."""

    def __init__(self, chapter: str, memory: int, sandboxed: bool):
        # short, since the path of a socket may have 107 bytes; fresh, since it is on Python's path
        self.folder = Path(tempfile.mkdtemp(prefix="ac-"))
        home = self.folder / "home"
        home.mkdir()
        hidden = ("checks", "grading", chapter)
        environment = {
            name: os.environ[name]
            for name in (
                "PATH",
                "LANG",
                "LC_ALL",
                "LD_LIBRARY_PATH",
                "CUDA_VISIBLE_DEVICES",
                "PYTHONPATH",
            )
            if name in os.environ
        } | {
            "HOME": str(home),
            "TMPDIR": str(home),
            "IPYTHONDIR": str(home / "ipython"),
            "MPLBACKEND": "agg",
            "OMP_NUM_THREADS": "1",
            "PYTHONSAFEPATH": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "ATTNCOURSE_MEMORY": str(memory),
            "ATTNCOURSE_HIDDEN": ",".join(f"attncourse.{name}" for name in hidden),
        }
        start = [sys.executable, bootstrap.__file__, "-f", "{connection_file}"]
        self.km = KernelManager(connection_file=str(self.folder / "kernel.json"))
        if sandboxed:
            start = sandbox.command(self.folder, chapter) + start
            self.km.transport, self.km.ip = "ipc", str(self.folder / "s")
        self.km._kernel_spec = KernelSpec(argv=start, language="python", display_name="graded")
        quiet = open(os.devnull, "w")
        self.km.start_kernel(env=environment, cwd=str(self.folder), stdout=quiet, stderr=quiet)
        quiet.close()
        self.kc = self.km.client()
        self.kc.start_channels()
        try:
            self.kc.wait_for_ready(timeout=STARTUP_SECONDS)
            self.run(LOAD_DRIVER, time.monotonic() + STARTUP_SECONDS)
        except BaseException:
            self.stop()
            raise

    def run(self, code: str, deadline: float, expression: str | None = None) -> str:
        """Run code, then evaluate the expression and return its text.

        Raises CellError where the code raised, and Trouble where the kernel had to be given up.
        """
        sent = self.kc.execute(
            code, store_history=False, allow_stdin=False, stop_on_error=False,
            user_expressions={"result": expression} if expression else {},
        )  # fmt: skip
        printed = 0
        while True:
            printed += self.drain()
            if printed > MOST_OUTPUT:
                raise Trouble(
                    "crashed", f"it prints without end: more than {MOST_OUTPUT} characters"
                )
            try:
                reply = self.receive(self.kc.get_shell_msg, 0.05)
            except Empty:
                if not self.is_alive():
                    raise Trouble("crashed", "it ends the Python process it runs in") from None
                if time.monotonic() > deadline:
                    raise Trouble(
                        "too slow", "it does not come to an end in the time allowed"
                    ) from None
                continue
            if reply["parent_header"].get("msg_id") == sent:
                break
        content = reply["content"]
        if content["status"] != "ok":
            raise CellError(f"{content.get('ename')}: {content.get('evalue')}")
        # an answer cell with exit() in it replies first and dies then
        if content.get("payload") and any(
            p.get("source") == "ask_exit" for p in content["payload"]
        ):
            raise Trouble("crashed", "it ends the Python process it runs in: take exit() out")
        if expression is None:
            return ""
        return content["user_expressions"]["result"].get("data", {}).get("text/plain", "")

    def receive(self, get: Callable, seconds: float) -> dict:
        """The next message of a channel; Empty when there is none."""
        try:
            return get(timeout=seconds)
        except Empty:
            raise
        except Exception as error:
            # no signature, the same one twice, no JSON: the learner's code has changed the kernel
            raise Trouble("crashed", f"it breaks the kernel that runs it ({error})") from None

    def drain(self) -> int:
        """Throw away what the kernel has published, and say how many characters it was."""
        size = 0
        while True:
            try:
                message = self.receive(self.kc.get_iopub_msg, 0)
            except Empty:
                return size
            size += len(str(message["content"]))
            if size > MOST_OUTPUT:
                return size

    def call(self, request: dict, deadline: float) -> dict:
        """Have the driver make one call in the kernel; see `attncourse.checks.driver.drive`."""
        text = json.dumps(request)
        answer = self.run(
            "", deadline,
            f"__import__('sys').modules['attncourse_driver'].respond(globals(), {text!r})",
        )  # fmt: skip
        if len(answer) > MOST_RESULT:
            raise Trouble("crashed", f"its result is larger than {MOST_RESULT} characters")
        try:
            return json.loads(ast.literal_eval(answer))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            raise Trouble("error", "its result cannot be read") from None

    def stop(self) -> None:
        """Kill the process at once and leave nothing of it."""
        if hasattr(self, "kc"):
            self.kc.stop_channels()
        if hasattr(self, "km"):
            self.km.shutdown_kernel(now=True)
            del self.km
        shutil.rmtree(self.folder, ignore_errors=True)
