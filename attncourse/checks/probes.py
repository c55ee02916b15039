"""The calls that a check makes: an exercise's cases, and what follows from them for every exercise.

A case is also called with a leading axis of one, with other numbers of the same sizes, in float32,
on another device and, to see what loops, at a greater length and with a larger batch.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from attncourse.checks.exercise import Case, Draw, Exercise, is_floating

# of numbers of the size of 1: where float32 gives less, a right answer may differ from another
FLOAT32_HOLDS = 1e-5
# a batch so many times as large takes that many times the steps, where it is walked through
LARGER = 4


class Probe(NamedTuple):
    """One call to make, and which parts of what happens are compared."""

    case: Case
    way: str  # values, float32, elsewhere or longer
    cotangent: Tensor | None = None
    # its tensors lie in memory by columns: view cannot join their axes, as reshape can
    by_columns: bool = False


def probes(exercise: Exercise, draw: Draw) -> Iterator[Probe]:
    """The probes in the order in which they are made: those that loop come last."""
    cases = list(exercise.draw_cases(draw))
    is_test = exercise.kind == "test"
    batch = None if is_test else with_leading_axes(cases)
    for place, case in enumerate(cases):
        yield Probe(case, "values", cotangent(exercise, case), place % 2 == 1 and not is_test)
    if not is_test and (other := with_other_numbers(exercise, cases[0])):
        yield Probe(other, "values")
    if batch:
        one = batch.changed("one on each leading axis", lambda x, n: x[(slice(1),) * n])
        yield Probe(one, "values")
    if exercise.floating:
        yield from (
            Probe(case.float(), "float32") for case in cases if float32_holds(exercise, case)
        )
    first = cases[0]
    # the case with the most tensors has a mask, if there is one: it may take another branch
    for case in {id(c): c for c in (first, max(cases, key=tensors))}.values():
        if tensors(case):
            name = f"{case.name}, on another device"
            yield Probe(replace(case, name=name, gradient=False), "elsewhere")
    longer = [case for case in cases if case.longer]
    for case in longer:
        yield Probe(replace(case, gradient=False), "longer")
    if batch and longer and batch.size > 1:
        larger = batch.changed("a larger batch", repeated)
        yield Probe(replace(batch.case, longer=larger, gradient=False), "longer")


def tensors(case: Case) -> int:
    return sum(isinstance(x, Tensor) for x in given(case).values())


def given(case: Case) -> dict[int | str, object]:
    """The arguments of a case, by place or name."""
    return dict(enumerate(case.args)) | case.kwargs


def cotangent(exercise: Exercise, case: Case) -> Tensor | None:
    """What the gradient is taken along: all different, so that no direction hides."""
    if not (exercise.differentiable and case.gradient):
        return None
    value = case.result(exercise.reference_answer)
    return torch.linspace(-1, 2, value.numel(), dtype=torch.float64).cos().reshape(value.shape)


class Batch(NamedTuple):
    """A case whose tensors have leading axes, and how many each has."""

    case: Case
    leading: dict[int | str, int]

    @property
    def size(self) -> int:
        """The sentences in it."""
        return max(
            math.prod(x.shape[: self.leading[key]])
            for key, x in given(self.case).items()
            if isinstance(x, Tensor)
        )

    def changed(self, how: str, change: Callable[[Tensor, int], Tensor]) -> Case:
        """The case with other leading axes."""
        arguments = given(self.case)
        for key, count in self.leading.items():
            if count:
                arguments[key] = change(arguments[key], count)
        args = tuple(arguments.pop(place) for place in range(len(self.case.args)))
        name = f"{self.case.name}, {how}"
        return replace(self.case, name=name, args=args, kwargs=arguments, gradient=False)


def with_leading_axes(cases: list[Case]) -> Batch | None:
    """The case of the largest batch, if some cases have more leading axes than others.

    A tensor's own axes are those that it has in every case.
    """
    own: dict[int | str, int] = {}
    for case in cases:
        for key, x in given(case).items():
            if isinstance(x, Tensor):
                own[key] = min(own.get(key, x.dim()), x.dim())
    batches = []
    for case in cases:
        leading = {k: x.dim() - own[k] for k, x in given(case).items() if isinstance(x, Tensor)}
        if any(leading.values()):
            batches.append(Batch(case, leading))
    return max(batches, key=lambda batch: batch.size, default=None)


def repeated(x: Tensor, leading: int) -> Tensor:
    """A tensor repeated along its leading axes, but for those along which it is shared."""
    times = [LARGER if size > 1 else 1 for size in x.shape[:leading]]
    return x.repeat(*times, *[1] * (x.dim() - leading))


def with_other_numbers(exercise: Exercise, case: Case) -> Case | None:
    """The case with its rows in reverse order, if the exercise has a result for that."""
    args = tuple(reversed_rows(x) if is_floating(x) else x for x in case.args)
    other = replace(case, name=f"{case.name}, its rows in reverse order", args=args, gradient=False)
    try:
        results = tree_leaves(other.result(exercise.reference_answer))
    except (ValueError, RuntimeError):
        return None
    return other if all(x.isfinite().all() for x in results if isinstance(x, Tensor)) else None


def reversed_rows(x: Tensor) -> Tensor:
    return x.flip(-2 if x.dim() > 1 else -1) if x.dim() else x


def float32_holds(exercise: Exercise, case: Case) -> bool:
    """Whether the reference gives in float32 what it gives in float64, but for rounding."""
    if not any(is_floating(x) for x in case.args):
        return False
    exact, rounded = (
        tree_leaves(one.result(exercise.reference_answer)) for one in (case, case.float())
    )
    return all(
        not is_floating(a)
        or torch.allclose(a, b.to(a.dtype), rtol=FLOAT32_HOLDS, atol=FLOAT32_HOLDS, equal_nan=True)
        for a, b in zip(exact, rounded, strict=True)
    )
