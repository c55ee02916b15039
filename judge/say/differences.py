"""What is said of the first criterion in which a call disagrees with the reference's."""

import re
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from judge import messages, quotation
from judge.call.driver import UnfitError
from judge.call.outcome import Outcome
from judge.call.record import MAX_TEXT, RANDOM
from judge.call.time_limit import SECONDS
from judge.call.values import Unsendable
from judge.compare import criteria
from judge.compare.criteria import (
    STOPPED,
    Criterion,
    Difference,
    failed_to_call,
    first_disagreement,
)
from judge.compare.probes import Purpose
from judge.compare.tolerance import close_gradient
from judge.exercise import Case, Exercise
from judge.say.evidence import (
    arguments,
    differentiated,
    left_out,
    misfit,
    of_value,
    unfinished,
    unfit,
)
from judge.status import Status


class Explanation(NamedTuple):
    """The status of a verdict, what is wrong, and where it shows."""

    status: Status
    message: str
    evidence: str = ""


def explained(difference: Difference) -> Explanation:
    """Status, message and evidence of the first disagreement."""
    return EXPLAIN[type(first_disagreement(difference))](difference)


def on(difference: Difference) -> str:
    return f"On {difference.probe.case.name}"


def forbidden_call(difference: Difference) -> Explanation:
    module, imported, _ = str(difference.got.called).partition(".<module>")
    what = f"{quotation.named(module)} may not be {'imported' if imported else 'called'}"
    return Explanation(Status.WRONG, f"{what} here: write the steps yourself")


def too_slow(difference: Difference) -> Explanation:
    got, exercise, evidence = difference.got, difference.exercise, on(difference)
    if got.outcome == Outcome.STEPS:
        evidence += f": your code was stopped after {exercise.max_steps:,} lines of Python"
    if got.outcome == Outcome.TIME:
        evidence += f": your code was stopped after {SECONDS} seconds of work"
    message = messages.NO_END if got.outcome == Outcome.STEPS else messages.LOOPS
    if "loops" in exercise.without:
        message = messages.STEPS
    if got.outcome in STOPPED and got.is_test:
        message = "your test runs for too long: use fewer inputs, or smaller ones"
    elif got.outcome == Outcome.TIME:
        message = "your code takes too long, or never ends"
    return Explanation(Status.TOO_SLOW, message, evidence)


def ending(difference: Difference) -> Explanation:
    exercise, probe, got, *_ = difference
    if failed_to_call(got.error):
        return Explanation(Status.ERROR, misfit(exercise, probe.case, got.error or {}))
    if hint := unfinished(exercise, got.value):
        return Explanation(*hint)
    if got.outcome == Outcome.RAISED:
        return raised(difference)
    if got.returned_value:
        message = "the check ignores what a test returns: raise AssertionError instead"
        return Explanation(Status.WRONG, message)
    if got.is_test:
        return Explanation(Status.WRONG, f"your test lets a wrong answer pass: {probe.case.name}")
    return Explanation(
        Status.WRONG, "your code should raise an error for this input", on(difference)
    )


def raised(difference: Difference) -> Explanation:
    """What is said of a call that ends in an error, and should not, or in another."""
    exercise, probe, got, *_ = difference
    error = got.error or {}
    if error["type"] == UnfitError.__name__:
        return Explanation(Status.WRONG, unfit(error["text"]), on(difference))
    place = [str(error["line"][0]), quotation.quoted(error["line"][1])] if error["line"] else []
    where = f" (line {': '.join(filter(None, place))})" if place else ""
    exception = quotation.exception(error["type"], error["text"]) + where
    on_fake_device = probe.purpose == Purpose.DEVICE
    if on_fake_device and re.search("device|meta", error["text"]):
        return Explanation(Status.WRONG, messages.DEVICE, f"{on(difference)}: {exception}")
    if got.is_test:
        message = f"your test refuses a right answer: {probe.case.name}"
        return Explanation(Status.WRONG, message, exception)
    if "view size is not compatible" in error["text"]:
        return Explanation(Status.WRONG, messages.VIEW, f"{on(difference)}{where}")
    if message := cause(exercise, probe.case, error):
        return Explanation(Status.ERROR, message, f"{on(difference)}: {exception}")
    alone = ", but only on another device" * on_fake_device
    return Explanation(Status.ERROR, f"your code raises {exception}{alone}", on(difference))


def cause(exercise: Exercise, case: Case, error: dict) -> str | None:
    """What an error of torch's or Python's mostly comes from, where the error says that much."""
    known = (
        message
        for pattern, message in messages.TORCH_SAYS.items()
        if re.search(pattern, error["text"])
    )
    message = next(known, None)
    line = error["line"][1] if error["line"] else ""
    if message == messages.NOTHING:
        used = (name for name in left_out(exercise, case) if re.search(rf"\b{name}\b", line))
        return next((f"`{name}`{messages.LEFT_OUT}" for name in used), message)
    of_shapes = message in (messages.NO_PRODUCT, messages.NO_BROADCAST)
    return messages.TURNED if of_shapes and reverses_a_batch(exercise, case, line) else message


def reverses_a_batch(exercise: Exercise, case: Case, line: str) -> bool:
    """Whether a line takes `.T` of what has, or may have, more than two axes."""
    passed = zip(arguments(exercise, case), (*case.args, *case.kwargs.values()), strict=True)
    axes = {name: x.dim() for name, x in passed if isinstance(x, Tensor)}
    # w_q.weight is written self.w_q.weight
    axes |= {name.rpartition(".")[2]: x.dim() for name, x in case.weights.items()}
    # what is no argument was made of them
    most = max(axes.values(), default=0)
    return any(axes.get(name, most) > 2 for name in re.findall(r"(\w*)\.T\b", line))


def process_settings(difference: Difference) -> Explanation:
    settings = difference.got.settings
    message = "your code draws random numbers: the same input must give the same result"
    if settings != (RANDOM,):
        them = "it as it was"
        if len(settings) > 1 or RANDOM in settings:
            them = "them as they were"
        changed = " and ".join(settings)
        message = f"your code changes {changed} for everything that follows: leave {them}"
    return Explanation(Status.WRONG, message, on(difference))


def inputs(difference: Difference) -> Explanation:
    exercise, probe, got, *_ = difference
    names = arguments(exercise, probe.case)
    if got.changed:
        return Explanation(
            Status.WRONG, messages.CHANGES, f"{on(difference)}: {names[got.changed[0]]}"
        )
    return Explanation(Status.WRONG, messages.MARKS, f"{on(difference)}: {names[got.marked[0]]}")


def largest_tensor(difference: Difference) -> Explanation:
    most, found = difference.probe.case.max_elements, difference.got.too_many_elements
    sizes = f"one tensor has {found} numbers, but none may have more than {most}"
    return Explanation(Status.WRONG, messages.TOO_LARGE, f"{on(difference)}: {sizes}")


def value(difference: Difference) -> Explanation:
    exercise, _, got, want, length = difference
    if hint := unfinished(exercise, got.value):
        return Explanation(*hint)
    if got.device != want.device and got.device and want.device:
        evidence = f"{on(difference)}: the result is on the {got.device}"
        return Explanation(Status.WRONG, messages.DEVICE, evidence)
    return Explanation(Status.WRONG, *of_value(got.value, want.value, on(difference), length))


def gradients(difference: Difference) -> Explanation:
    exercise, probe, got, want, length = difference
    names = differentiated(exercise, probe.case)
    triples = [*zip(names, got.gradients or (), want.gradients or (), strict=False)]
    flows = any(isinstance(right, Tensor) and right.any() for _, _, right in triples)
    for name, gradient, right in triples:
        where = f"{on(difference)}: the gradient of {name}"
        if isinstance(gradient, Unsendable):
            message = "the numbers are right, but autograd can't compute their gradients"
            return Explanation(
                Status.WRONG, message, f"{where}: {quotation.quoted(gradient, MAX_TEXT)}"
            )
        if right is not None and gradient is None:
            message = messages.DETACHED if flows else messages.CUT_OFF
            return Explanation(
                Status.WRONG, message, f"{on(difference)}: no gradient reaches {name}"
            )
        if isinstance(gradient, Tensor) and (found := gradient.isnan().nonzero().tolist()):
            place = f" at {found[0]}" if found[0] else ""
            return Explanation(Status.WRONG, messages.NAN_GRADIENT, f"{where} is NaN{place}")
    evidence = on(difference)
    wrong = (triple for triple in triples if not close_gradient(*triple[1:], length))
    if first := next(wrong, None):
        name, gradient, right = first
        where = f"{evidence}: the gradient of {name}"
        _, evidence = of_value(gradient, right, where, length)
    return Explanation(Status.WRONG, "the numbers are right, but their gradients aren't", evidence)


EXPLAIN: dict[type[Criterion], Callable[[Difference], Explanation]] = {
    criteria.ForbiddenCall: forbidden_call,
    criteria.Steps: too_slow,
    criteria.Ending: ending,
    criteria.ProcessSettings: process_settings,
    criteria.Inputs: inputs,
    criteria.LargestTensor: largest_tensor,
    criteria.Value: value,
    criteria.Gradients: gradients,
}
