"""A sentence of English, and the trained models that the chapters look into.

An earlier chapter may import this module although it loads models of later ones, because it knows
none of their mechanisms.
"""

from collections.abc import Callable, Sequence
from functools import cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse.data import Windowed, excerpts, stored_pairs
from attncourse.language_model import (
    LSTMLanguageModel,
    head_weights,
    load_language_model,
    load_lstm,
    surprisal,
    without,
)
from attncourse.language_model.heads import attention_layers
from attncourse.language_model.models import rotary
from attncourse.stored import stored
from attncourse.transformer import Causal, CausalLinearAttention, LanguageModel

__all__ = [
    "CONTROL",
    "KEPT",
    "PROMISE",
    "SENTENCE",
    "attention_layers",
    "chances",
    "chances_by_block",
    "costs_of_hiding",
    "head_weights",
    "model",
    "moved",
    "named",
    "pieces",
    "place",
    "surprisals",
    "surprisals_of_last",
    "tokens",
    "windowed",
    "windows",
    "without",
]

# each word is one token; the second of the three waits for the first, and not for the third, in
# all three trainings of the full model, which are told that it was said in this decade
SENTENCE = "There is more work in this country today than there was a year ago."
PROMISE, KEPT, CONTROL = "more", "than", "in"
DECADE = 1930

ATTENDS: dict[str, Callable[[], nn.Module]] = {
    "english": rotary,
    "gpt": rotary,
    "one_block": rotary,
    "one_block_without_positions": Causal,
    "linear": CausalLinearAttention,
}


@cache
def model(name: str, device: torch.device | None = None) -> LanguageModel:
    """A trained model that comes with the course, and attends: one of `ATTENDS`."""
    weights, held = stored(name)
    return load_language_model(weights, held["heads"], ATTENDS[name]).to(device)


@cache
def lstm(device: torch.device | None = None) -> LSTMLanguageModel:
    """The trained LSTM, which has as many parameters as "gpt"."""
    return load_lstm(stored("lstm")[0]).to(device)


def named(name: str, device: torch.device | None = None) -> LanguageModel | LSTMLanguageModel:
    """One of `ATTENDS`, or "lstm"."""
    return lstm(device) if name == "lstm" else model(name, device)


def windows(device: torch.device | None = None) -> Int[Tensor, "batch n"]:
    """All 122 full windows of 20 texts that the models have not learned from."""
    rows = [row for text in excerpts() for row in windowed().rows(text)]
    return torch.tensor([row for row in rows if len(row) == windowed().of_text + 2], device=device)


@cache
def windowed() -> Windowed:
    """How the models' texts become tokens."""
    return Windowed(stored_pairs())


def tokens(text: str = SENTENCE, device: torch.device | None = None) -> Int[Tensor, "1 n"]:
    """The text as the models read it: the start, `DECADE`, and its own tokens."""
    encoded = stored_pairs().encode(f" {text}")
    return torch.tensor([windowed().prefix(DECADE) + encoded], device=device)


def pieces(text: str = SENTENCE) -> list[str]:
    """The text of each of its tokens."""
    return [stored_pairs().decode([one]).strip() for one in stored_pairs().encode(f" {text}")]


def place(word: str) -> int:
    """Which of the sentence's tokens the word is, where it first stands."""
    return pieces().index(word)


@torch.no_grad()
def surprisals(
    model: nn.Module, read: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch m m"] | None = None
) -> Float[Tensor, "batch pieces"]:
    """The bits that each token of a text costs, after the two of the prefix."""
    given = (read[:, :-1],) if mask is None else (read[:, :-1], mask)
    return surprisal(model(*given), read[:, 1:])[:, 1:]


def costs_of_hiding(
    model: nn.Module, read: Int[Tensor, "1 n"]
) -> Float[Tensor, "hidden=pieces pieces"]:
    """Row j: how many bits more each token costs if no other token may attend to token j."""
    n, pieces = read.shape[1] - 1, read.shape[1] - 2
    hidden = torch.arange(pieces, device=read.device)
    masks = torch.ones(pieces, n, n, dtype=torch.bool, device=read.device)
    # the last one has no place among those that the model reads
    masks[hidden[:-1], :, 2 + hidden[:-1]] = False
    masks |= torch.eye(n, dtype=torch.bool, device=read.device)
    return surprisals(model, read.expand(pieces, -1), masks) - surprisals(model, read)


def surprisals_of_last(
    model: nn.Module, read: Int[Tensor, "1 n"], width: int
) -> Float[Tensor, "pieces"]:
    """The bits that each token costs a model that is given only the last few before it."""
    text = read[0, 2:]
    short = [torch.cat([read[0, :2], text[max(0, i - width) : i + 1]]) for i in range(len(text))]
    return torch.cat([surprisals(model, one[None])[:, -1] for one in short])


@torch.no_grad()
def moved(
    model: nn.Module, one: Int[Tensor, "batch n"], other: Int[Tensor, "batch n"]
) -> Float[Tensor, "batch pieces"]:
    """After each token, the share of the next token's probability that stands elsewhere in other.

    It is the total variation distance: 0 where both are the same, and 1 where nothing is shared.
    """
    first, second = (model(read)[:, 2:].softmax(-1) for read in (one, other))
    return (first - second).abs().sum(-1) / 2


@torch.no_grad()
def chances_by_block(
    model: LanguageModel, text: str, following: Sequence[str], device: torch.device | None = None
) -> Float[Tensor, "blocks+1 following"]:
    """How probable each of these tokens would be if the text's end were read after each block.

    The first row is what the embedding alone gives. Each is read as the last block is: through the
    last norm and the embedding's table.
    """
    x = model.embedding(tokens(text, device))
    rows = [x] + [x := block(x) for block in model.stack.blocks]
    scores = torch.cat([model.embedding.scores(model.stack.norm(row))[:, -1] for row in rows])
    return scores.softmax(-1)[:, single_tokens(following, device)]


@torch.no_grad()
def chances(
    model: nn.Module, text: str, following: Sequence[str], device: torch.device | None = None
) -> Float[Tensor, "following"]:
    """How probable each of these tokens is after the text; a space begins a new word."""
    scores = model(tokens(text, device))[0, -1]
    return scores.softmax(-1)[single_tokens(following, device)]


def single_tokens(texts: Sequence[str], device: torch.device | None = None) -> Int[Tensor, "texts"]:
    """The token that each text is."""
    encoded = [stored_pairs().encode(one) for one in texts]
    if several := [one for one, of in zip(texts, encoded, strict=True) if len(of) != 1]:
        raise ValueError(f"{several}: each should be one token")
    return torch.tensor(encoded, device=device).flatten()
