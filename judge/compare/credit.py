"""What a wrong answer has right: groups of probes, and the share of the points that each earns.

A probe needs a group where it asks for what the first case does not: another dtype or device, other
leading axes, a mask. An answer that is wrong on a probe loses the first of these that it needs,
unless one of them is lost already and accounts for it; where it needs none, the values are wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from judge import messages
from judge.call.caller import Caller
from judge.call.fake_device import DEVICE
from judge.call.outcome import Outcome
from judge.call.torch_internals import leaves
from judge.compare.criteria import CRITERIA, Cost, Record, agree
from judge.compare.observe import observe
from judge.compare.probes import Purpose, arguments_of
from judge.compare.run import Trial, one_thread
from judge.exercise import Case, Exercise, JudgesItself, is_floating

# what torch says where a tensor's memory does not lie by rows
VIEW = "view size is not compatible"


class Group(StrEnum):
    """What may be right or wrong by itself."""

    VALUES = "values"
    MASKS = "masks"
    AXES = "leading axes"
    GRADIENTS = "gradients"
    STORAGE = "device and dtype"
    EFFECTS = "side effects"


# what the values leave to the other groups, where an exercise does not say otherwise
SHARES = {
    Group.MASKS: 0.3,
    Group.AXES: 0.1,
    Group.GRADIENTS: 0.1,
    Group.STORAGE: 0.1,
    Group.EFFECTS: 0.1,
}


class Credit(NamedTuple):
    """The share of its points that an answer earns, and the groups that it has right and wrong."""

    share: float = 0.0
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    def message(self, points: float, max_points: int) -> str:
        right, wrong = ", ".join(self.right), ", ".join(self.wrong)
        return f"{points:g} of {max_points} points, for {right}; not for {wrong}"


NOTHING = Credit()


def in_parts(exercise: Exercise) -> bool:
    """Whether an answer may earn a part of the points: a test, or a trained model, may not."""
    return not exercise.is_test and not isinstance(exercise, JudgesItself)


@one_thread()
def credit(
    exercise: Exercise, caller: Caller, seed: int, forbidden: tuple[str, ...] = ()
) -> Credit:
    """What an answer earns that has not passed on this seed's inputs; see `verdict.judge`."""
    if not in_parts(exercise):
        return NOTHING
    probes = Trial.of(exercise, seed).probes
    records = [observe(exercise, caller, probe, forbidden) for probe in probes]
    return Groups(exercise, seed).credit(records)


class Groups:
    """The groups of an exercise's probes, on the inputs of one seed."""

    def __init__(self, exercise: Exercise, seed: int):
        self.exercise, self.trial = exercise, Trial.of(exercise, seed)
        self.probes = self.trial.probes
        cases = [probe.case for probe in self.probes]
        # of the first tensor: a mask may have an axis more for each head
        self.axes = [next((x.dim() for x in tensors_of(case)), 0) for case in cases]
        self.all_masked = all(map(has_mask, cases))

    @cached_property
    def shares(self) -> dict[Group, float]:
        """The share of each group that the exercise has, the values' own first.

        Raises ValueError where the exercise gives a group that there is not, or leaves nothing.
        """
        usual: dict = SHARES | self.exercise.shares
        if unknown := usual.keys() - SHARES.keys():
            raise ValueError(
                f"{self.exercise.name}: shares has no group {', '.join(sorted(unknown))}; "
                f"the groups are {', '.join(SHARES)}"
            )
        needed = {group for i in range(len(self.probes)) for group in self.needed(i)}
        needed |= {Group.EFFECTS}
        if any(probe.cotangents is not None for probe in self.probes):
            needed |= {Group.GRADIENTS}
        others = {group: share for group, share in usual.items() if group in needed}
        if min(usual.values()) < 0 or sum(others.values()) >= 1:
            raise ValueError(
                f"{self.exercise.name}: each of the shares {others} should be 0 at least, and "
                "together they should leave something to the values"
            )
        values = round(1 - sum(others.values()), 6)
        return {Group.VALUES: values, **others}

    def needed(
        self, place: int, only_float32: bool = False, works: Iterable[int] = ()
    ) -> Iterator[Group]:
        """The groups that the probe at a place needs, of an answer that may do float32 alone.

        `works` are numbers of axes with which it is right as often as not.
        """
        probe = self.probes[place]
        in_float64 = Purpose.VALUES, Purpose.LARGE, Purpose.STEPS
        other_dtype = in_float64 if only_float32 else (Purpose.FLOAT32,)
        if probe.purpose in (*other_dtype, Purpose.DEVICE) or DEVICE in probe.case.kwargs.values():
            yield Group.STORAGE
        if self.axes[place] not in (self.axes[0], *works):
            yield Group.AXES
        if has_mask(probe.case) and not self.all_masked:
            yield Group.MASKS

    def credit(self, records: Sequence[Record]) -> Credit:
        """What an answer earns of which these are the records, one for each probe."""
        length = self.trial.length
        pairs = ((got, self.trial.expected(place)) for place, got in enumerate(records))
        if not all(agree(got, want, length, [Cost.ALL]) for got, want in pairs):
            return NOTHING
        lost = self.lost(records, self.only_float32(records[0]))
        if Group.VALUES in lost:
            return NOTHING
        right = tuple(group for group in self.shares if group not in lost)
        wrong = tuple(group for group in self.shares if group in lost)
        return Credit(round(sum(self.shares[group] for group in right), 6), right, wrong)

    def lost(self, records: Sequence[Record], only_float32: bool) -> set[Group]:
        """The groups that an answer has wrong."""
        # of float32 no gradients are asked for
        lost = {Group.STORAGE, Group.GRADIENTS} & self.shares.keys() if only_float32 else set()
        right = [self.is_right_at(place, got) for place, got in enumerate(records)]
        # what is right as often as not with so many axes is not wrong for their sake
        balance = Counter()
        for place, probe in enumerate(self.probes):
            if probe.purpose == Purpose.VALUES:
                balance[self.axes[place]] += 1 if right[place] else -1
        works = {count for count, more in balance.items() if more >= 0}
        needs = [[*self.needed(place, only_float32, works)] for place in range(len(records))]
        for place in sorted(range(len(records)), key=lambda place: len(needs[place])):
            got, want, probe = records[place], self.trial.expected(place), self.probes[place]
            if lost & {*needs[place]}:
                continue
            if right[place]:
                beside = (each for each in CRITERIA if each.costs in (Cost.GRADIENTS, Cost.EFFECTS))
                differ = (each for each in beside if not each.agrees(got, want, self.trial.length))
                lost |= {Group(each.costs) for each in differ}
            elif probe.by_columns and VIEW in (got.error or {"text": ""})["text"]:
                lost |= {Group.STORAGE}
            else:
                lost |= {*needs[place][:1]} or {Group.VALUES}
        return lost

    def is_right_at(self, place: int, got: Record) -> bool:
        """Whether the values are right at a place, and what is judged with them."""
        probe, want, length = self.probes[place], self.trial.expected(place), self.trial.length
        if probe.purpose == Purpose.FLOAT32:
            # at the length of a longer case 16 bits would pass
            sizes = (n for x in probe.case.args if is_floating(x) for n in x.shape)
            length = max(sizes, default=1)
        costs = Cost.ALL, Cost.VALUES
        return want.outcome == Outcome.RETURNED and agree(got, want, length, costs)

    def only_float32(self, record: Record) -> bool:
        """Whether an answer does float32 where it is first given float64, or fails for want of it.

        In float32 there must then be a probe that needs nothing else.
        """
        if self.is_right_at(0, record):
            return False
        in_float32 = (i for i, probe in enumerate(self.probes) if probe.purpose == Purpose.FLOAT32)
        if all([*self.needed(place, True)] for place in in_float32):
            return False
        if record.error:
            return bool(re.search(messages.DTYPES_DIFFER, record.error["text"]))
        floating = [x for x in leaves(record.value) if is_floating(x)]
        return bool(floating) and all(x.float().to(x.dtype).equal(x) for x in floating)


def tensors_of(case: Case) -> list[Tensor]:
    return [x for x in arguments_of(case).values() if isinstance(x, Tensor)]


def has_mask(case: Case) -> bool:
    return any(x.dtype == torch.bool for x in tensors_of(case))
