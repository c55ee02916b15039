"""What a driver may say, read strictly: it comes from a process that a learner's code has run in.

Anything else raises ReplyError, whatever it is made of, and costs the answer that it came from.
"""

import re
from collections.abc import Callable
from typing import Any

from judge import driver

OUTCOMES = {"returned", "raised", "missing", "steps", "time", "forbidden"}
MAX_COUNT = 2**62
DTYPE = re.compile(r"(bool|u?int\d+|b?float\d+(_\w+)?|complex\d+|q\w+|bits\w+)")
MAX_DEPTH = 20


class ReplyError(ValueError):
    """A reply that no driver gives."""


def checked(answer: Any) -> dict[str, Any]:
    """The reply itself, once each of its parts is what it must be."""
    if not isinstance(answer, dict) or answer.keys() != PARTS.keys():
        raise ReplyError("its fields are not those of a reply")
    for part, fits in PARTS.items():
        if not fits(answer[part]):
            raise ReplyError(f"no reply has this {part}")
    return answer


def text(most: int) -> Callable[[Any], bool]:
    return lambda one: type(one) is str and len(one) <= most


def count(one: Any) -> bool:
    return type(one) is int and 0 <= one <= MAX_COUNT


def listed(fits: Callable[[Any], bool], most: int = 10**6) -> Callable[[Any], bool]:
    return lambda one: type(one) is list and len(one) <= most and all(map(fits, one))


def optional(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda one: one is None or fits(one)


def value(one: Any, depth: int = 0) -> bool:
    """Whether this is what `driver.encode` makes of a value."""
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
    placed = text(30)(one["device"]) and listed(count, 64)(one["shape"])
    rest = {name: one[name] for name in one.keys() - {"dtype", "shape", "device"}}
    return bool(named and placed and rest.keys() <= {"bytes"} and all(map(string, rest.values())))


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
    "function": listed(string, 2),
}
PARTS = {
    "outcome": lambda one: string(one) and one in OUTCOMES,
    "value": value,
    "after": optional(listed(value)),
    "written": listed(count, 1_000),
    "gradients": optional(listed(value)),
    "error": optional(error),
    "called": optional(text(1_000)),
    "steps": count,
    "blinded": lambda one: type(one) is bool,
    "largest": count,
    "settings": listed(text(100), 10),
    "printed": text(driver.MAX_PRINTED),
}
