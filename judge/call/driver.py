"""Makes one call of a learner's function and replies with a record of it, as plain data.

The judge sends the sources of this file, and of those that it imports, into the learner's kernel.
The reply is JSON: numbers as raw bytes with dtype and shape, never a pickle.
"""

import contextlib
import importlib
import io
import json
import warnings
from typing import Any

import torch
from torch.func import functional_call

from . import fake_device
from .outcome import Outcome, Stopped
from .record import RECORDED, Settings, describe_error
from .torch_internals import compiler_is_loaded
from .values import by_columns, decode, decode_argument, encode
from .watch import Operations, TorchCalls, Watch, namespace_of

# numbers: what no right answer gives would take its time to be sent
MOST_RETURNED = 10_000_000

LARGE = "the result is far too large: its shape is {}"
MADE = "your answer should be the class itself, not a module made from it"
OTHER = "your answer should be a class that derives from torch.nn.Module"
FROZEN = "{} can't be trained: requires_grad is False"
NO_PARAMETER = "plain tensors aren't trained: make each of these an nn.Parameter: {}"
PARAMETERS = "the module has the wrong parameters. Not asked for: {}, missing: {}"


class UnfitError(Exception):
    """Raised where the answer is not the module that was asked for."""


def warm_up():
    """Make a first call on each device: torch loads for a second, in which nothing is watched."""
    request = {
        "name": "first", "args": [encode(torch.ones(2, 2))], "kwargs": {}, "weights": {},
        "build": None, "before": None, "training": False, "by_columns": False, "cotangents": None,
        "count_lines": True, "count_operations": True, "forbidden": ["nothing"], "max_steps": 100,
    }  # fmt: skip
    for device in ("cpu", fake_device.DEVICE):
        drive({"first": lambda x: (x @ x.mT).softmax(-1).sum()}, request | {"device": device})


def load(namespace, names):
    """Import what is there of these: before it is needed, so that no time is taken for it then."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return json.dumps(None)


def respond(namespace, request):
    """The reply to a request, in JSON: see `drive`."""
    return json.dumps(drive(namespace, request))


def drive(namespace, request):
    """Call `request["name"]` of the namespace; the reply has the fields of all in `RECORDED`.

    Keys of the request: name, args, kwargs, device, cotangents (or None), by_columns (how they lie
    in memory), count_lines, count_operations, forbidden, max_steps; for a module, build (the
    arguments of its class, or None), its weights, training (whether it stays as it was made), and
    before (the arguments of a call with other weights before this one, or None).
    """
    with Settings() as settings, without_compiling():
        call = Call(request, settings)
        call.make(namespace)
        return {name: part for record in RECORDED for name, part in record(call).items()}


def without_compiling():
    """Within it, what the learner has compiled runs line by line, so that lines can be counted."""
    if compiler_is_loaded():
        return torch.compiler.set_stance("force_eager")
    return contextlib.nullcontext()


class Call:
    """One call of an answer: what it is given, what watches it and, once made, what came of it."""

    def __init__(self, request, settings):
        self.request, self.settings, self.device = request, settings, request["device"]
        self.cotangents = request["cotangents"]
        self.outcome, self.error = Outcome.RETURNED, None
        self.value: Any = None
        self.printed = io.StringIO()
        own = [self.argument(one) for one in (*request["args"], *request["kwargs"].values())]
        pairs = own + [self.leaf(decode(one, self.device)) for one in request["weights"].values()]
        # what gradients are taken for, and what is passed
        self.leaves, passed = ([pair[side] for pair in pairs] for side in (0, 1))
        self.arguments = passed[: len(own)]
        self.weights = dict(zip(request["weights"], passed[len(own) :], strict=True))
        self.before = request["before"] and [decode(x, self.device) for x in request["before"]]
        self.operations = Operations()

    def argument(self, data):
        """The leaf of autograd that an argument comes from, and the argument as it is passed."""
        value = decode_argument(data, self.device)
        if self.request["by_columns"] and isinstance(value, torch.Tensor):
            value = by_columns(value)
        return self.leaf(value)

    def leaf(self, value):
        if self.cotangents and isinstance(value, torch.Tensor) and value.is_floating_point():
            # a copy, so that a learner who writes into an input is told so, not met by autograd
            return value.requires_grad_(), value.clone()
        return value, value

    def make(self, namespace):
        """Make the call, if there is anything of that name."""
        request, function = self.request, namespace.get(self.request["name"])
        namespaces = namespace, namespace_of(function)
        self.watch = Watch(
            *namespaces,
            forbidden=request["forbidden"],
            count_lines=request["count_lines"],
            max_steps=request["max_steps"],
        )
        if request["name"] not in namespace:
            self.outcome = Outcome.MISSING
            return
        try:
            self.value = self.result(function)
            if shape := too_large(self.value):
                self.value = None
                raise UnfitError(LARGE.format(shape))
        except Stopped as stopped:
            self.outcome = stopped.outcome
        except BaseException as error:
            self.outcome, self.error = Outcome.RAISED, describe_error(error, namespaces)
        if hasattr(self.value, "cr_await"):
            # Python warns of one that nobody has awaited
            self.value.close()
        if self.watch.called:
            self.outcome = Outcome.FORBIDDEN

    def result(self, function):
        """What the function, or a module of that class, makes of the arguments, watched."""
        request, places = self.request, len(self.request["args"])
        kwargs = dict(zip(request["kwargs"], self.arguments[places:], strict=True))
        with silence(self.printed), self.watch, contextlib.ExitStack() as modes:
            if self.is_on_fake_device:
                modes.enter_context(fake_device.computing())
            if request["build"] is not None:
                arguments, training = decode(request["build"]), request["training"]
                function = module_call(function, arguments, self.weights, self.before, training)
            if request["forbidden"]:
                modes.enter_context(TorchCalls(self.watch))
            if request["count_operations"]:
                modes.enter_context(self.operations)
            return function(*self.arguments[:places], **kwargs)

    @property
    def is_on_fake_device(self):
        """Whether it computes there, or is told by name to make its result there."""
        named = {"plain": self.device}, *self.request["args"], *self.request["kwargs"].values()
        return {"plain": fake_device.DEVICE} in named


@contextlib.contextmanager
def silence(kept):
    """What the learner's code prints is kept, and its warnings are not."""
    ignored = warnings.catch_warnings(action="ignore")
    with contextlib.redirect_stdout(kept), contextlib.redirect_stderr(kept), ignored:
        yield


def too_large(value):
    """The shape of a tensor that no right answer gives; None where there is none."""
    some = value if isinstance(value, (list, tuple)) else [value]
    shapes = [
        (*x.shape,) for x in some if isinstance(x, torch.Tensor) and x.numel() > MOST_RETURNED
    ]
    return shapes[0] if shapes else None


def module_call(kind, arguments, weights, before=None, training=False):
    """A call of the module of that class, with these weights for its own.

    It is as it is once trained or, for training, as it was made. What it may keep of a call before,
    with other weights and arguments, must not count.
    """
    if isinstance(kind, torch.nn.Module):
        raise UnfitError(MADE)
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
        raise UnfitError(OTHER)
    # a new layer draws its first weights, which are not kept
    with torch.random.fork_rng(devices=[]):
        module = kind(*arguments)
    if not training:
        module.eval()
    frozen = [name for name, weight in module.named_parameters() if not weight.requires_grad]
    if frozen:
        raise UnfitError(FROZEN.format(", ".join(frozen)))
    own = {name: tuple(weight.shape) for name, weight in module.named_parameters()}
    wanted = {name: tuple(weight.shape) for name, weight in weights.items()}
    if own != wanted:
        extra, missing = dict(own.items() - wanted.items()), dict(wanted.items() - own.items())
        if plain := [
            name
            for name in missing.keys() - own.keys()
            if isinstance(attribute_of(module, name), torch.Tensor)
        ]:
            raise UnfitError(NO_PARAMETER.format(", ".join(sorted(plain))))
        raise UnfitError(PARAMETERS.format(shapes_in_words(extra), shapes_in_words(missing)))
    for weight in list(weights.values())[:1]:
        # device and dtype of one are those of all
        module.to(weight)
    if before is not None:
        # what fails there also fails in the call at that length, which is the one to show
        with torch.no_grad(), contextlib.suppress(Exception):
            functional_call(module, {name: one + 1 for name, one in weights.items()}, tuple(before))
    return lambda *args, **kwargs: functional_call(module, weights, args, kwargs)


def attribute_of(module, name):
    """What a module has under the name of a parameter; None where it has nothing."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def shapes_in_words(shapes):
    return ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items())) or "none"
