"""Token ids, padding, and batches of similar lengths."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

PADDING, UNKNOWN = 0, 1
# torch's default ignore_index of the cross-entropy
NO_LABEL = -100


def length_buckets(
    lengths: Sequence[int], size: int, g: torch.Generator | None = None
) -> Iterator[list[int]]:
    """Batches of text indices of similar length; a generator shuffles them."""
    noise = [0.0] * len(lengths) if g is None else torch.rand(len(lengths), generator=g).tolist()
    # noise below 2 tokens: the lengths in a batch stay similar, but batches differ by epoch
    order = sorted(range(len(lengths)), key=lambda i: lengths[i] + 2 * noise[i])
    starts = range(0, len(order), size)
    if g is not None:
        starts = (torch.randperm(len(starts), generator=g) * size).tolist()
    for start in starts:
        yield order[start : start + size]


def frequent_items(items: Iterable[str], min_count: int) -> list[str]:
    """The distinct items that occur at least `min_count` times."""
    return [item for item, count in Counter(items).items() if count >= min_count]


def item_ids(items: Iterable[str], start: int) -> dict[str, int]:
    """Consecutive ids from `start` on for the sorted items."""
    return {item: i for i, item in enumerate(sorted(items), start)}


def pad_rows(
    rows: Sequence[Sequence[int]], fill: int, device: torch.device | str | None = None
) -> Int[Tensor, "batch n"]:
    """Rows of different lengths as one tensor, padded on the right with `fill`."""
    n = max((len(row) for row in rows), default=0)
    numbers = [[*row, *[fill] * (n - len(row))] for row in rows]
    # without dtype, torch would make floats of no rows, or of empty ones
    return torch.tensor(numbers, dtype=torch.long, device=device).reshape(len(rows), n)
