"""What is seen of a call, in the learner's process: one half of each thing that is compared.

Each function here tells its parts of the reply as plain data. It decides nothing: the other half,
of the same name in `judge.decided`, says when two calls agree in it, and what is said if not.
"""

import ctypes
import linecache
import random
import traceback

import numpy
import torch

from .values import decode, encode

MAX_PRINTED = 2_000  # characters
MAX_SAID = 300
# in place of an argument
MARKED = {"other": "a leaf of autograd"}
DRAWN = "the global random numbers"
KEPT = "autograd's switch", "the default dtype", "the default device", DRAWN
# bytes in NumPy's global generator: the numbers of a Mersenne Twister, and the place in them
OF_NUMPY = 4 * 624 + 4


def called(call):
    """The forbidden function that it called, if any."""
    return {"called": call.watch.called}


def steps(call):
    """The lines of Python that it ran, and the operations of torch if they were counted."""
    return {"steps": call.watch.steps + call.operations.count}


def outcome(call):
    """How it ended: returned, raised, missing, steps, time or forbidden; and what it raised."""
    return {"outcome": call.outcome, "error": call.error}


def settings(call):
    """What it changed that is kept for a whole process."""
    return {"settings": call.settings.changed()}


def inputs(call):
    """The arguments after the call, and the places of those whose memory holds other numbers.

    Those of the call before it, in which no gradient was asked for, are looked at as well.
    """
    return {
        "after": [left(one) for one in call.arguments],
        "written": [place for place, before in call.memories if before != numbers_at(before)],
    }


def largest(call):
    """The elements of the largest tensor that was made on the way, if that was counted."""
    return {"largest": call.operations.largest}


def value(call):
    """What it returned."""
    return {"value": encode(call.value)}


def gradients(call):
    """Gradients of the floating results, each times its cotangent, for each floating argument.

    None for one to which none flows, and in place of all where none are asked for.
    """
    along = call.cotangents
    if call.outcome != "returned" or along is None:
        return {"gradients": None}
    return {"gradients": flowing(call.value, call.leaves, decode(along, call.device))}


def printed(call):
    """How what it printed begins."""
    return {"printed": call.printed.getvalue()[:MAX_PRINTED]}


def blinded(call):
    """Whether it took away what counts torch's operations."""
    return {"blinded": call.watch.blinded}


# in the order in which they are told: gradients last, since to take them runs the answer's own code
SEEN = {
    one.__name__: one
    for one in (
        called, steps, outcome, settings, largest, blinded, value, inputs, printed, gradients
    )
}  # fmt: skip


def described(error, written_in):
    """The exception's type and text, and the last line before it of one of these namespaces."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if any(frame.f_globals is one for one in written_in):
            line = [number, linecache.getline(frame.f_code.co_filename, number).strip()[:300]]
    return {
        "type": type(error).__name__[:200],
        "text": " ".join(str(error).split())[:MAX_SAID],
        "line": line,
    }


class Settings:
    """What is kept for a whole process; what a call has changed of it is put back."""

    def __enter__(self):
        self.before = self.now()
        torch.set_grad_enabled(True)
        return self

    def now(self) -> dict:
        switch, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
        return dict(
            zip(KEPT, (switch, dtype, torch.get_default_device(), drawn_from()), strict=True)
        )

    def changed(self):
        before, after = self.before | {KEPT[0]: True}, self.now()
        return [name for name in after if before[name] != after[name]]

    def __exit__(self, *error):
        switch, dtype, device, numbers = self.before.values()
        torch.set_grad_enabled(switch)
        torch.set_default_dtype(dtype)
        # to say which, even the same one, makes every later call slower
        if torch.get_default_device() != device:
            torch.set_default_device(device)
        if drawn_from() != numbers:
            python, in_torch, in_numpy = numbers
            random.setstate(python)
            torch.set_rng_state(torch.frombuffer(bytearray(in_torch), dtype=torch.uint8))
            place, size = where_in_numpy()
            ctypes.memmove(place, in_numpy, min(size, len(in_numpy)))


def drawn_from():
    """The states that random numbers are drawn from: Python's, torch's and NumPy's."""
    # to read NumPy's where it lies is quick, and `get_state` is not
    in_numpy = ctypes.string_at(*where_in_numpy())
    return random.getstate(), torch.get_rng_state().numpy().tobytes(), in_numpy


def where_in_numpy():
    """Where NumPy's global generator has its state, and in how many bytes."""
    bits = numpy.random.get_bit_generator()  # pyright: ignore[reportAttributeAccessIssue]
    return bits.ctypes.state_address, OF_NUMPY if type(bits) is numpy.random.MT19937 else 0


def left(argument):
    """An argument after the call; a tensor that now wants a gradient is not the one given."""
    asked = isinstance(argument, torch.Tensor) and argument.is_leaf and argument.requires_grad
    return MARKED if asked else encode(argument)


def memory(argument):
    """Where the numbers of a tensor lie, and what they are, read past torch; nothing elsewhere."""
    if type(argument) is not torch.Tensor or argument.device.type != "cpu":
        return None
    return numbers_at((argument.data_ptr(), argument.numel() * argument.element_size()))


def numbers_at(place):
    return place and (*place[:2], ctypes.string_at(*place[:2]))


def flowing(value, leaves, cotangents):
    """The gradients, of whatever may come back; None where the cotangents are of other sizes."""
    wanted = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    results = value if isinstance(value, (list, tuple)) else [value]
    floating = [x for x in results if isinstance(x, torch.Tensor) and x.is_floating_point()]
    if [x.shape for x in floating] != [x.shape for x in cotangents]:
        return None
    pairs = zip(floating, cotangents, strict=True)
    # a sum, because torch loads SymPy where it is given what flows into a tensor
    flows = [(x * along.to(x.dtype)).sum() for x, along in pairs if x.requires_grad]
    if not flows:
        return [encode(None) for _ in wanted]
    try:
        found = torch.autograd.grad(sum(flows), wanted, allow_unused=True)  # pyright: ignore
    except RuntimeError as error:
        return [{"other": without_advice(str(error))} for _ in wanted]
    return [encode(one) for one in found]


def without_advice(text):
    """What torch says before a hint of its own, which would be read as ours."""
    said = text.partition(" Hint:")[0]
    return said if len(said) <= MAX_SAID else f"{said[: MAX_SAID - 1]}…"
