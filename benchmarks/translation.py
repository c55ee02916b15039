"""The effect of positions on a translator of number names, also on names longer than in training.

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
N_TRAIN, N_TEST = 20_000, 300
RUNS = Runs(
    "translation", ("language", "model"), (*LENGTHS, *(f"chrF, {name}" for name in LENGTHS))
)
PAGES = {
    "translation": f"The share of {N_TEST} numbers whose name is right in every word (German: in "
    "every part of a word)",
    "translation_chrf": f"chrF of the names of {N_TEST} numbers, from 0 to 1",
}


def no_position() -> None:
    """No positional encoding: positions come with the attention, or not at all."""


# by name: makers of the positional encoding, and of the attention of encoder and decoder
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


def build_translator(
    words: Words, position: Callable, encoder_attention: Callable, decoder_attention: Callable
) -> Translator:
    """A new translator of one encoder block and one decoder block."""
    shape, options = (WIDTH, HEADS, HIDDEN), {"dropout": DROPOUT}
    source, target = (
        Embedding(len(entries) + 3, WIDTH, position(), dropout=DROPOUT)
        for entries in (words.source, words.target)
    )
    for embedding in (source, target):
        nn.init.normal_(embedding.table.weight, std=0.1)
    encoder = Encoder([EncoderBlock(*shape, encoder_attention(), **options)], nn.LayerNorm(WIDTH))
    decoder = Decoder([DecoderBlock(*shape, decoder_attention(), **options)], nn.LayerNorm(WIDTH))
    return Translator(source, encoder, target, decoder)


def chrf(written: Tensor, labels: Tensor, words: Words) -> float:
    """chrF, the F-score of character n-grams, of names against the right ones, from 0 to 1."""
    hypotheses, references = (
        [words.spelt(row) for row in rows.tolist()] for rows in (written, labels)
    )
    return sacrebleu.corpus_chrf(hypotheses, [references]).score / 100


def run_model(language: str, name: str, seed: int) -> list[float]:
    """Train one translator from one seed: exact matches, then chrF, by length."""
    train_numbers, test_numbers = numbers(N_TRAIN, N_TEST, seed)
    words = Words(train_numbers, "english", language)
    with seeded(seed) as g:
        model = build_translator(words, *MODELS[name])
        fit(model, lambda: words.batches(train_numbers, BATCH, g), EPOCHS, RATE)
    model.eval()
    pairs = [words.pairs(group) for group in test_numbers.values()]
    written = [
        model.translate(batch.source, batch.lengths, START, END, batch.labels.shape[1])
        for batch in pairs
    ]
    outputs = list(zip(written, (batch.labels for batch in pairs), strict=True))
    return [
        *(exact_matches(output, labels).float().mean().item() for output, labels in outputs),
        *(chrf(output, labels, words) for output, labels in outputs),
    ]


def write_tables() -> None:
    """Write a page for each of the two measures, with both languages in one table."""
    languages = dict.fromkeys(key[0] for key in RUNS.finished())
    for (page, measure), offset in zip(PAGES.items(), (0, len(LENGTHS)), strict=True):
        rows = []
        for language, model in product(languages, MODELS):
            if columns := RUNS.columns(language, model)[offset : offset + len(LENGTHS)]:
                rows.append((language.title(), model, *map(mean_and_std, columns), len(columns[0])))
        text = [
            "# Number names, from English into German and French",
            f"{measure}, by the number of English "
            "words: as in training, up to 1.4 times as many, and 1.5 to 2.3 times. Mean and "
            "standard deviation of the seeds.",
            f"Training has {N_TRAIN:,} numbers of at most 10 words, among them all below 100. One "
            f"encoder and one decoder block, width {WIDTH}, {HEADS} heads, {HIDDEN} in the "
            f"feed-forward networks, {EPOCHS} epochs in batches of {BATCH}, AdamW at {RATE} "
            f"falling to 0, dropout {DROPOUT}.",
        ]
        columns = ("language", "positions", *LENGTHS, "seeds")
        write_page(page, "translation", text, columns, rows, "sacrebleu", "num2words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds of each model")
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, choices=LANGUAGES)
    arguments = parser.parse_args()
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    for language in arguments.languages:
        for seed in range(arguments.seeds):
            for name in MODELS:
                if RUNS.run_once(run_model, language, name, seed):
                    write_tables()
    write_tables()


if __name__ == "__main__":
    main()
