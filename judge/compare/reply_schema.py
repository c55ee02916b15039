"""The forms that a reply of the driver may have: it comes from where a learner's code has run."""

import re
from collections.abc import Callable
from typing import Any

MAX_COUNT = 2**62
DTYPE = re.compile(r"(bool|u?int\d+|b?float\d+(_\w+)?|complex\d+|q\w+|bits\w+)")
MAX_DEPTH = 20

Fits = Callable[[Any], bool]


class ReplyError(ValueError):
    """A reply that no driver gives."""


def text(most: int) -> Fits:
    return lambda one: type(one) is str and len(one) <= most


def count(one: Any) -> bool:
    return type(one) is int and 0 <= one <= MAX_COUNT


def list_of(fits: Fits, most: int = 10**6) -> Fits:
    return lambda one: type(one) is list and len(one) <= most and all(map(fits, one))


def optional(fits: Fits) -> Fits:
    return lambda one: one is None or fits(one)


def one_of(*texts: str) -> Fits:
    return lambda one: string(one) and one in texts


def value(one: Any, depth: int = 0) -> bool:
    """Whether this is what `values.encode` makes of a value."""
    if type(one) is not dict or len(one) != 1 or depth > MAX_DEPTH:
        return False
    ((kind, content),) = one.items()
    if kind in ("list", "tuple"):
        return type(content) is list and all(value(x, depth + 1) for x in content)
    if kind == "plain":
        return content is None or isinstance(content, (bool, int, str))
    return kind in KINDS and KINDS[kind](content)


def tensor(one: Any) -> bool:
    if type(one) is not dict or not {"dtype", "shape", "device"} <= one.keys():
        return False
    named = text(30)(one["dtype"]) and DTYPE.fullmatch(one["dtype"])
    on_device = text(30)(one["device"]) and one["device"].isalpha()
    has_shape = list_of(count, 64)(one["shape"])
    rest = {name: one[name] for name in one.keys() - {"dtype", "shape", "device"}}
    has_bytes = rest.keys() <= {"bytes"} and all(map(string, rest.values()))
    return bool(named and on_device and has_shape and has_bytes)


def string(one: Any) -> bool:
    return type(one) is str


def error(one: Any) -> bool:
    if type(one) is not dict or one.keys() != {"type", "text", "line"}:
        return False
    line = one["line"]
    numbered = type(line) is list and len(line) == 2 and count(line[0]) and text(300)(line[1])
    return text(200)(one["type"]) and text(300)(one["text"]) and (line is None or numbered)


KINDS = {
    "tensor": tensor,
    "float": text(40),
    "other": text(300),
    "function": list_of(string, 2),
}
