"""Watches a call: counts lines and torch's operations, and stops it at a forbidden function.

It is there for honest answers. Whoever wants to hide a loop or a call can, and gains nothing by it,
because the worked answers are public.
"""

import contextlib
import functools
import inspect
import sys

import torch
from torch.overrides import TorchFunctionMode

from .outcome import Outcome, Stopped
from .torch_internals import TorchDispatchMode, is_view, leaves


class Watch:
    """Counts the lines that run in some namespaces, and sees which functions of Python are called.

    The count is the same on every machine, which seconds are not: code that loops over positions
    runs more lines on a longer input. The lines of libraries do not count.
    """

    def __init__(self, *namespaces, forbidden=(), count_lines=True, max_steps):
        self.namespaces = namespaces
        self.count_lines, self.max_steps, self.steps = count_lines, max_steps, 0
        self.prefixes, self.called = tuple(f"{name}." for name in forbidden), None
        # by id; what has the id is held, so that nothing else gets it
        self.allowed = {}

    def __enter__(self):
        self.outer = sys.gettrace()
        if self.prefixes or self.count_lines:
            sys.settrace(self.trace)

    def __exit__(self, *error):
        sys.settrace(self.outer)

    def trace(self, frame, event, arg):
        code = frame.f_code
        if id(code) not in self.allowed:
            self.refuse(f"{frame.f_globals.get('__name__')}.{code.co_qualname}")
            self.allowed[id(code)] = code
        if self.count_lines and any(frame.f_globals is one for one in self.namespaces):
            return self.line
        return None

    def line(self, frame, event, arg):
        if event == "line":
            self.steps += 1
            if self.steps > self.max_steps:
                raise Stopped(Outcome.STEPS)
        return self.line

    def refuse(self, name):
        """Stop the call where this is the name of a forbidden function, or of one in its module."""
        # torch's own name for `torch.linalg.svd` is `linalg_svd`
        if f"{name.removeprefix('linalg_')}.".startswith(self.prefixes):
            self.called = name
            raise Stopped(Outcome.FORBIDDEN)


def namespace_of(function):
    """The namespace that a function, or what an object is called by, was written in, if any."""
    # anything may be handed in, also what raises when it is asked for an attribute
    with contextlib.suppress(Exception):
        if isinstance(function, functools.partial):
            return namespace_of(function.func)
        function = inspect.unwrap(getattr(function, "forward", function))
        if hasattr(function, "__globals__"):
            return function.__globals__
        return getattr(type(function).__call__, "__globals__", {})
    return {}


class TorchCalls(TorchFunctionMode):
    """Sees which functions of torch are called, whatever calls them."""

    def __init__(self, watch):
        super().__init__()
        self.watch, self.allowed = watch, {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if id(function) not in self.allowed:
            name = getattr(function, "__name__", "")
            self.watch.refuse(name)
            self.watch.refuse(f"{getattr(function, '__module__', '')}.{name}")
            self.allowed[id(function)] = function
        return function(*args, **(kwargs or {}))


class Counting:
    """What `Operations` does; a mode whose own method it were would load torch's compiler."""

    count: int
    largest: int
    makes: dict

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        out = operation(*args, **(kwargs or {}))
        # by its id, since its own hash takes long
        makes = self.makes.get(id(operation))
        if makes is None:
            # a view, such as a transpose or a piece, makes no tensor
            makes = self.makes[id(operation)] = not is_view(operation)
        if makes:
            sizes = [x.numel() for x in leaves(out) if isinstance(x, torch.Tensor)]
            # one operation may do for a list of tensors what a loop would
            self.count += max(1, len(sizes))
            self.largest = max(self.largest, *sizes, 0)
        return out


class Operations(Counting, TorchDispatchMode):
    """Counts torch's operations, and the elements of the largest tensor that one of them makes.

    A loop that no line shows, as in `map(torch.exp, rows)`, still makes some operations each.
    """

    def __init__(self):
        super().__init__()
        self.count = self.largest = 0
        self.makes = {}
