"""The calls that a check makes: an exercise's cases, and what follows from them for every exercise.

A case is also called with leading axes of one, with one leading axis more, with other numbers of
the same sizes, in float32, on another device and, to see what loops, at a greater length and with
a larger batch. What a text allows at its edge is tried without a word of the exercise's:

- *ties*: the first case with numbers of which many are equal;
- *large*: the values of each longer case, so make it larger than the example on the page: with
  more labels than ten, with texts of more than a hundred words;
- *training*: a module as it was made, which nobody has told to evaluate;
- gradients of every floating result, where several come back.

An exercise whose text rules one of the first three out says so in `without`, with the reason. What
it has to declare is where anything may stand, and what:

    @exercise.unread(*WHATEVER)  # or *FINITE, or numbers of its own
    def padding(x, real):
        return {"x": ~real[..., None]}

Then the first case that has such places is also called with these numbers there, in float32, too.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from judge.call.fake_device import DEVICE
from judge.call.torch_internals import leaves
from judge.exercise import Case, Draw, Exercise, Source, is_floating

# of numbers of the size of 1: where float32 gives less, a right answer may differ from another
FLOAT32_HOLDS = 1e-5
ALONE = "with size 1 on each leading axis"
# what is tried unless an exercise says that it has none
EDGES = "large", "ties", "training"
LARGER_BATCH = "with a larger batch"
# a batch so many times as large takes that many times the steps, where it is walked through
LARGER = 4


class Purpose(Enum):
    """What a probe is made for."""

    VALUES = auto()
    # the same in float32
    FLOAT32 = auto()
    # that it computes where its inputs are
    DEVICE = auto()
    # that a longer input takes no more steps
    STEPS = auto()
    # the values of a longer input
    LARGE = auto()


class Probe(NamedTuple):
    """One call to make, and which parts of what happens are compared."""

    case: Case
    purpose: Purpose
    # what the gradient of each floating result is taken along
    cotangents: tuple[Tensor, ...] | None = None
    # its tensors lie in memory by columns: view cannot join their axes, as reshape can
    by_columns: bool = False
    # a module is as it was made
    training: bool = False

    @property
    def device(self) -> str:
        """Where its tensors are, on a machine with a GPU as on any other."""
        return DEVICE if self.purpose == Purpose.DEVICE else "cpu"


def probes(exercise: Exercise, draw: Draw) -> Iterator[Probe]:
    """The probes in the order in which they are made.

    Those that loop come late, and those that are large last, so that no loop gets there.
    """
    cases = list(exercise.draw_cases(draw))
    batch = None if exercise.is_test else with_leading_axes(exercise, cases)
    # a reference may take long
    right = cache(lambda place: cases[place].result(exercise.reference_answer))
    yield from values(exercise, cases, batch, right)
    yield from storage(exercise, cases, right)
    longer = [case for case in cases if case.longer]
    for case in longer:
        yield Probe(replace(case, gradient=False), Purpose.STEPS)
    if batch and longer:
        yield Probe(replace(batch.case, longer=batch.larger, gradient=False), Purpose.STEPS)
    if "large" not in exercise.without:
        for case in longer:
            yield Probe(at_its_length(case), Purpose.LARGE)


def values(
    exercise: Exercise, cases: list[Case], batch: "Batch | None", right: Callable[[int], Any]
) -> Iterator[Probe]:
    """The cases, what a text allows at its edge, and the first with other leading axes."""
    is_test = exercise.is_test
    for place, case in enumerate(cases):
        differentiated = exercise.differentiable and case.gradient
        along = cotangents(right(place)) if differentiated else None
        yield Probe(case, Purpose.VALUES, along, place % 2 == 1 and not is_test)
    if not is_test:
        yield from edges(exercise, cases)
    if batch:
        yield Probe(batch.of_one, Purpose.VALUES)
        yield Probe(batch.with_one_more, Purpose.VALUES)
        if "viewed" not in exercise.without:
            yield Probe(replace(batch.case, gradient=False), Purpose.VALUES, by_columns=True)


def storage(exercise: Exercise, cases: list[Case], right: Callable[[int], Any]) -> Iterator[Probe]:
    """The cases in float32, and on another device: each may take a branch of its own."""
    if exercise.floating:
        for place, case in enumerate(cases):
            single = case.float()
            if any(map(is_floating, case.args)) and float32_holds(exercise, single, right(place)):
                yield Probe(single, Purpose.FLOAT32)
        if (filled := with_anything_unread(exercise, cases)) and float32_holds(
            exercise, filled.float(), filled.result(exercise.reference_answer)
        ):
            # a product of two large numbers may be infinite there
            yield Probe(filled.float(), Purpose.FLOAT32)
    # of those with a function two are enough: it may compute what the other device does not
    chosen = cases[0], max(cases, key=tensors)
    for case in cases:
        plain = not any(isinstance(x, Source) for x in arguments_of(case).values())
        if tensors(case) and (plain or any(case is one for one in chosen)):
            name = f"{case.name}, on another device"
            there = replace(case, name=name, gradient=False, max_elements=None)
            yield Probe(there, Purpose.DEVICE)


def edges(exercise: Exercise, cases: list[Case]) -> Iterator[Probe]:
    """The first case with other numbers, with equal ones, and of a module as it was made.

    And the first that has places where nothing is read, with anything there.
    """
    first = cases[0]
    others = [with_other_numbers(first)]
    if any(map(is_floating, first.args)) and "ties" not in exercise.without:
        others.append(with_ties(first))
    for case in others:
        if works(exercise.reference_answer, case):
            yield Probe(case, Purpose.VALUES)
    if case := with_anything_unread(exercise, cases):
        along = None
        if exercise.differentiable and case.gradient:
            along = cotangents(case.result(exercise.reference_answer))
        yield Probe(case, Purpose.VALUES, along)
    if first.build is not None and "training" not in exercise.without:
        case = replace(first, name=f"{first.name}, in training mode", gradient=False)
        yield Probe(case, Purpose.VALUES, training=True)


def tensors(case: Case) -> int:
    return sum(isinstance(x, Tensor) for x in arguments_of(case).values())


def arguments_of(case: Case) -> dict[int | str, Any]:
    """The arguments of a case, by place or name."""
    return dict(enumerate(case.args)) | case.kwargs


def cotangents(result: Any) -> tuple[Tensor, ...]:
    """What the gradient of each floating result is taken along.

    Its numbers are all different, so that no direction hides.
    """
    floating = filter(is_floating, leaves(result))
    return tuple(
        torch.linspace(-1, 2, x.numel(), dtype=torch.float64).cos().reshape(x.shape)
        for x in floating
    )


class Batch(NamedTuple):
    """A case whose tensors have leading axes, and how many each has."""

    case: Case
    leading: dict[int | str, int]

    def changed(self, how: str, change: Callable[[Tensor, int], Tensor]) -> Case:
        """The case with other leading axes."""
        arguments = arguments_of(self.case)
        for key, count in self.leading.items():
            arguments[key] = change(arguments[key], count)
        args = tuple(arguments.pop(place) for place in range(len(self.case.args)))
        name = f"{self.case.name}, {how}"
        return replace(self.case, name=name, args=args, kwargs=arguments, gradient=False)

    @property
    def of_one(self) -> Case:
        return self.changed(ALONE, lambda x, count: x[(slice(1),) * count])

    @property
    def with_one_more(self) -> Case:
        most = max(self.leading.values())
        return self.changed(
            "with one more leading axis", lambda x, count: x[None] if count == most else x
        )

    @property
    def larger(self) -> Case:
        return self.changed(LARGER_BATCH, repeated)


def with_leading_axes(exercise: Exercise, cases: list[Case]) -> Batch | None:
    """The case with the most leading axes, if there may be more of them and more or fewer on each.

    Where a mask has an axis more for each head, the reference tells that it is not such a batch.
    """
    own, batches = own_axes(cases), []
    for case in cases:
        if leading := {key: count for key, count in leading_counts(case, own).items() if count}:
            batches.append(Batch(case, leading))
    # the reference may loop, and take long for the larger batch
    reference = exercise.reference_answer
    right = next(iter(exercise.valid_answers), reference)
    for batch in sorted(batches, key=most_axes, reverse=True):
        others = batch.of_one, batch.with_one_more
        if all(works(reference, one) for one in others) and works(right, batch.larger):
            return batch
    return None


def most_axes(batch: Batch) -> tuple[int, int]:
    """How many leading axes it has, and how many tensors that have some."""
    return max(batch.leading.values()), len(batch.leading)


def own_axes(cases: list[Case]) -> dict[int | str, int]:
    """How many axes each tensor has in every case."""
    own: dict[int | str, int] = {}
    for case in cases:
        for key, x in arguments_of(case).items():
            if isinstance(x, Tensor):
                own[key] = min(own.get(key, x.dim()), x.dim())
    return own


def leading_axes(cases: list[Case]) -> list[torch.Size]:
    """The sizes of each case's leading axes: of its tensors, that with the most tells."""
    own = own_axes(cases)
    leading = [
        [arguments_of(case)[key].shape[:count] for key, count in leading_counts(case, own).items()]
        for case in cases
    ]
    none = torch.Size()
    return [max(some, key=lambda x: (len(x), x.numel()), default=none) for some in leading]


def leading_counts(case: Case, own: dict[int | str, int]) -> dict[int | str, int]:
    """How many axes each tensor has before its own."""
    return {
        key: x.dim() - own[key] for key, x in arguments_of(case).items() if isinstance(x, Tensor)
    }


def works(right_answer: Callable, case: Case) -> bool:
    """Whether a right answer has a finite result for it."""
    try:
        results = leaves(case.result(right_answer))
    except (ValueError, RuntimeError):
        return False
    return all(x.isfinite().all() for x in results if isinstance(x, Tensor))


def repeated(x: Tensor, leading: int) -> Tensor:
    """A tensor repeated along its leading axes, but for those along which it is shared."""
    # four times on each of four axes would be 256 batches
    larger = LARGER if leading <= 2 else 2
    times = [larger if size > 1 else 1 for size in x.shape[:leading]]
    return x.repeat(*times, *[1] * (x.dim() - leading))


def with_other_numbers(case: Case) -> Case:
    """The case with its rows, and the numbers of each, in reverse order."""
    args = tuple(in_reverse(x) if is_floating(x) else x for x in case.args)
    name = f"{case.name}, with its numbers in reverse order"
    return replace(case, name=name, args=args, gradient=False)


def in_reverse(x: Tensor) -> Tensor:
    return x.flip(tuple(range(max(-2, -x.dim()), 0)))


def with_ties(case: Case) -> Case:
    """The case with its numbers rounded to halves, of which many are equal."""
    args = tuple((2 * x).round() / 2 if is_floating(x) else x for x in case.args)
    return replace(case, name=f"{case.name}, with many equal numbers", args=args, gradient=False)


def with_anything_unread(exercise: Exercise, cases: list[Case]) -> Case | None:
    """The first case that has places where anything may stand, with such numbers there."""
    if exercise.unread_places is None:
        return None
    for case in cases:
        arguments = dict(zip(exercise.parameters, case.args, strict=False)) | case.kwargs
        places = exercise.unread_places(**arguments)
        if any(where.any() for where in places.values()):
            filled = {
                name: arguments[name].masked_scatter(where, unread(exercise, arguments[name]))
                for name, where in places.items()
            }
            arguments |= filled
            args = tuple(arguments[name] for name in exercise.parameters[: len(case.args)])
            kwargs = {name: arguments[name] for name in case.kwargs}
            name = f"{case.name}, with arbitrary numbers where nothing is read"
            return replace(case, name=name, args=args, kwargs=kwargs)
    return None


def unread(exercise: Exercise, x: Tensor) -> Tensor:
    """As many of the numbers that may stand where nothing is read as a tensor has places."""
    return x.new_tensor(exercise.unread_numbers).repeat(x.numel())


def at_its_length(case: Case) -> Case:
    """The longer form of a case, with a name of its own."""
    name = f"{case.name}, at a greater length"
    return replace(case.lengthened, name=name, gradient=False, max_elements=None)


def float32_holds(exercise: Exercise, single: Case, exact: Any) -> bool:
    """Whether right answers give in float32 what the reference gives in float64, but for rounding.

    A plainly written one may lose more than the reference does.
    """
    answers = (exercise.reference_answer, *exercise.valid_answers[:1])
    return all(
        is_alike(a, b)
        for answer in answers
        for a, b in zip(leaves(exact), leaves(single.result(answer)), strict=True)
    )


def is_alike(a: Any, b: Any) -> bool:
    if not isinstance(a, Tensor):
        return a == b
    if not is_floating(a):
        return a.equal(b)
    return torch.allclose(a, b.to(a.dtype), rtol=FLOAT32_HOLDS, atol=FLOAT32_HOLDS, equal_nan=True)
