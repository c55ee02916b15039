"""The verdict on an answer: what it does, beside what the reference does, on the same fresh inputs.

An answer is reached only through a `Caller`: a request goes in, what happened comes out, both plain
data. In a notebook the caller runs the learner's function at once; when grading, it runs it in the
learner's kernel, and everything in this file stays outside. A wrong answer is known by what it
does: the hint is that of the known mistake which does the same on the same inputs.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from attncourse.checks import driver, hints
from attncourse.checks.compare import close, same
from attncourse.checks.elsewhere import DEVICE
from attncourse.checks.exercise import Draw, Exercise
from attncourse.checks.explain import explain
from attncourse.checks.observation import UNREADABLE, Caller, Observation, local, observe
from attncourse.checks.probes import ALONE, Probe, leading_axes, probes

# what stands in an answer cell to begin with
UNWRITTEN = re.compile(r"(write \w+ here)?")
SAME = "this still does what the given code does: a change, if you made one, changes no result"
# the share of faults, and of probes, on which a known mistake must agree to be named
MIN_AGREEMENT = 0.6


class Failing(NamedTuple):
    """The first call on which an answer did not do what it should."""

    probe: Probe
    got: Observation
    want: Observation
    length: int


@dataclass(frozen=True)
class Verdict:
    """How an answer was judged. Status: passed, wrong, error, too slow or not attempted."""

    status: str
    hint: str = ""
    evidence: str = ""
    failing: Failing | None = field(default=None, compare=False, repr=False)


@runtime_checkable
class JudgesItself(Protocol):
    """An exercise that is not judged by a reference."""

    def judge(
        self, caller: Caller, seed: int, device: str, forbidden: tuple[str, ...]
    ) -> Verdict: ...


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute with one thread: on tensors this small, two wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def judge(
    exercise: Exercise,
    caller: Caller,
    seed: int,
    device: str = "cpu",
    forbidden: tuple[str, ...] | None = None,
) -> Verdict:
    """Compare an answer with the exercise's reference on inputs drawn from the seed.

    `forbidden` names what the answer may not call; by default all that the exercise forbids.
    """
    forbidden = exercise.forbidden if forbidden is None else forbidden
    if isinstance(exercise, JudgesItself):
        return exercise.judge(caller, seed, device, forbidden)
    trial = Trial.of(exercise, seed, device)

    def look(place: int) -> Observation:
        watch = "lines" if place in trial.watched else "calls"
        return observe(exercise, caller, trial.probes[place], device, forbidden, watch)

    return verdict(trial, look)


@one_thread()
def judge_own(exercise: Exercise, function: Callable, seed: int, device: str = "cpu") -> Verdict:
    """Judge one of our own functions: not watched, and called only once on each probe.

    What it does there is kept, because other answers are compared with it.
    """
    if isinstance(exercise, JudgesItself):
        return exercise.judge(local(function), seed, device, ())
    trial = Trial.of(exercise, seed, device)
    return verdict(trial, lambda place: trial.observe_own(function, place))


def verdict(trial: "Trial", look: Callable[[int], Observation]) -> Verdict:
    """The verdict on an answer of which `look` says what it does on the probe of each place."""
    exercise, seen = trial.exercise, []
    for place, (probe, want) in enumerate(zip(trial.probes, trial.expected, strict=True)):
        got = look(place)
        seen.append(got)
        if got.outcome == "missing":
            return Verdict("error", f"nothing is called `{exercise.name}`: its cell defines it")
        if len(seen) == 1 and unwritten(got):
            return Verdict("not attempted", f"write `{exercise.name}` in its answer cell")
        if got.outcome == "steps":
            # one call that runs away is enough: the others would, too
            break
        if probe.way != "values" and not same(got, want, trial.length):
            break
    faults = trial.differences(seen, trial.expected)
    if not faults:
        return Verdict("passed")
    first = faults[0]
    failing = Failing(trial.probes[first], seen[first], trial.expected[first], trial.length)
    given = exercise.stub_answer and trial.observations(exercise.stub_answer)
    if given and not trial.differences(seen, given):
        return Verdict("not attempted", SAME, failing=failing)
    status, why, evidence = explain(exercise, *failing)
    hint = trial.own_error(seen) or trial.known_mistake(seen, faults)
    if hint is None and trial.refuses_all(seen):
        hint = hints.REFUSES_ALL
    if hint is None and why not in hints.ROUNDED and (axes := trial.only_some_axes(seen, faults)):
        hint, evidence = axes, f"{evidence}: {why}"
    return Verdict(status, hint or why, evidence, failing)


def unwritten(got: Observation) -> bool:
    """Whether this is what a stub raises, and not torch, which has not implemented everything."""
    error = got.error or {"type": "", "text": ""}
    return error["type"] == "NotImplementedError" and bool(UNWRITTEN.fullmatch(error["text"]))


class Trial:
    """The probes of one seed, and what the reference and the known mistakes do on them."""

    # whether one of ours takes more steps on a longer input does not depend on the seed: looked at
    # once, for being watched is slow
    grown: ClassVar[dict[tuple[str, Callable, str, int], Observation]] = {}

    def __init__(self, exercise: Exercise, seed: int, device: str):
        self.exercise, self.device = exercise, device
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
    # seed, and a chapter not more exercises than are kept
    of = lru_cache(maxsize=16)(lambda exercise, seed, device: Trial(exercise, seed, device))

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
            made = observe(self.exercise, caller, Probe(probe.case, "values"), "cpu", (), "")
            value = driver.decode(driver.encode(made.value), DEVICE)
            # plain numbers are nowhere
            device = made.device and DEVICE
            made = replace(made, value=value, device=device)
        elif probe.way == "longer":
            made = Observation("returned")
        else:
            made = observe(self.exercise, caller, probe, self.device, (), "")
        if (made.error or {}).get("text") == UNREADABLE:
            raise RuntimeError(f"{self.exercise.name}: the reference fails on {probe.case.name}")
        return replace(made, too_many_elements=0)

    @cached_property
    def watched(self) -> set[int]:
        """The places where an answer's lines are counted.

        A test takes most lines where it passes: once it has, it comes to an end.
        """
        ends = len(self.probes)
        if self.exercise.kind == "test":
            ends = 1 + next(i for i, want in enumerate(self.expected) if want.outcome == "returned")
        return {*range(ends)}

    def observe_own(self, function: Callable, place: int, watch: str = "") -> Observation:
        """What one of our own functions does on the probe at that place, looked at once."""
        # places from the end, where the longer ones are: seeds may differ in the number before them
        once = self.exercise.name, function, self.device, place - len(self.probes)
        if once in self.grown:
            return self.grown[once]
        if (function, place) not in self.seen:
            probe = self.probes[place]
            seen = observe(self.exercise, local(function), probe, self.device, (), watch)
            self.seen[function, place] = seen
            if probe.way == "longer" and seen.outcome == "returned":
                self.grown[once] = seen
        return self.seen[function, place]

    def observations(self, function: Callable) -> list[Observation]:
        return [self.observe_own(function, place) for place in range(len(self.probes))]

    def differences(self, some: list[Observation], others: list[Observation]) -> list[int]:
        """The places where the two did not do the same."""
        pairs = enumerate(zip(some, others, strict=False))
        return [i for i, (a, b) in pairs if not same(a, b, self.length)]

    def known_mistake(self, seen: list[Observation], faults: list[int]) -> str | None:
        """The hint of the mutant, or of the two at once, that does what was seen."""
        seen = [*seen]
        for i in faults:
            # of wrong values the gradients do not count
            if not close(seen[i].value, self.expected[i].value, self.length):
                seen[i] = replace(seen[i], gradients=None)
        return self.one_mistake(seen, faults) or self.two_mistakes(seen, faults)

    def refuses_all(self, seen: list[Observation]) -> bool:
        """Whether a learner's test raises for every right implementation that it has met."""
        pairs = zip(seen, self.expected, strict=False)
        met = [got for got, want in pairs if want.outcome == "returned"]
        return bool(met) and all(got.is_test and got.outcome == "raised" for got in met)

    def own_error(self, seen: list[Observation]) -> str | None:
        """What is said of a learner's test that fails by itself before it can refuse anything."""
        errors = [got.error or {} for got in seen]
        kinds = {error.get("type") for error in errors}
        meant = any("raise" in (error.get("line") or ("", ""))[1] for error in errors)
        fails = self.refuses_all(seen) and len(kinds) == 1 and "AssertionError" not in kinds
        return hints.OWN_ERROR if fails and not meant else None

    def only_some_axes(self, seen: list[Observation], faults: list[int]) -> str | None:
        """What is said of an answer that is right with some leading axes only."""
        values = [i for i in range(len(seen)) if self.probes[i].way == "values"]
        # where one result is asked for a whole batch, the right one is another than for its first
        # a tensor where several results are asked for is another mistake
        tensors = [i for i in values if isinstance(self.expected[i].value, Tensor)]
        mixes = (
            self.mixes_a_batch({self.probes[i].case.name: some[i].value for i in tensors})
            for some in (seen, self.expected)
        )
        if tuple(mixes) == (True, False):
            return hints.BATCHES
        axes = dict(zip(values, leading_axes([self.probes[i].case for i in values]), strict=True))
        wrong = {axes[i] for i in values if i in faults}
        right = {axes[i] for i in values if i not in faults}
        return hints.leading(wrong, right) if wrong and right and not wrong & right else None

    def mixes_a_batch(self, values: dict[str, Any]) -> bool:
        """Whether the first of a batch has another result than it has alone."""
        for name, alone in values.items():
            whole = values.get(name.removesuffix(f", {ALONE}"))
            if isinstance(alone, Tensor) and isinstance(whole, Tensor) and whole is not alone:
                first = whole[tuple(map(slice, alone.shape))]
                if first.shape == alone.shape and not close(first, alone, self.length):
                    return True
        return False

    def one_mistake(self, seen: list[Observation], faults: list[int]) -> str | None:
        """The hint of the mutant that does what was seen, at the faults above all.

        It agrees at every fault, or at most of several, and on most probes. To agree at one fault
        among many may be chance, and a wrong hint is worse than a plain one.
        """
        first = faults[0]
        best, most = None, (0, 0)
        for mutant in self.exercise.mutants:
            if not self.alike(seen[first], first, mutant.function):
                continue
            if self.exercise.kind == "test":
                # a test says one bit a probe: only the whole pattern tells
                if all(self.alike(got, i, mutant.function) for i, got in enumerate(seen)):
                    return mutant.hint
                continue
            agrees = [self.alike(got, i, mutant.function) for i, got in enumerate(seen)]
            at_faults = sum(agrees[i] for i in faults)
            enough = at_faults == len(faults) or at_faults >= max(2, MIN_AGREEMENT * len(faults))
            on_most = sum(agrees) >= MIN_AGREEMENT * len(seen)
            if enough and on_most and (at_faults, sum(agrees)) > most:
                best, most = mutant.hint, (at_faults, sum(agrees))
        return best

    def two_mistakes(self, seen: list[Observation], faults: list[int]) -> str | None:
        """The hints of the first two mutants that together do all that was seen.

        Two changes of a text may go on for ever where each alone does not: they are watched.
        """
        # a test says one bit a probe, and one mistake is enough for what only another device, or a
        # longer input, shows
        if self.exercise.kind == "test" or self.probes[faults[0]].way != "values":
            return None
        places = [*faults, *(place for place in range(len(seen)) if place not in faults)]
        for pair in self.exercise.pairs:
            if all(self.alike(seen[i], i, pair.function, watch="lines") for i in places):
                return pair.hint
        return None

    def alike(self, got: Observation, place: int, function: Callable, watch: str = "") -> bool:
        """Whether our function does the same there, gradients included if there are any."""
        does = self.observe_own(function, place, watch)
        if got.gradients is None:
            does = replace(does, gradients=None)
        return same(got, does, self.length)
