"""Chapter 1: averages over windows of a signal."""

import torch


def moving_average(x: torch.Tensor, width: int) -> torch.Tensor:
    """The mean of each window of that width: of n numbers in a row, n - width + 1 means."""
    return x.unfold(-1, width, 1).mean(-1)
