"""Makes the call of a probe, or two where steps are compared, and reads what was recorded."""

from judge.call.caller import Caller
from judge.call.outcome import Outcome
from judge.call.values import encode
from judge.compare.criteria import Record, checked, read
from judge.compare.probes import LARGER_BATCH, Probe, Purpose
from judge.exercise import Exercise

UNREADABLE = "the result can't be read"


def observe(
    exercise: Exercise,
    caller: Caller,
    probe: Probe,
    forbidden: tuple[str, ...] = (),
    count_lines: bool = True,
) -> Record:
    """The record of an answer on a probe.

    It is stopped where it calls what is forbidden and, if lines are counted, where it runs more
    than the exercise allows; else it may go on for ever.
    """
    case = probe.case
    # a module is called before, with other weights: at another length, if the same module can be
    again = probe.purpose == Purpose.VALUES and case.build is not None
    same_module = case.longer and case.lengthened.build == case.build
    before = case.before or (case.lengthened.args if same_module else case.args)
    request = case.sent | {
        "name": exercise.name,
        "before": [encode(x) for x in before] if again else None,
        "training": probe.training,
        "device": probe.device,
        "by_columns": probe.by_columns,
        "cotangents": None if probe.cotangents is None else encode(probe.cotangents),
        "count_lines": count_lines,
        "count_operations": case.max_elements is not None,
        "forbidden": list(forbidden),
        "max_steps": exercise.max_steps,
        "max_elements": case.max_elements,
    }
    try:
        if probe.purpose == Purpose.STEPS:
            return compare_steps(exercise, caller, probe, request)
        return read(exercise, request, checked(caller(request)))
    # what comes back may be anything at all
    except (ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError) as error:
        unreadable = {"type": type(error).__name__, "text": UNREADABLE, "line": None}
        return Record(Outcome.RAISED, error=unreadable)


def compare_steps(exercise: Exercise, caller: Caller, probe: Probe, request: dict) -> Record:
    """Whether a call takes more steps on a longer input than it may."""
    request |= {"count_lines": True, "count_operations": True}
    longer_case = probe.case.lengthened
    shorter = checked(caller(request))
    # a greater length may cost some lines more, a larger batch none: of two batches eight are made,
    # so a loop with one line for each takes six more
    is_batch = longer_case.name.endswith(LARGER_BATCH)
    factor, more = (1, 4) if is_batch else (exercise.steps_allowed, 10)
    most = int(factor * shorter["steps"]) + more
    # a loop is seen when it has taken more than it may, and need not come to its end
    limit = min(most, request["max_steps"])
    longer = checked(caller(request | longer_case.sent | {"max_steps": limit}))
    is_stopped = longer["outcome"] == Outcome.STEPS
    worse = shorter if longer["outcome"] == Outcome.RETURNED else longer
    ended = Outcome.RETURNED if worse["outcome"] == Outcome.STEPS else Outcome(worse["outcome"])
    return Record(
        ended,
        scales_with_length=is_stopped or longer["steps"] > most,
        error=worse["error"],
        called=worse["called"],
        printed=longer["printed"],
    )
