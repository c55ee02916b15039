"""Texts as windows of tokens of equal length, with the decade of the text in a prefix."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from attncourse.data.addresses import Address
from attncourse.data.batches import NO_LABEL, PADDING, pad_rows
from attncourse.data.byte_pairs import BytePairs

DECADES = range(1790, 2030, 10)


class WindowBatch(NamedTuple):
    """A batch of windows: input tokens, and the next tokens as labels, without the prefix."""

    tokens: Int[Tensor, "batch n"]
    labels: Int[Tensor, "batch n"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return (self.tokens,)

    def to(self, device: torch.device | str | None) -> "WindowBatch":
        """This batch on another device."""
        return WindowBatch(self.tokens.to(device), self.labels.to(device))


class Windower:
    """Cuts texts into windows of `length` tokens: the start, the decade, then tokens of one text.

    The prefix has ids after those of the byte pairs: the start, one for any decade, and one for
    each of the 24 decades. Unless `dated`, all windows have that for any decade.
    """

    def __init__(self, pairs: BytePairs, length: int = 128, dated: bool = True):
        if length < 3:
            raise ValueError(f"length={length}: with 2 tokens before the text it is at least 3")
        self.pairs, self.dated = pairs, dated
        self.encode = cache(pairs.encode)
        self.start = len(pairs)
        self.vocabulary = self.start + 2 + len(DECADES)
        self.text_length = length - 2

    def prefix(self, decade: int | None) -> list[int]:
        """The two prefix tokens of a text of this decade, such as 1860.

        None is any decade: no stored model was trained with it.
        """
        if decade is not None and decade not in DECADES:
            raise ValueError(
                f"decade={decade} is none of {DECADES[0]}, {DECADES[1]}, ..., {DECADES[-1]}"
            )
        decade_index = 0 if decade is None or not self.dated else 1 + DECADES.index(decade)
        return [self.start, self.start + 1 + decade_index]

    def rows(self, text: Address) -> list[list[int]]:
        """The consecutive windows of a text, without overlap; the last may be shorter."""
        tokens, prefix = self.encode(text.text), self.prefix(text.decade)
        starts = range(0, len(tokens), self.text_length)
        return [prefix + tokens[start : start + self.text_length] for start in starts]

    def batches(self, texts: Sequence[Address], size: int) -> Iterator[WindowBatch]:
        """Batches of all windows of all texts, in order."""
        yield from window_batches([row for text in texts for row in self.rows(text)], size)

    def random_batches(
        self, texts: Sequence[Address], size: int, count: int, g: torch.Generator
    ) -> Iterator[WindowBatch]:
        """`count` batches of windows from random positions in the texts."""
        encoded = [self.encode(text.text) for text in texts]
        start_counts = [
            max(int(bool(tokens)), len(tokens) - self.text_length + 1) for tokens in encoded
        ]
        if not sum(start_counts):
            raise ValueError(f"{len(texts)} texts have no token to draw")
        ends = torch.tensor([*accumulate(start_counts)])
        for _ in range(count):
            draws = torch.randint(int(ends[-1]), (size,), generator=g)
            text_indices = torch.searchsorted(ends, draws, right=True)
            starts = (ends[text_indices] - draws - 1).tolist()
            yield make_batch(
                [
                    self.prefix(texts[i].decade) + encoded[i][start : start + self.text_length]
                    for i, start in zip(text_indices.tolist(), starts, strict=True)
                ]
            )


def window_batches(rows: Sequence[Sequence[int]], size: int) -> Iterator[WindowBatch]:
    """Batches of `size` rows, in order."""
    for start in range(0, len(rows), size):
        yield make_batch(rows[start : start + size])


def make_batch(rows: Sequence[Sequence[int]]) -> WindowBatch:
    """Rows of tokens as inputs and shifted labels; the start token has no label."""
    tokens = [row[:-1] for row in rows]
    labels = [[NO_LABEL, *row[2:]] for row in rows]
    return WindowBatch(pad_rows(tokens, PADDING), pad_rows(labels, NO_LABEL))
