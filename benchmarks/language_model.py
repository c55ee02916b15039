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
from attncourse.data.windows import Windower, window_batches
from attncourse.efficient import grouped_query_attention
from attncourse.language_model import (
    BackOff,
    LSTMLanguageModel,
    bits_by_window,
    bootstrap_interval,
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

BATCH, MAX_DISTANCE, PARTS, BOOTSTRAP = 16, 16, 20, 0
# the LSTM's is the best of eight trials, of 500 steps of the small size
RATE, LSTM_RATE = 6e-3, 1.5e-2


@dataclass(frozen=True)
class Size:
    """How large the blocks are, and how long they are trained."""

    d_model: int
    depth: int
    hidden: int
    steps: int
    seeds: dict[str, int]
    heads: int = 4


GPT, UNDATED = "GPT", "without the decade"
# what the heads do in each model, and in how many groups they share keys and values
ATTENDS: dict[str, tuple[Callable[[Size], nn.Module], int | None]] = {
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
    UNDATED: (lambda size: Causal(RotaryAttention()), None),
}
LSTM = "LSTM"
COUNTED = ("uniform", "unigram", "bigram", "trigram")
EVERY = 3
SIZES = {
    "one block": Size(64, 1, 99, 2500, {GPT: 1, "no positions": 1}),
    "small": Size(64, 3, 99, 2500, dict.fromkeys((LSTM, *ATTENDS), EVERY)),
    "full": Size(128, 4, 231, 10000, {GPT: EVERY, "no positions": 1, "one head": 1, LSTM: 1}),
}
MEASURED = ("bits", "low", "high", "validation", "parameters", "steps", "seconds")
RUNS = Runs("language_model", ("size", "model"), MEASURED)
CURVES = RESULTS / "language_model_curves.csv"


def built(name: str, size: Size, vocabulary: int) -> nn.Module:
    """A model of this name, anew."""
    if name == LSTM:
        return LSTMLanguageModel(vocabulary, size.d_model, size.hidden)
    attend, groups = ATTENDS[name]
    heads = 1 if name == "one head" else size.heads
    return language_model(
        vocabulary, size.d_model, heads, size.depth, partial(attend, size), groups
    )


def kept(size: str, name: str, seed: int, end: str) -> Path:
    """Where something of a run is kept."""
    folder = cache_folder() / "models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"language-{size}-{name}-{seed}-{end}.pt".replace(" ", "-")


def bits_of_texts(
    model, windowed: Windower, texts: tuple, device: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each text the bits that it costs, and its characters."""
    batches = (batch.to(device) for batch in windowed.batches(texts, 64))
    bits = bits_by_window(model, batches).double().cpu()
    counts = [len(windowed.rows(text)) for text in texts]
    totals = torch.stack([part.sum() for part in bits.split(counts)])
    return totals, torch.tensor([len(text.text) for text in texts], dtype=torch.float64)


def measured(model, windowed: Windower, found: Addresses, device: str = "cpu") -> list[float]:
    """Bits a character of the test texts, between which they lie, and of the validation's."""
    bits, characters = bits_of_texts(model, windowed, found.test, device)
    low, high = bootstrap_interval(bits, characters, torch.Generator().manual_seed(BOOTSTRAP))
    others = [x.sum() for x in bits_of_texts(model, windowed, found.validation, device)]
    return [(bits.sum() / characters.sum()).item(), low, high, (others[0] / others[1]).item()]


def counted(found: Addresses, size: str, name: str, seed: int) -> list[float]:
    """What a model measures that counts what followed what."""
    windowed, began = Windower(stored_pairs()), time.process_time()
    model = BackOff(COUNTED.index(name), windowed.vocabulary)
    model.learn((row for text in found.train for row in windowed.rows(text)), first=2)
    seconds = time.process_time() - began
    return [*measured(model, windowed, found), sum(map(len, model.followed.values())), 0, seconds]


def trained(found: Addresses, device: str, size: str, name: str, seed: int) -> list[float]:
    """What a model measures that is trained from one seed; its curve and weights are kept."""
    sized = SIZES[size]
    windowed = Windower(stored_pairs(), dated=name != UNDATED)
    with seeded(seed) as g:
        model = built(name, sized, windowed.vocabulary).to(device)
        each = sized.steps // PARTS
        optimizer, rate = (adamw, LSTM_RATE) if name == LSTM else (muon, RATE)
        watch = Watch(model, windowed, found, (size, name, seed), each, device)
        fit(
            model,
            lambda: (
                batch.to(device) for batch in windowed.random_batches(found.train, BATCH, each, g)
            ),
            PARTS,
            rate,
            optimizer=optimizer,
            checkpoint=kept(size, name, seed, "checkpoint"),
            generator=g,
            track=watch,
        )
    parameters = sum(x.numel() for x in model.parameters())
    kept(size, name, seed, "checkpoint").unlink()
    steps, seconds = each * PARTS, watch.seconds if device == "cpu" else nan
    return [*measured(model, windowed, found, device), parameters, steps, seconds]


class Watch:
    """Follows a training: its curve on some of the validation's windows, and the states between."""

    def __init__(
        self,
        model,
        windowed: Windower,
        found: Addresses,
        key: tuple[str, str, int],
        each: int,
        device: str,
    ):
        self.model, self.key, self.each, self.seconds = model, key, each, 0.0
        every = [row for text in found.validation for row in windowed.rows(text)]
        rows = every[:: max(1, len(every) // 256)]
        self.rows = [batch.to(device) for batch in window_batches(rows, 64)]
        self.characters = sum(len(windowed.pairs.decode(row[2:])) for row in rows)

    def __call__(self, epochs: range) -> Iterator[int]:
        if epochs.start:
            lines = [row for row in csv.reader(CURVES.open(encoding="utf-8")) if row[:3] == self.of]
            self.seconds = float(lines[-1][4])
        else:
            self.note(0)
        for epoch in epochs:
            began = time.process_time()
            yield epoch
            self.seconds += time.process_time() - began
            self.note(epoch + 1)

    @property
    def of(self) -> list[str]:
        return [*map(str, self.key)]

    def note(self, epoch: int) -> None:
        """A line of the curve, and the weights as they are."""
        bits = bits_by_window(self.model, self.rows).sum().item() / self.characters
        torch.save(self.model.state_dict(), kept(*self.key, f"after-{epoch}"))
        with CURVES.open("a", encoding="utf-8", newline="") as file:
            line = (*self.key, epoch * self.each, f"{self.seconds:.1f}", f"{bits:.5f}")
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
            timed = [second for second in seconds if not isnan(second)]
            lines.append(
                (
                    size,
                    name,
                    mean_and_std(bits),
                    f"{mean(low):.3f} to {mean(high):.3f}",
                    mean_and_std(validation),
                    f"{round(mean(parameters)):,}",
                    f"{round(mean(steps)):,}",
                    f"{round(mean(timed)):,}" if timed else "",
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
    asked = parser.parse_args()
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    found = addresses()
    if found.sample:
        raise SystemExit(f"these are not the addresses: {found.why}")
    if asked.size in (None, "counted"):
        for name in COUNTED:
            RUNS.run_once(partial(counted, found), "counted", name, 0)
    for size in SIZES if asked.size is None else {asked.size} & {*SIZES}:
        for seed in range(EVERY):
            for name, seeds in SIZES[size].seeds.items():
                wanted = seed < seeds and seed in (asked.seeds or range(EVERY))
                if wanted and name in (asked.models or ATTENDS | {LSTM: None}):
                    RUNS.run_once(partial(trained, found, asked.device), size, name, seed)
    write_table()


if __name__ == "__main__":
    main()
