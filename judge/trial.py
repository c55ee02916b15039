"""The probes of one seed, what the reference and answers of ours do on them, and one answer's run.

A coincidence of one seed does not come again at the next: what is said of an answer holds at both.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from torch import Tensor

from judge.compare import close
from judge.decided import Difference, Observation, same
from judge.elsewhere import DEVICE
from judge.exercise import Draw, Exercise
from judge.observation import (
    UNREADABLE,
    local,
    observe,
)
from judge.probes import Probe, probes
from judge.torch_internals import leaves
from judge.values import decode, encode

# how a call ended that was not waited for, or not made
LOST = "lost"
# a call of more lines of Python is not made at another seed for the sake of a hint
MANY_STEPS = 30_000
# a busy answer runs more lines in its first call; of its others, about this share is watched wholly
BUSY, WATCHED = 300, 0.25
# what stands in an answer cell to begin with
UNWRITTEN = re.compile(r"(write \w+ here)?")


class Trial:
    """The probes of one seed; what ours do on them is looked at once."""

    # whether one of ours takes more steps on a longer input does not depend on the seed: looked at
    # once, for being watched is slow
    grown: ClassVar[dict[tuple[str, Callable, int], Observation]] = {}

    def __init__(self, exercise: Exercise, seed: int):
        self.exercise, self.seed = exercise, seed
        self.seen: dict[tuple[Callable, int], Observation] = {}
        self.probes = list(probes(exercise, Draw(seed)))
        self.length = max(
            (
                n
                for p in self.probes
                # that sum is longer, and what is judged there is in float64
                if p.way != "large"
                for x in p.case.args
                if isinstance(x, Tensor)
                for n in x.shape
            ),
            default=1,
        )

    # a seed's inputs serve every known mistake, and every answer judged on them: a class has one
    # seed and the one after it, and a chapter not half as many exercises as are kept
    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, exercise: Exercise, seed: int) -> "Trial":
        """The trial of an exercise at a seed."""
        return cls(exercise, seed)

    @property
    def another(self) -> "Trial":
        """The trial of the next seed."""
        return Trial.of(self.exercise, self.seed + 1)

    @cached_property
    def expected(self) -> list[Observation]:
        """The reference is the specification: it may loop, and hold as much as it wants.

        It is not asked about devices.
        """
        return [self.wanted(probe) for probe in self.probes]

    def wanted(self, probe: Probe) -> Observation:
        """What the reference does on a probe."""
        caller = local(self.exercise.reference_answer)
        if probe.way == "elsewhere":
            made = observe(self.exercise, caller, Probe(probe.case, "values"), (), "")
            value = decode(encode(made.value), DEVICE)
            # plain numbers are nowhere
            device = made.device and DEVICE
            made = replace(made, value=value, device=device)
        elif probe.way == "longer":
            made = Observation("returned")
        else:
            made = observe(self.exercise, caller, probe, (), "")
        if (made.error or {}).get("text") == UNREADABLE:
            raise RuntimeError(f"{self.exercise.name}: the reference fails on {probe.case.name}")
        return replace(made, too_many_elements=0)

    @cached_property
    def ends(self) -> int:
        """Where a test's lines are no longer counted: once it has passed, it comes to an end."""
        if self.exercise.kind != "test":
            return len(self.probes)
        right = [i for i, want in enumerate(self.expected) if want.outcome == "returned"]
        if not right:
            raise ValueError(
                f"{self.exercise.name}: none of what the test is given is right, so that the "
                "reference returns: make its cases with judge.implementations"
            )
        return 1 + right[0]

    @cached_property
    def drawn(self) -> set[int]:
        """Where all is watched of any answer: the first, one of each kind, and some by chance.

        None where it computes on the other device, which it can tell, and which takes longest: what
        it does there is worth nothing to it unless it does the same on this one.
        """
        chance = random.Random(self.seed)
        kinds: dict[tuple[str, bool], list[int]] = {}
        for place, probe in enumerate(self.probes):
            if place and probe.way != "elsewhere":
                kinds.setdefault((probe.way, probe.cotangents is None), []).append(place)
        by_chance = {i for places in kinds.values() for i in places if chance.random() < WATCHED}
        return {0} | {chance.choice(places) for places in kinds.values()} | by_chance

    def watch(self, place: int, busy: bool) -> str:
        """What is watched of an answer at a place: all that it does, unless it is a busy one.

        All would take a busy one seconds, so that it is watched by chance: it cannot know where.
        """
        if place >= self.ends:
            return "calls"
        return "lines" if busy and place not in self.drawn else "everything"

    def observe_own(self, function: Callable, place: int, watch: str = "") -> Observation:
        """What one of our own functions does on the probe at that place, looked at once."""
        # places from the end, where the longer ones are: seeds may differ in the number before them
        once = self.exercise.name, function, place - len(self.probes)
        if once in self.grown:
            return self.grown[once]
        if (function, place) not in self.seen:
            probe = self.probes[place]
            seen = observe(self.exercise, local(function), probe, (), watch)
            self.seen[function, place] = seen
            if probe.way == "longer" and seen.outcome == "returned":
                self.grown[once] = seen
        return self.seen[function, place]


# what an answer does on the probe at a place
Look = Callable[[Trial, int], Observation]


class Run:
    """What one answer does on a trial's probes; `look` says what it does on that of a place.

    `own` is the answer itself, where it is one of ours.
    """

    def __init__(self, trial: Trial, look: Look, own: Callable | None = None):
        self.trial, self.look, self.own = trial, look, own

    @cached_property
    def seen(self) -> list[Observation]:
        """What it did on one probe after the other, until there is no more to learn."""
        seen: list[Observation] = []
        for place, (probe, want) in enumerate(
            zip(self.trial.probes, self.trial.expected, strict=True)
        ):
            seen.append(got := self.look(self.trial, place))
            # one call that runs away is enough: the others would, too
            if got.outcome in ("missing", "steps", "time", LOST) or unwritten(got):
                break
            if probe.way != "values" and not same(got, want, self.trial.length):
                break
        return seen

    @cached_property
    def faults(self) -> list[int]:
        """The places where it did not do what the reference does."""
        pairs = enumerate(zip(self.seen, self.trial.expected, strict=False))
        return [i for i, (got, want) in pairs if not same(got, want, self.trial.length)]

    @property
    def failing(self) -> Difference:
        """The call of the first fault."""
        place, trial = self.faults[0], self.trial
        got, want = self.seen[place], trial.expected[place]
        return Difference(trial.exercise, trial.probes[place], got, want, trial.length)

    @cached_property
    def another(self) -> "Run":
        """The same answer at the next seed, where it is not called again if that may take long."""
        long = self.seen[-1].outcome == "time" or any(one.steps > MANY_STEPS for one in self.seen)

        def look(trial: Trial, place: int) -> Observation:
            try:
                return Observation(LOST) if long else self.look(trial, place)
            # out of time, or its process has ended: what it was told at the first seed stands
            except Exception:
                return Observation(LOST)

        return Run(self.trial.another, look)

    @property
    def lost(self) -> bool:
        """Whether its calls came to no end, or were not made."""
        return self.seen[-1].outcome == LOST

    @property
    def both(self) -> Iterator["Run"]:
        """This run, then that at the next seed, which is made only if it is asked for.

        What a test is given is the same at every seed, and its inputs are its own.
        """
        yield self
        if self.trial.exercise.kind != "test":
            yield self.another

    def agrees(self, place: int, function: Callable, watch: str = "") -> bool:
        """Whether a function of ours does the same there, gradients included if there are any."""
        got = self.seen[place]
        does = self.trial.observe_own(function, place, watch)
        # of wrong values the gradients do not count
        wrong = not close(got.value, self.trial.expected[place].value, self.trial.length)
        if got.gradients is None or wrong:
            got, does = replace(got, gradients=None), replace(does, gradients=None)
        return same(got, does, self.trial.length)

    def fails(self, place: int) -> bool:
        """Whether it ended in an error there, or in numbers that are not finite and should be."""
        got, want = self.seen[place], self.trial.expected[place]
        if got.outcome == "raised":
            return not got.is_test
        finite = [
            all(x.is_meta or bool(x.isfinite().all()) for x in tensors_in(one.value))
            for one in (got, want)
        ]
        return finite == [False, True]

    def is_that_of(self, function: Callable, watch: str = "", finite: bool = False) -> bool:
        """Whether a function of ours does the same, at both seeds; if so asked, where it succeeds.

        Of an answer whose values are wrong only they count: what else is wrong on another device,
        or of a longer input, it is told once they are right.
        """
        way = self.trial.probes[self.faults[0]].way
        return function is self.own or all(
            run.agrees(place, function, watch)
            for run in self.both
            for place in sorted(range(len(run.seen)), key=lambda i: i not in run.faults)
            if way != "values" or run.trial.probes[place].way == way
            if not (finite and run.fails(place))
        )


def tensors_in(value: Any) -> list[Tensor]:
    return [x for x in leaves(value) if isinstance(x, Tensor)]


def unwritten(got: Observation) -> bool:
    """Whether this is what a stub raises, and not torch, which has not implemented everything."""
    error = got.error or {"type": "", "text": ""}
    return error["type"] == "NotImplementedError" and bool(UNWRITTEN.fullmatch(error["text"]))
