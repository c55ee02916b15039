"""How tensors differ from the right ones: a pattern in all their numbers, and where."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from judge import messages
from judge.call.outcome import Outcome
from judge.call.torch_internals import leaves
from judge.compare.run import Run, tensors_in
from judge.compare.tolerance import close, differ, holds, rounded_to
from judge.exercise import is_floating

NUMBERS = "the shape is right, but the numbers aren't"
DTYPE = "the dtype isn't right"
# along which axis, counted from the end: what one place along it is called
ROWS = {-2: "row", -1: "column"}
# how far numbers are off that were rounded on the way, and nothing else
NEAR = {
    torch.float32: (1e-5, messages.FLOAT32_INSIDE),
    torch.float16: (1e-2, messages.HALF_INSIDE),
    torch.bfloat16: (1e-1, messages.HALF_INSIDE),
}
# the dtype that came, and the one that was wanted
ALWAYS = {
    (torch.float32, torch.float64): messages.FLOAT32,
    (torch.float64, torch.float32): messages.FLOAT64,
}
# a small epsilon, or a table of float32, changes no more
NEARLY = 1e-5


def all_numbers(run: Run) -> str:
    """What was done to all numbers of each result that is wrong, at every failure of both seeds."""
    pattern_found, wrong, count = NUMBERS, [], 1
    for one in run.at_both_seeds:
        if one.is_lost:
            return NUMBERS
        for got, want in failed_values(one):
            got_leaves, want_leaves = leaves(got), leaves(want)
            if list(map(form, got_leaves)) != list(map(form, want_leaves)):
                return NUMBERS
            count = len(want_leaves)
            pairs = enumerate(zip(got_leaves, want_leaves, strict=True), 1)
            wrong += [(i, *pair) for i, pair in pairs if not close(*pair, run.trial.length)]
        pattern_found = pattern([(got, want) for _, got, want in wrong], run.trial.length)
        if pattern_found in (NUMBERS, messages.NEARLY, messages.NEARLY_ZERO):
            return pattern_found
    places = sorted({place for place, _, _ in wrong})
    if len(places) == count or pattern_found in messages.ROUNDED:
        return pattern_found
    results = "result" if len(places) == 1 else "results"
    are = "is" if len(places) == 1 else "are"
    return f"only {results} {' and '.join(map(str, places))} {are} wrong: {pattern_found}"


def wrong_dtypes(run: Run) -> str:
    """Which dtype a result always has, where an input has the right one; or which one is right."""
    case, want = run.first_failure.probe.case, run.first_failure.want
    given = {x.dtype for x in (*case.args, *case.kwargs.values()) if is_floating(x)}
    pairs = {
        (a.dtype, b.dtype)
        for one in run.at_both_seeds
        for got, want_value in failed_values(one)
        for a, b in zip(leaves(got), leaves(want_value), strict=False)
        if is_floating(a) and is_floating(b)
    }
    if len(pairs) == 1 and (pair := pairs.pop())[1] in given and pair in ALWAYS:
        return ALWAYS[pair]
    dtypes = {str(x.dtype) for x in tensors_in(want.value)}
    return f"{DTYPE}: it should be {' and '.join(sorted(dtypes))}"


def failed_values(run: Run) -> Iterator[tuple[Any, Any]]:
    """What was returned and what was wanted, at each failure of the first one's purpose."""
    for place in run.failed_places:
        got, want, probe = run.made[place], run.trial.expected(place), run.trial.probes[place]
        is_value = got.outcome == Outcome.RETURNED and got.device == want.device
        if is_value and probe.purpose == run.first_failure.probe.purpose:
            yield got.value, want.value


def form(x: Any) -> tuple:
    """The shape and the dtype of a tensor, or the type of another value."""
    return (x.shape, x.dtype) if isinstance(x, Tensor) else (type(x),)


def pattern(pairs: list[tuple[Tensor, Tensor]], length: int) -> str:
    """What was done to all numbers of every wrong tensor; each is given with the right one."""
    if not pairs:
        return NUMBERS
    got, want = pairs[0]
    if (dtype := near(got, want)) and all(holds(dtype, one.nan_to_num()) for one, _ in pairs):
        return NEAR[dtype][1]
    if got.dtype == torch.float64 and torch.allclose(got, want, rtol=NEARLY, atol=NEARLY):
        return messages.NEARLY if want[place_to_show(got, want, length)] else messages.NEARLY_ZERO
    # a factor and a shift are one where all numbers are the same
    if not any((want != want.flatten()[:1]).any() for _, want in pairs):
        return NUMBERS
    every = [[*patterns(*pair, length)] for pair in pairs]
    return next((one for one in every[0] if all(one in each for each in every)), NUMBERS)


def near(got: Tensor, want: Tensor) -> torch.dtype | None:
    """The dtype to which the right numbers were rounded on the way, if they were."""
    if got.dtype == torch.float64 and not is_coarse(got) and (dtype := rounded_to(got, want)):
        bound = NEAR[dtype][0]
        return dtype if torch.allclose(got, want, rtol=bound, atol=bound) else None
    return None


def patterns(got: Tensor, want: Tensor, length: int) -> Iterator[str]:
    """All that may be said of one wrong tensor, the most precise first."""
    same = partial(close, length=length)
    if got.dtype == torch.bool:
        if got.equal(~want):
            yield "True and False are swapped"
        return
    if not (want.double().isfinite().all() and got.double().isfinite().all()):
        return
    if want.dim() > 1 and want.shape[-1] == want.shape[-2] and same(got, want.mT):
        yield "the shape and the numbers are right, but rows and columns are swapped"
    for axis, name in ROWS.items():
        if want.dim() >= -axis and same(got, want.flip(axis)):
            yield f"the numbers are right, but the {name}s come in reverse order"
    if not got.any():
        yield "every number is 0"
        return
    if same(got, -want):
        yield "each number has the wrong sign"
    at = want.abs().argmax()
    factor, shift = got.flatten()[at] / want.flatten()[at], (got - want).flatten()[at]
    times = f"{factor.item():.4g}"
    # so near to the right ones, rounding is the better word for it
    # no integer of another meaning, such as a place, is a multiple but by chance
    if got.is_floating_point() and times != "1" and same(got.double(), factor.double() * want):
        yield f"each number is {times} times the right one"
        yield "all numbers are off by the same factor, which differs from call to call"
    if same(got, want + shift):
        more = "larger" if shift > 0 else "smaller"
        yield f"each number is {abs(shift.item()):.4g} {more} than the right one"
        yield "all numbers are off by the same amount, which differs from call to call"


def is_coarse(x: Tensor) -> bool:
    """Whether its numbers are such as quotients of small counts: rounding leaves more digits."""
    return x.to(torch.float8_e4m3fn).to(x.dtype).equal(x)


def place_to_show(got: Tensor, want: Tensor, length: int) -> tuple[int, ...]:
    """The first place that differs by a good part of the most: where a mistake begins in time."""
    apart = (got.double() - want.double()).abs().nan_to_num(torch.inf)
    apart = apart.masked_fill(~differ(got, want, length), -1)
    return tuple((apart >= apart.max() / 10).nonzero()[0].tolist())


def where(wrong: Tensor) -> str:
    """How many of the places differ, and the row or column that holds them, if one does."""
    count = int(wrong.sum())
    if wrong.numel() == 1:
        return ""
    said = f"{count} of {wrong.numel()} entries are wrong"
    for axis, name in ROWS.items():
        if wrong.dim() >= -axis and wrong.shape[axis] > 1:
            others = [one for one in range(wrong.dim()) if one != wrong.dim() + axis]
            places = (wrong.any(dim=others) if others else wrong).nonzero().flatten().tolist()
            if len(places) == 1:
                return f"{said}, all in {name} {places[0]}"
    return said
