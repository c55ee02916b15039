"""Chapter 2: a layer that learns."""

import torch
from torch import nn


class Rescale(nn.Module):
    """Multiplies each of d channels by its own number, and adds another."""

    def __init__(self, d: int):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.shift
