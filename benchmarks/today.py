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
from statistics import mean

import torch
from language_model import MAX_SEEDS, run_file
from runs import Runs, mean_and_std, write_page

from attncourse.data.addresses import Addresses, addresses
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.language_model import bootstrap_interval
from attncourse.workbench.counts import LONG, SHORT, count_method
from attncourse.workbench.methods import METHODS
from attncourse.workbench.protocol import (
    BOOTSTRAP_SEED,
    PARTS,
    QUICK_STEPS,
    STEPS,
    measure_bits,
    seconds_a_step,
    train_on_addresses,
)
from attncourse.workbench.recall import (
    DISTANCES,
    TRAINED_DISTANCE,
    shares_recalled,
    train_to_recall,
)

TEXTS = [f"text {i}" for i in range(24)]
RUNS = Runs("today", ("method",), ("bits", "low", "high", "validation", "parameters", *TEXTS))
QUICK_RUNS = Runs("today_quick", ("method",), ("bits",))
RECALL_RUNS = Runs("today_recall", ("method",), tuple(map(str, DISTANCES)))
# what the others are compared with
SOFTMAX = "softmax"


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
    bits = measure_bits(model, Windower(stored_pairs()), corpus)
    return [*bits.of_all_texts, sum(x.numel() for x in model.parameters()), *bits.texts]


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


def difference_from_softmax(corpus: Addresses, method: str) -> tuple[str, str]:
    """Bits a character more than softmax takes, with a 95 % interval over the texts, and the
    number of texts that take fewer."""
    bits, bits_of_softmax = (RUNS.columns(name) for name in (method, SOFTMAX))
    pairs = zip(bits[-len(TEXTS) :], bits_of_softmax[-len(TEXTS) :], strict=True)
    more = torch.tensor([mean(of_text) - mean(of_softmax) for of_text, of_softmax in pairs])
    characters = torch.tensor([float(len(text.text)) for text in corpus.test])
    g = torch.Generator().manual_seed(BOOTSTRAP_SEED)
    low, high = bootstrap_interval(more * characters, characters, g)
    difference = mean(bits[0]) - mean(bits_of_softmax[0])
    return f"{difference:+.3f} ({low:+.3f} to {high:+.3f})", str(int((more < 0).sum()))


def write_table(corpus: Addresses) -> None:
    """A line for each method that has been run, the fewest bits first."""
    methods = [method for method in METHODS if RUNS.columns(method)]
    rows = []
    for method in sorted(methods, key=lambda method: mean(RUNS.columns(method)[0])):
        bits, _, _, validation, parameters, *_ = RUNS.columns(method)
        recall, counts = RECALL_RUNS.columns(method), count_method(METHODS[method])
        rows.append(
            (
                method,
                mean_and_std(bits),
                *(("", "") if method == SOFTMAX else difference_from_softmax(corpus, method)),
                mean_and_std(validation),
                *map(mean_and_std, recall[-2:]),
                f"{counts.short_state:,}",
                f"{counts.long_state:,}",
                f"{counts.read_operations:,}",
                f"{counts.write_operations:,}",
                f"{round(parameters[0]):,}",
                len(bits),
            )
        )
    text = [
        "# Eight methods of attention on one work",
        f"Bits a character on the {len(TEXTS)} test texts; what a method takes more than softmax "
        "on the same texts, with an interval that holds 95 of 100 sets of texts drawn from these "
        "(bootstrap), and on how many texts it takes fewer. Recall is the share of 15 tokens that "
        f"come again after {DISTANCES[-2]} and {DISTANCES[-1]} tokens of filler; the longest "
        f"distance in training is {TRAINED_DISTANCE}. State, and operations to read {SHORT} tokens "
        f"and to write one more, are those of all layers of attention; the state is in float32, "
        f"after {SHORT} and {LONG} tokens. The mean over the seeds, and their standard deviation.",
    ]
    headings = (
        "method", "bits", "more than softmax", "texts with fewer", "validation",
        *(f"recall at {distance}" for distance in DISTANCES[-2:]),
        *(f"bytes after {n}" for n in (SHORT, LONG)), "operations to read",
        "operations to write", "parameters", "seeds",
    )  # fmt: skip
    write_page("today", "today", text, headings, rows)


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
    write_table(corpus)


if __name__ == "__main__":
    main()
