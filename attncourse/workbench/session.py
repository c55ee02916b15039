"""From a file to its dot among the course's methods: checks, counts, training and a report."""

import hashlib
from pathlib import Path

import torch

from attncourse.data.addresses import Addresses, addresses
from attncourse.data.archives import cache_folder
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.workbench import protocol, recall
from attncourse.workbench.bar import bar, duration
from attncourse.workbench.checks import run_checks
from attncourse.workbench.counts import count_method
from attncourse.workbench.layers import Method, UnfitError, load_method
from attncourse.workbench.report import Report


def workbench(
    file: str | Path, checks: bool = False, quick: bool = False, seed: int = 0
) -> Report | None:
    """Check, count, train and compare the method in a file; None, and a sentence, where it fails.

    With `checks` it is not trained, with `quick` for fewer steps, and not to recall.
    """
    # one thread: the same sums in the same order on every machine
    torch.set_num_threads(1)
    try:
        method = load_method(file)
        for line in run_checks(method):
            print(line, flush=True)
        counts = count_method(method.model)
        if checks:
            return Report(method.name, method.expected, counts)
        bits, shares = train(method, quick, seed)
        return Report(method.name, method.expected, counts, bits, shares, quick)
    except UnfitError as error:
        print(error)
        return None


def train(method: Method, quick: bool, seed: int) -> tuple[protocol.Bits, list[float] | None]:
    """The bits of a trained model, whose weights are kept beside the file, and what it recalls."""
    corpus = addresses()
    if corpus.sample:
        raise UnfitError(f"these are not the addresses: {corpus.why}")
    steps = protocol.QUICK_STEPS if quick else protocol.STEPS
    a_step = protocol.seconds_a_step(method.model, corpus)
    of_recall = 0.0 if quick else recall.STEPS * a_step * recall.TOKENS / protocol.TOKENS
    total = steps * a_step + of_recall + seconds_of_measuring(corpus, a_step)
    print(f"{steps:,} steps, about {duration(total)} in all", flush=True)
    track = bar("addresses", steps / protocol.PARTS * a_step)
    checkpoint = checkpoint_path(method, f"addresses-{steps}-{seed}")
    model = protocol.train_on_addresses(method.model, corpus, seed, checkpoint, steps, track)
    torch.save(model.state_dict(), method.path.with_suffix(".pt"))
    bits = protocol.measure_bits(model, Windower(stored_pairs()), corpus)
    if quick:
        return bits, None
    track = bar("recall", of_recall / protocol.PARTS)
    checkpoint = checkpoint_path(method, f"recall-{seed}")
    model = recall.train_to_recall(method.model, seed, checkpoint, track=track)
    return bits, recall.shares_recalled(model)


def seconds_of_measuring(corpus: Addresses, a_step: float) -> float:
    """Seconds to read the texts of the test and of the validation, at a third of a step's time."""
    windower = Windower(stored_pairs())
    windows = sum(len(windower.rows(text)) for text in (*corpus.test, *corpus.validation))
    return windows / protocol.BATCH * a_step / 3


def checkpoint_path(method: Method, name: str) -> Path:
    """Where a training of just this code goes on after a stop."""
    digest = hashlib.sha256(method.path.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / "models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"workbench-{method.name}-{digest}-{name}.pt"
