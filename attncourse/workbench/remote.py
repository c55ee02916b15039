"""A layer whose code runs in a sandbox: it gets numbers and weights, and gives numbers back.

So what its outputs, its state and a model's bits are is found outside of the process that might
deceive, which never sees a text, a label or what is expected.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from attncourse.workbench.layers import UnfitError, require_state
from judge.call.outcome import Outcome
from judge.call.values import decode, encode
from judge.compare.criteria import checked
from judge.compare.reply_schema import ReplyError
from judge.grading.kernel.client import GradingKernel, LostKernelError

# of the processor, for one call
SECONDS = 60
CELL = """
import tempfile
from pathlib import Path
from attncourse.workbench.layers import load_method

path = Path(tempfile.mkdtemp(), "method.py")
path.write_text({code!r}, "utf-8")
method = load_method(path)


def layer(names, weights, dtype):
    made = method.make().to(dtype)
    made.load_state_dict(dict(zip(names, weights, strict=True)))
    return made.eval()


def whole(names, weights, x):
    return layer(names, weights, x.dtype)(x)


def begin(names, weights, x):
    return layer(names, weights, x.dtype).empty_state(x)


def step(names, weights, x, state):
    return layer(names, weights, x.dtype).step(tuple(state), x)
"""
# what the driver is asked beside the function and its arguments
PLAIN = {
    "kwargs": {}, "build": None, "weights": {}, "before": None, "training": False,
    "device": "cpu", "by_columns": False, "cotangents": None, "count_lines": False,
    "count_operations": False, "forbidden": [], "max_steps": 0,
}  # fmt: skip


class RemoteLayer(nn.Module):
    """A handed-in layer with these weights, in a kernel that has run `CELL`."""

    def __init__(self, kernel: GradingKernel, weights: Mapping[str, Tensor]):
        super().__init__()
        self.kernel, self.weights = kernel, dict(weights)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """What the layer's code makes of x."""
        z = self.ask(self.kernel, "whole", x)
        if not isinstance(z, Tensor):
            raise UnfitError("its output is no tensor")
        return z

    def empty_state(self, x: Tensor) -> tuple[Tensor, ...]:
        """The state before the first token."""
        return require_state(self.ask(self.kernel, "begin", x))

    def step(self, state: tuple[Tensor, ...], x: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """One step, in a process of its own: it has the weights and the state alone."""
        with self.kernel.copied(self.kernel.budget(SECONDS)) as fresh:
            reply = self.ask(fresh, "step", x, list(state))
        if not (isinstance(reply, tuple) and len(reply) == 2 and isinstance(reply[1], Tensor)):
            raise UnfitError("a step gives the new state and the output")
        return require_state(reply[0]), reply[1]

    def ask(self, kernel: GradingKernel, name: str, x: Tensor, *more: Any) -> Any:
        """The value of a call in a kernel; UnfitError where there is none."""
        weights = [w.to(x.dtype) for w in self.weights.values()]
        args = [encode(value) for value in ([*self.weights], weights, x, *more)]
        request = PLAIN | {"name": name, "args": args}
        try:
            reply = checked(kernel.call(request, kernel.budget(SECONDS)))
            if reply["outcome"] != Outcome.RETURNED:
                error = reply["error"] or {"type": reply["outcome"], "text": ""}
                raise UnfitError(f"it raises {error['type']}: {error['text']:.200}")
            return decode(reply["value"])
        except LostKernelError as error:
            raise UnfitError(error.hint) from None
        except (ReplyError, ValueError, KeyError, TypeError, RuntimeError):
            raise UnfitError("its result cannot be read") from None
