"""What is wrong with an answer, in words, where no known mistake accounts for it."""

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from judge import compare, difference, hints
from judge.compare import close
from judge.driver import DRAWN, UnfitError, Unsendable
from judge.exercise import Case, Exercise, is_floating
from judge.observation import SECONDS, Observation, most_steps, uncalled
from judge.probes import Probe
from judge.torch_internals import leaves
from judge.trial import Run, tensors_in

# what came, what was wanted, and what is said
ALWAYS = {
    (torch.float32, torch.float64): hints.FLOAT32,
    (torch.float64, torch.float32): hints.FLOAT64,
}
MOST_QUOTED = 160  # characters
DTYPE = "the dtype is not right"


def explain(run: Run) -> tuple[str, str, str]:
    """Status, hint and evidence for the first difference from what was wanted.

    What is said of all numbers holds at every fault, and at both seeds.
    """
    status, hint, evidence = explain_call(run.trial.exercise, *run.failing)
    if hint == difference.NUMBERS:
        hint = of_numbers(run)
    if hint == DTYPE:
        hint = of_dtypes(run)
    return status, hint, evidence


def of_numbers(run: Run) -> str:
    """What was done to all numbers of each result that is wrong."""
    said, wrong, count = difference.NUMBERS, [], 1
    for one in run.both:
        if one.lost:
            return difference.NUMBERS
        for got, want in faulty_values(one):
            some, others = leaves(got), leaves(want)
            if list(map(form, some)) != list(map(form, others)):
                return difference.NUMBERS
            count, pairs = len(others), enumerate(zip(some, others, strict=True), 1)
            wrong += [(i, *pair) for i, pair in pairs if not close(*pair, run.trial.length)]
        said = difference.pattern([(got, want) for _, got, want in wrong], run.trial.length)
        if said in (difference.NUMBERS, hints.NEARLY, hints.NEARLY_ZERO):
            return said
    places = sorted({place for place, _, _ in wrong})
    if len(places) == count or said in hints.ROUNDED:
        return said
    return f"result {' and '.join(map(str, places))} alone: {said}"


def of_dtypes(run: Run) -> str:
    """Which dtype a result always has, where an input has the right one; or which one is right."""
    probe, _, want, _ = run.failing
    given = {x.dtype for x in (*probe.case.args, *probe.case.kwargs.values()) if is_floating(x)}
    found = {
        (a.dtype, b.dtype)
        for one in run.both
        for got, want in faulty_values(one)
        for a, b in zip(leaves(got), leaves(want), strict=False)
        if is_floating(a) and is_floating(b)
    }
    if len(found) == 1 and (pair := found.pop())[1] in given and pair in ALWAYS:
        return ALWAYS[pair]
    dtypes = {str(x.dtype) for x in tensors_in(want.value)}
    return f"{DTYPE}: it should be {' and '.join(sorted(dtypes))}"


def faulty_values(run: Run) -> Iterator[tuple[Any, Any]]:
    """What was returned and what was wanted, at each fault of the kind of the first."""
    probes = run.trial.probes
    for i in run.faults:
        got, want = run.seen[i], run.trial.expected[i]
        alike = got.outcome == "returned" and got.device == want.device
        if alike and probes[i].way == probes[run.faults[0]].way:
            yield got.value, want.value


def form(x: Any) -> tuple:
    """The shape and the dtype of a tensor."""
    return (x.shape, x.dtype) if isinstance(x, Tensor) else (type(x),)


def explain_call(
    exercise: Exercise, probe: Probe, got: Observation, want: Observation, length: int
) -> tuple[str, str, str]:
    """Status, hint and evidence for the difference between what was seen and what was wanted."""
    name = probe.case.name
    on = f"On {name}"
    if got.outcome == "forbidden":
        module, imported, _ = str(got.called).partition(".<module>")
        what = f"{module} may not be {'imported' if imported else 'called'}"
        return "wrong", f"{what} here: write the steps yourself", ""
    if got.outcome == "steps":
        on += f": it was stopped after {most_steps(exercise):,} lines of Python"
    if got.outcome == "time":
        on += f": it was stopped after {SECONDS} seconds of work"
    if got.outcome in ("steps", "time") and got.is_test:
        return "too slow", "your test runs too long: fewer inputs, or smaller ones, will do", on
    if got.outcome == "time":
        return "too slow", "it takes very long, or comes to no end", on
    if got.outcome == "steps" or got.scales_with_length:
        return "too slow", hints.LOOPS, on
    if uncalled(got.error):
        return "error", misfit(exercise, probe.case, got.error or {}), ""
    if isinstance(got.value, Unsendable):
        if got.value in hints.RETURNED:
            return "wrong", hints.RETURNED[got.value], ""
        if got.value == exercise.name:
            # an object of that class
            return "error", f"`{exercise.name}` should be a function, and is a class", ""
    if got.outcome == "raised" and want.outcome != "raised":
        error = got.error or {}
        if error.get("type") == UnfitError.__name__:
            return "wrong", error["text"], on
        where = f" (line {error['line'][0]}: {error['line'][1]})" if error.get("line") else ""
        says = f"{error['type']}: {quoted(error['text'])}{where}"
        if probe.way == "elsewhere":
            return "wrong", hints.DEVICE, f"{on}: {says}"
        if got.is_test:
            return "wrong", f"your test refuses a right answer, {name}", says
        if "view size is not compatible" in error["text"]:
            return "wrong", hints.VIEW, f"{on}{where}"
        for said, hint in hints.TORCH_SAYS.items():
            if re.search(said, error["text"]):
                return "error", hint, f"{on}{where}"
        return "error", f"it raises {says}", on
    if want.outcome == "raised" and got.outcome == "returned":
        if got.returned_value:
            return "wrong", "what a test returns is not looked at: raise AssertionError", ""
        if got.is_test:
            return "wrong", f"your test lets a wrong answer pass: {name}", ""
        return "wrong", "it should have raised an error here", on
    if got.settings == (DRAWN,):
        return "wrong", "it draws random numbers: the same input must give the same result", on
    if got.settings:
        what = " and ".join(got.settings)
        several = len(got.settings) > 1 or DRAWN in got.settings
        them = "them as they were" if several else "it as it was"
        return "wrong", f"it changes {what} for all that follows: leave {them}", on
    if got.changed:
        return "wrong", hints.CHANGES, f"{on}: {arguments(exercise, probe.case)[got.changed[0]]}"
    if got.marked:
        return "wrong", hints.MARKS, f"{on}: {arguments(exercise, probe.case)[got.marked[0]]}"
    if got.too_many_elements:
        enough = f"where {probe.case.max_elements} are enough"
        sizes = f"one has {got.too_many_elements} numbers, {enough}"
        return "wrong", "a tensor made on the way is too large", f"{on}: {sizes}"
    if got.device != want.device and got.device and want.device:
        return "wrong", hints.DEVICE, f"{on}: the result is on the {got.device}"
    if not close(got.value, want.value, length):
        return "wrong", *explain_value(got.value, want.value, on, length)
    return "wrong", *explain_gradient(exercise, got.gradients, want.gradients, probe.case)


def quoted(text: str) -> str:
    """What an exception says, as its own words: a learner's code may have it say anything."""
    return f"“{text[:MOST_QUOTED]}{'…' * (len(text) > MOST_QUOTED)}”" if text else ""


def misfit(exercise: Exercise, case: Case, error: dict[str, Any]) -> str:
    """What is said of an answer that cannot be called as the exercise calls it."""
    passed = arguments(exercise, case)[: len(case.args)] + [f"{name}=..." for name in case.kwargs]
    called = f"is called with ({', '.join(passed)})"
    making = re.search(r"__init__\(\)|^\w+\(\) takes no arguments", error["text"])
    if found := re.fullmatch(r"'(\w+)' object is not callable", error["text"]):
        return f"`{exercise.name}` should be a function that {called}, and is {article(found[1])}"
    if making and case.build is None:
        return f"`{exercise.name}` should be a function that {called}, and is a class"
    if making:
        names = inspect.signature(exercise.reference_answer).parameters
        called = f"is made with ({', '.join(names)})"
    return f"`{exercise.name}` {called}: {error['text']}"


def arguments(exercise: Exercise, case: Case) -> list[str]:
    """The names of a case's arguments, in the order in which it passes them."""
    names = exercise.parameters[: len(case.args)]
    names += [f"argument {place}" for place in range(len(names) + 1, len(case.args) + 1)]
    return [*names, *case.kwargs]


def article(kind: str) -> str:
    return {"NoneType": "None", "int": "an int"}.get(kind, f"a {kind}")


def explain_value(got: Any, want: Any, on: str, length: int) -> tuple[str, str]:
    if got is None:
        return "it returns None: is the return missing?", on
    if isinstance(want, (tuple, list)) and isinstance(got, (tuple, list)):
        if len(got) != len(want):
            sizes = expected_got(len(want), len(got))
            return "the number of results is not right", f"{on}: {sizes}"
        pairs = enumerate(zip(got, want, strict=True), 1)
        at, pair = next((at, pair) for at, pair in pairs if not close(*pair, length))
        return explain_value(*pair, f"{on}: result {at}", length)
    if not (isinstance(want, Tensor) and isinstance(got, Tensor)):
        if type(got) is not type(want):
            return "it returns the wrong type", f"{on}: expected {kind(want)}, got {kind(got)}"
        return "the value is not right", f"{on}: {expected_got(want, got)}"
    if got.shape != want.shape:
        sizes = f"expected {tuple(want.shape)}, got {tuple(got.shape)}"
        return "the shape is not right", f"{on}: {sizes}"
    if got.dtype != want.dtype:
        return DTYPE, f"{on}: expected {want.dtype}, got {got.dtype}"
    if got.is_floating_point() and (count := int((~got.isfinite() & (got != want)).sum())):
        infinite = f"{on}: {count} of {got.numel()} numbers are not finite"
        return "it gives numbers that are not finite", infinite
    differ = compare.differ(got, want, length)
    apart = (got.double() - want.double()).abs().nan_to_num(torch.inf).masked_fill(~differ, -1)
    at = tuple(int(i) for i in torch.unravel_index(apart.argmax(), apart.shape))
    found = [f"at {list(at)} {expected_got(want[at], got[at])}", difference.where(differ)]
    return difference.NUMBERS, f"{on}: {'; '.join(filter(None, found))}"


def explain_gradient(
    exercise: Exercise, got: Iterable | None, want: Iterable | None, case: Case
) -> tuple[str, str]:
    on = f"On {case.name}"
    for name, a, b in zip(differentiated(exercise, case), got or (), want or (), strict=False):
        where = f"{on}: {name}"
        if isinstance(a, Unsendable):
            return "the numbers are right, but autograd cannot go back", f"{where}: {a}"
        if b is not None and a is None:
            return hints.DETACHED, where
        if isinstance(a, Tensor) and a.isnan().any():
            return hints.NAN_GRADIENT, where
    return "the numbers are right, their gradients are not", on


def differentiated(exercise: Exercise, case: Case) -> list[str]:
    """What a gradient is taken for, in the driver's order."""
    given = zip(arguments(exercise, case), (*case.args, *case.kwargs.values()), strict=True)
    return [name for name, x in (*given, *case.weights.items()) if is_floating(x)]


def expected_got(want: Any, got: Any) -> str:
    """Both values, with as many digits as it takes to tell them apart."""
    want, got = (x.item() if isinstance(x, Tensor) else x for x in (want, got))
    pair = [str(want), str(got)]
    for digits in (4, 8, 16):
        pair = [f"{x:.{digits}g}" if isinstance(x, float) else str(x) for x in (want, got)]
        if pair[0] != pair[1]:
            break
    return f"expected {pair[0]}, got {pair[1]}"


def kind(value: Any) -> str:
    if isinstance(value, Unsendable):
        return str(value)
    return "a tensor" if isinstance(value, Tensor) else type(value).__name__
