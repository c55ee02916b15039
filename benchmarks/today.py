"""Eight methods of attention on one work: bits a character, recall at a distance, and their cost.

    python benchmarks/today.py                         # every run that the results lack
    python benchmarks/today.py --methods latent --seeds 0
    python benchmarks/today.py --steps 20              # how long a run takes; nothing is kept
    python benchmarks/today.py --quick                 # the workbench's quick training of each

The models are the small ones of language_model.py, with its windows, steps and optimizer. A run is
one line of results/today.csv and one of results/today_recall.csv; delete lines to run them again.
A run that was stopped goes on from its last twentieth.
"""

import argparse
import time
from collections.abc import Iterator
from functools import partial

import torch
from language_model import MAX_SEEDS, run_file
from runs import Runs

from attncourse.data.addresses import Addresses, addresses
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.workbench.methods import METHODS
from attncourse.workbench.protocol import (
    PARTS,
    QUICK_STEPS,
    STEPS,
    measure_bits,
    seconds_a_step,
    train_on_addresses,
)
from attncourse.workbench.recall import DISTANCES, shares_recalled, train_to_recall

TEXTS = [f"text {i}" for i in range(24)]
RUNS = Runs("today", ("method",), ("bits", "low", "high", "validation", "parameters", *TEXTS))
QUICK_RUNS = Runs("today_quick", ("method",), ("bits",))
RECALL_RUNS = Runs("today_recall", ("method",), tuple(map(str, DISTANCES)))


def measure_recall(method: str, seed: int) -> list[float]:
    """Train a model to recall, and measure it at each distance."""
    track = partial(reported, f"recall, {method}, seed {seed}")
    checkpoint = run_file("recall", method, seed, "checkpoint")
    return shares_recalled(train_to_recall(METHODS[method], seed, checkpoint, track=track))


def measure_method(corpus: Addresses, method: str, seed: int) -> list[float]:
    """Train a model on the addresses, keep its weights, and measure its bits, text by text."""
    track = partial(reported, f"{method}, seed {seed}")
    checkpoint = run_file("today", method, seed, "checkpoint")
    model = train_on_addresses(METHODS[method], corpus, seed, checkpoint, track=track)
    torch.save(model.state_dict(), run_file("today", method, seed, "trained"))
    *bits, of_texts = measure_bits(model, Windower(stored_pairs()), corpus)
    return [*bits, sum(x.numel() for x in model.parameters()), *of_texts]


def measure_quickly(corpus: Addresses, method: str, seed: int) -> list[float]:
    """Bits after the workbench's quick training."""
    checkpoint = run_file("today-quick", method, seed, "checkpoint")
    model = train_on_addresses(METHODS[method], corpus, seed, checkpoint, QUICK_STEPS)
    return [measure_bits(model, Windower(stored_pairs()), corpus).test]


def reported(name: str, epochs: range) -> Iterator[int]:
    """The epochs, each with a line when it begins."""
    for epoch in epochs:
        print(f"{name}: part {epoch + 1} of {PARTS}, {time.strftime('%H:%M:%S')}", flush=True)
        yield epoch


def time_methods(corpus: Addresses, methods: list[str], steps: int) -> None:
    """Print how long a run of each method will take, from a few steps."""
    windower = Windower(stored_pairs())
    for method in methods:
        minutes = seconds_a_step(METHODS[method], corpus, steps) * STEPS / 60
        parameters = sum(x.numel() for x in METHODS[method](windower.vocabulary).parameters())
        print(f"{method}: {parameters:,} parameters, {minutes:.1f} minutes a run", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[*range(MAX_SEEDS)])
    parser.add_argument("--steps", type=int, help="only time so many steps of each method")
    parser.add_argument("--recall", action="store_true", help="only the recall")
    parser.add_argument("--quick", action="store_true", help="only the workbench's quick training")
    options = parser.parse_args()
    torch.set_num_threads(1)
    corpus = addresses()
    if corpus.sample:
        raise SystemExit(f"these are not the addresses: {corpus.why}")
    if options.steps:
        return time_methods(corpus, options.methods, options.steps)
    for seed in options.seeds:
        for method in options.methods:
            if options.quick:
                QUICK_RUNS.run_once(partial(measure_quickly, corpus), method, seed)
                continue
            RECALL_RUNS.run_once(measure_recall, method, seed)
            if not options.recall:
                RUNS.run_once(partial(measure_method, corpus), method, seed)


if __name__ == "__main__":
    main()
