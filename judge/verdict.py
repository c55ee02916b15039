"""The verdict on an answer: what it does, beside what the reference does, on the same fresh inputs.

An answer is reached only through a `Caller`: a request goes in, what happened comes out, both plain
data. In a notebook the caller runs the learner's function at once; when grading, it runs it in the
learner's kernel, and everything in this file stays outside. A wrong answer is known by what it
does: the message is that of the known mistake which does the same on the same inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from judge.call.caller import Caller, local
from judge.call.outcome import Outcome
from judge.compare.criteria import Difference, Record
from judge.compare.observe import observe
from judge.compare.run import Run, Trial, one_thread
from judge.exercise import Exercise, JudgesItself
from judge.say.explain import explain
from judge.status import Status

SAME = "your code still does what the given code does: any change you made makes no difference"
UNWRITTEN = "the line `raise NotImplementedError` is still there: replace it with your code"
UNDEFINED = "`{}` isn't defined: the cell of your answer should define it"


@dataclass(frozen=True)
class Verdict:
    """How an answer was judged."""

    status: Status
    hint: str = ""
    evidence: str = ""
    failing: Difference | None = field(default=None, compare=False, repr=False)


@one_thread()
def judge(
    exercise: Exercise, caller: Caller, seed: int, forbidden: tuple[str, ...] = ()
) -> Verdict:
    """Compare an answer with the exercise's reference on inputs drawn from the seed.

    `forbidden` names what the answer may not call; see `Course.forbidden`.
    """
    if isinstance(exercise, JudgesItself):
        return exercise.judge(caller, seed, forbidden)

    def observe_answer(trial: Trial, place: int) -> Record:
        count_lines = place <= trial.last_counted_place
        return observe(exercise, caller, trial.probes[place], forbidden, count_lines)

    return verdict(Run(Trial.of(exercise, seed), observe_answer))


@one_thread()
def judge_own(exercise: Exercise, function: Callable, seed: int) -> Verdict:
    """Judge one of our own functions: not watched, and called only once on each probe.

    What it does there is cached, because other answers are compared with it.
    """
    if isinstance(exercise, JudgesItself):
        return exercise.judge(local(function), seed, ())
    trial = Trial.of(exercise, seed)
    return verdict(Run(trial, lambda trial, place: trial.observe_own(function, place), function))


def verdict(run: Run) -> Verdict:
    """The verdict on an answer by its records."""
    exercise = run.trial.exercise
    has_passed = run.has_passed
    # a test that raises it has refused nothing, nor is it a mistake
    if run.absent:
        return Verdict(Status.ERROR, run.absent["text"], failing=run.first_failure)
    if has_passed:
        return Verdict(Status.PASSED)
    if run.is_unwritten:
        return Verdict(Status.NOT_ATTEMPTED, UNWRITTEN)
    if run.first_failure.got.outcome == Outcome.MISSING:
        return Verdict(Status.ERROR, UNDEFINED.format(exercise.name))
    if exercise.stub_answer and run.behaves_like(exercise.stub_answer):
        return Verdict(Status.NOT_ATTEMPTED, SAME, failing=run.first_failure)
    return Verdict(*explain(run), run.first_failure)
