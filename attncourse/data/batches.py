"""Texts as numbers, padded to the longest of a batch, and batches of like lengths."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

PADDING, UNKNOWN = 0, 1
# what torch's cross-entropy leaves out
NO_LABEL = -100


def by_length(
    lengths: Sequence[int], size: int, g: torch.Generator | None = None
) -> Iterator[list[int]]:
    """The places of all texts, those of like lengths together; with a generator, at random."""
    noise = [0.0] * len(lengths) if g is None else torch.rand(len(lengths), generator=g).tolist()
    # a length is off by less than 2: neighbours differ little, and not the same each time
    order = sorted(range(len(lengths)), key=lambda i: lengths[i] + 2 * noise[i])
    starts = range(0, len(order), size)
    if g is not None:
        starts = (torch.randperm(len(starts), generator=g) * size).tolist()
    for start in starts:
        yield order[start : start + size]


def frequent(items: Iterable[str], least: int) -> list[str]:
    return [item for item, times in Counter(items).items() if times >= least]


def numbered(items: Iterable[str], start: int) -> dict[str, int]:
    return {item: i for i, item in enumerate(sorted(items), start)}


def padded(
    rows: Sequence[Sequence[int]], fill: int, device: torch.device | str | None = None
) -> Int[Tensor, "batch n"]:
    """Rows of different lengths as one tensor, filled up on the right."""
    n = max((len(row) for row in rows), default=0)
    numbers = [[*row, *[fill] * (n - len(row))] for row in rows]
    # of no row, or of empty ones, torch makes floats
    return torch.tensor(numbers, dtype=torch.long, device=device).reshape(len(rows), n)
