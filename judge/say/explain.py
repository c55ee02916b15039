"""What is said of a wrong answer: the first source that knows something to say is heard."""

from collections.abc import Callable

from judge import messages
from judge.call.outcome import Outcome
from judge.compare.probes import Purpose
from judge.compare.run import Run
from judge.compare.tolerance import close
from judge.say import learners_test
from judge.say.differences import Explanation, explained
from judge.say.known_mistakes import known_mistake, most_alike
from judge.say.leading_axes import only_some_axes
from judge.say.numbers import DTYPE, NUMBERS, all_numbers, wrong_dtypes


def explain(run: Run) -> Explanation:
    """Status, message and evidence for an answer that failed on some probe."""
    first = first_difference(run)
    return next(filter(None, (source(run, first) for source in SOURCES)), first)


def first_difference(run: Run) -> Explanation:
    """What is said of the first failure; what is said of all numbers holds at both seeds."""
    first = explained(run.first_failure)
    if first.message == NUMBERS:
        return first._replace(message=all_numbers(run))
    if first.message == DTYPE:
        return first._replace(message=wrong_dtypes(run))
    return first


def from_known_mistake(run: Run, first: Explanation) -> Explanation | None:
    """The known mistake that does the same; with the error it ends in, or what a test accepts."""
    message, evidence = known_mistake(run), first.evidence
    if message is None:
        return None
    got, is_other = run.first_failure.got, first.message != message
    if learners_test.refuses_all(run) and (accepted := learners_test.accepted(run)):
        evidence = "; ".join(filter(None, (evidence, f"your test accepts {accepted[0]}")))
    if got.is_test and is_other:
        evidence = ": ".join(filter(None, (first.message, evidence)))
    elif got.outcome == Outcome.RAISED and is_other:
        if not messages.is_of_an_error(first.message):
            evidence = ": ".join(filter(None, (evidence, first.message)))
    return first._replace(message=message, evidence=evidence)


def from_most_calls(run: Run, first: Explanation) -> Explanation | None:
    """The known mistake that gives the same numbers in most calls that fail, if not in all."""
    if not (alike := most_alike(run)):
        return None
    message, count, calls = alike
    how_often = "" if count == calls else f"; this explains {count} of the {calls} calls that fail"
    return first._replace(message=message, evidence=first.evidence + how_often)


def from_leading_axes(run: Run, first: Explanation) -> Explanation | None:
    """The axes with which an answer is right, if the first difference names no other cause."""
    if first.message in {*messages.ROUNDED, *messages.CAUSES, messages.TOO_LARGE}:
        return None
    if not (message := only_some_axes(run)):
        return None
    if messages.is_of_an_error(first.message):
        return first._replace(message=message)
    return first._replace(message=message, evidence=f"{first.evidence}: {first.message}")


def from_exercise(run: Run, first: Explanation) -> Explanation | None:
    """What the exercise says of the first difference in values, where it has words for it."""
    exercise, probe, got, want, length = run.first_failure
    is_value = probe.purpose == Purpose.VALUES and got.outcome == Outcome.RETURNED
    if exercise.describe_difference is None or not is_value or got.value is None:
        return None
    if close(got.value, want.value, length):
        return None
    case = probe.case
    message = exercise.describe_difference(want.value, got.value, *case.args, **case.kwargs)
    return first._replace(message=message) if message else None


SOURCES: tuple[Callable[[Run, Explanation], Explanation | None], ...] = (
    # a test that always fails does what many a known mistake does, and has another cause
    learners_test.ends_in_an_error,
    # who does the same on every call made that mistake, whatever the difference looks like
    from_known_mistake,
    # some known mistakes refuse all, and say why
    learners_test.accepts_nothing_right,
    # whoever makes a known mistake and another one hears of the first
    from_most_calls,
    # a known mistake may also show with some axes only
    from_leading_axes,
    # no cause, but more than that the value isn't right
    from_exercise,
)
