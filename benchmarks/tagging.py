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

SEEDS, EPOCHS, BATCH, RATE, FORGET = 3, 8, 32, 4e-3, 0.1
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


def run(bank: Treebank, label: str, name: str, seed: int) -> list[float]:
    """Train one model from one seed; the share of the test's labels that it gets right."""
    vocabulary = Vocabulary(bank, label)
    with seeded(seed) as g:
        model = build_tagger(vocabulary, *MODELS[name]())
        fit(model, lambda: vocabulary.batches(bank.train, BATCH, g, FORGET), EPOCHS, RATE)
    return [accuracy(model, vocabulary.batches(bank.test, BATCH))]


def speeds(bank: Treebank, seconds: float = 300) -> dict[str, float]:
    """Steps of training in a second of the processor, in those of plain attention: in turn."""
    vocabulary = Vocabulary(bank)
    batches = list(vocabulary.batches(bank.train, BATCH))
    batch = batches[len(batches) // 2]
    calls = {name: make_step(vocabulary, name, batch) for name in NAMES}
    seconds_by_name = {
        name: times
        for name, (_, times) in time_interleaved(calls, [], seconds, time.thread_time).items()
    }
    return {name: seconds_by_name[NO_POSITIONS] / seconds_by_name[name] for name in NAMES}


def make_step(vocabulary: Vocabulary, name: str, batch: LabelledBatch) -> Callable[[], Tensor]:
    model = build_tagger(vocabulary, *MODELS[name]())
    optimizer = torch.optim.AdamW(model.parameters(), RATE, fused=True)
    rate = torch.optim.lr_scheduler.ConstantLR(optimizer)
    return lambda: torch.tensor(train_step(model, batch, optimizer, rate))


def baselines(bank: Treebank, label: str) -> dict[str, float]:
    """The commonest label; and that of each word, or else of its suffix, or else the commonest."""
    tables: list[dict[str, Counter]] = [defaultdict(Counter) for _ in range(3)]
    for sentence in bank.train:
        for form, tag in zip(sentence.forms, getattr(sentence, label), strict=True):
            for table, key in zip(tables, table_keys(form), strict=True):
                table[key][tag] += 1
    words = [
        pair
        for example in bank.test
        for pair in zip(example.forms, getattr(example, label), strict=True)
    ]
    return {
        name: sum(tag == guess(form, tables_of_baseline) for form, tag in words) / len(words)
        for name, tables_of_baseline in zip(BASELINES, (tables[2:], tables), strict=True)
    }


def table_keys(form: str) -> tuple[str, str, str]:
    lower = lower_turkish(form)
    return lower, lower[-3:], ""


def guess(form: str, tables: list[dict[str, Counter]]) -> str:
    pairs = zip(tables, table_keys(form)[-len(tables) :], strict=True)
    return next(table[key] for table, key in pairs if key in table).most_common(1)[0][0]


def write_main(bank: Treebank) -> None:
    """The table of the chapter: both sets of labels."""
    baseline_shares = {label: baselines(bank, label) for label in LABELS}
    lines = [
        (name, *(f"{baseline_shares[label][name]:.3f}" for label in LABELS), "")
        for name in BASELINES
    ]
    for name in TABLES["tagging"]:
        columns = [RUNS.columns(label, name) for label in LABELS]
        if any(columns):
            seeds = dict.fromkeys(str(len(column[0])) for column in columns if column)
            cells = (mean_and_std(column[0]) if column else "" for column in columns)
            lines.append((name, *cells, ", ".join(seeds)))
    write_page(
        "tagging",
        "tagging",
        ["# A label per token", *describe(bank), NOTES["tagging"], GOLD],
        ("model", *LABELS.values(), "seeds"),
        lines,
    )


def write_ablations(name: str, bank: Treebank) -> None:
    """One of the tables of what changes in the positions."""
    lines = []
    for model in TABLES[name]:
        if scores := RUNS.columns("functions", model):
            speed = "".join(f"{column[0]:.2f}" for column in SPEEDS.columns(model))
            lines.append((model, mean_and_std(scores[0]), speed, len(scores[0])))
    steps = "Steps per second of training, in those of plain attention, on one processor, in turn."
    write_page(
        name,
        "tagging",
        ["# Positions of a tagger", *describe(bank), NOTES[name], GOLD, steps],
        ("model", "accuracy", "steps per second", "seeds"),
        lines,
    )


def describe(bank: Treebank) -> list[str]:
    return [
        f"The share of the words of {len(bank.test)} test sentences that get the right label; mean "
        "and standard deviation of the seeds.",
        f"One encoder block, width {WIDTH}, {HEADS} heads, {HIDDEN} in the feed-forward network, "
        f"dropout {DROPOUT}; {EPOCHS} epochs over {len(bank.train):,} sentences in batches of "
        f"{BATCH}, AdamW at {RATE} falling to 0, {FORGET:.0%} of the words made unknown in "
        "training.",
    ]


def write_pages(bank: Treebank) -> None:
    write_main(bank)
    for name in list(TABLES)[1:]:
        write_ablations(name, bank)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds of each model")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--labels", nargs="+", choices=LABELS, default=list(LABELS))
    options = parser.parse_args()
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    bank = treebank()
    if bank.sample:
        raise SystemExit(f"the results need the treebank, not {bank}")
    for table in options.tables:
        for label in options.labels if table == "tagging" else ["functions"]:
            for seed in range(options.seeds):
                for name in TABLES[table]:
                    if RUNS.run_once(partial(run, bank), label, name, seed):
                        write_pages(bank)
    if not SPEEDS.finished():
        speed_by_name = speeds(bank)
        for name in NAMES:
            SPEEDS.run_once(lambda name, _: [speed_by_name[name]], name, 0)
    write_pages(bank)


if __name__ == "__main__":
    main()
