"""A label per token: the syntactic functions of a Turkish treebank, and its parts of speech.

    python benchmarks/tagging.py                         # every run that the results lack
    python benchmarks/tagging.py --seeds 1 --table tagging

A run is one line of results/tagging.csv; delete lines to run them again.
"""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial

import torch
from runs import Runs, mean_and_std, write_page
from taggers import (
    DROPOUT,
    HEADS,
    HIDDEN,
    MAX_DISTANCE,
    MODELS,
    NO_POSITIONS,
    SHAW,
    TREE,
    WIDTH,
    build_tagger,
)
from timing import time_interleaved
from torch import Tensor

from attncourse.data import Treebank, Vocabulary, treebank
from attncourse.data.treebanks import lower_turkish
from attncourse.train import LabelledBatch, accuracy, fit, seeded, train_step

SEEDS, EPOCHS, BATCH, RATE, UNKNOWN_SHARE = 3, 8, 32, 4e-3, 0.1
LABELS = {"functions": "44 functions", "upos": "14 parts of speech"}
BASELINES = ("the commonest label", "each word's commonest label, or its suffix's")
RUNS = Runs("tagging", ("label", "model"), ("accuracy",))
SPEEDS = Runs("tagging_speed", ("model",), ("steps per second to plain",))
NAMES = list(MODELS)
TABLES = {
    "tagging": NAMES[:8],
    "tagging_absolute": [NO_POSITIONS, *NAMES[8:10], *NAMES[2:4], *NAMES[10:13], SHAW, TREE],
    "tagging_relative": [NO_POSITIONS, *NAMES[13:17], SHAW, *NAMES[17:]],
}
NOTES = {
    "tagging": "The first baseline gives every word the same label. The second gives each word "
    "its commonest label in training; if the word is new, that of its last three letters.",
    "tagging_absolute": "What is added to the words; in the last two rows, relative positions in "
    "the attention. 44 functions.",
    "tagging_relative": "Shaw's tables in the attention; only in the last row is anything added "
    "to the words. 44 functions.",
}
GOLD = (
    "Where a row says gold, the trees are those that people drew, also in the test: an oracle, "
    f"which no tagger has. Distances in the tree are clipped at {MAX_DISTANCE}, as the offsets are."
)


def run_model(corpus: Treebank, label: str, name: str, seed: int) -> list[float]:
    """Train one model from one seed; its test accuracy, as a list of one number."""
    vocabulary = Vocabulary(corpus, label)
    with seeded(seed) as g:
        model = build_tagger(vocabulary, *MODELS[name]())
        fit(model, lambda: vocabulary.batches(corpus.train, BATCH, g, UNKNOWN_SHARE), EPOCHS, RATE)
    return [accuracy(model, vocabulary.batches(corpus.test, BATCH))]


def relative_speeds(corpus: Treebank, seconds: float = 300) -> dict[str, float]:
    """Training steps per CPU second of each model, relative to attention without positions."""
    vocabulary = Vocabulary(corpus)
    batches = list(vocabulary.batches(corpus.train, BATCH))
    typical = batches[len(batches) // 2]
    calls = {name: training_step(vocabulary, name, typical) for name in NAMES}
    times = {
        name: with_gradients
        for name, (_, with_gradients) in time_interleaved(
            calls, [], seconds, time.thread_time
        ).items()
    }
    return {name: times[NO_POSITIONS] / times[name] for name in NAMES}


def training_step(vocabulary: Vocabulary, name: str, batch: Labelled) -> Callable[[], Tensor]:
    """A call that trains a new model for one step."""
    model = build_tagger(vocabulary, *MODELS[name]())
    optimizer = torch.optim.AdamW(model.parameters(), RATE, fused=True)
    rate = torch.optim.lr_scheduler.ConstantLR(optimizer)
    return lambda: torch.tensor(train_step(model, batch, optimizer, rate))


def baseline_accuracies(corpus: Treebank, label: str) -> dict[str, float]:
    """Accuracy of the commonest label, and of that of each word, else suffix, else overall."""
    tables: list[dict[str, Counter]] = [defaultdict(Counter) for _ in range(3)]
    for sentence in corpus.train:
        for form, tag in zip(sentence.forms, getattr(sentence, label), strict=True):
            for table, key in zip(tables, lookup_keys(form), strict=True):
                table[key][tag] += 1
    words = [
        pair
        for sentence in corpus.test
        for pair in zip(sentence.forms, getattr(sentence, label), strict=True)
    ]
    return {
        name: sum(tag == guess_label(form, lookup) for form, tag in words) / len(words)
        for name, lookup in zip(BASELINES, (tables[2:], tables), strict=True)
    }


def lookup_keys(form: str) -> tuple[str, str, str]:
    """A word, its suffix, and an empty key for all words."""
    lower = small_letters(form)
    return lower, lower[-3:], ""


def guess_label(form: str, tables: list[dict[str, Counter]]) -> str:
    """The commonest label of a word in the first table that knows it."""
    pairs = zip(tables, lookup_keys(form)[-len(tables) :], strict=True)
    return next(table[key] for table, key in pairs if key in table).most_common(1)[0][0]


def write_main_table(corpus: Treebank) -> None:
    """Write the table of the chapter, with both sets of labels."""
    accuracies = {label: baseline_accuracies(corpus, label) for label in LABELS}
    rows = [
        (name, *(f"{accuracies[label][name]:.3f}" for label in LABELS), "") for name in BASELINES
    ]
    for name in TABLES["tagging"]:
        columns = [RUNS.columns(label, name) for label in LABELS]
        if any(columns):
            seeds = dict.fromkeys(str(len(column[0])) for column in columns if column)
            cells = (mean_and_std(column[0]) if column else "" for column in columns)
            rows.append((name, *cells, ", ".join(seeds)))
    write_page(
        "tagging",
        "tagging",
        ["# A label per token", *description(corpus), NOTES["tagging"], GOLD],
        ("model", *LABELS.values(), "seeds"),
        rows,
    )


def write_ablation_table(name: str, corpus: Treebank) -> None:
    """Write one of the tables of changes to the positions."""
    rows = []
    for model in TABLES[name]:
        if columns := RUNS.columns("functions", model):
            speed = "".join(f"{column[0]:.2f}" for column in SPEEDS.columns(model))
            rows.append((model, mean_and_std(columns[0]), speed, len(columns[0])))
    steps = "Steps per second of training, in those of plain attention, on one processor, in turn."
    write_page(
        name,
        "tagging",
        ["# Positions of a tagger", *description(corpus), NOTES[name], GOLD, steps],
        ("model", "accuracy", "steps per second", "seeds"),
        rows,
    )


def description(corpus: Treebank) -> list[str]:
    """Two paragraphs on the measure and the models."""
    return [
        f"The share of the words of {len(corpus.test)} test sentences that get the right label; "
        "mean and standard deviation of the seeds.",
        f"One encoder block, width {WIDTH}, {HEADS} heads, {HIDDEN} in the feed-forward network, "
        f"dropout {DROPOUT}; {EPOCHS} epochs over {len(corpus.train):,} sentences in batches of "
        f"{BATCH}, AdamW at {RATE} falling to 0, {UNKNOWN_SHARE:.0%} of the words made unknown in "
        "training.",
    ]


def write_pages(corpus: Treebank) -> None:
    """Write all tables."""
    write_main_table(corpus)
    for name in list(TABLES)[1:]:
        write_ablation_table(name, corpus)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds of each model")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--labels", nargs="+", choices=LABELS, default=list(LABELS))
    arguments = parser.parse_args()
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    corpus = treebank()
    if corpus.sample:
        raise SystemExit(f"the results need the treebank, not {corpus}")
    for table in arguments.tables:
        for label in arguments.labels if table == "tagging" else ["functions"]:
            for seed in range(arguments.seeds):
                for name in TABLES[table]:
                    if RUNS.run_once(partial(run_model, corpus), label, name, seed):
                        write_pages(corpus)
    if not SPEEDS.finished():
        speeds = relative_speeds(corpus)
        for name in NAMES:
            SPEEDS.run_once(lambda name, _: [speeds[name]], name, 0)
    write_pages(corpus)


if __name__ == "__main__":
    main()
