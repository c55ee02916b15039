"""Images as sequences of pixels: a convolution beside attention with three kinds of positions.

    PYTHONPATH=. python benchmarks/digits.py   # a few minutes, then results/digits.md

The 8 x 8 digits come with scikit-learn, whose logistic regression on the pixels stands beside.
"""

import argparse
import platform
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from attncourse.dot_product import masked_softmax
from attncourse.multi_head import MultiHeadAttention
from attncourse.positional import LearnedEncoding
from attncourse.relative import relative_index
from attncourse.train import accuracy, fit, seeded

RESULTS = Path(__file__).parent / "results" / "digits.md"
SIDE, DIGITS, TESTED = 8, 10, 450
WIDTH, HEADS, LAYERS, EPOCHS, BATCH, RATE = 32, 4, 2, 30, 32, 5e-3
LINES = "logistic regression on the pixels"


class Batch(NamedTuple):
    """Images as sequences of 64 greys, and their digits."""

    pixels: Tensor
    labels: Tensor

    @property
    def inputs(self) -> tuple[Tensor]:
        return (self.pixels,)


class Around(nn.Module):
    """What each pixel takes from those around it: a kernel of 3 x 3."""

    def __init__(self):
        super().__init__()
        self.kernel = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        image = x.mT.unflatten(-1, (SIDE, SIDE))
        return self.kernel(image).flatten(-2).mT


class InThePlane(nn.Module):
    """Attention whose keys and values know how many rows and columns away they are.

    The tables of Shaw et al. (2018), one for the rows and one for the columns, added.
    """

    def __init__(self, d_h: int):
        super().__init__()
        offsets = 2 * SIDE - 1
        self.a_k, self.a_v = (nn.Parameter(torch.randn(2, offsets, d_h) * 0.1) for _ in "kv")
        place = torch.arange(SIDE * SIDE)
        index = relative_index(SIDE, SIDE - 1)
        rows, columns = place // SIDE, place % SIDE
        pairs = (index[axis[:, None], axis] for axis in (rows, columns))
        self.register_buffer("index", torch.stack(list(pairs)))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        by_row, by_column = self.a_k
        rows, columns = (one.expand(*q.shape[:-1], -1) for one in self.index)
        scores = (
            q @ k.mT + (q @ by_row.mT).gather(-1, rows) + (q @ by_column.mT).gather(-1, columns)
        )
        weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
        shares = weights.new_zeros(*q.shape[:-1], self.a_v.shape[1])
        z = weights @ v
        for index, table in zip((rows, columns), self.a_v, strict=True):
            z = z + shares.scatter_add(-1, index, weights) @ table
        return z


class Reader(nn.Module):
    """Greys to vectors, two layers that mix them, each with an MLP, and a score for each digit."""

    def __init__(self, mix: Callable[[], nn.Module], place: nn.Module):
        super().__init__()
        self.grey, self.place = nn.Linear(1, WIDTH), place
        self.mixes = nn.ModuleList(mix() for _ in range(LAYERS))
        self.each = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
            for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2 * LAYERS + 1))
        self.digit = nn.Linear(2 * WIDTH, DIGITS)

    def forward(self, pixels: Tensor) -> Tensor:
        x = self.place(self.grey(pixels))
        for layer, (mix, each) in enumerate(zip(self.mixes, self.each, strict=True)):
            x = x + mix(self.norms[2 * layer](x))
            x = x + each(self.norms[2 * layer + 1](x))
        x = self.norms[-1](x)
        return self.digit(torch.cat([x.mean(-2), x.amax(-2)], dim=-1))


def attending() -> nn.Module:
    return MultiHeadAttention(WIDTH, HEADS)


MODELS: dict[str, Callable[[], Reader]] = {
    "convolution, 3 × 3": lambda: Reader(Around, nn.Identity()),
    "attention, no positions": lambda: Reader(attending, nn.Identity()),
    "attention, a vector for each place": lambda: Reader(
        attending, LearnedEncoding(SIDE * SIDE, WIDTH)
    ),
    "attention, relative along both axes": lambda: Reader(
        lambda: MultiHeadAttention(WIDTH, HEADS, InThePlane(WIDTH // HEADS)), nn.Identity()
    ),
}


def batches(data: Batch, g: torch.Generator | None = None) -> Iterator[Batch]:
    """The images in batches, in a drawn order where there is a generator."""
    order = torch.arange(len(data.labels))
    if g is not None:
        order = torch.randperm(len(data.labels), generator=g)
    for some in order.split(BATCH):
        yield Batch(data.pixels[some], data.labels[some])


def run(seed: int) -> Iterator[tuple[str, int, float]]:
    """Each model's name, parameters and share of right answers, on a split of the images."""
    digits = load_digits()
    greys = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    train, test = train_test_split(
        range(len(labels)), test_size=TESTED, stratify=digits.target, random_state=seed
    )
    lines = LogisticRegression(max_iter=1000).fit(greys[train].numpy(), labels[train].numpy())
    parameters = lines.coef_.size + lines.intercept_.size
    yield LINES, parameters, float(lines.score(greys[test].numpy(), labels[test].numpy()))
    # around 0, or all pixels begin as nearly the same vector
    centred = (greys - greys[train].mean()) / greys[train].std()
    learned, tested = (Batch(centred[some, :, None], labels[some]) for some in (train, test))
    for name, make in MODELS.items():
        with seeded(seed) as g:
            model = make()
            fit(model, lambda g=g: batches(learned, g), EPOCHS, RATE)
        parameters = sum(weight.numel() for weight in model.parameters())
        yield name, parameters, accuracy(model, batches(tested))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    shares: dict[str, list[float]] = {}
    sizes = {}
    for seed in range(seeds):
        for name, sizes[name], share in run(seed):
            shares.setdefault(name, []).append(share)
            print(f"{share:.4f}  {name}, seed {seed}", flush=True)
    std = {name: stdev(each) if seeds > 1 else 0 for name, each in shares.items()}
    rows = [
        f"| {name} | {mean(each):.3f} | {std[name]:.3f} | {sizes[name]:,} |\n"
        for name, each in shares.items()
    ]
    made_with = ", ".join(f"{name} {version(name)}" for name in ("torch", "scikit-learn"))
    RESULTS.write_text(
        f"# Images as sequences of pixels\n\nThe share of {TESTED} digits of 8 × 8 pixels that are "
        f"read rightly, after training on the other {len(load_digits().target) - TESTED}; the mean "
        f"and the standard deviation of {seeds} seeds, each with a split of its own. {LAYERS} "
        f"layers of width {WIDTH}, {HEADS} heads, {EPOCHS} epochs, the mean and the largest "
        f"over the pixels at the end.\n\n{platform.machine()}, one thread; Python "
        f"{platform.python_version()}, {made_with}. Made with `python benchmarks/digits.py`.\n\n"
        "| model | accuracy | standard deviation | parameters |\n|---|---:|---:|---:|\n"
        + "".join(rows),
        "utf-8",
    )


if __name__ == "__main__":
    main()
