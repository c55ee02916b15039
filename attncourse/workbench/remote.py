"""A layer whose code runs in a sandbox: it gets numbers and weights, and gives numbers back.

So what its outputs, its state and a model's bits are is found outside of the process that might
deceive, which never sees a text, a label or what is expected. Each call is made by a process of its
own: nothing that one has kept is there in the next.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

import torch
from torch import Tensor, nn

from attncourse.data.addresses import Address
from attncourse.workbench.layers import State, UnfitError, require_output, require_state
from judge import quotation
from judge.call.outcome import Outcome
from judge.call.values import decode, encode
from judge.compare.criteria import checked
from judge.compare.reply_schema import ReplyError
from judge.grading.kernel.client import CellError, GradingKernel, LostKernelError, fresh_kernel
from judge.grading.kernel.server import KernelServer, ServerError
from judge.grading.report.text import line
from judge.grading.sandbox.tiers import Tier
from judge.status import Status

# bytes, and seconds of the processor: to start, for a call, for a step of a training
MEMORY, START, SECONDS, TRAINING_STEP = 4 << 30, 60, 60, 5
CELL = """
from attncourse.workbench.inside import Inside

globals().update(Inside({!r}).calls)
"""
# what the driver is asked beside the function and its arguments
PLAIN = {
    "kwargs": {}, "build": None, "weights": {}, "before": None, "training": False,
    "device": "cpu", "by_columns": False, "cotangents": None, "count_lines": False,
    "count_operations": False, "forbidden": [], "max_steps": 0,
}  # fmt: skip


class RemoteMethod:
    """A handed-in method, in a kernel that has run its code."""

    def __init__(self, kernel: GradingKernel):
        self.kernel = kernel

    def new(self, i: int, seed: int) -> "RemoteLayer":
        """A new layer of block i."""
        match self.ask("new", i, seed):
            case (([*names], [*tensors]), [*learned], bool(takes_mask), bool(own), int(count)) if (
                all(isinstance(name, str) for name in (*names, *learned))
                and all(isinstance(x, Tensor) for x in tensors)
                and len(names) == len(tensors)
                and {*learned} <= {*names}
            ):
                weights = dict(zip(names, tensors, strict=True))
                return RemoteLayer(self, i, weights, [*map(str, learned)], takes_mask, own, count)
        raise UnfitError("its layers cannot be read")

    def train(self, texts: Sequence[Address], seed: int, steps: int) -> dict[str, Tensor]:
        """The weights of a new model that is trained on texts."""
        columns = [text.year for text in texts], [text.text for text in texts]
        match self.ask("train", *columns, seed, steps, seconds=START + TRAINING_STEP * steps):
            case ([*names], [*tensors]) if len(names) == len(tensors) and all(
                isinstance(x, Tensor) for x in tensors
            ):
                return dict(zip(names, tensors, strict=True))
        raise UnfitError("the weights of its training cannot be read")

    def ask(self, name: str, *args: Any, seconds: float = SECONDS) -> Any:
        """What a call gives in a copy of the kernel; UnfitError where that is nothing."""
        request = PLAIN | {"name": name, "args": [encode(value) for value in args]}
        try:
            with self.kernel.copied(self.kernel.budget(SECONDS)) as fresh:
                reply = checked(fresh.call(request, fresh.budget(seconds)))
            # a training writes a checkpoint, and its kernel is not asked again
            if self.kernel.spoiled and name != "train":
                raise UnfitError("it changes files: what it has to keep belongs in its state")
            if reply["outcome"] != Outcome.RETURNED:
                raise UnfitError(sentence(reply["error"] or {"type": "Error", "text": ""}))
            return decode(reply["value"])
        except LostKernelError as error:
            raise given_up(error) from None
        except (ReplyError, ValueError, KeyError, TypeError, RuntimeError, AttributeError):
            raise UnfitError("its result cannot be read") from None


class NotGradedError(Exception):
    """A method cannot be judged, by no fault of its own."""


def given_up(error: LostKernelError) -> Exception:
    """The method's error, or the machine's, by which a kernel was lost."""
    return (NotGradedError if error.status == Status.NOT_GRADED else UnfitError)(error.hint)


def sentence(error: dict[str, str]) -> str:
    """What a call has raised, in one sentence."""
    if error["type"] == UnfitError.__name__:
        return line(error["text"])
    return f"it raises {quotation.exception(error['type'], error['text'])}"


class RemoteLayer(nn.Module):
    """A layer of a handed-in method, with weights of which some learn."""

    def __init__(
        self,
        method: RemoteMethod,
        i: int,
        weights: dict[str, Tensor],
        learned: Sequence[str],
        takes_mask: bool,
        is_inherited: bool,
        distinct: int,
    ):
        super().__init__()
        self.method, self.i, self.weights, self.learned = method, i, weights, learned
        self.takes_mask, self.is_inherited, self.distinct = takes_mask, is_inherited, distinct
        self.auxiliary_loss: Tensor | None = None
        self.eval()

    def named_parameters(self, *args: Any, **options: Any) -> Iterator[tuple[str, Any]]:
        """The weights that learn."""
        return ((name, self.weights[name].requires_grad_()) for name in self.learned)

    def with_weights(self, weights: dict[str, Tensor]) -> "RemoteLayer":
        """The layer with other weights; UnfitError where they are not of the same shapes."""
        for name, x in self.weights.items():
            if name not in weights or weights[name].shape != x.shape:
                raise UnfitError(
                    f"the file has no weights {quotation.named(name)} of the shape "
                    f"{tuple(x.shape)}, which the code asks for"
                )
        layer = copy(self)
        layer.weights = {name: weights[name].to(x.dtype) for name, x in self.weights.items()}
        return layer

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """What the layer's code makes of x."""
        learned = (p for _, p in self.named_parameters())
        z, self.auxiliary_loss = RemoteCall.apply(self, mask, x, *learned)  # pyright: ignore
        return z

    def go_on(self, state: State | None, x: Tensor, start: int) -> tuple[State, Tensor]:
        """The state after the tokens of x, and their outputs."""
        match self.ask("steps", state, x, start):
            case (tuple(state), outputs):
                return require_state(state), require_output(outputs, x, "the text")
        raise UnfitError("its steps cannot be read")

    def work(self, x: Tensor) -> list[int]:
        """Operations and elements to read all tokens of x but one, and to write it."""
        match self.ask("work", x):
            case [int(), int(), int(), int()] as counts:
                return [*counts]
        raise UnfitError("its work cannot be counted")

    def ask(self, name: str, *args: Any) -> Any:
        """What a call with the layer's weights gives."""
        weights = [*self.weights], [x.detach() for x in self.weights.values()]
        return self.method.ask(name, self.i, weights, *args)


class RemoteCall(torch.autograd.Function):
    """The output of a remote layer and its auxiliary loss, with their gradients."""

    @staticmethod
    def forward(ctx, layer: RemoteLayer, mask: Tensor | None, x: Tensor, *learned: Tensor):
        ctx.layer, ctx.x, ctx.mask = layer, x.detach(), [] if mask is None else [mask]
        match layer.ask("whole", layer.training, ctx.x, *ctx.mask):
            case (z, float(loss)):
                return require_output(z, x, "the text"), torch.tensor(loss)
            case (z, Tensor() as loss) if loss.shape == ():
                return require_output(z, x, "the text"), loss
        raise UnfitError("auxiliary_loss is not a tensor with one number")

    @staticmethod
    def backward(ctx, *along: Tensor):  # pyright: ignore
        layer, learned = ctx.layer, [p for _, p in ctx.layer.named_parameters()]
        found = layer.ask("gradients", layer.training, [*along], ctx.x, *ctx.mask)
        fits = isinstance(found, list) and len(found) == 1 + len(learned)
        for x, gradient in zip([ctx.x, *learned], found if fits else [], strict=fits):
            if gradient is not None:
                fits = fits and isinstance(gradient, Tensor) and gradient.shape == x.shape
        if not fits:
            raise UnfitError("its gradients cannot be read")
        return None, None, *found


@contextmanager
def method_in_sandbox(code: str, tier: Tier) -> Iterator[RemoteMethod]:
    """A method whose code has been run in a sandbox."""
    server = KernelServer("", MEMORY, tier)
    try:
        with fresh_kernel(server, []) as kernel:
            kernel.run(CELL.format(code), kernel.budget(START))
            yield RemoteMethod(kernel)
    except CellError as error:
        raise UnfitError(f"its code cannot be run: {line(str(error))}") from None
    except LostKernelError as error:
        raise given_up(error) from None
    except ServerError as error:
        raise NotGradedError(str(error)) from None
    finally:
        server.stop()
