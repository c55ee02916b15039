"""One call of an answer, and what it did: outcome, value, gradients, and what it left changed."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from judge import driver
from judge.elsewhere import DEVICE
from judge.exercise import Case, Exercise
from judge.probes import MORE, Probe
from judge.reply import checked

Caller = Callable[[dict], dict]
UNREADABLE = "the result cannot be read"
MAX_STEPS = 200_000
# a test compares number by number, and may do so for many inputs
TEST_FACTOR = 10
# of the processor, since a clock also counts what others do; in a notebook as when it is graded
SECONDS = 30
# what Python and torch say where the call itself fails, before a line of the answer has run
UNCALLED = re.compile(
    r"object is not callable|takes no arguments|positional argument|keyword argument|"
    r"values for argument|missing value for argument"
)
# what calls of other things than functions give back
UNFINISHED = ({"other": "generator"}, {"other": "coroutine"})


@dataclass(frozen=True)
class Observation:
    """What an answer did on one probe."""

    outcome: str
    value: Any = None
    device: str | None = None
    changed: tuple[int, ...] = ()
    gradients: tuple | None = None
    error: dict | None = None
    called: str | None = None
    steps: int = 0
    scales_with_length: bool = False
    too_many_elements: int = 0  # of the largest tensor made on the way, where there are too many
    settings: tuple[str, ...] = ()
    is_test: bool = False  # a learner's: that it raised is its answer, however it says so
    printed: str = ""
    marked: tuple[int, ...] = ()  # the arguments that now want a gradient
    returned_value: bool = False  # a test that returns something, as if that were its answer


def most_steps(exercise: Exercise) -> int:
    """How many lines of Python one call of an answer may run."""
    return MAX_STEPS * (TEST_FACTOR if exercise.kind == "test" else 1)


def local(function: Callable) -> Caller:
    """A caller for a function of this process."""

    def call(request: dict) -> dict:
        return driver.drive({request["name"]: function}, request)

    # those of a model of ours; a learner's lie in a file
    call.trained_weights = getattr(function, "trained_weights", None)  # pyright: ignore
    return call


def observe(
    exercise: Exercise,
    caller: Caller,
    probe: Probe,
    device: str,
    forbidden: tuple[str, ...],
    watch: str = "lines",
) -> Observation:
    """Make one call (two for `longer`) and note what happened.

    `watch` says what is watched: "everything" (see `Watch`), "lines" and what is called by name,
    "calls" alone, or nothing (""), which is quickest. Where no line is watched, the call may go on
    for ever. Of `longer` everything is watched.
    """
    case = probe.case
    # a module is called before, with other weights: at another length, if the same module can be
    again = probe.way == "values" and case.build is not None
    same_module = case.longer and case.lengthened.build == case.build
    before = case.before or (case.lengthened.args if same_module else case.args)
    request = case.sent | {
        "name": exercise.name,
        "before": [driver.encode(x) for x in before] if again else None,
        "training": probe.training,
        "device": probe.device(device),
        "by_columns": probe.by_columns,
        "cotangents": None if probe.cotangents is None else driver.encode(probe.cotangents),
        "watch": "everything" if probe.way == "longer" else watch,
        "counted": probe.way == "longer" or case.max_elements is not None,
        "forbidden": list(forbidden),
        "max_steps": most_steps(exercise),
    }
    try:
        if probe.way == "longer":
            longest = request | case.lengthened.sent
            shorter = checked(caller(request))
            # a greater length may cost some lines more, a larger batch none: of two batches eight
            # are made, so a loop with one line for each takes six more
            factor, more = exercise.steps_allowed, 10
            if case.lengthened.name.endswith(MORE):
                factor, more = 1, 4
            most = int(factor * shorter["steps"]) + more
            # a loop is seen when it has taken more than it may, and need not come to its end
            longest["max_steps"] = min(most, request["max_steps"])
            return growth(shorter, checked(caller(longest)), most)
        return read(exercise, probe, checked(caller(request)))
    # what comes back may be anything at all
    except (ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError) as error:
        unreadable = {
            "type": type(error).__name__,
            "text": UNREADABLE,
            "line": None,
        }
        return Observation("raised", error=unreadable)


def growth(answer: dict[str, Any], longer: dict[str, Any], most: int) -> Observation:
    """Whether the same call takes more than so many steps on a longer input."""
    worst = longer if longer["outcome"] != "returned" else answer
    many = longer["steps"] > most
    return Observation(
        outcome="returned" if worst["outcome"] == "steps" else worst["outcome"],
        scales_with_length=many or longer["outcome"] == "steps",
        error=worst["error"],
        called=worst["called"],
        printed=longer["printed"],
    )


def read(exercise: Exercise, probe: Probe, answer: dict[str, Any]) -> Observation:
    """An answer's plain data as an observation."""
    outcome = answer["outcome"]
    # a test tells by raising: what it returns says nothing
    value = answer["value"]
    # what could not be called is no test yet
    is_test = exercise.kind == "test" and not (uncalled(answer["error"]) or value in UNFINISHED)
    return Observation(
        outcome=outcome,
        value=None if is_test else driver.decode(value),
        device=None if is_test else device_of(value),
        changed=tuple(sorted({*changes(probe.case, answer["after"]), *answer["written"]})),
        gradients=answer["gradients"] and tuple(driver.decode(x) for x in answer["gradients"]),
        error=answer["error"],
        called=answer["called"],
        steps=answer["steps"],
        too_many_elements=too_many(answer["largest"], probe.case.max_elements),
        # the driver puts the random numbers back, and a test may use them as it likes
        settings=tuple(x for x in answer["settings"] if not (is_test and x == driver.DRAWN)),
        printed=answer["printed"],
        marked=tuple(marks(answer["after"])),
        is_test=is_test,
        returned_value=is_test and value != driver.encode(None),
    )


def uncalled(error: dict | None) -> bool:
    """Whether the call itself raised this, and not a line of the answer."""
    return bool(error and not error["line"] and UNCALLED.search(error["text"]))


def device_of(value: dict[str, Any]) -> str | None:
    """Where a tensor is, or the first of several; None where there is none."""
    for kind, content in value.items():
        if kind == "tensor":
            return content["device"]
        if kind in ("list", "tuple"):
            return next(filter(None, map(device_of, content)), None)
    return None


def too_many(elements: int, most: int | None) -> int:
    """The elements of a tensor that is too large; 0 for one that is not."""
    return 0 if most is None or elements <= most else elements


def marks(after: list | None) -> Iterator[int]:
    """The places of the arguments that a call has marked for gradients."""
    yield from (place for place, new in enumerate(after or ()) if new == driver.MARKED)


def changes(case: Case, after: list | None) -> Iterator[int]:
    """The places of the arguments that a call has written into."""
    if after is None:
        return
    before = [*case.sent["args"], *case.sent["kwargs"].values()]
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        writable = "tensor" in old or "list" in old
        same = device_of(new) == DEVICE or new == driver.MARKED or anywhere(new) == anywhere(old)
        if writable and not same:
            yield place


def anywhere(value: dict[str, Any]) -> dict[str, Any]:
    """An encoded value without the device that it was on."""
    return {"tensor": value["tensor"] | {"device": None}} if "tensor" in value else value
