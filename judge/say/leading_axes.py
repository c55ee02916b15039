"""What is said of an answer that is right with some leading axes only, or mixes a batch."""

from collections.abc import Iterator

from torch import Tensor

from judge import messages
from judge.call.torch_internals import leaves
from judge.compare.criteria import Record
from judge.compare.probes import ALONE, Purpose, leading_axes
from judge.compare.run import Run
from judge.compare.tolerance import close


def only_some_axes(run: Run) -> str | None:
    """What is said of it, where that holds on every probe, and at both seeds."""
    # what a test is given are functions
    if run.trial.exercise.is_test or not of_axes([run]) or run.at_next_seed.is_lost:
        return None
    return of_axes([run, run.at_next_seed])


def of_axes(runs: list[Run]) -> str | None:
    right, wrong = (set().union(*some) for some in zip(*map(by_axes, runs), strict=True))
    apart = bool(right and wrong) and not right & wrong
    # who is right with one leading axis, and wrong with two, has taken that one for the batch
    if all(map(mixes_a_batch, runs)) and not (apart and right != {0}):
        return messages.BATCHES if 0 in right - wrong else messages.MIXES
    if not apart:
        return None
    return messages.BATCH if wrong == {0} else messages.leading(wrong, right)


def by_axes(run: Run) -> tuple[set[int], set[int]]:
    """With how many leading axes an answer is right, and with how many it is wrong.

    Axes of size 1 tell nothing: to run over one of them is to leave it out.
    """
    values = [*places_of_values(run)]
    axes = zip(values, leading_axes([run.trial.probes[i].case for i in values]), strict=True)
    telling = [(i, len(sizes)) for i, sizes in axes if set(sizes) != {1}]
    wrong = {count for i, count in telling if i in run.failed_places}
    return {count for i, count in telling if i not in run.failed_places}, wrong


def places_of_values(run: Run) -> Iterator[int]:
    return (i for i in run.places() if run.trial.probes[i].purpose == Purpose.VALUES)


def mixes_a_batch(run: Run) -> bool:
    """Whether the first of a batch has another result than alone, where it should have the same."""
    trial, values = run.trial, [*places_of_values(run)]
    found = {trial.probes[i].case.name: (run.made[i], trial.expected(i)) for i in values}
    for name, (alone, alone_wanted) in found.items():
        if name.endswith(f", {ALONE}"):
            whole, wanted = found[name.removesuffix(f", {ALONE}")]
            fits = shapes(whole) == shapes(wanted) and shapes(alone) == shapes(alone_wanted)
            length = run.trial.length
            return fits and begins(wanted, alone_wanted, length) > begins(whole, alone, length)
    return False


def shapes(record: Record) -> list:
    return [x.shape if isinstance(x, Tensor) else None for x in leaves(record.value)]


def begins(whole: Record, alone: Record, length: int) -> bool:
    """Whether every result for a batch begins with that for its first alone."""
    pairs = zip(leaves(whole.value), leaves(alone.value), strict=False)
    tensors = [(a, b) for a, b in pairs if isinstance(a, Tensor) and a.dim() == b.dim()]
    return all(close(a[tuple(map(slice, b.shape))], b, length) for a, b in tensors)
