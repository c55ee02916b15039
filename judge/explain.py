"""What is wrong with an answer, in words, where no known mistake accounts for it."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from judge import decided, difference, hints
from judge.compare import close
from judge.exercise import is_floating
from judge.torch_internals import leaves
from judge.trial import Run, tensors_in
from judge.wording import DTYPE

# what came, what was wanted, and what is said
ALWAYS = {
    (torch.float32, torch.float64): hints.FLOAT32,
    (torch.float64, torch.float32): hints.FLOAT64,
}


def explain(run: Run) -> tuple[str, str, str]:
    """Status, hint and evidence for the first difference from what was wanted.

    What is said of all numbers holds at every fault, and at both seeds.
    """
    status, hint, evidence = decided.explained(run.failing)
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
    case, want = run.failing.probe.case, run.failing.want
    given = {x.dtype for x in (*case.args, *case.kwargs.values()) if is_floating(x)}
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
