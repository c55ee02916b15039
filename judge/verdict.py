"""The verdict on an answer: what it does, beside what the reference does, on the same fresh inputs.

An answer is reached only through a `Caller`: a request goes in, what happened comes out, both plain
data. In a notebook the caller runs the learner's function at once; when grading, it runs it in the
learner's kernel, and everything in this file stays outside. A wrong answer is known by what it
does: the hint is that of the known mistake which does the same on the same inputs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from judge import hints
from judge.axes import only_some_axes
from judge.compare import close
from judge.decided import Difference, Observation
from judge.exercise import Exercise, JudgesItself
from judge.explain import explain
from judge.mistakes import known_mistake, most_alike
from judge.observation import Caller, local, observe
from judge.trial import BUSY, Run, Trial, unwritten

# wrong implementations that a test accepts for which its own formula is to blame
FEW = 3
SAME = "this still does what the given code does: a change, if you made one, changes no result"


@dataclass(frozen=True)
class Verdict:
    """How an answer was judged. Status: passed, wrong, error, too slow or not attempted."""

    status: str
    hint: str = ""
    evidence: str = ""
    failing: Difference | None = field(default=None, compare=False, repr=False)


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
    exercise: Exercise, caller: Caller, seed: int, forbidden: tuple[str, ...] = ()
) -> Verdict:
    """Compare an answer with the exercise's reference on inputs drawn from the seed.

    `forbidden` names what the answer may not call; see `Course.forbidden`.
    """
    if isinstance(exercise, JudgesItself):
        return exercise.judge(caller, seed, forbidden)

    busy = False

    def look(trial: Trial, place: int) -> Observation:
        nonlocal busy
        watch = trial.watch(place, busy)
        got = observe(exercise, caller, trial.probes[place], forbidden, watch)
        busy |= not place and got.steps > BUSY
        return got

    return verdict(Run(Trial.of(exercise, seed), look))


@one_thread()
def judge_own(exercise: Exercise, function: Callable, seed: int) -> Verdict:
    """Judge one of our own functions: not watched, and called only once on each probe.

    What it does there is kept, because other answers are compared with it.
    """
    if isinstance(exercise, JudgesItself):
        return exercise.judge(local(function), seed, ())
    trial = Trial.of(exercise, seed)
    return verdict(Run(trial, lambda trial, place: trial.observe_own(function, place), function))


def verdict(run: Run) -> Verdict:
    """The verdict on an answer of which it is known what it does."""
    exercise, last = run.trial.exercise, run.seen[-1]
    if last.outcome == "missing":
        return Verdict("error", f"nothing is called `{exercise.name}`: its cell defines it")
    if unwritten(last):
        return Verdict("not attempted", f"write `{exercise.name}` in its answer cell")
    if not run.faults:
        return Verdict("passed")
    if exercise.stub_answer and run.is_that_of(exercise.stub_answer):
        return Verdict("not attempted", SAME, failing=run.failing)
    status, why, evidence = explain(run)
    asked = (say(run, why, evidence) for say in HINTS)
    hint, evidence = next(filter(None, asked), (why, evidence))
    return Verdict(status, hint, evidence, run.failing)


# a hint, and the evidence beside it, if there is anything to say
Said = tuple[str, str] | None


def own_error(run: Run, why: str, evidence: str) -> Said:
    """Of a learner's test that fails by itself before it can refuse anything."""
    errors = [got.error or {} for got in run.seen]
    kinds = {error.get("type") for error in errors}
    meant = any("raise" in (error.get("line") or ("", ""))[1] for error in errors)
    fails = refuses_all(run) and len(kinds) == 1 and "AssertionError" not in kinds
    return (hints.OWN_ERROR, evidence) if fails and not meant else None


def mistake(run: Run, why: str, evidence: str) -> Said:
    """The known mistake, or the two; of what ended in an error, with how; of a test, on what."""
    said = known_mistake(run)
    if not said:
        return None
    if refuses_all(run) and (wrong := accepted(run)):
        evidence = "; ".join(filter(None, (evidence, f"it accepts {wrong[0]}")))
    if run.failing.got.is_test and said != why:
        return said, ": ".join(filter(None, (why, evidence)))
    if run.failing.got.outcome == "raised" and why not in (said, *hints.TORCH_SAYS.values()):
        return said, ": ".join(filter(None, (evidence, why)))
    return said, evidence


def nothing_accepted(run: Run, why: str, evidence: str) -> Said:
    """Of a learner's test that refuses every right implementation."""
    if not refuses_all(run):
        return None
    wrong = accepted(run)
    # one that accepts many more looks at little, and not at what the first of them does
    said = hints.ACCEPTS.format(wrong[0]) if 0 < len(wrong) <= FEW else hints.REFUSES_ALL
    return said, evidence


def mostly(run: Run, why: str, evidence: str) -> Said:
    """The known mistake that gives the same numbers in most calls that fail, if not in all."""
    if not (alike := most_alike(run)):
        return None
    hint, count, calls = alike
    how_often = "" if count == calls else f"; so in {count} of {calls} calls that fail"
    return hint, evidence + how_often


def some_axes(run: Run, why: str, evidence: str) -> Said:
    """Of an answer that is right with some leading axes only, if nothing else is said to do it."""
    other = {*hints.ROUNDED, *hints.CAUSES, hints.TOO_LARGE}
    said = None if why in other else only_some_axes(run)
    if said and why in hints.TORCH_SAYS.values():
        return said, evidence
    return (said, f"{evidence}: {why}") if said else None


def accepted(run: Run) -> list[str]:
    """The wrong implementations that a learner's test accepts."""
    pairs = zip(run.seen, run.trial.expected, run.trial.probes, strict=False)
    return [
        probe.case.name
        for got, want, probe in pairs
        if want.outcome == "raised" and got.outcome == "returned"
    ]


def in_its_words(run: Run, why: str, evidence: str) -> Said:
    """What the exercise says of the first difference in values, where it has words for it."""
    exercise, one = run.trial.exercise, run.failing
    returned = one.probe.way == "values" and one.got.outcome == "returned"
    if exercise.says is None or not returned or one.got.value is None:
        return None
    if close(one.got.value, one.want.value, one.length):
        return None
    case = one.probe.case
    said = exercise.says(one.want.value, one.got.value, *case.args, **case.kwargs)
    return (said, evidence) if said else None


# In this order they are asked what to say of a wrong answer; the first who knows is heard, and if
# nobody does, the first of `decided.DECIDED` in which the answer is not as it should be.
HINTS: tuple[Callable[[Run, str, str], Said], ...] = (
    # a test that always fails does what many a known mistake does, and has another cause
    own_error,
    # who does the same on every call made that mistake, whatever the difference looks like
    mistake,
    # some known mistakes refuse all, and say why
    nothing_accepted,
    # whoever makes a known mistake and another one hears of the first
    mostly,
    # a known mistake may also show with some axes only
    some_axes,
    # no cause, but more than that the value is not right
    in_its_words,
)


def refuses_all(run: Run) -> bool:
    """Whether a learner's test raises for every right implementation that it has met."""
    pairs = zip(run.seen, run.trial.expected, strict=False)
    met = [got for got, want in pairs if want.outcome == "returned"]
    return bool(met) and all(got.is_test and got.outcome == "raised" for got in met)
