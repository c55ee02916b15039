"""Texts in windows of equal length, each of which begins with when its text was written."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from attncourse.data.addresses import Address
from attncourse.data.batches import NO_LABEL, PADDING, padded
from attncourse.data.byte_pairs import BytePairs

DECADES = range(1790, 2030, 10)


class Windows(NamedTuple):
    """Some windows: what a model reads, and the next token of each; the prefix is never one."""

    tokens: Int[Tensor, "batch n"]
    labels: Int[Tensor, "batch n"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return (self.tokens,)

    def to(self, device: torch.device | str | None) -> "Windows":
        """The same on another device."""
        return Windows(self.tokens.to(device), self.labels.to(device))


class Windowed:
    """Texts as windows of `length` tokens: a start, the decade, and so many of one text.

    The prefix has tokens of its own, after those of the text: the start, one that stands for any
    decade, and one for each of the 24. Not `dated`, all windows begin with that for any.
    """

    def __init__(self, pairs: BytePairs, length: int = 128, dated: bool = True):
        if length < 3:
            raise ValueError(f"length={length}: with 2 tokens before the text it is at least 3")
        self.pairs, self.dated = pairs, dated
        self.encoded = cache(pairs.encode)
        self.start = len(pairs)
        self.vocabulary = self.start + 2 + len(DECADES)
        self.of_text = length - 2

    def prefix(self, decade: int | None) -> list[int]:
        """The two tokens before a text of this decade, such as 1860.

        None is any decade: the models that come with the course have never read it.
        """
        if decade is not None and decade not in DECADES:
            raise ValueError(
                f"decade={decade} is none of {DECADES[0]}, {DECADES[1]}, ..., {DECADES[-1]}"
            )
        which = 0 if decade is None or not self.dated else 1 + DECADES.index(decade)
        return [self.start, self.start + 1 + which]

    def rows(self, text: Address) -> list[list[int]]:
        """The windows of a text, one after another: each of its tokens stands in one."""
        tokens, prefix = self.encoded(text.text), self.prefix(text.decade)
        starts = range(0, len(tokens), self.of_text)
        return [prefix + tokens[start : start + self.of_text] for start in starts]

    def batches(self, texts: Sequence[Address], size: int) -> Iterator[Windows]:
        """All windows of all texts, in order."""
        yield from batched([row for text in texts for row in self.rows(text)], size)

    def drawn(
        self, texts: Sequence[Address], size: int, count: int, g: torch.Generator
    ) -> Iterator[Windows]:
        """So many batches of windows that begin anywhere in a text and lie within it."""
        known = [self.encoded(text.text) for text in texts]
        places = [max(int(bool(tokens)), len(tokens) - self.of_text + 1) for tokens in known]
        if not sum(places):
            raise ValueError(f"{len(texts)} texts have no token to draw")
        ends = torch.tensor([*accumulate(places)])
        for _ in range(count):
            drawn = torch.randint(int(ends[-1]), (size,), generator=g)
            which = torch.searchsorted(ends, drawn, right=True)
            starts = (ends[which] - drawn - 1).tolist()
            yield batch(
                [
                    self.prefix(texts[i].decade) + known[i][start : start + self.of_text]
                    for i, start in zip(which.tolist(), starts, strict=True)
                ]
            )


def batched(rows: Sequence[Sequence[int]], size: int) -> Iterator[Windows]:
    """The rows in their order, so many at a time."""
    for start in range(0, len(rows), size):
        yield batch(rows[start : start + size])


def batch(rows: Sequence[Sequence[int]]) -> Windows:
    """Rows of tokens beside the tokens that follow; the last has none, and the start is no text."""
    tokens = [row[:-1] for row in rows]
    labels = [[NO_LABEL, *row[2:]] for row in rows]
    return Windows(padded(tokens, PADDING), padded(labels, NO_LABEL))
