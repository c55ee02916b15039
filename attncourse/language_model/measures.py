"""Surprisal in bits, perplexity, and bits per character."""

import math
from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from attncourse.shapes import shaped


@shaped
def surprisal(
    scores: Float[Tensor, "*batch n vocabulary"],
    labels: Int[Tensor, "*batch n"],
    ignore: int = -100,
) -> Float[Tensor, "*batch n"]:
    """-log2 of the probability that each label has; 0 where the label is `ignore`.

    Source: Shannon (1948), section 6, for its mean; the name: Tribus (1961).
    """
    nats = cross_entropy(
        scores.flatten(0, -2), labels.flatten(), ignore_index=ignore, reduction="none"
    )
    return nats.view(labels.shape) / math.log(2)


@shaped
def perplexity(
    scores: Float[Tensor, "*batch n vocabulary"],
    labels: Int[Tensor, "*batch n"],
    ignore: int = -100,
) -> float:
    """2 to the mean surprisal: the number of equally likely tokens with the same surprisal.

    Source: Jelinek et al. (1977).
    """
    counted = (labels != ignore).sum()
    if not counted:
        raise ValueError(f"labels={tuple(labels.shape)}: all are {ignore}, so that none counts")
    return (surprisal(scores, labels, ignore).sum() / counted).exp2().item()


@torch.no_grad()
def bits_by_window(
    model: Callable[[Tensor], Tensor], batches: Iterable[tuple[Tensor, Tensor]]
) -> Float[Tensor, "windows"]:
    """Total surprisal in bits of each window; a batch is a pair of tokens and labels."""
    return torch.cat([surprisal(model(tokens), labels).sum(-1) for tokens, labels in batches])


def bits_per_character(
    model: Callable[[Tensor], Tensor], batches: Iterable[tuple[Tensor, Tensor]], characters: int
) -> float:
    """Total surprisal of the labels in bits, divided by the number of characters of the texts.

    Source: Brown et al. (1992).
    """
    return (bits_by_window(model, batches).sum() / characters).item()


@shaped
def bootstrap_interval(
    bits: Float[Tensor, "texts"],
    characters: Float[Tensor, "texts"],
    g: torch.Generator,
    draws: int = 1000,
) -> tuple[float, float]:
    """95 % bootstrap interval of the bits per character, from the bits of each text.

    Texts are resampled, not windows, because the windows of a text resemble each other.
    Source: Efron (1979).
    """
    n = len(bits)
    if not n:
        raise ValueError("bits=(0,): there is no text to draw")
    samples = torch.randint(n, (draws, n), generator=g)
    ratios = bits[samples].sum(-1) / characters[samples].sum(-1)
    low, high = ratios.quantile(torch.tensor([0.025, 0.975], dtype=ratios.dtype)).tolist()
    return low, high
