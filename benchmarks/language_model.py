"""Bits a character of models of the addresses: what counts, what attends, and what is left out.

    python benchmarks/language_model.py                    # every run that the results lack
    python benchmarks/language_model.py --size small --seeds 1
    python benchmarks/language_model.py --size full --device cuda    # its seconds are not counted

A run is one line of results/language_model.csv; delete lines to run them again. A run that was
stopped goes on from its last twentieth. What was trained is kept beside the downloaded data, where
stored_model.py finds it.
"""

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from pathlib import Path
from statistics import mean

import torch
from runs import Runs, mean_and_std, write_page
from timing import RESULTS
from torch import nn

from attncourse.data.addresses import Addresses, addresses
from attncourse.data.archives import cache_folder
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import WindowBatch, Windower, window_batches
from attncourse.efficient import grouped_query_attention
from attncourse.language_model import (
    BackOff,
    LSTMLanguageModel,
    bits_by_window,
    language_model,
)
from attncourse.relative import RelativeAttention
from attncourse.train import adamw, fit, muon, seeded
from attncourse.transformer import (
    ALiBiAttention,
    Causal,
    CausalLinearAttention,
    RotaryAttention,
    T5Attention,
    WindowedAttention,
)
from attncourse.workbench.protocol import (
    BATCH,
    D_MODEL,
    DEPTH,
    HEADS,
    PARTS,
    RATE,
    STEPS,
    measure_bits,
)

MAX_DISTANCE = 16
# the best of eight trials, of 500 steps of the small size
LSTM_RATE = 1.5e-2


@dataclass(frozen=True)
class Size:
    """How large the blocks are, and how long they are trained."""

    d_model: int
    depth: int
    hidden: int
    steps: int
    seeds: dict[str, int]
    heads: int = HEADS


GPT, WITHOUT_DECADE = "GPT", "without the decade"
# the attention of each model, and the number of groups that share keys and values
ATTENTIONS: dict[str, tuple[Callable[[Size], nn.Module], int | None]] = {
    GPT: (lambda size: Causal(RotaryAttention()), None),
    "ALiBi": (lambda size: Causal(ALiBiAttention(size.heads)), None),
    "T5": (lambda size: Causal(T5Attention(size.heads, bidirectional=False)), None),
    "Shaw": (
        lambda size: Causal(RelativeAttention(size.d_model // size.heads, MAX_DISTANCE)),
        None,
    ),
    "no positions": (lambda size: Causal(), None),
    "one head": (lambda size: Causal(RotaryAttention()), None),
    "a window of 16": (
        lambda size: Causal(WindowedAttention(31, RotaryAttention())),
        None,
    ),
    "linear attention": (lambda size: CausalLinearAttention(), None),
    "two groups of keys": (
        lambda size: Causal(RotaryAttention(attend=grouped_query_attention)),
        2,
    ),
    WITHOUT_DECADE: (lambda size: Causal(RotaryAttention()), None),
}
LSTM = "LSTM"
BACK_OFF_MODELS = ("uniform", "unigram", "bigram", "trigram")
MAX_SEEDS = 3
SIZES = {
    "one block": Size(D_MODEL, 1, 99, STEPS, {GPT: 1, "no positions": 1}),
    "small": Size(D_MODEL, DEPTH, 99, STEPS, dict.fromkeys((LSTM, *ATTENTIONS), MAX_SEEDS)),
    "full": Size(128, 4, 231, 10000, {GPT: MAX_SEEDS, "no positions": 1, "one head": 1, LSTM: 1}),
}
MEASUREMENTS = ("bits", "low", "high", "validation", "parameters", "steps", "seconds")
RUNS = Runs("language_model", ("size", "model"), MEASUREMENTS)
CURVES = RESULTS / "language_model_curves.csv"


def make_model(name: str, size: Size, vocabulary: int) -> nn.Module:
    """A new model of this name."""
    if name == LSTM:
        return LSTMLanguageModel(vocabulary, size.d_model, size.hidden)
    attend, groups = ATTENTIONS[name]
    heads = 1 if name == "one head" else size.heads
    return language_model(
        vocabulary, size.d_model, heads, size.depth, partial(attend, size), groups
    )


def run_file(size: str, name: str, seed: int, end: str) -> Path:
    """The path of a file that a run keeps."""
    folder = cache_folder() / "models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"language-{size}-{name}-{seed}-{end}.pt".replace(" ", "-")


def measure_back_off(corpus: Addresses, size: str, name: str, seed: int) -> list[float]:
    """Train a model that counts n-grams, and measure it."""
    windower, start = Windower(stored_pairs()), time.process_time()
    model = BackOff(BACK_OFF_MODELS.index(name), windower.vocabulary)
    model.learn((row for text in corpus.train for row in windower.rows(text)), first=2)
    seconds = time.process_time() - start
    return [
        *measure_bits(model, windower, corpus).of_all_texts,
        sum(map(len, model.followed.values())),
        0,
        seconds,
    ]


def train_model(corpus: Addresses, device: str, size: str, name: str, seed: int) -> list[float]:
    """Train a model from one seed, keep its curve and weights, and measure it."""
    model_size = SIZES[size]
    windower = Windower(stored_pairs(), dated=name != WITHOUT_DECADE)
    with seeded(seed) as g:
        model = make_model(name, model_size, windower.vocabulary).to(device)
        steps_of_part = model_size.steps // PARTS
        optimizer, rate = (adamw, LSTM_RATE) if name == LSTM else (muon, RATE)
        watch = Watch(model, windower, corpus, (size, name, seed), steps_of_part, device)
        checkpoint = run_file(size, name, seed, "checkpoint")

        def batches() -> Iterator[WindowBatch]:
            drawn = windower.random_batches(corpus.train, BATCH, steps_of_part, g)
            return (batch.to(device) for batch in drawn)

        kept = {"checkpoint": checkpoint, "generator": g}
        fit(model, batches, PARTS, rate, optimizer=optimizer, track=watch, **kept)
    checkpoint.unlink()
    parameters = sum(x.numel() for x in model.parameters())
    steps, seconds = steps_of_part * PARTS, watch.seconds if device == "cpu" else nan
    bits = measure_bits(model, windower, corpus, device).of_all_texts
    return [*bits, parameters, steps, seconds]


class Watch:
    """Follows a training: its curve on some of the validation's windows, and the states between."""

    def __init__(
        self,
        model,
        windower: Windower,
        corpus: Addresses,
        key: tuple[str, str, int],
        steps_of_part: int,
        device: str,
    ):
        self.model, self.key, self.steps_of_part, self.seconds = model, key, steps_of_part, 0.0
        all_rows = [row for text in corpus.validation for row in windower.rows(text)]
        rows = all_rows[:: max(1, len(all_rows) // 256)]
        self.rows = [batch.to(device) for batch in window_batches(rows, 64)]
        self.characters = sum(len(windower.pairs.decode(row[2:])) for row in rows)

    def __call__(self, epochs: range) -> Iterator[int]:
        if epochs.start:
            lines = [
                row for row in csv.reader(CURVES.open(encoding="utf-8")) if row[:3] == self.row_key
            ]
            self.seconds = float(lines[-1][4])
        else:
            self.note(0)
        for epoch in epochs:
            start = time.process_time()
            yield epoch
            self.seconds += time.process_time() - start
            self.note(epoch + 1)

    @property
    def row_key(self) -> list[str]:
        return [*map(str, self.key)]

    def note(self, epoch: int) -> None:
        """A line of the curve, and the weights as they are."""
        bits = bits_by_window(self.model, self.rows).sum().item() / self.characters
        torch.save(self.model.state_dict(), run_file(*self.key, f"after-{epoch}"))
        with CURVES.open("a", encoding="utf-8", newline="") as file:
            line = (*self.key, epoch * self.steps_of_part, f"{self.seconds:.1f}", f"{bits:.5f}")
            csv.writer(file, lineterminator="\n").writerow(line)
        print(*line, flush=True)


def write_table() -> None:
    """A line for each size and model that has been run, the best first within a size."""
    lines = []
    for size in ("counted", *SIZES):
        names = {key[1] for key in RUNS.finished() if key[0] == size}
        columns = {name: RUNS.columns(size, name) for name in names}
        for name in sorted(names, key=lambda name: -mean(columns[name][0])):
            bits, low, high, validation, parameters, steps, seconds = columns[name]
            cpu_seconds = [second for second in seconds if not isnan(second)]
            lines.append(
                (
                    size,
                    name,
                    mean_and_std(bits),
                    f"{mean(low):.3f} to {mean(high):.3f}",
                    mean_and_std(validation),
                    f"{round(mean(parameters)):,}",
                    f"{round(mean(steps)):,}",
                    f"{round(mean(cpu_seconds)):,}" if cpu_seconds else "",
                    len(bits),
                )
            )
    text = [
        "# Bits a character of the addresses on the State of the Union",
        "On the 24 test texts, in windows of 126 tokens without overlap; the interval holds 95 of "
        "100 sets of texts drawn from these (bootstrap). The mean over the seeds, and their "
        "standard deviation where there are several. Parameters: of the models that count, the "
        "numbers counted. CPU seconds of one core that was also doing other work; none for what "
        "was trained on a GPU, an NVIDIA H200.",
        f"Batches of {BATCH} windows; Muon at {RATE} falling to 0, AdamW for tables; "
        f"the LSTM with AdamW at {LSTM_RATE}.",
    ]
    headings = ("size", "model", "bits", "interval", "validation", "parameters", "steps", "seconds",
               "seeds")  # fmt: skip
    write_page("language_model", "language_model", text, headings, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=("counted", *SIZES), help="these alone")
    parser.add_argument("--models", nargs="+", help="these alone, such as GPT LSTM")
    parser.add_argument("--seeds", type=int, nargs="+", help="these alone, such as 0 1")
    parser.add_argument("--device", default="cpu", help="where to train, such as cuda")
    options = parser.parse_args()
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    corpus = addresses()
    if corpus.sample:
        raise SystemExit(f"these are not the addresses: {corpus.why}")
    if options.size in (None, "counted"):
        for name in BACK_OFF_MODELS:
            RUNS.run_once(partial(measure_back_off, corpus), "counted", name, 0)
    for size in SIZES if options.size is None else {options.size} & {*SIZES}:
        for seed in range(MAX_SEEDS):
            for name, seeds in SIZES[size].seeds.items():
                requested = seed < seeds and seed in (options.seeds or range(MAX_SEEDS))
                if requested and name in (options.models or ATTENTIONS | {LSTM: None}):
                    RUNS.run_once(partial(train_model, corpus, options.device), size, name, seed)
    write_table()


if __name__ == "__main__":
    main()
