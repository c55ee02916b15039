"""Modes see each call: of a function of torch, or of an operation that makes or writes a tensor."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar


class Mode:
    """While it is entered, what it is told of is made by its own method."""

    entered: ClassVar[list]

    def __enter__(self):
        self.entered.append(self)
        return self

    def __exit__(self, *error):
        self.entered.remove(self)


class TorchFunctionMode(Mode):
    """Sees each call of a function of torch by a program, and not those that torch makes itself."""

    entered: ClassVar[list] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class TorchDispatchMode(Mode):
    """Sees each operation, whoever asks for it."""

    entered: ClassVar[list] = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return operation(*args, **(kwargs or {}))


class Operation:
    """A kind of operation: whether it gives back memory that was there, and whether it writes."""

    def __init__(self, gives_a_view: bool, writes: bool):
        returned = SimpleNamespace(alias_info=gives_a_view or None)
        self._schema = SimpleNamespace(returns=[returned], is_mutable=writes)

    def __call__(self, make: Callable[[], Any]) -> Any:
        return make()


NEW, VIEW, WRITE = Operation(False, False), Operation(True, False), Operation(True, True)


def dispatched(operation: Operation, make: Callable[[], Any]) -> Any:
    """The tensor that is made, which the innermost mode sees."""
    if not (entered := TorchDispatchMode.entered):
        return make()
    mode = entered.pop()
    try:
        return mode.__torch_dispatch__(operation, (), (make,))
    finally:
        entered.append(mode)


def seen_by_a_mode(function: Callable, args: tuple, kwargs: dict) -> Any:
    """The result of a call, which the innermost mode makes."""
    mode = TorchFunctionMode.entered.pop()
    try:
        return mode.__torch_function__(function, (), args, kwargs)
    finally:
        TorchFunctionMode.entered.append(mode)
