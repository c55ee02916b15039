"""What is wrong with an answer, in words, where no known mistake accounts for it."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from attncourse.checks import hints
from attncourse.checks.compare import allowed, close, rounded_to
from attncourse.checks.driver import DRAWN, UnfitError, Unsendable
from attncourse.checks.exercise import Case, is_floating
from attncourse.checks.observation import Observation
from attncourse.checks.probes import Probe

# what was wanted, what came, and what is said
ALWAYS = {
    (torch.float64, torch.float32): hints.FLOAT32,
    (torch.float32, torch.float64): hints.FLOAT64,
}
# how far numbers are off that were rounded on the way, and nothing else
NEAR = {
    torch.float32: (1e-5, hints.FLOAT32_INSIDE),
    torch.float16: (1e-2, hints.HALF_INSIDE),
    torch.bfloat16: (1e-1, hints.HALF_INSIDE),
}


def explain(probe: Probe, got: Observation, want: Observation, length: int) -> tuple[str, str, str]:
    """Status, hint and evidence for the difference between what was seen and what was wanted."""
    name = probe.case.name
    on = f"On {name}"
    if got.outcome == "forbidden":
        module, imported, _ = str(got.called).partition(".<module>")
        what = f"{module} may not be {'imported' if imported else 'called'}"
        return "wrong", f"{what} here: write the steps yourself", ""
    if got.outcome == "steps" and got.is_test:
        return "too slow", "your test runs too long: fewer inputs, or smaller ones, will do", on
    if got.outcome == "steps" or got.scales_with_length:
        return "too slow", hints.LOOPS, on
    if got.outcome == "raised" and want.outcome != "raised":
        error = got.error or {}
        if error.get("type") == UnfitError.__name__:
            return "wrong", error["text"], on
        where = f" (line {error['line'][0]}: {error['line'][1]})" if error.get("line") else ""
        says = f"{error['type']}: {error['text']}{where}"
        if probe.way == "elsewhere":
            return "wrong", hints.DEVICE, f"{on}: {says}"
        if "view size is not compatible" in error["text"]:
            return "wrong", hints.VIEW, f"{on}{where}"
        if got.is_test:
            return "wrong", f"your test refuses a right answer, {name}", says
        return "error", f"it raises {says}", on
    if want.outcome == "raised" and got.outcome == "returned":
        if got.returned_value:
            return "wrong", "what a test returns is not looked at: raise AssertionError", ""
        if got.is_test:
            return "wrong", f"your test lets a wrong answer pass: {name}", ""
        return "wrong", "it should have raised an error here", on
    if got.settings == (DRAWN,) and not got.is_test:
        return "wrong", "it draws random numbers: the same input must give the same result", on
    if got.settings:
        what = " and ".join(got.settings)
        return "wrong", f"it changes {what} for all that follows: leave torch as it was", on
    if got.changed:
        where = f"{on}: argument {got.changed[0] + 1}"
        return "wrong", hints.CHANGES, where
    if got.too_many_elements:
        enough = f"where {probe.case.max_elements} are enough"
        sizes = f"one has {got.too_many_elements} numbers, {enough}"
        return "wrong", "a tensor made on the way is too large", f"{on}: {sizes}"
    if got.device != want.device and got.device and want.device:
        return "wrong", hints.DEVICE, f"{on}: the result is on the {got.device}"
    if not close(got.value, want.value, length):
        return "wrong", *explain_value(got.value, want.value, on, length)
    return "wrong", *explain_gradient(got.gradients, want.gradients, probe.case)


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
        hint = ALWAYS.get((want.dtype, got.dtype), "the dtype is not right")
        return hint, f"{on}: expected {want.dtype}, got {got.dtype}"
    if got.is_floating_point() and (count := int((~got.isfinite() & (got != want)).sum())):
        infinite = f"{on}: {count} of {got.numel()} numbers are not finite"
        return "it gives numbers that are not finite", infinite
    differ = got != want
    if got.is_floating_point():
        bound = allowed(got, want, length)
        differ = ~torch.isclose(got, want, rtol=bound, atol=bound, equal_nan=True)
    at = tuple(differ.nonzero()[0].tolist())
    seen = f"{on}: at {list(at)} {expected_got(want[at], got[at])}"
    if got.dtype == torch.float64 and (dtype := rounded_to(got, want)):
        bound, hint = NEAR[dtype]
        if torch.allclose(got, want, rtol=bound, atol=bound):
            return hint, seen
    return "the shape is right, the numbers are not", seen


def explain_gradient(got: Iterable | None, want: Iterable | None, case: Case) -> tuple[str, str]:
    on = f"On {case.name}"
    for name, a, b in zip(leaves(case), got or (), want or (), strict=False):
        where = f"{on}: {name}"
        if isinstance(a, Unsendable):
            return "the numbers are right, but autograd cannot go back", f"{where}: {a}"
        if b is not None and a is None:
            return hints.DETACHED, where
        if isinstance(a, Tensor) and a.isnan().any():
            return "the numbers are right, but a gradient is NaN", where
    return "the numbers are right, their gradients are not", on


def leaves(case: Case) -> list[str]:
    """What a gradient is taken for, in the driver's order."""
    given = {f"argument {place}": x for place, x in enumerate(case.args, 1)}
    return [name for name, x in (given | case.kwargs | case.weights).items() if is_floating(x)]


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
