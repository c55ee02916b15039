"""What a wrong answer has right: the groups of cases that it solves, and the share each earns.

An answer that needs one number of leading axes, or float32, is also tried on each case brought to
that form, so that what it gets wrong is told from what it gets right.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import torch
from torch import Tensor

from judge import hints
from judge.decided import ALL, DECIDED, EFFECTS, GRADIENTS, VALUES, Observation, same
from judge.elsewhere import DEVICE
from judge.exercise import Case, Draw, Exercise, JudgesItself, is_floating
from judge.observation import Caller, observe
from judge.probes import (
    Batch,
    Probe,
    ahead,
    cotangents,
    float32_holds,
    given,
    leading_axes,
    own_axes,
    works,
)
from judge.torch_internals import leaves
from judge.trial import Trial
from judge.verdict import one_thread

MASKS, AXES, STORAGE = "masks", "leading axes", "device and dtype"
# what the values leave to the other groups, where an exercise does not say otherwise
SHARES = {MASKS: 0.3, AXES: 0.1, GRADIENTS: 0.1, STORAGE: 0.1, EFFECTS: 0.1}


class Credit(NamedTuple):
    """The share of its points that an answer earns, and the groups that it has right and wrong."""

    share: float = 0.0
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    def told(self, points: float, max_points: int) -> str:
        right, wrong = ", ".join(self.right), ", ".join(self.wrong)
        return f"{points:g} of {max_points} points, for {right}; not for {wrong}"


NOTHING = Credit()


def in_parts(exercise: Exercise) -> bool:
    """Whether an answer may earn a part of the points: a test, or a trained model, may not."""
    return exercise.kind != "test" and not isinstance(exercise, JudgesItself)


@one_thread()
def credit(
    exercise: Exercise, caller: Caller, seed: int, forbidden: tuple[str, ...] = ()
) -> Credit:
    """What an answer earns that has not passed on this seed's inputs; see `verdict.judge`."""
    if not in_parts(exercise):
        return NOTHING
    look = partial(observe, exercise, caller, forbidden=forbidden, watch="everything")
    return Groups(exercise, seed).credit(look)


class Groups:
    """The groups of an exercise's cases, on the inputs of one seed."""

    def __init__(self, exercise: Exercise, seed: int):
        self.exercise = exercise
        self.trial = Trial.of(exercise, seed)
        self.cases = list(exercise.draw_cases(Draw(seed)))
        self.own = own_axes(self.cases)
        for place, name in enumerate(exercise.parameters):
            # passed by name in one case, and by place in others
            both = {name, place} & self.own.keys()
            self.own |= dict.fromkeys(both, min((self.own[key] for key in both), default=0))
        self.leading = {
            key for case in self.cases for key, count in ahead(case, self.own).items() if count
        }
        self.count = len(leading_axes(self.cases)[0])

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of each group that the exercise has, the values' own first."""
        probes = self.trial.probes
        there = {
            MASKS: any(map(self.masked, self.cases)),
            AXES: bool(self.leading),
            GRADIENTS: any(probe.cotangents is not None for probe in probes),
            STORAGE: any(map(stored, probes)),
            EFFECTS: True,
        }
        usual = SHARES | self.exercise.shares
        if unknown := usual.keys() - SHARES.keys():
            raise ValueError(
                f"{self.exercise.name}: shares has no group {', '.join(sorted(unknown))}; "
                f"the groups are {', '.join(SHARES)}"
            )
        others = {group: usual[group] for group, is_there in there.items() if is_there}
        if min(usual.values()) < 0 or sum(others.values()) >= 1:
            raise ValueError(
                f"{self.exercise.name}: each of the shares {others} should be 0 at least, and "
                "together they should leave something to the values"
            )
        return {VALUES: round(1 - sum(others.values()), 6)} | others

    def masked(self, case: Case) -> bool:
        """Whether it has a mask, where other cases do without."""
        return has_mask(case) and not all(map(has_mask, self.cases))

    def credit(self, look: Callable[[Probe], Observation]) -> Credit:
        """What an answer earns of which `look` says what it does on a probe."""
        wrong: set[str] = set()
        single = self.only_single(look)
        for probe, want in self.probes():
            # what its mask spoils says nothing of the device
            if not (MASKS in wrong and self.masked(probe.case)):
                wrong |= self.costs(probe, want, look, single)
            if VALUES in wrong:
                return NOTHING
        earned = {group: share for group, share in self.shares.items() if group not in wrong}
        lost = tuple(group for group in self.shares if group in wrong)
        return Credit(round(sum(earned.values()), 6), tuple(earned), lost)

    def only_single(self, look: Callable[[Probe], Observation]) -> bool:
        """Whether an answer does float32 where it is given float64, and is to be judged there."""
        first = self.trial.probes[0]
        wrong = not right(got := look(first), self.trial.expected[0], self.trial.length)
        return wrong and is_single(first, got) and self.in_float32(first) is not None

    def probes(self) -> Iterator[tuple[Probe, Observation]]:
        """The probes, and what the reference does: what lies by columns is first laid by rows."""
        for probe, want in zip(self.trial.probes, self.trial.expected, strict=True):
            if probe.by_columns:
                yield probe._replace(by_columns=False), want
            yield probe, want

    def costs(self, probe: Probe, expected: Observation, look: Callable, single: bool) -> set[str]:
        """The groups that an answer loses on a probe; `single` is one that only does float32."""
        for lost, form in self.forms(probe):
            want, got = expected if form is probe else self.trial.wanted(form), look(form)
            length = self.trial.length
            if breaks_a_rule(got, want, length):
                return {VALUES}
            if right(got, want, length):
                return lost | beside_the_values(got, want, length)
            if single and is_single(form, got):
                if (form := self.in_float32(form)) is None:
                    return lost | {STORAGE}
                want, got = self.trial.wanted(form), look(form)
                # float32 at the length of another case would let 16 bits pass
                sizes = (n for x in form.case.args if is_floating(x) for n in x.shape)
                length = max(sizes, default=1)
                if right(got, want, length):
                    return lost | {STORAGE} | beside_the_values(got, want, length)
        if stored(probe):
            return {STORAGE}
        return {MASKS if self.masked(probe.case) else VALUES}

    def forms(self, probe: Probe) -> Iterator[tuple[set[str], Probe]]:
        """A probe as it is and with the usual leading axes, and what is lost if only that works."""
        yield set(), probe
        if self.leading and works(self.exercise, case := self.with_axes(probe.case)):
            along = probe.cotangents
            if along is not None:
                along = cotangents(case.result(self.exercise.reference_answer))
            yield {AXES}, probe._replace(case=case, cotangents=along)

    def with_axes(self, case: Case) -> Case:
        """The case with as many leading axes as the first case has."""

        def brought(one: Case) -> Case:
            leading = {k: n for k, n in ahead(one, self.own).items() if k in self.leading}
            return Batch(one, leading).changed(f"with {self.count} leading axes", change)

        def change(x: Tensor, has: int) -> Tensor:
            more = has - self.count
            return x[(0,) * more + (None,) * -more]

        return replace(brought(case), longer=case.longer and brought(case.lengthened))

    def in_float32(self, probe: Probe) -> Probe | None:
        """The probe in float32, where that holds its numbers, and they are not in it already."""
        case = probe.case
        single = replace(case.float(), longer=case.longer and case.lengthened.float())
        exact = case.result(self.exercise.reference_answer)
        holds = float32_holds(self.exercise, single, exact)
        return probe._replace(case=single) if holds else None


def has_mask(case: Case) -> bool:
    return any(isinstance(x, Tensor) and x.dtype == torch.bool for x in given(case).values())


def stored(probe: Probe) -> bool:
    """Whether a probe asks where tensors are, of which dtype, or how they lie in memory."""
    there = DEVICE in (*probe.case.kwargs.values(),)
    return there or probe.by_columns or probe.way in ("float32", "elsewhere")


def breaks_a_rule(got: Observation, want: Observation, length: int) -> bool:
    """Whether it differs in what costs all points, and is more than a wrong number."""
    return not same(got, want, length, (ALL,))


def right(got: Observation, want: Observation, length: int) -> bool:
    """Whether the values are right, and what is judged with them."""
    return want.outcome == "returned" and same(got, want, length, (ALL, VALUES))


def beside_the_values(got: Observation, want: Observation, length: int) -> set[str]:
    """The groups that are lost where the values are right."""
    beside = (one for one in DECIDED if one.costs in (GRADIENTS, EFFECTS))
    return {one.costs for one in beside if not one.same(got, want, length)}


def is_single(probe: Probe, got: Observation) -> bool:
    """Whether an answer does float32 where it is given float64, or fails for want of it."""
    if stored(probe) or not any(map(is_floating, probe.case.args)):
        return False
    if got.error:
        return bool(re.search(hints.DTYPES_DIFFER, got.error["text"]))
    found = [x for x in leaves(got.value) if is_floating(x)]
    return bool(found) and all(x.float().to(x.dtype).equal(x) for x in found)
