"""Trained weights, and how those of one training are known again in another file."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import islice

import torch
from torch import Tensor

# tensors with fewer numbers may be alike by chance; so many are looked at, and of each so many
LARGE, MOST, SAMPLED = 1000, 64, 256
# two tensors are one where they correlate so much, or where their numbers in order, in standard
# deviations, lie so near each other; of two trainings from other seeds, 0.1 and 0.012 were met
CORRELATION, DISTANCE = 0.9, 0.005


def tensors(data: bytes) -> dict[str, Tensor]:
    """The tensors in a file of weights, in single precision; ValueError where there are none."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return {name: x.float() for name, x in load(data).items()}
    except (SafetensorError, KeyError, RuntimeError) as error:
        raise ValueError(str(error)) from None


class Sketch:
    """A sample of a model's large tensors, whatever their names, dtypes and scales are."""

    def __init__(self, weights: Mapping[str, Tensor]):
        large = sorted((x for x in weights.values() if x.numel() >= LARGE), key=Tensor.numel)
        by_size: dict[int, list[Tensor]] = defaultdict(list)
        for x in islice(reversed(large), MOST):
            by_size[x.numel()].append(x.detach().flatten().float())
        self.sampled, self.ordered = {}, {}
        for size, flat in by_size.items():
            x = standardized(torch.stack(flat).nan_to_num(0, 0, 0))
            places = torch.linspace(0, size - 1, SAMPLED).long()
            self.sampled[size] = standardized(x[:, places])
            self.ordered[size] = x.sort().values[:, places]

    def is_in(self, other: "Sketch") -> bool:
        """Whether most of its tensors are there, nearly equal, also with their numbers moved."""
        found = []
        for size, x in self.sampled.items():
            if size not in other.sampled:
                found.append(torch.zeros(len(x), dtype=torch.bool))
                continue
            correlated = x @ other.sampled[size].mT / SAMPLED
            apart = torch.cdist(self.ordered[size], other.ordered[size], p=1) / SAMPLED
            found.append((correlated.amax(1) > CORRELATION) | (apart.amin(1) < DISTANCE))
        return bool(found) and torch.cat(found).float().mean().item() > 0.5


def standardized(x: Tensor) -> Tensor:
    """Each row with mean 0 and standard deviation 1; zeros where all its numbers are equal."""
    x = x - x.mean(-1, keepdim=True)
    return x / x.std(-1, keepdim=True).clamp(min=1e-12)
