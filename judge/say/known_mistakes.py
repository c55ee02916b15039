"""The known mistake that does what an answer does, or the two that together do.

Its message is given only if it holds: on every probe, in every output, and at a second seed; or
else, of one mistake, in most of the calls that fail, and then the evidence says in how many.
"""

from collections.abc import Callable
from io import StringIO
from itertools import combinations, islice
from typing import Any

import torch
from torch import Tensor

from judge.call.driver import silence
from judge.call.outcome import Outcome, Stopped
from judge.call.record import Settings
from judge.call.torch_internals import leaves
from judge.call.watch import Watch, namespace_of
from judge.compare.probes import Purpose
from judge.compare.run import Run, Trial
from judge.compare.tolerance import close
from judge.exercise import MAX_STEPS, Mutant
from judge.say import bank

# pairs that are tried, and results by which they are put in order: of drawn pairs these find 94 %,
# and the double of both 97 %, in a page for seconds more
MOST_PAIRS, MOST_RESULTS = 120, 300
# of the calls that fail, the share in which a mutant has to do the same, and how many at least
MOSTLY, LEAST_ALIKE = 2 / 3, 4
# what a number that is not finite is taken for, where only how far it is off matters
FAR = 1e4


def known_mistake(run: Run) -> str | None:
    """The message of the mutant, or of the two at once, that does the same as an answer.

    An answer whose other calls fail makes another mistake there, and a known one in the rest.
    """
    if message := one_mistake(run) or two_mistakes(run):
        return message
    if run.breaks_at(next(run.failures())):
        return None
    return one_mistake(run, where_it_works=True)


def one_mistake(run: Run, where_it_works: bool = False) -> str | None:
    """The message of the first mutant that does the same; if so asked, where no call breaks."""
    for mutant in bank.mutants(run.trial.exercise):
        if run.behaves_like(mutant.function, where_it_works=where_it_works):
            return mutant.hint
    return None


def two_mistakes(run: Run) -> str | None:
    """The message of the first two mutants that together do the same."""
    # a test says one bit a probe, and one mistake is enough for what only another device, or a
    # longer input, shows
    first = next(run.failures())
    if run.trial.exercise.is_test or not gives_numbers(run.trial, first):
        return None
    for pair in islice(bank.pairs(likeliest_first(run)), MOST_PAIRS):
        is_likely = agrees(run, first, result(run, first, pair.function))
        if is_likely and run.behaves_like(pair.function, count_lines=True):
            return pair.hint
    return None


def most_alike(run: Run) -> tuple[str, int, int] | None:
    """The message of the mutant that gives the same wrong numbers in most calls, and in how many.

    Of so many calls that fail: what an answer does in the others is another mistake, or an edge
    that the mutant has not met.
    """
    trial, first = run.trial, next(run.failures())
    numbers = not trial.exercise.is_test and gives_numbers(trial, first)
    if not numbers or first not in returned(run):
        return None
    alike = [
        (calls_alike(run, one), one)
        for one in bank.mutants(trial.exercise)
        if run.agrees_at(first, one.function)
    ]
    for (count, calls), one in sorted(alike, key=lambda pair: -pair[0][0]):
        if are_most(count, calls) and are_most(*calls_alike(run.at_next_seed, one)):
            return one.hint, count, calls
    return None


def calls_alike(run: Run, mutant: Mutant) -> tuple[int, int]:
    """In how many calls that fail a mutant gives the same, and how many fail."""
    calls = [i for i in run.failed_places if run.trial.probes[i].purpose == Purpose.VALUES]
    return sum(run.agrees_at(i, mutant.function) for i in returned(run)), len(calls)


def returned(run: Run) -> list[int]:
    """The calls that fail, and still return numbers, all of them finite."""
    return [
        i
        for i in run.failed_places
        if run.trial.probes[i].purpose == Purpose.VALUES
        if run.made[i].outcome == Outcome.RETURNED and not run.breaks_at(i)
    ]


def are_most(count: int, calls: int) -> bool:
    return count >= LEAST_ALIKE and count >= MOSTLY * calls


def likeliest_first(run: Run) -> list[tuple[Mutant, Mutant]]:
    """Every two mistakes; first those of which each does the same where the other is right.

    And of these those whose results are nearest to the answer's.
    """
    trial = run.trial
    known = [one for one in trial.exercise.own_mutants if hasattr(one.function, "made_by")]
    places = [i for i in run.failed_places if gives_numbers(trial, i)]
    places = places[:: -(-len(places) // max(1, MOST_RESULTS // (len(known) + 1)))]
    same, right, far = {}, {}, {}
    for one in known:
        found = {i: result(run, i, one.function) for i in places}
        same[one] = {i for i in places if agrees(run, i, found[i])}
        right[one] = {i for i in places if close(found[i], trial.expected(i).value, trial.length)}
        far[one] = sum(apart(run.made[i].value, found[i]) for i in places)

    def unlikely(pair: tuple[Mutant, Mutant]) -> tuple[int, int, float]:
        one, other = pair
        against = (right[one] - same[other]) | (right[other] - same[one])
        return len(against), -len(same[one] | same[other]), far[one] + far[other]

    return sorted(combinations(known, 2), key=unlikely)


def apart(a: Any, b: Any) -> float:
    """How far two results are from each other: 0 where they are the same, 1 at the most."""
    pairs = [(x, y) for x, y in zip(leaves(a), leaves(b), strict=False) if is_like(x, y)]
    if not pairs:
        return 1.0
    numbers = [[x.double().nan_to_num(FAR, FAR, -FAR).flatten() for x in pair] for pair in pairs]
    norms = [((x - y).norm(), x.norm() + y.norm()) for x, y in numbers]
    return max(float(between / both) if both else 0.0 for between, both in norms)


def is_like(x: Any, y: Any) -> bool:
    """Whether both are tensors of real numbers, of one shape."""
    are_tensors = isinstance(x, Tensor) and isinstance(y, Tensor)
    return are_tensors and x.shape == y.shape and not (x.is_complex() or y.is_complex())


def gives_numbers(trial: Trial, place: int) -> bool:
    """Whether what comes out there can be compared: from another device, no numbers come back."""
    found = [x for x in leaves(trial.expected(place).value) if isinstance(x, Tensor)]
    return trial.probes[place].purpose == Purpose.VALUES and not any(x.is_meta for x in found)


def result(run: Run, place: int, function: Callable) -> Any:
    """What a function of ours gives there, or the name of what it raises, and nothing else of it.

    Two changes of a text may go on for ever where each alone does not: they are watched.
    """
    case = run.trial.probes[place].case
    watch = Watch(namespace_of(function), max_steps=MAX_STEPS)
    with Settings(), silence(StringIO()), torch.no_grad(), watch:
        try:
            return case.result(function)
        except (Exception, Stopped) as error:
            return type(error).__name__


def agrees(run: Run, place: int, found: Any) -> bool:
    """Whether the answer gave that result there, or raised that error."""
    record = run.made[place]
    if record.outcome == Outcome.RAISED:
        return (record.error or {})["type"] == found
    return close(record.value, found, run.trial.length)
