"""The probes of one seed, what the reference and mutants do on them, and one answer's run.

A coincidence of one seed does not come again at the next: what is said of an answer holds at both.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from judge.call.caller import local
from judge.call.fake_device import DEVICE
from judge.call.outcome import Outcome
from judge.call.torch_internals import leaves
from judge.call.values import decode, encode
from judge.compare.criteria import STOPPED, Difference, Record, agree
from judge.compare.observe import UNREADABLE, observe
from judge.compare.probes import Probe, Purpose, probes
from judge.compare.tolerance import close
from judge.exercise import Draw, Exercise

# a call of more lines of Python is not made at another seed for the sake of a message
MANY_STEPS = 30_000
# what stands in an answer cell to begin with
UNWRITTEN = re.compile(r"(write \w+ here)?")
NOT_MADE = Record(None)
# what the torch of a page raises where an answer asks for what only torch itself has
ABSENT = "NotInPageError", "NotInPageImportError"


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute with one thread: on tensors this small, two wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Trial:
    """The probes of one seed, and what functions of ours do on them, each called once."""

    # whether one of ours takes more steps on a longer input does not depend on the seed: looked at
    # once, because counting is slow
    steps_records: ClassVar[dict[tuple[str, Callable, int], Record]] = {}

    def __init__(self, exercise: Exercise, seed: int):
        self.exercise, self.seed = exercise, seed
        self.records: dict[tuple[Callable, int], Record] = {}
        self.of_reference: dict[int, Record] = {}
        self.probes = list(probes(exercise, Draw(seed)))
        # the longest sum; where inputs are large it is longer, and judged in float64
        sizes = (
            size
            for probe in self.probes
            if probe.purpose != Purpose.LARGE
            for x in probe.case.args
            if isinstance(x, Tensor)
            for size in x.shape
        )
        self.length = max(sizes, default=1)

    # a seed's inputs serve every known mistake, and every answer judged on them: a class has one
    # seed and the one after it, and a chapter not half as many exercises as are cached
    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, exercise: Exercise, seed: int) -> "Trial":
        """The trial of an exercise at a seed."""
        return cls(exercise, seed)

    @property
    def at_next_seed(self) -> "Trial":
        return Trial.of(self.exercise, self.seed + 1)

    def expected(self, place: int) -> Record:
        """What the reference does on the probe at that place.

        It is the specification: it may loop, hold as much as it wants, and be on the CPU alone.
        """
        if place not in self.of_reference:
            self.of_reference[place] = self.expected_on(self.probes[place])
        return self.of_reference[place]

    def expected_on(self, probe: Probe) -> Record:
        if probe.purpose == Purpose.STEPS:
            return Record(Outcome.RETURNED)
        caller = local(self.exercise.reference_answer)
        on_cpu = Probe(probe.case, Purpose.VALUES) if probe.purpose == Purpose.DEVICE else probe
        record = observe(self.exercise, caller, on_cpu, count_lines=False)
        if (record.error or {}).get("text") == UNREADABLE:
            raise RuntimeError(f"{self.exercise.name}: the reference fails on {probe.case.name}")
        if probe.purpose == Purpose.DEVICE:
            value = decode(encode(record.value), DEVICE)
            # plain numbers are on no device
            record = replace(record, value=value, device=record.device and DEVICE)
        return replace(record, too_many_elements=0)

    @cached_property
    def last_counted_place(self) -> int:
        """The last place at which lines are counted: a test that has passed once does end."""
        if not self.exercise.is_test:
            return len(self.probes) - 1
        places = range(len(self.probes))
        returned = (i for i in places if self.expected(i).outcome == Outcome.RETURNED)
        place = next(returned, None)
        if place is None:
            raise ValueError(
                f"{self.exercise.name}: none of what the test is given is right, so that the "
                "reference returns: make its cases with judge.implementations"
            )
        return place

    def observe_own(self, function: Callable, place: int, count_lines: bool = False) -> Record:
        """What one of our own functions does on the probe at that place."""
        # places from the end, where those for steps are: seeds may differ in the number before them
        key = self.exercise.name, function, place - len(self.probes)
        if key in self.steps_records:
            return self.steps_records[key]
        if (function, place) not in self.records:
            probe = self.probes[place]
            record = observe(self.exercise, local(function), probe, count_lines=count_lines)
            self.records[function, place] = record
            if probe.purpose == Purpose.STEPS and record.outcome == Outcome.RETURNED:
                self.steps_records[key] = record
        return self.records[function, place]


# the record of an answer on the probe at a place
Observe = Callable[[Trial, int], Record]


class Run:
    """One answer on the probes of a trial; `own` is the answer itself, where it is one of ours.

    A call is made when its record is asked for: a learner's test takes its time.
    """

    def __init__(
        self,
        trial: Trial,
        observe: Observe,
        own: Callable | None = None,
        only_values: bool = False,
    ):
        self.trial, self.observe, self.own, self.only_values = trial, observe, own, only_values
        self.made: list[Record] = []
        # of each whether it did what the reference does
        self.right: list[bool] = []

    def places(self) -> Iterator[int]:
        """The place of one probe after the other, until it has to stop."""
        for place in range(len(self.trial.probes)):
            if place == len(self.made):
                self.made.append(got := self.observe(self.trial, place))
                self.right.append(agree(got, self.trial.expected(place), self.trial.length))
            yield place
            if self.ends_after(place):
                break

    def ends_after(self, place: int) -> bool:
        """Whether one call that runs away is enough, since the others would, too.

        And where values are wrong, whether it is on another device, or of a longer input: of that
        it is told once they are right.
        """
        got = self.made[place]
        if got.outcome in (None, Outcome.MISSING, *STOPPED) or is_unwritten(got):
            return True
        is_wrong = self.only_values or not all(self.right[: place + 1])
        coming = self.trial.probes[place + 1 : place + 2]
        return is_wrong and any(probe.purpose != Purpose.VALUES for probe in coming)

    @property
    def records(self) -> list[Record]:
        return [self.made[place] for place in self.places()]

    def failures(self) -> Iterator[int]:
        """The places where it does not do what the reference does."""
        return (place for place in self.places() if not self.right[place])

    @cached_property
    def failed_places(self) -> list[int]:
        return [*self.failures()]

    @cached_property
    def has_passed(self) -> bool:
        """Whether it does what the reference does on every probe."""
        return next(self.failures(), None) is None and len(self.made) == len(self.trial.probes)

    @property
    def is_unwritten(self) -> bool:
        """Whether its last call, up to the first failure, raised what a stub raises."""
        return not self.has_passed and is_unwritten(self.made[-1])

    @property
    def absent(self) -> dict | None:
        """The error of its calls, up to the first failure, that says what is not there, if any."""
        errors = (one.error for one in self.made if one.error)
        return next((error for error in errors if error["type"] in ABSENT), None)

    @cached_property
    def first_failure(self) -> Difference:
        place, trial = next(self.failures()), self.trial
        got, want = self.made[place], trial.expected(place)
        return Difference(trial.exercise, trial.probes[place], got, want, trial.length)

    @cached_property
    def at_next_seed(self) -> "Run":
        """The same answer at the next seed, where it is not called again if that may take long."""
        is_long = any(one.outcome == Outcome.TIME or one.steps > MANY_STEPS for one in self.records)

        def observe(trial: Trial, place: int) -> Record:
            try:
                return NOT_MADE if is_long else self.observe(trial, place)
            # out of time, or its process has ended: the verdict of the first seed stands
            except Exception:
                return NOT_MADE

        only_values = self.first_failure.probe.purpose == Purpose.VALUES
        return Run(self.trial.at_next_seed, observe, only_values=only_values)

    @property
    def is_lost(self) -> bool:
        """Whether its calls came to no end, or were not made."""
        return self.records[-1].outcome is None

    @property
    def at_both_seeds(self) -> Iterator["Run"]:
        """This run, then that at the next seed, which is made only if it is asked for.

        What a test is given is the same at every seed, and its inputs are its own.
        """
        yield self
        if not self.trial.exercise.is_test:
            yield self.at_next_seed

    def agrees_at(self, place: int, function: Callable, count_lines: bool = False) -> bool:
        """Whether a function of ours does the same there, gradients included if there are any."""
        got = self.made[place]
        own = self.trial.observe_own(function, place, count_lines)
        # of wrong values the gradients do not count
        is_wrong = not close(got.value, self.trial.expected(place).value, self.trial.length)
        if got.gradients is None or is_wrong:
            got, own = replace(got, gradients=None), replace(own, gradients=None)
        return agree(got, own, self.trial.length)

    def breaks_at(self, place: int) -> bool:
        """Whether it ended in an error there, or in numbers that are not finite and should be."""
        got, want = self.made[place], self.trial.expected(place)
        if got.outcome == Outcome.RAISED:
            return not got.is_test
        return not is_finite(got.value) and is_finite(want.value)

    def behaves_like(
        self, function: Callable, count_lines: bool = False, where_it_works: bool = False
    ) -> bool:
        """Whether a function of ours does the same at both seeds; if so asked, where it works."""
        return function is self.own or all(
            run.agrees_at(place, function, count_lines)
            for run in self.at_both_seeds
            for place in run.telling_places()
            if not (where_it_works and run.breaks_at(place))
        )

    def telling_places(self) -> Iterator[int]:
        """All places; first the first failure, where most of what differs is told apart."""
        first = next(self.failures(), None)
        if first is not None:
            yield first
        yield from (place for place in self.places() if place != first)


def tensors_in(value: Any) -> list[Tensor]:
    return [x for x in leaves(value) if isinstance(x, Tensor)]


def is_finite(value: Any) -> bool:
    return all(x.is_meta or bool(x.isfinite().all()) for x in tensors_in(value))


def is_unwritten(record: Record) -> bool:
    """Whether this is what a stub raises, and not torch, which has not implemented everything."""
    error = record.error or {"type": "", "text": ""}
    return error["type"] == "NotImplementedError" and bool(UNWRITTEN.fullmatch(error["text"]))
