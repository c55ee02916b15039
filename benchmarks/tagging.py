"""What positions bring: the syntactic function of each word of a Turkish treebank.

    python benchmarks/tagging.py            # every run that the results lack, then the tables
    python benchmarks/tagging.py --seeds 1  # only the first seed of each

A run is one line of results/tagging.csv; delete lines to run them again.
"""

import argparse
import csv
import json
import platform
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev

import torch
from model import HEADS, WIDTH, Tagger, TreeAttention
from torch import Tensor, nn

from attncourse.data import Batch, Treebank, Vocabulary, treebank
from attncourse.dot_product import attention
from attncourse.positional import LearnedEncoding, MLPEncoding, sinusoids, tree_depth
from attncourse.relative import RelativeAttention
from attncourse.train import accuracy, fit, seeded

RESULTS = Path(__file__).parent / "results"
RUNS = RESULTS / "tagging.csv"
SEEDS, EPOCHS, BATCH, RATE, FORGET, MAX_DISTANCE = 5, 8, 32, 4e-3, 0.1, 8


class Encoded(nn.Module):
    """Positions that an encoding adds, which needs the words alone."""

    def __init__(self, encoding: nn.Module):
        super().__init__()
        self.encoding = encoding

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        return self.encoding(x)


def nothing(x: Tensor, batch: Batch) -> Tensor:
    return x


def scaled_sinusoids(scale: float) -> Callable[[Tensor, Batch], Tensor]:
    return lambda x, batch: x + scale * sinusoids(x.shape[1], WIDTH, x.device)


class Depths(nn.Module):
    """A learned row for each depth, on top of the places: a sinusoid could mean either."""

    def __init__(self, places: Callable[[Tensor, Batch], Tensor] = nothing):
        super().__init__()
        self.places, self.rows = places, LearnedEncoding(128, WIDTH)

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        return self.places(x, batch) + self.rows.table[tree_depth(batch.parents)]


def shaw(max_distance: int, keys: bool = True, values: bool = True) -> RelativeAttention:
    return RelativeAttention(WIDTH // HEADS, max_distance, keys, values)


# a name, then what makes its positions and its attention, anew for each run
MODELS: dict[str, Callable[[], tuple]] = {
    "no attention": lambda: (nothing, None),
    "attention, no positions": lambda: (nothing, attention),
    "sinusoids, scale 0.1": lambda: (scaled_sinusoids(0.1), attention),
    "sinusoids, scale 0.3": lambda: (scaled_sinusoids(0.3), attention),
    "sinusoids, scale 1": lambda: (scaled_sinusoids(1.0), attention),
    "learned table": lambda: (Encoded(LearnedEncoding(128, WIDTH)), attention),
    "MLP of the position": lambda: (Encoded(MLPEncoding(WIDTH, 32)), attention),
    "depth in the tree (gold)": lambda: (Depths(), attention),
    "sinusoids and depth (gold)": lambda: (Depths(scaled_sinusoids(1.0)), attention),
    "signed distance in the tree (gold)": lambda: (
        nothing,
        TreeAttention(WIDTH // HEADS, MAX_DISTANCE),
    ),
    "relative, max_distance 8": lambda: (nothing, shaw(8)),
    "relative, max_distance 0": lambda: (nothing, shaw(0)),
    "relative, max_distance 1": lambda: (nothing, shaw(1)),
    "relative, max_distance 2": lambda: (nothing, shaw(2)),
    "relative, max_distance 4": lambda: (nothing, shaw(4)),
    "relative, max_distance 16": lambda: (nothing, shaw(16)),
    "max_distance 8, keys only": lambda: (nothing, shaw(8, values=False)),
    "max_distance 8, values only": lambda: (nothing, shaw(8, keys=False)),
}
NAMES = list(MODELS)
BASELINES = ["the commonest label", "each word's commonest label, or its suffix's"]
TABLES = {
    "positional": ("Positions, absolute and in the tree", [*BASELINES, *NAMES[:11]]),
    "relative_ablations": (
        "Relative positions: max_distance, keys and values",
        [*BASELINES, *NAMES[:2], "sinusoids, scale 1", *NAMES[11:15], NAMES[10], *NAMES[15:]],
    ),
}

NOTES = {
    "positional": "Where a row says gold, the trees are those of the treebank, also in the test: "
    f"an oracle, which no tagger has. The distance in the tree is clipped at {MAX_DISTANCE}.",
    "relative_ablations": "With neither table, the attention has no positions. A max_distance of "
    "0 has one row for all pairs; a max_distance of 1 tells left from right, and no more.",
}


def baselines(bank: Treebank) -> dict[str, float]:
    """The commonest label; and that of each word, or else of its suffix, or else the commonest."""
    tables: list[dict[str, Counter]] = [defaultdict(Counter) for _ in range(3)]
    for one in bank.train:
        for form, function in zip(one.forms, one.functions, strict=True):
            for table, key in zip(tables, keys(form), strict=True):
                table[key][function] += 1
    words = [
        (form, label)
        for one in bank.test
        for form, label in zip(one.forms, one.functions, strict=True)
    ]
    guesses = {BASELINES[0]: tables[2:], BASELINES[1]: tables}
    return {
        name: sum(label == guess(form, known) for form, label in words) / len(words)
        for name, known in guesses.items()
    }


def keys(form: str) -> tuple[str, str, str]:
    lower = form.lower()
    return lower, lower[-3:], ""


def guess(form: str, tables: list[dict[str, Counter]]) -> str:
    pairs = zip(tables, keys(form)[-len(tables) :], strict=True)
    return next(table[key] for table, key in pairs if key in table).most_common(1)[0][0]


def run(name: str, seed: int, bank: Treebank, vocabulary: Vocabulary) -> float:
    """Train one model from one seed; the share of the test's labels that it gets right."""
    with seeded(seed) as g:
        model = Tagger(vocabulary, *MODELS[name]())
        fit(model, lambda: vocabulary.batches(bank.train, BATCH, g, FORGET), EPOCHS, RATE)
    return accuracy(model, vocabulary.batches(bank.test, BATCH))


def finished() -> dict[tuple[str, int], float]:
    if not RUNS.is_file():
        return {}
    with RUNS.open(encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {(row["model"], int(row["seed"])): float(row["accuracy"]) for row in rows}


def write_tables(bank: Treebank) -> None:
    """Each table as Markdown to read, and as JSON for the chapters."""
    scores: dict[str, list[float]] = {name: [score] for name, score in baselines(bank).items()}
    for (name, _), score in finished().items():
        scores.setdefault(name, []).append(score)
    machine = f"{platform.machine()}, one thread; Python {platform.python_version()}"
    machine += f", torch {torch.__version__}"
    for file, (title, names) in TABLES.items():
        rows = [
            {
                "model": name,
                "seeds": len(scores[name]) if name in MODELS else 0,
                "mean": round(mean(scores[name]), 4),
                "std": round(stdev(scores[name]), 4) if len(scores[name]) > 1 else None,
            }
            for name in names
            if name in scores
        ]
        text = [
            f"# {title}",
            "",
            f"The share of the words of {len(bank.test)} test sentences that get the right one of "
            "44 syntactic functions; the standard deviation is that of the seeds. "
            f"One layer, width {WIDTH}, {HEADS} heads, {EPOCHS} epochs over "
            f"{len(bank.train):,} sentences.",
            NOTES[file],
            "",
            f"{machine}. Made with `python benchmarks/tagging.py`.",
            "",
            "| model | accuracy | standard deviation | seeds |",
            "|---|---:|---:|---:|",
        ]
        for row in rows:
            std = "" if row["std"] is None else f"{row['std']:.3f}"
            text.append(f"| {row['model']} | {row['mean']:.3f} | {std} | {row['seeds'] or ''} |")
        (RESULTS / f"{file}.md").write_text("\n".join(text) + "\n", "utf-8")
        content = json.dumps({"machine": machine, "rows": rows}, indent=1)
        (RESULTS / f"{file}.json").write_text(content + "\n", "utf-8")


def record(name: str, seed: int, score: float) -> None:
    new = not RUNS.is_file()
    with RUNS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(("model", "seed", "accuracy"))
        writer.writerow((name, seed, f"{score:.5f}"))
    print(f"{score:.4f}  {name}, seed {seed}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds of each model")
    parser.add_argument("--table", choices=TABLES, help="only the models of this table")
    options = parser.parse_args()
    names = TABLES[options.table][1] if options.table else MODELS
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    bank = treebank()
    if bank.sample:
        raise SystemExit(f"the results need the treebank, not {bank}")
    vocabulary = Vocabulary(bank)
    RESULTS.mkdir(exist_ok=True)
    for seed in range(options.seeds):
        for name in names:
            if name in MODELS and (name, seed) not in finished():
                record(name, seed, run(name, seed, bank, vocabulary))
                write_tables(bank)
    write_tables(bank)


if __name__ == "__main__":
    main()
