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
SIDE, DIGITS, N_TEST = 8, 10, 450
WIDTH, HEADS, LAYERS, EPOCHS, BATCH, RATE = 32, 4, 2, 30, 32, 5e-3
BASELINE = "logistic regression on the pixels"


class Batch(NamedTuple):
    """Images as sequences of 64 greys, and their digits."""

    pixels: Tensor
    labels: Tensor

    @property
    def inputs(self) -> tuple[Tensor]:
        return (self.pixels,)


class Conv3x3(nn.Module):
    """A convolution over the 3 x 3 pixels around each."""

    def __init__(self):
        super().__init__()
        self.kernel = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        image = x.mT.unflatten(-1, (SIDE, SIDE))
        return self.kernel(image).flatten(-2).mT


class RelativeAttention2d(nn.Module):
    """Attention with relative positions along rows and columns.

    The sum of two tables of Shaw et al. (2018), one for each axis.
    """

    def __init__(self, d_h: int):
        super().__init__()
        offsets = 2 * SIDE - 1
        self.a_k, self.a_v = (nn.Parameter(torch.randn(2, offsets, d_h) * 0.1) for _ in "kv")
        pixel = torch.arange(SIDE * SIDE)
        index = relative_index(SIDE, SIDE - 1)
        rows, columns = pixel // SIDE, pixel % SIDE
        pairs = (index[axis[:, None], axis] for axis in (rows, columns))
        self.register_buffer("index", torch.stack(list(pairs)))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        by_row, by_column = self.a_k
        rows, columns = (index.expand(*q.shape[:-1], -1) for index in self.index)
        scores = (
            q @ k.mT + (q @ by_row.mT).gather(-1, rows) + (q @ by_column.mT).gather(-1, columns)
        )
        weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
        shares = weights.new_zeros(*q.shape[:-1], self.a_v.shape[1])
        z = weights @ v
        for index, table in zip((rows, columns), self.a_v, strict=True):
            z = z + shares.scatter_add(-1, index, weights) @ table
        return z


class PixelClassifier(nn.Module):
    """A classifier of pixel sequences: embedding, layers of a mixer and an MLP, pooling, scores."""

    def __init__(self, mix: Callable[[], nn.Module], position: nn.Module):
        super().__init__()
        self.embed, self.position = nn.Linear(1, WIDTH), position
        self.mixers = nn.ModuleList(mix() for _ in range(LAYERS))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
            for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2 * LAYERS + 1))
        self.scores = nn.Linear(2 * WIDTH, DIGITS)

    def forward(self, pixels: Tensor) -> Tensor:
        x = self.position(self.embed(pixels))
        for layer, (mix, mlp) in enumerate(zip(self.mixers, self.mlps, strict=True)):
            x = x + mix(self.norms[2 * layer](x))
            x = x + mlp(self.norms[2 * layer + 1](x))
        x = self.norms[-1](x)
        return self.scores(torch.cat([x.mean(-2), x.amax(-2)], dim=-1))


def multi_head() -> nn.Module:
    """Multi-head attention without positions."""
    return MultiHeadAttention(WIDTH, HEADS)


MODELS: dict[str, Callable[[], PixelClassifier]] = {
    "convolution, 3 × 3": lambda: PixelClassifier(Conv3x3, nn.Identity()),
    "attention, no positions": lambda: PixelClassifier(multi_head, nn.Identity()),
    "attention, a vector for each place": lambda: PixelClassifier(
        multi_head, LearnedEncoding(SIDE * SIDE, WIDTH)
    ),
    "attention, relative along both axes": lambda: PixelClassifier(
        lambda: MultiHeadAttention(WIDTH, HEADS, RelativeAttention2d(WIDTH // HEADS)), nn.Identity()
    ),
}


def batches(data: Batch, g: torch.Generator | None = None) -> Iterator[Batch]:
    """Batches of images, shuffled with the generator if there is one."""
    order = torch.arange(len(data.labels))
    if g is not None:
        order = torch.randperm(len(data.labels), generator=g)
    for indices in order.split(BATCH):
        yield Batch(data.pixels[indices], data.labels[indices])


def evaluate_models(seed: int) -> Iterator[tuple[str, int, float]]:
    """Name, number of parameters and test accuracy of each model, on a random split."""
    digits = load_digits()
    greys = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    train, test = train_test_split(
        range(len(labels)), test_size=N_TEST, stratify=digits.target, random_state=seed
    )
    regression = LogisticRegression(max_iter=1000).fit(greys[train].numpy(), labels[train].numpy())
    parameters = regression.coef_.size + regression.intercept_.size
    yield BASELINE, parameters, float(regression.score(greys[test].numpy(), labels[test].numpy()))
    # centred, because otherwise all pixels begin as nearly the same vector
    centred = (greys - greys[train].mean()) / greys[train].std()
    train_set, test_set = (
        Batch(centred[indices, :, None], labels[indices]) for indices in (train, test)
    )
    for name, build in MODELS.items():
        with seeded(seed) as g:
            model = build()
            fit(model, lambda g=g: batches(train_set, g), EPOCHS, RATE)
        parameters = sum(weight.numel() for weight in model.parameters())
        yield name, parameters, accuracy(model, batches(test_set))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    shares: dict[str, list[float]] = {}
    sizes = {}
    for seed in range(seeds):
        for name, sizes[name], share in evaluate_models(seed):
            shares.setdefault(name, []).append(share)
            print(f"{share:.4f}  {name}, seed {seed}", flush=True)
    std = {name: stdev(column) if seeds > 1 else 0 for name, column in shares.items()}
    rows = [
        f"| {name} | {mean(column):.3f} | {std[name]:.3f} | {sizes[name]:,} |\n"
        for name, column in shares.items()
    ]
    made_with = ", ".join(f"{name} {version(name)}" for name in ("torch", "scikit-learn"))
    RESULTS.write_text(
        f"# Images as sequences of pixels\n\nThe share of {N_TEST} digits of 8 × 8 pixels that are "
        f"read rightly, after training on the other {len(load_digits().target) - N_TEST}; the mean "
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
