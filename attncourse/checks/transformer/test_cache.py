"""Exercise test_cache: what it asks, in a few words."""

import torch

from attncourse.checks import variants
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="test_cache",
    chapter="transformer",
    title="test_cache, in a few words",
    kind="build",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "The idea: take away from every token what all of them have in common.",
        "The shape of the solution: one mean over the tokens, for each number of their width.",
        "Nearly the line: x.mean(dim=-2, keepdim=True) is that mean, of shape (..., 1, d).",
    ),
)


@exercise.reference
def by_hand(x):
    *batch, n, d = x.shape
    sequences = []
    for sequence in x.reshape(-1, n, d):
        mean = sum(sequence[i] for i in range(n)) / n
        sequences.append(torch.stack([sequence[i] - mean for i in range(n)]))
    return torch.stack(sequences).reshape(*batch, n, d)


@exercise.cases
def cases(draw):
    n, d = draw.sizes(2, 3, 6)
    longer = (draw.normal(2, 64 + n, d),)
    yield Case(f"a batch of 2, n={n}, d={d}", (draw.normal(2, n, d),), longer=longer)
    yield Case(f"no batch, n={n}, d={d}", (draw.normal(n, d),))
    yield Case("two leading axes", (draw.normal(2, 3, n, d),))
    yield Case("a view that is not contiguous", (draw.normal(2, d, n).mT,))
    yield Case("one token", (draw.normal(2, 1, d),))


@exercise.valid
def plain(x):
    return x - x.mean(dim=-2, keepdim=True)


variants.right(exercise, plain, ("x.mean(dim=-2, keepdim=True)", "x.sum(-2, True) / x.shape[-2]"))
variants.wrong(exercise, plain, {
    "the mean runs over the width: it runs over the tokens": ("dim=-2", "dim=-1"),
    "the sum is taken away: divide it by the number of tokens": (".mean(", ".sum("),
    "the mean is added: take it away": ("x - x", "x + x"),
    "this is the mean: take it away from x": ("x - x.mean(", "0 * x + x.mean("),
})  # fmt: skip
