"""N-gram language models with back-off."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor


class BackOff:
    """An n-gram model of this order that backs off to shorter contexts.

    `discount` is subtracted from each count. The freed probability goes to the tokens not seen in
    this context, in proportion to the model of one order less. At order 0, all are equally likely.
    Source: Katz (1987); the discount: Ney et al. (1994).
    """

    def __init__(self, order: int, vocabulary: int, discount: float = 0.75):
        if order < 0 or vocabulary < 1 or not 0 < discount < 1:
            raise ValueError(
                f"order={order} must be at least 0, vocabulary={vocabulary} at least 1, "
                f"discount={discount} between 0 and 1"
            )
        self.order, self.vocabulary, self.discount = order, vocabulary, discount
        self.followed: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        # short contexts come again and again
        self.after_fewer = cache(self.after)

    def learn(self, rows: Iterable[Sequence[int]], first: int = 0) -> None:
        """Count the contexts of each token of the rows, from index `first` on."""
        self.after_fewer.cache_clear()
        for row in rows:
            if not all(0 <= token < self.vocabulary for token in row):
                unknown = next(token for token in row if not 0 <= token < self.vocabulary)
                raise ValueError(f"token {unknown} is not one of a vocabulary of {self.vocabulary}")
            for i in range(first, len(row)):
                for length in range(min(self.order, i + 1)):
                    self.followed[tuple(row[i - length : i])][row[i]] += 1

    def after(self, context: tuple[int, ...]) -> Float[Tensor, "{self.vocabulary}"]:
        """The probability of each token after this context."""
        if context:
            fewer = self.after_fewer(context[1:])
        else:
            fewer = torch.full((self.vocabulary,), 1 / self.vocabulary)
        if context not in self.followed:
            return fewer
        seen, counts = map(torch.tensor, zip(*self.followed[context].items(), strict=True))
        p = fewer.index_fill(0, seen, 0.0)
        p *= self.discount * len(seen) / counts.sum() / p.sum()
        p[seen] = (counts - self.discount) / counts.sum()
        # where every token was seen, nobody takes what was taken off
        return p / p.sum()

    def __call__(self, tokens: Int[Tensor, "*batch n"]) -> Float[Tensor, "*batch n vocabulary"]:
        """Row t has the log-probabilities of token t + 1, given the tokens up to t."""
        context_length = max(0, self.order - 1)
        rows = tokens.reshape(-1, tokens.shape[-1]).tolist()
        contexts = [
            tuple(row[max(0, t - context_length) : t])
            for row in rows
            for t in range(1, len(row) + 1)
        ]
        by_context = {context: self.after(context) for context in set(contexts)}
        log_p = torch.stack([by_context[context] for context in contexts]).log()
        return log_p.view(*tokens.shape, self.vocabulary)
