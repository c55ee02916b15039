"""Exercise paired_bootstrap: how often the better of two models is better on resampled tests."""

import torch

from attncourse.checks import hints, variants
from attncourse.checks.exercise import Case, Exercise

LOOP = "it loops over samples or examples: index with all samples at once"
exercise = Exercise(
    name="paired_bootstrap",
    chapter="tasks",
    title="Better, or lucky?",
    kind="build",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "Each row of `indices` is a test set. Both models take the same test, and the one with "
        "more right answers wins it.",
        "An index of shape (samples, n) after `...` gives each model's answers in all test sets. "
        "Count the right ones of each test set, over its examples, and compare the two counts. A "
        "test set is won, lost or tied: 1, 0 or a half, of which the mean is taken.",
        "a, b = (x[..., indices].sum(dim=-1) for x in (first, second)); the test sets that are won "
        "are b > a, and those that are tied b == a",
    ),
    differentiable=False,
    floating=False,
    usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)


@exercise.reference
def sample_by_sample(first, second, indices):
    shares, n = [], first.shape[-1]
    pairs = zip(first.reshape(-1, n).tolist(), second.reshape(-1, n).tolist(), strict=True)
    for one, other in pairs:
        points = 0.0
        for sample in indices.tolist():
            ahead = sum(other[i] for i in sample) - sum(one[i] for i in sample)
            points += 1 if ahead > 0 else 0.5 if ahead == 0 else 0
        shares.append(points / len(indices))
    return torch.tensor(shares).reshape(first.shape[:-1])


def drawn(draw, *batch, n, samples, likely=(0.6, 0.7)):
    """Which examples the models get right, and the examples of each sample."""
    chance = [torch.rand(*batch, n, generator=draw.generator) for _ in likely]
    first, second = (one < limit for one, limit in zip(chance, likely, strict=True))
    return first, second, torch.randint(n, (samples, n), generator=draw.generator)
