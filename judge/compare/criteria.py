"""The criteria by which two calls are compared: what each reads of a reply, and when calls agree.

What is said where they disagree stands in `judge.say.differences`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from judge.call.fake_device import DEVICE
from judge.call.outcome import Outcome
from judge.call.record import LEAF, MAX_PRINTED, RANDOM, SETTINGS
from judge.call.values import decode
from judge.compare import reply_schema
from judge.compare.probes import Probe
from judge.compare.tolerance import close, close_gradients
from judge.exercise import Exercise

# a limit on the processor's time, and one on lines: a call stopped by them has no result
STOPPED = Outcome.STEPS, Outcome.TIME
# what calls of other things than functions give back
UNFINISHED = ({"other": "generator"}, {"other": "coroutine"})
# what Python and torch say where the call itself fails, before a line of the answer has run
CALL_ERROR = re.compile(
    r"object is not callable|takes no arguments|positional argument|keyword argument|"
    r"values for argument|missing value for argument"
)


class Cost(StrEnum):
    """What a disagreement costs where points are given in parts."""

    ALL = "all"
    VALUES = "values"
    GRADIENTS = "gradients"
    EFFECTS = "side effects"


@dataclass(frozen=True)
class Record:
    """What an answer did on one probe; `outcome` is None where the call was not made."""

    outcome: Outcome | None
    value: Any = None
    device: str | None = None
    changed: tuple[int, ...] = ()  # the places of arguments that hold something else afterwards
    marked: tuple[int, ...] = ()  # of those that now want a gradient
    gradients: tuple | None = None
    error: dict | None = None
    called: str | None = None  # the forbidden function
    steps: int = 0
    scales_with_length: bool = False
    too_many_elements: int = 0  # of the largest tensor made on the way, where there are too many
    settings: tuple[str, ...] = ()
    is_test: bool = False  # a learner's: that it raised is its answer, whatever it raised
    printed: str = ""
    returned_value: bool = False  # a test that returns something, as if that were its answer


class Difference(NamedTuple):
    """A call on which an answer did not do what it should."""

    exercise: Exercise
    probe: Probe
    got: Record
    want: Record
    length: int


class Criterion:
    """One thing that is compared, of some fields of the reply."""

    # of the reply, with the form that each must have
    fields: tuple[tuple[str, reply_schema.Fits], ...]
    costs = Cost.ALL

    def read(self, exercise: Exercise, request: dict, reply: dict) -> dict[str, Any]:
        """Its part of the record, made of the reply to a request."""
        return {}

    def agrees(self, a: Record, b: Record, length: int) -> bool:
        """Whether two answers did the same, but for the rounding of sums of that length."""
        return True


class ForbiddenCall(Criterion):
    fields = (("called", reply_schema.optional(reply_schema.text(1_000))),)

    def read(self, exercise, request, reply):
        return {"called": reply["called"]}

    def agrees(self, a, b, length):
        return (a.outcome == Outcome.FORBIDDEN) == (b.outcome == Outcome.FORBIDDEN)


class Steps(Criterion):
    fields = (("steps", reply_schema.count),)

    def read(self, exercise, request, reply):
        return {"steps": reply["steps"]}

    def agrees(self, a, b, length):
        ends = [one.outcome if one.outcome in STOPPED else None for one in (a, b)]
        return ends[0] == ends[1] and a.scales_with_length == b.scales_with_length


class Ending(Criterion):
    fields = (
        ("outcome", reply_schema.one_of(*Outcome)),
        ("error", reply_schema.optional(reply_schema.error)),
    )
    costs = Cost.VALUES

    def read(self, exercise, request, reply):
        return {"outcome": Outcome(reply["outcome"]), "error": reply["error"]}

    def agrees(self, a, b, length):
        if a.outcome != b.outcome or a.outcome != Outcome.RAISED:
            return a.outcome == b.outcome
        return a.is_test or same_error(a) == same_error(b)


def same_error(record: Record) -> tuple[str, str]:
    """The exception, but for the names in its text: on the same input the numbers tell."""
    error = record.error or {"type": "", "text": ""}
    return error["type"], re.sub(r"'[^']*'", "", error["text"])[:80]


class ProcessSettings(Criterion):
    fields = (("settings", reply_schema.list_of(reply_schema.one_of(*SETTINGS), len(SETTINGS))),)
    costs = Cost.EFFECTS

    def read(self, exercise, request, reply):
        # the driver puts the random numbers back, and a test may use them as it likes
        allowed = {RANDOM} if exercise.is_test else set()
        return {"settings": tuple(x for x in reply["settings"] if x not in allowed)}

    def agrees(self, a, b, length):
        return a.settings == b.settings


class Inputs(Criterion):
    fields = (
        ("after", reply_schema.list_of(reply_schema.value)),
        ("before_after", reply_schema.list_of(reply_schema.value)),
    )
    costs = Cost.EFFECTS

    def read(self, exercise, request, reply):
        own = [*request["args"], *request["kwargs"].values()]
        changed = {
            *changed_places(own, reply["after"]),
            *changed_places(request["before"] or [], reply["before_after"]),
        }
        marked = tuple(place for place, new in enumerate(reply["after"]) if new == LEAF)
        return {"changed": tuple(sorted(changed)), "marked": marked}

    def agrees(self, a, b, length):
        return (a.changed, a.marked) == (b.changed, b.marked)


def changed_places(before: list[dict], after: list[dict]) -> Iterator[int]:
    """The places of the arguments that a call has written into."""
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        is_writable = "tensor" in old or "list" in old
        same = device_of(new) == DEVICE or new == LEAF or anywhere(new) == anywhere(old)
        if is_writable and not same:
            yield place


def anywhere(value: dict[str, Any]) -> dict[str, Any]:
    """An encoded value without the device that it was on."""
    return {"tensor": value["tensor"] | {"device": None}} if "tensor" in value else value


def device_of(value: dict[str, Any]) -> str | None:
    """Where a tensor is, or the first of several; None where there is none."""
    for kind, content in value.items():
        if kind == "tensor":
            return content["device"]
        if kind in ("list", "tuple"):
            return next(filter(None, map(device_of, content)), None)
    return None


class LargestTensor(Criterion):
    fields = (("largest", reply_schema.count),)

    def read(self, exercise, request, reply):
        most, largest = request["max_elements"], reply["largest"]
        return {"too_many_elements": 0 if most is None or largest <= most else largest}

    def agrees(self, a, b, length):
        return (a.too_many_elements > 0) == (b.too_many_elements > 0)


class Value(Criterion):
    fields = (("value", reply_schema.value),)
    costs = Cost.VALUES

    def read(self, exercise, request, reply):
        value = reply["value"]
        # a test answers by raising: what it returns says nothing, and what could not be called is
        # no test yet
        if exercise.is_test and not failed_to_call(reply["error"]) and value not in UNFINISHED:
            return {"is_test": True, "returned_value": value != {"plain": None}}
        return {"value": decode(value), "device": device_of(value)}

    def agrees(self, a, b, length):
        return a.device == b.device and close(a.value, b.value, length)


def failed_to_call(error: dict | None) -> bool:
    """Whether the call itself raised this, and not a line of the answer."""
    return bool(error and not error["line"] and CALL_ERROR.search(error["text"]))


class Gradients(Criterion):
    fields = (("gradients", reply_schema.optional(reply_schema.list_of(reply_schema.value))),)
    costs = Cost.GRADIENTS

    def read(self, exercise, request, reply):
        gradients = reply["gradients"]
        return {"gradients": gradients and tuple(map(decode, gradients))}

    def agrees(self, a, b, length):
        return close_gradients(a.gradients, b.gradients, length)


class Printed(Criterion):
    """It is shown below a verdict, and never compared."""

    fields = (("printed", reply_schema.text(MAX_PRINTED)),)

    def read(self, exercise, request, reply):
        return {"printed": reply["printed"]}


# Of several disagreements the first in this order is the one that is explained.
CRITERIA: tuple[Criterion, ...] = (
    # who breaks a rule has not written the answer: whether it is right does not matter
    ForbiddenCall(),
    # what was stopped has no result
    Steps(),
    # nor has what ended in an error
    Ending(),
    # what a call leaves changed may be why its numbers, and those of later calls, are wrong
    ProcessSettings(),
    Inputs(),
    # a rule of the exercise that does not show in the numbers
    LargestTensor(),
    Value(),
    # of wrong values the gradients are wrong, too
    Gradients(),
    Printed(),
)
FIELDS = {field: fits for criterion in CRITERIA for field, fits in criterion.fields}


def checked(raw: Any) -> dict[str, Any]:
    """The reply itself; ReplyError unless each of its fields has the form that it must have."""
    if not isinstance(raw, dict) or raw.keys() != FIELDS.keys():
        raise reply_schema.ReplyError("its fields are not those of a reply")
    for field, fits in FIELDS.items():
        if not fits(raw[field]):
            raise reply_schema.ReplyError(f"no reply has this {field}")
    return raw


def read(exercise: Exercise, request: dict, reply: dict[str, Any]) -> Record:
    """The record of a call, of the checked reply to its request."""
    fields: dict[str, Any] = {}
    for criterion in CRITERIA:
        fields |= criterion.read(exercise, request, reply)
    return Record(**fields)


def agree(a: Record, b: Record, length: int, costs: Iterable[Cost] = Cost) -> bool:
    """Whether two answers did the same, but for rounding, in what costs one of these."""
    return all(each.agrees(a, b, length) for each in CRITERIA if each.costs in costs)


def first_disagreement(difference: Difference) -> Criterion:
    """The first criterion in which an answer did not do what it should."""
    _, _, got, want, length = difference
    return next(each for each in CRITERIA if not each.agrees(got, want, length))
