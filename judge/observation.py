"""One call of an answer, or two for what loops, and what it did."""

from collections.abc import Callable
from typing import Any

from judge import driver
from judge.decided import Observation, checked, read
from judge.exercise import Exercise
from judge.probes import MORE, Probe
from judge.values import encode

Caller = Callable[[dict], dict]
UNREADABLE = "the result cannot be read"


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
        "before": [encode(x) for x in before] if again else None,
        "training": probe.training,
        "device": probe.device,
        "by_columns": probe.by_columns,
        "cotangents": None if probe.cotangents is None else encode(probe.cotangents),
        "watch": "everything" if probe.way == "longer" else watch,
        "counted": probe.way == "longer" or case.max_elements is not None,
        "forbidden": list(forbidden),
        "max_steps": exercise.max_steps,
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
        return read(exercise, case, checked(caller(request)))
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
