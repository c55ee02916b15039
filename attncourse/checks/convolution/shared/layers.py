"""The layers whose footprint is asked for: each takes (n, d) and gives (n, d)."""

import torch

from attncourse.checks.exercise import Source
from attncourse.checks.variants import source_of


class Layer(Source):
    """A layer as its source, that our own functions can call as well."""

    def __init__(self, function):
        super().__init__(source_of(function), "layer")
        self.function = function

    def __call__(self, x):
        return self.function(x)


def three_taps(x):
    weight = torch.linspace(-1, 2, 3 * x.shape[-1] ** 2, dtype=x.dtype).cos()
    weight = weight.reshape(x.shape[-1], x.shape[-1], 3)
    return torch.conv1d(x.mT[None], weight, padding=1)[0].mT


def two_layers_of_three_taps(x):
    weight = torch.linspace(1, 3, 3 * x.shape[-1] ** 2, dtype=x.dtype).sin()
    weight = weight.reshape(x.shape[-1], x.shape[-1], 3)
    hidden = torch.conv1d(x.mT[None], weight, padding=1).tanh()
    return torch.conv1d(hidden, weight, padding=1)[0].mT


def causal_window(x):
    ones = torch.ones(len(x), len(x), dtype=torch.bool)
    scores = x @ x.mT / x.shape[-1] ** 0.5
    return scores.masked_fill(~ones.tril().triu(-2), -torch.inf).softmax(dim=-1) @ x


def product_with_the_next(x):
    return torch.cat([x[:-1] * x[1:], x[-1:] ** 2])


def squared_difference_from_the_one_before(x):
    return torch.cat([x[:1] ** 2, (x[1:] - x[:-1]) ** 2])


def opposite_columns(x):
    half = torch.cat([x[1:], x[:1]])[:, : x.shape[-1] // 2]
    return torch.cat([half, -half], dim=-1)


def difference_of_columns(x):
    pair = x[:, :1] - x[:, 1:2]
    return torch.cat([pair[:1], pair[1:] + pair[:-1]]).expand(x.shape)


def squared_difference_of_columns(x):
    pair = (x[:, :1] - x[:, 1:2]) ** 2
    return torch.cat([pair[:1], pair[1:] + pair[:-1]]).expand(x.shape)


def points_of_a_circle(x):
    # rows of length 1, whose squares add up to the same whatever x is
    total = x.sum(dim=-1)
    angle = torch.cat([total[:1], total[1:] + total[:-1]])
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


def last_column_to_the_first(x):
    first = torch.cat([x[:1, :1], x[1:, :1] + x[:-1, -1:]])
    return torch.cat([first, x[:, 1:]], dim=-1)


def first_column_to_the_last(x):
    last = torch.cat([x[:-1, -1:] + x[1:, :1], x[-1:, -1:]])
    return torch.cat([x[:, :-1], last], dim=-1)


def third_column_of_the_next(x):
    middle = x[:, 2:-1]
    moved = middle + torch.cat([middle[1:], middle[:1]])
    return torch.cat([x[:, :2], moved, x[:, -1:]], dim=-1)


def minus_the_one_before(x):
    return -torch.cat([x[-1:], x[:-1]])


def a_trace_of_the_mean(x):
    return x + 1e-30 * x.mean(dim=0)


LAYERS = {
    "a convolution of 3 taps": three_taps,
    "two convolutions of 3 taps": two_layers_of_three_taps,
    "attention in a causal window": causal_window,
    "a product of each position and the next": product_with_the_next,
    "squared differences": squared_difference_from_the_one_before,
    "columns that are each other's opposite": opposite_columns,
    "a difference of columns": difference_of_columns,
    "a squared difference of columns": squared_difference_of_columns,
    "points of a circle": points_of_a_circle,
    "a last column that reaches a first one": last_column_to_the_first,
    "a first column that reaches a last one": first_column_to_the_last,
    "minus the position before": minus_the_one_before,
    "a trace of the mean": a_trace_of_the_mean,
}
