"""Exercise moving_average: the mean of each window of a signal."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(__name__)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(x, width):
    windows = [x[..., i : i + width] for i in range(x.shape[-1] - width + 1)]
    return torch.stack([one.sum(-1) / width for one in windows], -1)


@exercise.cases
def cases(draw):
    n, width = draw.integer(7, 9), draw.integer(3, 4)
    x = draw.normal(2, n)
    yield Case(
        f"a batch of 2, n={n}, width={width}", (x, width), longer=(draw.normal(2, 80), width)
    )
    yield Case(f"one signal, n={n}, width={width}", (x[0], width))
    yield Case("windows of one number", (x, 1))
    yield Case("a single window", (x, n))


@exercise.valid
def of_running_sums(x, width):
    sums = torch.nn.functional.pad(x.cumsum(-1), (1, 0))
    return (sums[..., width:] - sums[..., :-width]) / width


variants.wrong(exercise, {
    "the windows are summed: divide by their width": "return x.unfold(-1, width, 1).sum(-1)",
    "the first window is missing": "return x.unfold(-1, width, 1).mean(-1)[..., 1:]",
    "the windows do not overlap: the next begins one place further": ("width, 1)", "width, width)"),
    "it is the largest number of each window: take the mean": ("mean(-1)", "amax(-1)"),
})  # fmt: skip
