"""What is recorded of a call, as plain data: the reply to the request that asked for it.

Each function here adds its fields to the reply. What they are compared with, and how, stands in
`judge.compare.criteria`.
"""

import linecache
import random
import traceback
from typing import Any

import numpy
import torch

from .outcome import Outcome
from .values import decode, encode

MAX_PRINTED = 2_000  # characters
MAX_TEXT = 300
# in place of an argument that now wants a gradient, and so is not the one that was passed
LEAF = {"other": "a leaf of autograd"}
RANDOM = "the global random numbers"
SETTINGS = "torch's grad mode", "the default dtype", "the default device", RANDOM


def called(call):
    """The forbidden function that it called, if any."""
    return {"called": call.watch.called}


def steps(call):
    """The lines of Python that it ran, and the operations of torch if they were counted."""
    return {"steps": call.watch.steps + call.operations.count}


def outcome(call):
    """How it ended, and what it raised."""
    return {"outcome": call.outcome.value, "error": call.error}


def settings(call):
    """What it changed that holds for a whole process."""
    return {"settings": call.settings.changed()}


def inputs(call):
    """The arguments after the call, and those of the call before it, which share its module."""
    return {
        "after": [after(x) for x in call.arguments],
        "before_after": [after(x) for x in call.before or ()],
    }


def after(argument):
    is_leaf = isinstance(argument, torch.Tensor) and argument.is_leaf and argument.requires_grad
    return LEAF if is_leaf else encode(argument)


def largest(call):
    """The elements of the largest tensor that was made on the way, if that was counted."""
    return {"largest": call.operations.largest}


def value(call):
    """What it returned."""
    return {"value": encode(call.value)}


def printed(call):
    """How what it printed begins."""
    return {"printed": call.printed.getvalue()[:MAX_PRINTED]}


def gradients(call):
    """Gradients of the floating results, each times its cotangent, for each floating argument.

    None for one to which none flows, and in place of all where none are asked for.
    """
    if call.outcome != Outcome.RETURNED or call.cotangents is None:
        return {"gradients": None}
    cotangents = decode(call.cotangents, call.device)
    return {"gradients": backward(call.value, call.leaves, cotangents)}


# gradients last, since to take them runs the answer's own code
RECORDED = called, steps, outcome, settings, largest, value, inputs, printed, gradients


def backward(value, leaves, cotangents):
    """The gradients, of whatever may come back; None where the cotangents are of other sizes."""
    wanted = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    results = value if isinstance(value, (list, tuple)) else [value]
    floating = [x for x in results if isinstance(x, torch.Tensor) and x.is_floating_point()]
    if [x.shape for x in floating] != [x.shape for x in cotangents]:
        return None
    pairs = zip(floating, cotangents, strict=True)
    # a sum, because torch loads SymPy where it is given what flows into a tensor
    sums = [(x * along.to(x.dtype)).sum() for x, along in pairs if x.requires_grad]
    if not sums:
        return [encode(None) for _ in wanted]
    try:
        found = torch.autograd.grad(sum(sums), wanted, allow_unused=True)  # pyright: ignore
    except RuntimeError as error:
        return [{"other": without_advice(str(error))} for _ in wanted]
    return [encode(gradient) for gradient in found]


def without_advice(text):
    """What torch's error says before a hint of its own, which would be read as ours."""
    problem = text.partition(" Hint:")[0]
    return problem if len(problem) <= MAX_TEXT else f"{problem[: MAX_TEXT - 1]}…"


def describe_error(error, namespaces):
    """The exception's type and text, and the last line before it of code of these namespaces."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if any(frame.f_globals is one for one in namespaces):
            line = [number, linecache.getline(frame.f_code.co_filename, number).strip()[:MAX_TEXT]]
    return {
        "type": type(error).__name__[:200],
        "text": " ".join(str(error).split())[:MAX_TEXT],
        "line": line,
    }


class Settings:
    """What holds for a whole process; what a call has changed of it is put back."""

    def __enter__(self):
        self.before = current_settings()
        torch.set_grad_enabled(True)
        return self

    def changed(self):
        before, now = self.before | {SETTINGS[0]: True}, current_settings()
        return [name for name in now if before[name] != now[name]]

    def __exit__(self, *error):
        switch, dtype, device, states = self.before.values()
        torch.set_grad_enabled(switch)
        torch.set_default_dtype(dtype)
        # to set the default device, even to the same one, makes every later call slower
        if torch.get_default_device() != device:
            torch.set_default_device(device)
        if random_states() != states:
            in_python, in_torch, (kind, key, *position) = states
            random.setstate(in_python)
            torch.set_rng_state(torch.frombuffer(bytearray(in_torch), dtype=torch.uint8))
            in_numpy: Any = (kind, numpy.frombuffer(key, numpy.uint32), *position)
            numpy.random.set_state(in_numpy)


def current_settings() -> dict:
    values = (
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        random_states(),
    )
    return dict(zip(SETTINGS, values, strict=True))


def random_states() -> tuple:
    """The states of the global generators of Python, torch and NumPy, which can be compared."""
    state: Any = numpy.random.get_state()
    kind, key, *position = state
    in_torch = torch.get_rng_state().numpy().tobytes()
    return random.getstate(), in_torch, (kind, key.tobytes(), *position)
