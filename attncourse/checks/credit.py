"""What a wrong answer has right: the groups of cases that it solves, and the share each earns.

An answer that needs one number of leading axes, or float32, is also tried on each case brought to
that form, so that what it gets wrong is told from what it gets right.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from attncourse.checks.compare import close_gradients, same
from attncourse.checks.elsewhere import DEVICE
from attncourse.checks.exercise import Case, Draw, Exercise, is_floating
from attncourse.checks.observation import Caller, Observation, observe
from attncourse.checks.probes import (
    Batch,
    Probe,
    ahead,
    cotangent,
    float32_holds,
    given,
    leading_axes,
    own_axes,
)
from attncourse.checks.verdict import JudgesItself, Trial, one_thread

VALUES, MASKS, AXES = "values", "masks", "leading axes"
GRADIENTS, STORAGE, EFFECTS = "gradients", "device, dtype and strides", "side effects"
# what the values leave to the other groups, where an exercise does not say otherwise
SHARES = {MASKS: 0.2, AXES: 0.1, GRADIENTS: 0.1, STORAGE: 0.1, EFFECTS: 0.1}


class Credit(NamedTuple):
    """The share of its points that an answer earns, and the groups that it has right and wrong."""

    share: float = 0.0
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


NOTHING = Credit()


def in_parts(exercise: Exercise) -> bool:
    """Whether an answer may earn a part of the points: a test, or a trained model, may not."""
    return exercise.kind != "test" and not isinstance(exercise, JudgesItself)


@one_thread()
def credit(
    exercise: Exercise, caller: Caller, seed: int, device: str, forbidden: tuple[str, ...]
) -> Credit:
    """What an answer that has not passed on this seed's inputs earns."""
    if not in_parts(exercise):
        return NOTHING
    groups = Groups(exercise, seed, device)
    return groups.credit(lambda probe: observe(exercise, caller, probe, device, forbidden))


class Groups:
    """The groups of an exercise's cases, on the inputs of one seed."""

    def __init__(self, exercise: Exercise, seed: int, device: str):
        self.exercise = exercise
        self.trial = Trial.of(exercise, seed, device)
        self.cases = list(exercise.draw_cases(Draw(seed)))
        self.own = own_axes(self.cases)
        for place, name in enumerate(exercise.parameters):
            # passed by name in one case, and by place in others
            if name in self.own:
                self.own[name] = min(self.own[name], self.own.get(place, self.own[name]))
        self.leading = {
            key for case in self.cases for key, count in ahead(case, self.own).items() if count
        }

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of each group that the exercise has, the values' own first."""
        probes = self.trial.probes
        there = {
            MASKS: any(map(self.masked, self.cases)),
            AXES: bool(self.leading),
            GRADIENTS: any(probe.cotangent is not None for probe in probes),
            STORAGE: any(map(stored, probes)),
            EFFECTS: any(isinstance(x, Tensor) for x in given(self.cases[0]).values()),
        }
        usual = SHARES | self.exercise.shares
        others = {group: usual[group] for group, is_there in there.items() if is_there}
        return {VALUES: round(1 - sum(others.values()), 6)} | others

    def masked(self, case: Case) -> bool:
        """Whether it has a mask, where other cases do without."""
        return has_mask(case) and not all(map(has_mask, self.cases))

    def credit(self, look: Callable[[Probe], Observation]) -> Credit:
        """What an answer earns of which `look` says what it does on a probe."""
        wrong: set[str] = set()
        for probe, want in zip(self.trial.probes, self.trial.expected, strict=True):
            # what its mask spoils says nothing of the device
            if not (MASKS in wrong and self.masked(probe.case)):
                wrong |= self.costs(probe, want, look)
            if VALUES in wrong:
                return NOTHING
        right = tuple(group for group in self.shares if group not in wrong)
        share = round(sum(self.shares[group] for group in right), 6)
        return Credit(share, right, tuple(group for group in self.shares if group in wrong))

    def costs(
        self, probe: Probe, expected: Observation, look: Callable[[Probe], Observation]
    ) -> set[str]:
        """The groups that an answer loses by what it does on a probe."""
        for lost, form in self.forms(probe):
            want, got = expected if form is probe else self.trial.wanted(form), look(form)
            if got.outcome in ("forbidden", "steps") or got.scales_with_length:
                return {VALUES}
            if want.outcome == "returned" and same(plainly(got, want), want, self.trial.length):
                return lost | set(beside_the_values(got, want, self.trial.length))
        if self.masked(probe.case):
            return {MASKS}
        return {STORAGE if stored(probe) else VALUES}

    def forms(self, probe: Probe) -> Iterator[tuple[set[str], Probe]]:
        """A probe, then in simpler forms, each with what is lost where the answer needs it."""
        brought = [(set(), probe.case)]
        counts = {leading_axes(self.cases)[0]: None, 0: None} if self.leading else {}
        brought += [({AXES}, self.with_axes(probe.case, count)) for count in counts]
        for lost, case in brought:
            yield lost, self.differentiated(probe, case)
            contiguous = probe._replace(by_columns=False)
            if probe.by_columns:
                yield lost | {STORAGE}, self.differentiated(contiguous, case)
            if single := self.in_float32(case):
                yield lost | {STORAGE}, self.differentiated(contiguous, single)

    def differentiated(self, probe: Probe, case: Case) -> Probe:
        """The probe with that case, and with what its gradients are taken along."""
        if case is probe.case:
            return probe
        if probe.cotangent is None:
            return probe._replace(case=case)
        along = cotangent(case.result(self.exercise.reference_answer))
        return probe._replace(case=case, cotangent=along)

    def with_axes(self, case: Case, count: int) -> Case:
        """The case with so many leading axes: of one that it has too many, the first is taken."""

        def brought(one: Case) -> Case:
            leading = {k: n for k, n in ahead(one, self.own).items() if k in self.leading}
            return Batch(one, leading).changed(f"with {count} leading axes", change)

        def change(x: Tensor, has: int) -> Tensor:
            return x[(0,) * (has - count)] if has > count else x[(None,) * (count - has)]

        return replace(brought(case), longer=case.longer and brought(case.lengthened))

    def in_float32(self, case: Case) -> Case | None:
        """The case in float32, where that holds its numbers, and they are not in it already."""
        if not any(is_floating(x) and x.dtype == torch.float64 for x in case.args):
            return None
        single = replace(case.float(), longer=case.longer and case.lengthened.float())
        exact = case.result(self.exercise.reference_answer)
        return single if float32_holds(self.exercise, single, exact) else None


def has_mask(case: Case) -> bool:
    return any(isinstance(x, Tensor) and x.dtype == torch.bool for x in given(case).values())


def stored(probe: Probe) -> bool:
    """Whether a probe asks where tensors are, or of which dtype."""
    return probe.way in ("float32", "elsewhere") or DEVICE in (*probe.case.kwargs.values(),)


def plainly(got: Observation, want: Observation) -> Observation:
    """What was seen, but for what is judged beside the values."""
    return replace(got, gradients=want.gradients, changed=(), marked=(), settings=want.settings)


def beside_the_values(got: Observation, want: Observation, length: int) -> Iterator[str]:
    if got.changed or got.marked or got.settings:
        yield EFFECTS
    if not close_gradients(got.gradients, want.gradients, length):
        yield GRADIENTS
