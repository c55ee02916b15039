"""Eight methods of attention on one work: bits a character, recall at a distance, and their cost.

    python benchmarks/today.py                         # every run that the results lack
    python benchmarks/today.py --methods latent --seeds 0
    python benchmarks/today.py --steps 20              # how long a run takes; nothing is kept

The models are the small ones of language_model.py, with its windows, steps and optimizer. A run is
one line of results/today.csv and one of results/today_recall.csv; delete lines to run them again.
A run that was stopped goes on from its last twentieth.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Int
from language_model import (
    ATTENTIONS,
    BATCH,
    BOOTSTRAP_SEED,
    GPT,
    MAX_SEEDS,
    PARTS,
    RATE,
    SIZES,
    bits_of_texts,
    fit_to_windows,
    run_file,
)
from runs import Runs
from torch import Tensor, nn

from attncourse.data.addresses import Addresses, addresses
from attncourse.data.batches import NO_LABEL
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.language_model import bootstrap_interval, language_model
from attncourse.today import (
    DeltaAttention,
    LatentAttention,
    PooledAttention,
    SelectedAttention,
    auxiliary_loss,
    replace_attention,
)
from attncourse.train import fit, muon, seeded
from attncourse.transformer import LanguageModel

SMALL = SIZES["small"]
SIZE = SMALL.d_model, SMALL.heads
# 16 keys of each query, a window of 16 tokens, a row for 4 tokens: an eighth of the text, or more
COUNT, WIDTH, BLOCK = 16, 16, 4


def of_language_model(name: str) -> Callable[[int], LanguageModel]:
    """What makes a model of language_model.py, by its name there."""
    attend, groups = ATTENTIONS[name]
    return lambda vocabulary: language_model(
        vocabulary, *SIZE, SMALL.depth, partial(attend, SMALL), groups
    )


def of_layers(*layers: Callable[[], nn.Module] | None) -> Callable[[int], LanguageModel]:
    """What makes a GPT with these layers in place of its attention; None keeps it."""

    def make(vocabulary: int) -> LanguageModel:
        model = language_model(vocabulary, *SIZE, SMALL.depth)
        kept = [block.attention.part for block in model.stack.blocks]
        made = [layer() if layer else old for layer, old in zip(layers, kept, strict=True)]
        return replace_attention(model, made.__getitem__)

    return make


DELTA = partial(DeltaAttention, *SIZE)
# with a vocabulary's size, a model
METHODS: dict[str, Callable[[int], LanguageModel]] = {
    "softmax": of_language_model(GPT),
    "two groups": of_language_model("two groups of keys"),
    "latent": of_layers(*3 * [partial(LatentAttention, *SIZE)]),
    "selected 16": of_layers(*3 * [partial(SelectedAttention, *SIZE, COUNT)]),
    "pooled by 4": of_layers(*3 * [partial(PooledAttention, *SIZE, BLOCK, WIDTH)]),
    "linear": of_language_model("linear attention"),
    "per-channel delta": of_layers(*3 * [DELTA]),
    "hybrid": of_layers(DELTA, DELTA, None),
}
TEXTS = [f"text {i}" for i in range(24)]
RUNS = Runs("today", ("method",), ("bits", "low", "high", "validation", "parameters", *TEXTS))

# tokens in a row, filler that means nothing, and the same tokens again: what followed each?
TOKENS, FILLERS, LENGTH = 32, 16, 16
DISTANCES, TRAINED_DISTANCE = (16, 64, 128, 512), 128
RECALL_STEPS, RECALL_BATCH, RECALL_RATE = 1000, 32, 1e-2
RECALL_RUNS = Runs("today_recall", ("method",), tuple(map(str, DISTANCES)))


class RecallBatch(NamedTuple):
    """Texts that repeat their first tokens after filler, labelled where a token comes again."""

    tokens: Int[Tensor, "batch n"]
    labels: Int[Tensor, "batch n"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return (self.tokens,)


def recall_batch(count: int, distance: int, g: torch.Generator) -> RecallBatch:
    """Texts whose first tokens, all different, come again after so many tokens of filler."""
    said = torch.rand(count, TOKENS, generator=g).argsort(-1)[:, :LENGTH]
    filler = torch.randint(FILLERS, (count, distance), generator=g) + TOKENS
    text = torch.cat([said, filler, said], dim=-1)
    labels = text[:, 1:].clone()
    # what is said first cannot be known, nor when it comes again
    labels[:, : 1 - LENGTH] = NO_LABEL
    return RecallBatch(text[:, :-1], labels)


def measure_recall(method: str, seed: int, steps: int = RECALL_STEPS) -> list[float]:
    """Train a model to recall, from up to TRAINED_DISTANCE, and measure it at each distance."""
    with seeded(seed) as g:
        model = METHODS[method](TOKENS + FILLERS)
        part = steps // PARTS

        def batches() -> Iterator[RecallBatch]:
            for _ in range(part):
                # as often from 1 to 2 as from 64 to 128
                distance = round(TRAINED_DISTANCE ** torch.rand((), generator=g).item())
                yield recall_batch(RECALL_BATCH, distance, g)

        checkpoint = run_file("recall", method, seed, "checkpoint")
        fit(
            model,
            batches,
            PARTS,
            RECALL_RATE,
            optimizer=muon,
            checkpoint=checkpoint,
            generator=g,
            track=partial(reported, f"recall, {method}, seed {seed}"),
            auxiliary_loss=auxiliary_loss,
        )
        checkpoint.unlink()
    return [share_recalled(model, distance) for distance in DISTANCES]


@torch.no_grad()
def share_recalled(model: nn.Module, distance: int, count: int = 128) -> float:
    """The share of tokens after which the one that followed is the likeliest, in new texts."""
    batch = recall_batch(count, distance, torch.Generator().manual_seed(distance))
    is_labelled = batch.labels != NO_LABEL
    guesses = torch.cat([model(tokens).argmax(-1) for tokens in batch.tokens.split(16)])
    return (guesses == batch.labels)[is_labelled].double().mean().item()


def measure_method(corpus: Addresses, method: str, seed: int) -> list[float]:
    """Train a model on the addresses, keep its weights, and measure its bits, text by text."""
    windower = Windower(stored_pairs())
    with seeded(seed) as g:
        model = METHODS[method](windower.vocabulary)
        fit_to_windows(
            model,
            windower,
            corpus,
            SMALL.steps // PARTS,
            RATE,
            run_file("today", method, seed, "checkpoint"),
            g,
            optimizer=muon,
            track=partial(reported, f"{method}, seed {seed}"),
            auxiliary_loss=auxiliary_loss,
        )
    torch.save(model.state_dict(), run_file("today", method, seed, "trained"))
    bits, characters = bits_of_texts(model, windower, corpus.test, "cpu")
    interval = bootstrap_interval(bits, characters, torch.Generator().manual_seed(BOOTSTRAP_SEED))
    validation = [x.sum() for x in bits_of_texts(model, windower, corpus.validation, "cpu")]
    parameters = sum(x.numel() for x in model.parameters())
    return [
        (bits.sum() / characters.sum()).item(),
        *interval,
        (validation[0] / validation[1]).item(),
        parameters,
        *(bits / characters).tolist(),
    ]


def reported(name: str, epochs: range) -> Iterator[int]:
    """The epochs, each with a line when it begins."""
    for epoch in epochs:
        print(f"{name}: part {epoch + 1} of {PARTS}, {time.strftime('%H:%M:%S')}", flush=True)
        yield epoch


def time_methods(corpus: Addresses, methods: list[str], steps: int) -> None:
    """Print how long a run of each method will take, from a few steps."""
    windower = Windower(stored_pairs())
    for method in methods:
        with seeded(0) as g:
            model = METHODS[method](windower.vocabulary)
            batches = [*windower.random_batches(corpus.train, BATCH, steps, g)]
            start = time.process_time()
            fit(model, batches.copy, 1, RATE, optimizer=muon, auxiliary_loss=auxiliary_loss)
            minutes = (time.process_time() - start) / steps * SMALL.steps / 60
        parameters = sum(x.numel() for x in model.parameters())
        print(f"{method}: {parameters:,} parameters, {minutes:.1f} minutes a run", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[*range(MAX_SEEDS)])
    parser.add_argument("--steps", type=int, help="only time so many steps of each method")
    parser.add_argument("--recall", action="store_true", help="only the recall")
    options = parser.parse_args()
    torch.set_num_threads(1)
    corpus = addresses()
    if corpus.sample:
        raise SystemExit(f"these are not the addresses: {corpus.why}")
    if options.steps:
        return time_methods(corpus, options.methods, options.steps)
    for seed in options.seeds:
        for method in options.methods:
            RECALL_RUNS.run_once(measure_recall, method, seed)
            if not options.recall:
                RUNS.run_once(partial(measure_method, corpus), method, seed)


if __name__ == "__main__":
    main()
