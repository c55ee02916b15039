"""The known mistake that does what an answer does, or the two that together do.

A hint is said only if it holds: on every probe, in every output, and at a second seed.
"""

from itertools import combinations, islice

from attncourse.checks import variants
from attncourse.checks.compare import same
from attncourse.checks.exercise import Mutant
from attncourse.checks.trial import Run

# the faults by which pairs are put in order, and how many pairs are tried: an idle core takes a
# third of a second for each of the two, and a count is the same on every machine
MOST_FAULTS = 6
MOST_PAIRS = 150


def known_mistake(run: Run) -> str | None:
    """The hint of the mutant, or of the two at once, that does what was seen."""
    return one_mistake(run) or two_mistakes(run)


def one_mistake(run: Run) -> str | None:
    """The hint of the first mutant that does what was seen."""
    mutants = run.trial.exercise.mutants
    return next((one.hint for one in mutants if run.is_that_of(one.function)), None)


def two_mistakes(run: Run) -> str | None:
    """The hints of the first two mutants that together do what was seen.

    Two changes of a text may go on for ever where each alone does not: they are watched.
    """
    # a test says one bit a probe, and one mistake is enough for what only another device, or a
    # longer input, shows
    if run.trial.exercise.kind == "test" or run.trial.probes[run.faults[0]].way != "values":
        return None
    for pair in islice(variants.pairs(likeliest_first(run)), MOST_PAIRS):
        if run.is_that_of(pair.function, watch="lines"):
            return pair.hint
    return None


def likeliest_first(run: Run) -> list[tuple[Mutant, Mutant]]:
    """Every two mistakes; first those of which each does what was seen where the other is right."""
    trial, values = run.trial, [i for i in run.faults if run.trial.probes[i].way == "values"]
    some = values[:: -(-len(values) // MOST_FAULTS)]
    known = [one for one in trial.exercise.own_mutants if hasattr(one.function, "made_by")]
    agrees = {one: {i for i in some if run.agrees(i, one.function)} for one in known}
    right = {
        one: {
            i
            for i in some
            if same(trial.observe_own(one.function, i), trial.expected[i], trial.length)
        }
        for one in known
    }

    def unlikely(pair: tuple[Mutant, Mutant]) -> tuple[int, int]:
        one, other = pair
        against = (right[one] - agrees[other]) | (right[other] - agrees[one])
        return len(against), -len(agrees[one] | agrees[other])

    return sorted(combinations(known, 2), key=unlikely)
