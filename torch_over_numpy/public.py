"""The functions and methods that are here, each under the names that torch gives it."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from torch_over_numpy.absent import KEYWORDS, NotInPageError
from torch_over_numpy.modes import TorchFunctionMode, seen_by_a_mode

# by the name of a module, or of Tensor, what it has by name
PUBLIC: dict[str, dict[str, Any]] = {}
# NumPy's words for torch's
ALIASES = {"axis": "dim", "keepdims": "keepdim"}


def public(*homes: str, name: str = "") -> Callable[[Callable], Callable]:
    """Make a function torch's: in each of these modules, or classes, under its name.

    Where it is `torch.Tensor`, the function is a method, too.
    """

    def keep(function: Callable) -> Callable:
        own = name or function.__name__
        for home in homes:
            PUBLIC.setdefault(home, {})[own] = called_as(function, home, own)
        return function

    return keep


def called_as(function: Callable, home: str, name: str) -> Callable:
    """The function as a program calls it: seen by modes, and refusing keywords that are absent."""
    parameters = inspect.signature(function).parameters
    takes_any = any(one.kind == one.VAR_KEYWORD for one in parameters.values())

    @functools.wraps(function)
    def call(*args, **kwargs):
        if TorchFunctionMode.entered:
            return seen_by_a_mode(call, args, kwargs)
        if kwargs:
            kwargs = {ALIASES.get(word, word): value for word, value in kwargs.items()}
            absent = not takes_any and KEYWORDS & (kwargs.keys() - parameters.keys())
            if absent:
                raise NotInPageError(f"{home}.{name}({min(absent)}=)")
        return function(*args, **kwargs)

    call.__name__, call.__qualname__ = name, f"{home.rpartition('.')[2]}.{name}"
    call.__module__ = "torch" if home == "torch.Tensor" else home
    # its lines are not those of an answer that it is
    del call.__wrapped__
    return call
