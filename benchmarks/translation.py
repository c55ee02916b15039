"""What positions bring to a translator of number names, also of names longer than in training.

    pip install -e ".[bench]"
    python benchmarks/translation.py                     # every run that the results lack
    python benchmarks/translation.py --seeds 1 --languages german

A run is one line of results/translation.csv; delete lines to run them again.
"""

import argparse
import csv
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev

import sacrebleu
import torch
from torch import Tensor, nn

from attncourse.data.numbers import END, LENGTHS, START, Words, numbers
from attncourse.dot_product import attention
from attncourse.positional import LearnedEncoding, SinusoidalEncoding
from attncourse.relative import RelativeAttention
from attncourse.tasks import Translator, exact_matches
from attncourse.train import fit, seeded
from attncourse.transformer import (
    ALiBiAttention,
    Causal,
    Decoder,
    DecoderBlock,
    Embedding,
    Encoder,
    EncoderBlock,
    RotaryAttention,
    T5Attention,
)

RESULTS = Path(__file__).parent / "results"
RUNS = RESULTS / "translation.csv"
LANGUAGES = ("german", "french")
WIDTH, HEADS, HIDDEN, LONGEST, REACH = 64, 4, 128, 64, 8
SEEDS, EPOCHS, BATCH, RATE, DROPOUT = 3, 8, 64, 2e-3, 0.1
TRAINED, TESTED = 20_000, 300
COLUMNS = ("language", "model", "seed", *LENGTHS, *(f"chrF, {name}" for name in LENGTHS))


def no_position() -> None:
    """Positions may also come with attention, or not at all."""


# what gives a word its position, and what the heads do in the encoder and in the decoder
MODELS: dict[str, tuple[Callable, Callable, Callable]] = {
    "no positions": (no_position, lambda: attention, Causal),
    "sinusoids": (lambda: SinusoidalEncoding(WIDTH), lambda: attention, Causal),
    "learned table": (lambda: LearnedEncoding(LONGEST, WIDTH), lambda: attention, Causal),
    "RoPE": (no_position, RotaryAttention, lambda: Causal(RotaryAttention())),
    "Shaw, max_distance 8": (
        no_position,
        lambda: RelativeAttention(WIDTH // HEADS, REACH),
        lambda: Causal(RelativeAttention(WIDTH // HEADS, REACH)),
    ),
    "ALiBi": (no_position, lambda: ALiBiAttention(HEADS), lambda: Causal(ALiBiAttention(HEADS))),
    "T5": (
        no_position,
        lambda: T5Attention(HEADS),
        lambda: Causal(T5Attention(HEADS, bidirectional=False)),
    ),
}


def translator(words: Words, position: Callable, encode: Callable, decode: Callable) -> Translator:
    """One encoder block and one decoder block, anew."""
    shape, options = (WIDTH, HEADS, HIDDEN), {"dropout": DROPOUT}
    source, target = (
        Embedding(len(known) + 3, WIDTH, position(), dropout=DROPOUT)
        for known in (words.source, words.target)
    )
    for embedding in (source, target):
        nn.init.normal_(embedding.table.weight, std=0.1)
    encoder = Encoder([EncoderBlock(*shape, encode(), **options)], nn.LayerNorm(WIDTH))
    decoder = Decoder([DecoderBlock(*shape, decode(), **options)], nn.LayerNorm(WIDTH))
    return Translator(source, encoder, target, decoder)


def chrf(written: Tensor, labels: Tensor, words: Words) -> float:
    """How many pieces of up to six letters the names share with the right ones, from 0 to 1."""
    said, right = ([words.spelt(row) for row in rows.tolist()] for rows in (written, labels))
    return sacrebleu.corpus_chrf(said, [right]).score / 100


def run(language: str, name: str, seed: int) -> list[float]:
    """Train one translator from one seed: exact matches, then chrF, by length."""
    learned, tested = numbers(TRAINED, TESTED, seed)
    words = Words(learned, "english", language)
    with seeded(seed) as g:
        model = translator(words, *MODELS[name])
        fit(model, lambda: words.batches(learned, BATCH, g), EPOCHS, RATE)
    model.eval()
    pairs = [words.pairs(found) for found in tested.values()]
    written = [
        model.translate(one.source, one.lengths, START, END, one.labels.shape[1]) for one in pairs
    ]
    both = list(zip(written, (one.labels for one in pairs), strict=True))
    return [
        *(exact_matches(said, labels).float().mean().item() for said, labels in both),
        *(chrf(said, labels, words) for said, labels in both),
    ]


def finished() -> dict[tuple[str, str, int], list[float]]:
    if not RUNS.is_file():
        return {}
    with RUNS.open(encoding="utf-8") as file:
        return {
            (row["language"], row["model"], int(row["seed"])): [
                float(row[name]) for name in COLUMNS[3:]
            ]
            for row in csv.DictReader(file)
        }


def spread(column: tuple[float, ...]) -> str:
    return f"{mean(column):.3f}" + (f" ± {stdev(column):.3f}" if len(column) > 1 else "")


def write_table() -> None:
    """The tables as Markdown, for a page of the course too."""
    machine = f"{platform.machine()}, one thread; Python {platform.python_version()}"
    machine += f", torch {torch.__version__}"
    text = [
        "# Number names, from English into German and French",
        "",
        f"The share of {TESTED} numbers whose name is right in every word (German: every part of a "
        "word), and chrF, by the number of English words. Training has "
        f"{TRAINED:,} numbers of at most 10 words, among them all below 100. One encoder and one "
        f"decoder block, width {WIDTH}, {HEADS} heads, {EPOCHS} epochs in batches of {BATCH}, "
        f"AdamW at {RATE} falling to 0, dropout {DROPOUT}; mean and standard deviation of the "
        "seeds.",
        "",
        f"{machine}. Made with `python benchmarks/translation.py`.",
    ]
    done = finished()
    for language in dict.fromkeys(language for language, _, _ in done):
        for measure, first in (("right in every part", 0), ("chrF", len(LENGTHS))):
            text += ["", f"### {language.capitalize()}: {measure}", ""]
            text += [f"| positions | {' | '.join(LENGTHS)} | seeds |"]
            text += ["|---|" + "---:|" * (len(LENGTHS) + 1)]
            for model in MODELS:
                found = [scores for key, scores in done.items() if key[:2] == (language, model)]
                columns = list(zip(*found, strict=True))[first : first + len(LENGTHS)]
                if found:
                    cells = [*map(spread, columns), str(len(found))]
                    text.append(f"| {model} | {' | '.join(cells)} |")
    (RESULTS / "translation.md").write_text("\n".join(text) + "\n", "utf-8")


def record(key: tuple[str, str, int], scores: list[float]) -> None:
    new = not RUNS.is_file()
    with RUNS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        writer.writerow((*key, *(f"{score:.4f}" for score in scores)))
    print(*key, scores, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds of each model")
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, choices=LANGUAGES)
    asked = parser.parse_args()
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    RESULTS.mkdir(exist_ok=True)
    for language in asked.languages:
        for seed in range(asked.seeds):
            for name in MODELS:
                if (language, name, seed) not in finished():
                    record((language, name, seed), run(language, name, seed))
                    write_table()
    write_table()


if __name__ == "__main__":
    main()
