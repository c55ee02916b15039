"""The effect of single changes to the capstone's translator, and the weights of the best.

    pip install -e ".[bench]"
    python benchmarks/capstone.py

It writes results/capstone.md, and the weights into the bank of the exercise.
"""

import platform
from pathlib import Path
from statistics import mean, stdev

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from attncourse.course.tasks.exercises import NumberTranslator
from attncourse.course.tasks.exercises.NumberTranslator import Given, Relative, exercise
from attncourse.data.numbers import LENGTHS, numbers
from attncourse.tasks import exact_matches
from attncourse.train import fit, seeded

RESULTS = Path(__file__).parent / "results" / "capstone.md"
WEIGHTS = Path(NumberTranslator.__file__).parent / "shared" / "NumberTranslator.safetensors"
# no learner who trains with a small seed gets the weights of the bank
BANK_SEED = 271828
SEEDS, N_TRAIN, N_TEST, EPOCHS, BATCH, RATE = 3, 8_000, 300, 8, 64, 3e-3


class EightHeads(Given):
    """The given model with 8 heads."""

    heads = 8


class TeacherForced(nn.Module):
    """The scores of each next word of the right name: teacher forcing, for training."""

    def __init__(self, translator: Given):
        super().__init__()
        self.translator = translator

    def forward(self, source: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
        return self.translator.scores(source, target, lengths)


CHANGES = {
    "the given model": (Given, EPOCHS),
    "Shaw's offsets in place of sinusoids": (Relative, EPOCHS),
    "twice the epochs": (Given, 2 * EPOCHS),
    "8 heads in place of 4": (EightHeads, EPOCHS),
}


def train_translator(model_class: type[Given], epochs: int, seed: int) -> Given:
    """Train a translator from one seed."""
    train_numbers, _ = numbers(N_TRAIN, 1, seed)
    with seeded(seed) as g:
        translator = model_class(len(exercise.words.source) + 3, len(exercise.words.target) + 3)
        batches = lambda: exercise.words.batches(train_numbers, BATCH, g)  # noqa: E731
        fit(TeacherForced(translator), batches, epochs, RATE)
    return translator.eval()


def match_rates(translator: Given, seed: int) -> list[float]:
    """The share of exact matches among numbers that are not in training, by length."""
    train_numbers, _ = numbers(N_TRAIN, 1, seed)
    _, test_numbers = numbers(99, N_TEST, seed + 1000)
    seen, rates = {*train_numbers}, []
    for candidates in test_numbers.values():
        pairs = exercise.words.pairs([number for number in candidates if number not in seen])
        written = translator(pairs.source, pairs.lengths, pairs.labels.shape[1])
        rates.append(exact_matches(written, pairs.labels).float().mean().item())
    return rates


def mean_and_std(column: tuple[float, ...]) -> str:
    """Mean and standard deviation as text."""
    return f"{mean(column):.3f} ± {stdev(column):.3f}"


def main() -> None:
    torch.set_num_threads(1)
    lines = []
    for change, (model_class, epochs) in CHANGES.items():
        rows = []
        for seed in range(SEEDS):
            translator = train_translator(model_class, epochs, seed)
            rows.append(match_rates(translator, seed))
            print(change, seed, [f"{rate:.3f}" for rate in rows[-1]], flush=True)
        cells = map(mean_and_std, zip(*rows, strict=True))
        lines.append(f"| {change} | {' | '.join(cells)} |")
    machine = f"{platform.machine()}, one thread; Python {platform.python_version()}"
    text = [
        "# The capstone: one change each",
        "",
        f"The share of {N_TEST} numbers (in the first column, of those that training did not have, "
        "about 143) whose German name is right in every part, by the number of "
        f"English words. {N_TRAIN:,} numbers, {EPOCHS} epochs, batches of {BATCH}, AdamW at {RATE} "
        f"falling to 0; mean and standard deviation of {SEEDS} seeds.",
        "",
        f"{machine}, torch {torch.__version__}. Made with `python benchmarks/capstone.py`.",
        "",
        f"| change | {' | '.join(LENGTHS)} |",
        "|---|" + "---:|" * len(LENGTHS),
        *lines,
    ]
    RESULTS.write_text("\n".join(text) + "\n", "utf-8")
    parameters = train_translator(Relative, 2 * EPOCHS, BANK_SEED).named_parameters()
    save_file({name: weight.detach().half() for name, weight in parameters}, WEIGHTS)


if __name__ == "__main__":
    main()
