"""Exercise Rescale: a layer with a factor and a shift for each channel."""

import torch
from torch import nn

from judge import variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(__name__)
exercise.valid(variants.worked(exercise))


@exercise.reference
class ByHand(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        channels = zip(x.unbind(-1), self.scale, self.shift, strict=True)
        return torch.stack([one * factor + more for one, factor, more in channels], -1)


@exercise.cases
def cases(draw):
    d = draw.integer(3, 5)
    weights = {"scale": draw.normal(d), "shift": draw.normal(d)}
    x = draw.normal(2, 4, d)
    yield Case(f"a batch, d={d}", (x,), build=(d,), weights=weights)
    yield Case(f"one row, d={d}", (x[0, 0],), build=(d,), weights=weights)


variants.wrong(exercise, {
    "the shift is not added": "return x * self.scale",
    "the shift is multiplied, too: add it afterwards": "return (x + self.shift) * self.scale",
    "it divides by the scale: multiply": "return x / self.scale + self.shift",
})  # fmt: skip
