"""Calls a learner's function once and says what it did, as plain data (used by every check).

The judge sends the sources of this file, `elsewhere` and `watch` into the learner's kernel, so they
import nothing else of the judge.
What it returns is JSON: numbers as raw bytes with dtype and shape, never a pickle. It decides
nothing: whoever reads the answer compares.
"""

import base64
import contextlib
import ctypes
import functools
import importlib
import io
import json
import linecache
import random
import re
import traceback
import warnings
from typing import Any

import numpy
import torch
from torch.func import functional_call

from . import elsewhere
from .torch_internals import compiler_is_loaded, modes_on
from .watch import Called, Operations, Stopped, Watch


def warm_up():
    """Make a first call on each device: torch loads for a second, in which nothing is watched."""
    request = {
        "name": "first", "args": [encode(torch.ones(2, 2))], "kwargs": {}, "weights": {},
        "build": None, "before": None, "training": False, "by_columns": False, "cotangents": None,
        "watch": "everything", "counted": True, "forbidden": ["nothing"], "max_steps": 100,
    }  # fmt: skip
    for device in ("cpu", elsewhere.DEVICE):
        drive({"first": lambda x: (x @ x.mT).softmax(-1).sum()}, request | {"device": device})


def load(namespace, names):
    """Import what is there of these: before it is needed, so that no time is taken for it then."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return json.dumps(None)


def encode(value):
    """A value as JSON can carry it; one that cannot travel becomes the name of its type."""
    if isinstance(value, torch.Tensor):
        number = value.detach()
        made = {
            "dtype": str(number.dtype).removeprefix("torch."),
            "shape": list(number.shape),
            "device": number.device.type,
        }
        if number.device.type != elsewhere.DEVICE:
            # a copy: one element may be called contiguous, whatever its stride
            packed = number.resolve_conj().cpu().clone(memory_format=torch.contiguous_format)
            raw = packed.reshape(-1).view(torch.uint8)
            made["bytes"] = base64.b64encode(raw.numpy().tobytes()).decode()
        return {"tensor": made}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [encode(one) for one in value]}
    if value is None or isinstance(value, (bool, int, str)):
        return {"plain": value}
    if isinstance(value, float):
        return {"float": value.hex()}
    if hasattr(value, "source"):
        return {"function": [value.name, value.source]}
    return {"other": type(value).__name__[:200]}


def decode(data, device="cpu"):
    """The value that `encode` wrote; runs nothing. Raises ValueError where the data do not fit."""
    (kind, content), *rest = data.items()
    if rest:
        raise ValueError("a value has one kind")
    if kind == "tensor":
        dtype = getattr(torch, content["dtype"])
        if content["device"] == elsewhere.DEVICE:
            return torch.empty(content["shape"], dtype=dtype, device=elsewhere.DEVICE)
        raw = bytearray(base64.b64decode(content["bytes"]))
        flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        return placed(flat.reshape(content["shape"]), device)
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(decode(one, device) for one in content)
    if kind == "float":
        return float.fromhex(content)
    if kind == "other":
        return Unsendable(content)
    if kind != "plain" or not isinstance(content, (bool, int, str, type(None))):
        raise ValueError(f"no value is of kind {kind!r}")
    return content


def placed(number, device):
    """A tensor on that device."""
    return elsewhere.Elsewhere(number) if device == elsewhere.DEVICE else number.to(device)


@functools.lru_cache(maxsize=256)
def compiled(source):
    return compile(source, "implementation", "exec")


def implementation(name, source):
    """The function of that name which the judge wrote: only requests carry code, never answers."""
    namespace: dict = {"__name__": "implementation"}
    exec(compiled(source), namespace)
    return namespace[name]


class Unsendable(str):
    """The name of the type of a value that is neither a tensor nor a plain number."""


@contextlib.contextmanager
def silence(kept):
    """What the learner's code prints is kept, and its warnings are not."""
    ignored = warnings.catch_warnings(action="ignore")
    with contextlib.redirect_stdout(kept), contextlib.redirect_stderr(kept), ignored:
        yield


DRAWN = "the global random numbers"
# bytes in NumPy's global generator: the numbers of a Mersenne Twister, and the place in them
OF_NUMPY = 4 * 624 + 4
MARKED = {"other": "a leaf of autograd"}
MAX_PRINTED = 2_000  # characters
# numbers: what no right answer gives would take its time to be sent
MOST_RETURNED = 10_000_000


class UnfitError(Exception):
    """Raised where the answer is not the module that was asked for."""


class Settings:
    """What is kept for a whole process; what a call has changed of it is put back."""

    def __enter__(self):
        self.before = self.now()
        torch.set_grad_enabled(True)
        return self

    def now(self):
        return {
            "autograd's switch": torch.is_grad_enabled(),
            "the default dtype": torch.get_default_dtype(),
            "the default device": torch.get_default_device(),
            DRAWN: drawn(),
        }

    def changed(self):
        before, after = self.before | {"autograd's switch": True}, self.now()
        return [name for name in after if before[name] != after[name]]

    def __exit__(self, *error):
        switch, dtype, device, numbers = self.before.values()
        torch.set_grad_enabled(switch)
        torch.set_default_dtype(dtype)
        # to say which, even the same one, makes every later call slower
        if torch.get_default_device() != device:
            torch.set_default_device(device)
        if drawn() != numbers:
            python, in_torch, in_numpy = numbers
            random.setstate(python)
            torch.set_rng_state(torch.frombuffer(bytearray(in_torch), dtype=torch.uint8))
            place, size = where_in_numpy()
            ctypes.memmove(place, in_numpy, min(size, len(in_numpy)))


def drawn():
    """The states that random numbers are drawn from: Python's, torch's and NumPy's."""
    # to read NumPy's where it lies is quick, and `get_state` is not
    in_numpy = ctypes.string_at(*where_in_numpy())
    return random.getstate(), torch.get_rng_state().numpy().tobytes(), in_numpy


def where_in_numpy():
    """Where NumPy's global generator has its state, and in how many bytes."""
    bits = numpy.random.get_bit_generator()  # pyright: ignore[reportAttributeAccessIssue]
    return bits.ctypes.state_address, OF_NUMPY if type(bits) is numpy.random.MT19937 else 0


def respond(namespace, request):
    """The answer, in JSON, to a request: see `drive`."""
    return json.dumps(drive(namespace, request))


def drive(namespace, request):
    """Call `request["name"]` of the namespace and tell what came back.

    Keys of the request: name, args, kwargs, device, cotangents (or None), watch (everything,
    lines, calls or nothing: see `Watch`), counted, forbidden, max_steps; by_columns (how they lie
    in memory); build (those of a module's class, or None), its weights, training (whether it stays
    as it was made), and before (the arguments of a call with other weights before this one, or
    None).
    Keys of the answer: outcome (returned, raised, missing, steps, forbidden), value, after (the
    arguments after the call), written (the places of those whose memory holds other numbers),
    gradients, error, called, steps, largest (elements of a tensor that was made, 0 if not
    counted), settings (those that it changed), printed (how it begins), blinded (whether it took
    away what counts torch's operations).
    """
    with Settings() as settings, as_written():
        return called(namespace, request, settings)


def globals_of(function):
    """The namespace that a function, or a module's, was written in; an empty one if it has none."""
    return getattr(getattr(function, "forward", function), "__globals__", {})


def as_written():
    """What the learner has compiled runs line by line, so that the lines can be counted."""
    if compiler_is_loaded():
        return torch.compiler.set_stance("force_eager")
    return contextlib.nullcontext()


def called(namespace, request, settings):
    answer: dict = dict.fromkeys(("after", "gradients", "error", "called"))
    if request["name"] not in namespace:
        nothing = {"value": encode(None), "steps": 0, "largest": 0, "settings": [], "printed": ""}
        nothing |= {"written": [], "blinded": False}
        return answer | {"outcome": "missing"} | nothing
    device, leaves, inputs = request["device"], [], []
    places, given = len(request["args"]), len(request["args"]) + len(request["kwargs"])
    arguments = *request["args"], *request["kwargs"].values(), *request["weights"].values()
    for place, argument in enumerate(arguments):
        if "function" in argument:
            value = implementation(*argument["function"])
        else:
            value = decode(argument, device)
        if request["by_columns"] and place < given and isinstance(value, torch.Tensor):
            value = by_columns(value)
        leaf = value
        if request["cotangents"] and isinstance(value, torch.Tensor) and value.is_floating_point():
            leaf = value.requires_grad_()
            # a copy, so that a learner who writes into an input is told so, not met by autograd
            value = leaf.clone()
        leaves.append(leaf)
        inputs.append(value)
    kwargs = dict(zip(request["kwargs"], inputs[places:given], strict=True))
    weights = dict(zip(request["weights"], inputs[given:], strict=True))
    everything, lines = request["watch"] == "everything", request["watch"] != "calls"
    watch = Watch(request["forbidden"], request["max_steps"], lines, everything)
    watching = watch if request["watch"] else contextlib.nullcontext()
    operations = Operations(watch, request["counted"])
    # an answer may be told by name where to make its result
    names = {"plain": device}, *request["args"], *request["kwargs"].values()
    there = {"plain": elsewhere.DEVICE} in names
    computed = elsewhere.another_device() if there else contextlib.nullcontext()
    modes: list = [Called(watch)] if request["watch"] and request["forbidden"] else []
    if request["counted"] or (everything and watch.fused and not there):
        modes.append(operations)
    memories = [memory(one) for one in inputs[:given]]
    value: Any = None
    printed, written_in = io.StringIO(), [namespace]
    try:
        with silence(printed), watching, computed:
            function = namespace[request["name"]]
            written_in.append(globals_of(function))
            # torch.jit runs these without Python
            graph = str(getattr(function, "inlined_graph", ""))
            for operation in re.findall(r"aten::(\w+)", graph):
                watch.refuse(operation)
            if request["build"] is not None:
                before = request["before"] and [decode(x, device) for x in request["before"]]
                made, training = decode(request["build"]), request["training"]
                function = built(function, made, weights, before, training)
            with contextlib.ExitStack() as seeing:
                for mode in modes:
                    seeing.enter_context(mode)
                watch.modes = modes_on()
                seeing.callback(setattr, watch, "modes", 0)
                if request["counted"]:
                    seeing.enter_context(watch.calling(written_in))
                value = function(*inputs[:places], **kwargs)
        if shape := too_large(value):
            value = None
            raise UnfitError(f"the result is far too large: its shape is {shape}")
        answer["outcome"] = "returned"
    except Stopped as why:
        answer["outcome"] = str(why)
    except BaseException as error:
        answer |= {"outcome": "raised", "error": describe(error, written_in)}
    if hasattr(value, "cr_await"):
        # Python warns of one that nobody has awaited
        value.close()
    if watch.called:
        answer |= {"outcome": "forbidden", "called": watch.called}
    answer |= {"settings": settings.changed(), "steps": watch.steps + operations.count}
    answer |= {"value": encode(value), "largest": operations.largest, "blinded": watch.blinded}
    answer["written"] = [place for place, one in enumerate(memories) if one != read(one)]
    answer["printed"] = printed.getvalue()[:MAX_PRINTED]
    answer["after"] = [left(one) for one in inputs[:given]]
    if answer["outcome"] == "returned" and request["cotangents"]:
        answer["gradients"] = gradients(value, leaves, decode(request["cotangents"], device))
    return answer


def too_large(value):
    """The shape of a tensor that no right answer gives; None where there is none."""
    some = value if isinstance(value, (list, tuple)) else [value]
    shapes = [
        (*x.shape,) for x in some if isinstance(x, torch.Tensor) and x.numel() > MOST_RETURNED
    ]
    return shapes[0] if shapes else None


def by_columns(x):
    """The same numbers, which lie in memory in the order of a transposed tensor."""
    turned = tuple(range(x.dim() - 1, -1, -1))
    return x.permute(turned).contiguous().permute(turned)


def left(value):
    """An argument after the call; a tensor that now wants a gradient is not the one given."""
    asked = isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad
    return MARKED if asked else encode(value)


def memory(value):
    """Where the numbers of a tensor lie, and what they are, read past torch; nothing elsewhere."""
    if type(value) is not torch.Tensor or value.device.type != "cpu":
        return None
    return read((value.data_ptr(), value.numel() * value.element_size()))


def read(place):
    return place and (*place[:2], ctypes.string_at(*place[:2]))


def built(kind, arguments, weights, before=None, training=False):
    """A call of the module of that class, with these weights for its own.

    It is as it is once trained or, for training, as it was made. What it may keep of a call before,
    with other weights and arguments, must not count.
    """
    if isinstance(kind, torch.nn.Module):
        raise UnfitError("it should be the class itself, not a module made from it")
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
        raise UnfitError("it should be a class that derives from torch.nn.Module")
    # a new layer draws its first weights, which are not kept
    with torch.random.fork_rng(devices=[]):
        module = kind(*arguments)
    if not training:
        module.eval()
    frozen = [name for name, weight in module.named_parameters() if not weight.requires_grad]
    if frozen:
        raise UnfitError(f"{', '.join(frozen)} cannot learn: requires_grad is False")
    own = {name: tuple(weight.shape) for name, weight in module.named_parameters()}
    wanted = {name: tuple(weight.shape) for name, weight in weights.items()}
    if own != wanted:
        extra, missing = dict(own.items() - wanted.items()), dict(wanted.items() - own.items())
        if plain := [
            name
            for name in missing.keys() - own.keys()
            if isinstance(kept(module, name), torch.Tensor)
        ]:
            names = ", ".join(sorted(plain))
            raise UnfitError(f"no plain tensor learns: make an nn.Parameter of each of {names}")
        raise UnfitError(
            f"its parameters: not asked for are {listed(extra)}, missing are {listed(missing)}"
        )
    for weight in list(weights.values())[:1]:
        # device and dtype of one are those of all
        module.to(weight)
    if before is not None:
        with torch.no_grad():
            functional_call(module, {name: one + 1 for name, one in weights.items()}, tuple(before))
    return lambda *args, **kwargs: functional_call(module, weights, args, kwargs)


def kept(module, name):
    """What a module has under the name of a parameter; None where it has nothing."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def listed(shapes):
    return ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items())) or "none"


def gradients(value, leaves, cotangents):
    """Gradients of the floating results, each times its cotangent, for each floating leaf.

    None for a leaf to which none flows.
    """
    wanted = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    results = value if isinstance(value, (list, tuple)) else [value]
    floating = [x for x in results if isinstance(x, torch.Tensor) and x.is_floating_point()]
    if [x.shape for x in floating] != [x.shape for x in cotangents]:
        return None
    pairs = zip(floating, cotangents, strict=True)
    flows = [(x, along.to(x.dtype)) for x, along in pairs if x.requires_grad]
    if not flows:
        return [encode(None) for _ in wanted]
    flowing, along = zip(*flows, strict=True)
    try:
        found = torch.autograd.grad(flowing, wanted, along, allow_unused=True)
    except RuntimeError as error:
        return [{"other": str(error)[:200]} for _ in wanted]
    return [encode(one) for one in found]


def describe(error, written_in):
    """The exception's type and text, and the last line before it of one of these namespaces."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if any(frame.f_globals is one for one in written_in):
            line = [number, linecache.getline(frame.f_code.co_filename, number).strip()[:300]]
    return {
        "type": type(error).__name__[:200],
        "text": " ".join(str(error).split())[:300],
        "line": line,
    }
