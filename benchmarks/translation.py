"""What positions bring to a translator: English number names into German, also longer ones.

    pip install -e ".[bench]"
    python benchmarks/translation.py            # every run that the results lack, then the table
    python benchmarks/translation.py --seeds 1  # only the first seed of each

A run is one line of results/translation.csv; delete lines to run them again.
"""

import argparse
import csv
import json
import platform
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

import torch
from model import DROPOUT, HEADS, HIDDEN, WIDTH, embedding
from num2words import num2words
from torch import Tensor, nn

from attncourse.data import padded
from attncourse.dot_product import attention, causal_mask, padding_mask
from attncourse.multi_head import MultiHeadAttention
from attncourse.positional import SinusoidalEncoding
from attncourse.relative import RelativeAttention
from attncourse.train import fit, seeded

RESULTS = Path(__file__).parent / "results"
RUNS = RESULTS / "translation.csv"
SEEDS, EPOCHS, BATCH, RATE, REACH = 3, 10, 64, 4e-3, 8
TRAINED, TESTED, LONGEST = 6000, 300, 10
PADDING, START, END = 0, 1, 2
MORPHEME = re.compile(
    "millionen|million|milliarden|milliarde|tausend|hundert|zehn|zwanzig|zig|ßig|und|null|"
    "eins|eine|ein|zwei|drei|vier|fünf|sechs|sech|sieben|sieb|acht|neun|elf|zwölf"
)
# what the words have in common with their neighbours: nothing, their places, their distances
MODELS: dict[str, Callable[[], tuple[nn.Module, Callable]]] = {
    "no positions": lambda: (nn.Identity(), lambda: attention),
    "sinusoids": lambda: (SinusoidalEncoding(WIDTH), lambda: attention),
    "relative, max_distance 8": lambda: (
        nn.Identity(),
        lambda: RelativeAttention(WIDTH // HEADS, REACH),
    ),
}
# names, and how many English words a test's numbers have
LENGTHS = {"up to 10 words": (1, 10), "11 to 14": (11, 14), "15 and more": (15, 99)}


def english(number: int) -> list[str]:
    return num2words(number).replace("-", " ").replace(",", "").split()


def german(number: int) -> list[str]:
    """The parts of the German words, which have no spaces between them."""
    return MORPHEME.findall(num2words(number, lang="de").lower())


def draw(random: random.Random) -> int:
    """A number below 10^12; each of its groups of three digits is empty half the time."""
    groups = [random.randrange(1, 1000) * (random.random() < 0.5) for _ in range(4)]
    return sum(group * 1000**i for i, group in enumerate(groups))


def numbers(seed: int) -> tuple[list[int], dict[str, list[int]]]:
    """Numbers to train with, short ones and all below 100, and others to test with, by length."""
    random_ = random.Random(seed)
    train, test = set(range(1, 100)), {name: set() for name in LENGTHS}
    while len(train) < TRAINED or min(map(len, test.values())) < TESTED:
        number = draw(random_)
        words = len(english(number))
        if number == 0 or number in train:
            continue
        if words <= LONGEST and len(train) < TRAINED:
            train.add(number)
            continue
        for name, (least, most) in LENGTHS.items():
            if least <= words <= most and len(test[name]) < TESTED:
                test[name].add(number)
    return sorted(train), {name: sorted(found) for name, found in test.items()}


@dataclass(frozen=True)
class Pairs:
    """Source and target words as numbers; the labels are the target, one word further."""

    source: Tensor
    lengths: Tensor
    target: Tensor
    labels: Tensor


class Words:
    """Numbers for the words of both languages."""

    def __init__(self, examples: list[int]):
        self.source = self.numbered(english(number) for number in examples)
        self.target = self.numbered(german(number) for number in examples)

    @staticmethod
    def numbered(sentences: Iterator[list[str]]) -> dict[str, int]:
        return {word: i for i, word in enumerate(sorted({w for s in sentences for w in s}), 3)}

    def pairs(self, examples: list[int]) -> Pairs:
        source = [[self.source[word] for word in english(number)] for number in examples]
        target = [[self.target[word] for word in german(number)] for number in examples]
        return Pairs(
            padded(source, PADDING),
            torch.tensor([len(words) for words in source]),
            padded([[START, *words] for words in target], PADDING),
            padded([[*words, END] for words in target], -100),
        )


class Layer(nn.Module):
    """Attention to one's own side, in a decoder also to the other, then each word alone."""

    def __init__(self, attend: Callable, decodes: bool):
        super().__init__()
        self.own = MultiHeadAttention(WIDTH, HEADS, attend)
        self.other = MultiHeadAttention(WIDTH, HEADS) if decodes else None
        self.each = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(
        self, x: Tensor, mask: Tensor, context: Tensor | None = None, seen: Tensor | None = None
    ) -> Tensor:
        x = x + self.dropout(self.own(self.norms[0](x), mask=mask))
        if self.other is not None:
            x = x + self.dropout(self.other(self.norms[1](x), context, seen))
        return x + self.dropout(self.each(self.norms[2](x)))


class Translator(nn.Module):
    """One encoder layer and one decoder layer; the output's weights are the target's words."""

    def __init__(self, words: Words, place: nn.Module, attend: Callable):
        super().__init__()
        self.source = embedding(len(words.source) + 3)
        self.target = embedding(len(words.target) + 3)
        self.place = place
        self.encoder, self.decoder = Layer(attend(), False), Layer(attend(), True)
        self.norm_source, self.norm_target = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def encode(self, source: Tensor, seen: Tensor) -> Tensor:
        x = self.dropout(self.place(self.source(source)))
        return self.norm_source(self.encoder(x, seen))

    def decode(self, target: Tensor, context: Tensor, seen: Tensor) -> Tensor:
        x = self.dropout(self.place(self.target(target)))
        x = self.decoder(x, causal_mask(target.shape[1]), context, seen)
        return self.norm_target(x) @ self.target.weight.T

    def forward(self, batch: Pairs) -> Tensor:
        seen = padding_mask(batch.lengths, batch.source.shape[1])
        return self.decode(batch.target, self.encode(batch.source, seen), seen)

    @torch.no_grad()
    def translate(self, batch: Pairs, most: int) -> Tensor:
        """The likeliest next word, again and again."""
        seen = padding_mask(batch.lengths, batch.source.shape[1])
        context = self.encode(batch.source, seen)
        target = torch.full((len(batch.source), 1), START)
        for _ in range(most):
            word = self.decode(target, context, seen)[:, -1].argmax(-1, keepdim=True)
            target = torch.cat([target, word], dim=1)
        return target[:, 1:]


def exact(model: Translator, batch: Pairs) -> float:
    """The share of the sentences whose every word is right, the end included."""
    model.eval()
    correct = (model.translate(batch, batch.labels.shape[1]) == batch.labels) | (batch.labels < 0)
    return correct.all(-1).float().mean().item()


def run(name: str, seed: int) -> list[float]:
    """Train one translator from one seed; its exact matches by length."""
    train, test = numbers(seed)
    words = Words(train)
    whole = words.pairs(train)
    with seeded(seed) as g:

        def batches() -> Iterator[Pairs]:
            for rows in torch.randperm(len(train), generator=g).split(BATCH):
                yield Pairs(
                    whole.source[rows], whole.lengths[rows], whole.target[rows], whole.labels[rows]
                )

        model = Translator(words, *MODELS[name]())
        fit(model, batches, EPOCHS, RATE)
    return [exact(model, words.pairs(found)) for found in test.values()]


def finished() -> dict[tuple[str, int], list[float]]:
    if not RUNS.is_file():
        return {}
    with RUNS.open(encoding="utf-8") as file:
        return {
            (row["model"], int(row["seed"])): [float(row[name]) for name in LENGTHS]
            for row in csv.DictReader(file)
        }


def write_table() -> None:
    """The table as Markdown to read, and as JSON for the chapters."""
    machine = f"{platform.machine()}, one thread; Python {platform.python_version()}"
    machine += f", torch {torch.__version__}"
    text = [
        "# English number names into German",
        "",
        f"The share of {TESTED} numbers whose German name is right in every part, by the number "
        f"of English words. Training has {TRAINED} numbers of at most {LONGEST} words, among them "
        f"all below 100. One encoder and one decoder layer, width {WIDTH}, {HEADS} heads, "
        f"{EPOCHS} epochs; mean and standard deviation of the seeds.",
        "",
        f"{machine}. Made with `python benchmarks/translation.py`.",
        "",
        f"| model | {' | '.join(LENGTHS)} | seeds |",
        "|---|---:|---:|---:|---:|",
    ]
    rows, done = [], finished()
    for model in MODELS:
        found = [scores for (name, _), scores in done.items() if name == model]
        if not found:
            continue
        means = [round(mean(column), 4) for column in zip(*found, strict=True)]
        stds = [
            round(stdev(column), 4) if len(found) > 1 else None
            for column in zip(*found, strict=True)
        ]
        rows.append({"model": model, "seeds": len(found), "mean": means, "std": stds})
        cells = [
            f"{average:.3f}" + ("" if std is None else f" ± {std:.3f}")
            for average, std in zip(means, stds, strict=True)
        ]
        text.append(f"| {model} | {' | '.join(cells)} | {len(found)} |")
    (RESULTS / "translation.md").write_text("\n".join(text) + "\n", "utf-8")
    content = json.dumps({"machine": machine, "lengths": list(LENGTHS), "rows": rows}, indent=1)
    (RESULTS / "translation.json").write_text(content + "\n", "utf-8")


def record(name: str, seed: int, scores: list[float]) -> None:
    new = not RUNS.is_file()
    with RUNS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(("model", "seed", *LENGTHS))
        writer.writerow((name, seed, *(f"{score:.4f}" for score in scores)))
    print(f"{name}, seed {seed}: {scores}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds of each model")
    seeds = parser.parse_args().seeds
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    RESULTS.mkdir(exist_ok=True)
    for seed in range(seeds):
        for name in MODELS:
            if (name, seed) not in finished():
                record(name, seed, run(name, seed))
                write_table()
    write_table()


if __name__ == "__main__":
    main()
