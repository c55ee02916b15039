"""What positions bring to a translator of number names, also of names longer than in training.

    pip install -e ".[bench]"
    python benchmarks/translation.py                     # every run that the results lack
    python benchmarks/translation.py --seeds 1 --languages german

A run is one line of results/translation.csv; delete lines to run them again.
"""

import argparse
from collections.abc import Callable
from itertools import product

import sacrebleu
import torch
from runs import Runs, mean_and_std, write_page
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

LANGUAGES = ("german", "french")
WIDTH, HEADS, HIDDEN, MAX_LENGTH, MAX_DISTANCE = 64, 4, 128, 64, 8
SEEDS, EPOCHS, BATCH, RATE, DROPOUT = 3, 8, 64, 2e-3, 0.1
TRAINING_NUMBERS, TEST_NUMBERS = 20_000, 300
RUNS = Runs(
    "translation", ("language", "model"), (*LENGTHS, *(f"chrF, {name}" for name in LENGTHS))
)
PAGES = {
    "translation": f"The share of {TEST_NUMBERS} numbers whose name is right in every word "
    "(German: in every part of a word)",
    "translation_chrf": f"chrF of the names of {TEST_NUMBERS} numbers, from 0 to 1",
}


def no_position() -> None:
    """Positions may also come with attention, or not at all."""


# what gives a word its position, and what the heads do in the encoder and in the decoder
MODELS: dict[str, tuple[Callable, Callable, Callable]] = {
    "no positions": (no_position, lambda: attention, Causal),
    "sinusoids": (lambda: SinusoidalEncoding(WIDTH), lambda: attention, Causal),
    "learned table": (lambda: LearnedEncoding(MAX_LENGTH, WIDTH), lambda: attention, Causal),
    "RoPE": (no_position, RotaryAttention, lambda: Causal(RotaryAttention())),
    "Shaw, max_distance 8": (
        no_position,
        lambda: RelativeAttention(WIDTH // HEADS, MAX_DISTANCE),
        lambda: Causal(RelativeAttention(WIDTH // HEADS, MAX_DISTANCE)),
    ),
    "ALiBi": (no_position, lambda: ALiBiAttention(HEADS), lambda: Causal(ALiBiAttention(HEADS))),
    "T5": (
        no_position,
        lambda: T5Attention(HEADS),
        lambda: Causal(T5Attention(HEADS, bidirectional=False)),
    ),
}


def translator(words: Words, position: Callable, encode: Callable, decode: Callable) -> Translator:
    """A new translator with one encoder block and one decoder block."""
    shape, options = (WIDTH, HEADS, HIDDEN), {"dropout": DROPOUT}
    source, target = (
        Embedding(len(ids) + 3, WIDTH, position(), dropout=DROPOUT)
        for ids in (words.source, words.target)
    )
    for embedding in (source, target):
        nn.init.normal_(embedding.table.weight, std=0.1)
    encoder = Encoder([EncoderBlock(*shape, encode(), **options)], nn.LayerNorm(WIDTH))
    decoder = Decoder([DecoderBlock(*shape, decode(), **options)], nn.LayerNorm(WIDTH))
    return Translator(source, encoder, target, decoder)


def chrf(part_ids: Tensor, labels: Tensor, words: Words) -> float:
    """The chrF of the names: the share of right pieces of up to six letters, from 0 to 1."""
    names, expected = ([words.decode(row) for row in rows.tolist()] for rows in (part_ids, labels))
    return sacrebleu.corpus_chrf(names, [expected]).score / 100


def run(language: str, name: str, seed: int) -> list[float]:
    """Train one translator from one seed: exact matches, then chrF, by length."""
    training_numbers, test_numbers = numbers(TRAINING_NUMBERS, TEST_NUMBERS, seed)
    words = Words(training_numbers, "english", language)
    with seeded(seed) as g:
        model = translator(words, *MODELS[name])
        fit(model, lambda: words.batches(training_numbers, BATCH, g), EPOCHS, RATE)
    model.eval()
    pairs = [words.batch(numbers_of_length) for numbers_of_length in test_numbers.values()]
    outputs = [
        model.translate(pair.source, pair.lengths, START, END, pair.labels.shape[1])
        for pair in pairs
    ]
    outputs_and_labels = list(zip(outputs, (pair.labels for pair in pairs), strict=True))
    return [
        *(
            exact_matches(output, labels).float().mean().item()
            for output, labels in outputs_and_labels
        ),
        *(chrf(output, labels, words) for output, labels in outputs_and_labels),
    ]


def write_tables() -> None:
    """A page for each of the two measures, with both languages on one table."""
    languages = dict.fromkeys(key[0] for key in RUNS.finished())
    for (page, measure), first in zip(PAGES.items(), (0, len(LENGTHS)), strict=True):
        lines = []
        for language, model in product(languages, MODELS):
            if columns := RUNS.columns(language, model)[first : first + len(LENGTHS)]:
                lines.append(
                    (language.title(), model, *map(mean_and_std, columns), len(columns[0]))
                )
        text = [
            "# Number names, from English into German and French",
            f"{measure}, by the number of English "
            "words: as in training, up to 1.4 times as many, and 1.5 to 2.3 times. Mean and "
            "standard deviation of the seeds.",
            f"Training has {TRAINING_NUMBERS:,} numbers of at most 10 words, among them all "
            f"below 100. One encoder and one decoder block, width {WIDTH}, {HEADS} heads, "
            f"{HIDDEN} in the feed-forward networks, {EPOCHS} epochs in batches of {BATCH}, "
            f"AdamW at {RATE} falling to 0, dropout {DROPOUT}.",
        ]
        columns = ("language", "positions", *LENGTHS, "seeds")
        write_page(page, "translation", text, columns, lines, "sacrebleu", "num2words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds of each model")
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, choices=LANGUAGES)
    options = parser.parse_args()
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    for language in options.languages:
        for seed in range(options.seeds):
            for name in MODELS:
                if RUNS.run_once(run, language, name, seed):
                    write_tables()
    write_tables()


if __name__ == "__main__":
    main()
