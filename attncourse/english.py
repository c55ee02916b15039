"""An example sentence, and the stored language models that the chapters inspect.

Earlier chapters may import this module: it loads models of later chapters, but none of their
mechanisms is taught here.
"""

from collections.abc import Callable, Sequence
from functools import cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse.data import Windower, excerpts, stored_pairs
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
from attncourse.stored import load_weights
from attncourse.transformer import Causal, CausalLinearAttention, LanguageModel

__all__ = [
    "CONTROL",
    "CUE",
    "SENTENCE",
    "TARGET",
    "attention_layers",
    "costs_of_hiding",
    "head_weights",
    "held_out_windows",
    "model",
    "model_or_lstm",
    "next_probabilities",
    "next_probabilities_by_block",
    "pieces",
    "surprisals",
    "surprisals_of_last",
    "token_index",
    "tokens",
    "total_variation",
    "windower",
    "without",
]

# one token each: hiding the cue makes the target less probable, hiding the control does not, in all
# three trainings of the full model, with the prefix of this decade
SENTENCE = "There is more work in this country today than there was a year ago."
CUE, TARGET, CONTROL = "more", "than", "in"
DECADE = 1930

# stored model -> the attention of its blocks
ATTENTIONS: dict[str, Callable[[], nn.Module]] = {
    "english": rotary,
    "gpt": rotary,
    "one_block": rotary,
    "one_block_without_positions": Causal,
    "linear": CausalLinearAttention,
}


@cache
def model(name: str, device: torch.device | None = None) -> LanguageModel:
    """The stored attention model of this name, one of `ATTENTIONS`."""
    weights, metadata = load_weights(name)
    return load_language_model(weights, metadata["heads"], ATTENTIONS[name]).to(device)


@cache
def lstm(device: torch.device | None = None) -> LSTMLanguageModel:
    """The stored LSTM, with as many parameters as "gpt"."""
    return load_lstm(load_weights("lstm")[0]).to(device)


def model_or_lstm(
    name: str, device: torch.device | None = None
) -> LanguageModel | LSTMLanguageModel:
    """The stored model of this name, one of `ATTENTIONS` or "lstm"."""
    return lstm(device) if name == "lstm" else model(name, device)


def held_out_windows(device: torch.device | None = None) -> Int[Tensor, "batch n"]:
    """The 122 full windows of the 20 excerpts, which are not in the training data."""
    rows = [row for text in excerpts() for row in windower().rows(text)]
    return torch.tensor(
        [row for row in rows if len(row) == windower().text_length + 2], device=device
    )


@cache
def windower() -> Windower:
    """The tokenizer of the stored models: 128-token windows with a prefix."""
    return Windower(stored_pairs())


def tokens(text: str = SENTENCE, device: torch.device | None = None) -> Int[Tensor, "1 n"]:
    """Input of the models: the start token, the token of `DECADE`, and those of the text."""
    encoded = stored_pairs().encode(f" {text}")
    return torch.tensor([windower().prefix(DECADE) + encoded], device=device)


def pieces(text: str = SENTENCE) -> list[str]:
    """The string of each token of the text."""
    return [stored_pairs().decode([token]).strip() for token in stored_pairs().encode(f" {text}")]


def token_index(word: str) -> int:
    """Index of the first token of the sentence that is this word."""
    return pieces().index(word)


@torch.no_grad()
def surprisals(
    model: nn.Module,
    token_ids: Int[Tensor, "batch n"],
    mask: Bool[Tensor, "batch m m"] | None = None,
) -> Float[Tensor, "batch pieces"]:
    """Surprisal in bits of each token after the two of the prefix."""
    inputs = (token_ids[:, :-1],) if mask is None else (token_ids[:, :-1], mask)
    return surprisal(model(*inputs), token_ids[:, 1:])[:, 1:]


def costs_of_hiding(
    model: nn.Module, token_ids: Int[Tensor, "1 n"]
) -> Float[Tensor, "hidden=pieces pieces"]:
    """Row j: increase of each token's surprisal in bits if no other token attends to token j."""
    n, pieces = token_ids.shape[1] - 1, token_ids.shape[1] - 2
    hidden = torch.arange(pieces, device=token_ids.device)
    masks = torch.ones(pieces, n, n, dtype=torch.bool, device=token_ids.device)
    # the last token is predicted, but is no input
    masks[hidden[:-1], :, 2 + hidden[:-1]] = False
    masks |= torch.eye(n, dtype=torch.bool, device=token_ids.device)
    return surprisals(model, token_ids.expand(pieces, -1), masks) - surprisals(model, token_ids)


def surprisals_of_last(
    model: nn.Module, token_ids: Int[Tensor, "1 n"], width: int
) -> Float[Tensor, "pieces"]:
    """Surprisal in bits of each token, with the context cut to the `width` tokens before it."""
    text = token_ids[0, 2:]
    contexts = [
        torch.cat([token_ids[0, :2], text[max(0, i - width) : i + 1]]) for i in range(len(text))
    ]
    return torch.cat([surprisals(model, context[None])[:, -1] for context in contexts])


@torch.no_grad()
def total_variation(
    model: nn.Module, first: Int[Tensor, "batch n"], second: Int[Tensor, "batch n"]
) -> Float[Tensor, "batch pieces"]:
    """Total variation distance, after each token, of the next-token distributions of two inputs.

    It is 0 where the distributions are the same, and 1 where they share nothing.
    """
    p, q = (model(token_ids)[:, 2:].softmax(-1) for token_ids in (first, second))
    return (p - q).abs().sum(-1) / 2


@torch.no_grad()
def next_probabilities_by_block(
    model: LanguageModel, text: str, following: Sequence[str], device: torch.device | None = None
) -> Float[Tensor, "blocks+1 following"]:
    """Next-token probabilities of `following` after the text, read off after each block.

    The first row is that of the embedding. Each row goes through the final norm and the unembedding
    (the logit lens).
    """
    x = model.embedding(tokens(text, device))
    rows = [x] + [x := block(x) for block in model.stack.blocks]
    scores = torch.cat([model.embedding.scores(model.stack.norm(row))[:, -1] for row in rows])
    return scores.softmax(-1)[:, single_tokens(following, device)]


@torch.no_grad()
def next_probabilities(
    model: nn.Module, text: str, following: Sequence[str], device: torch.device | None = None
) -> Float[Tensor, "following"]:
    """Next-token probabilities of `following` after the text; a space begins a new word."""
    scores = model(tokens(text, device))[0, -1]
    return scores.softmax(-1)[single_tokens(following, device)]


def single_tokens(texts: Sequence[str], device: torch.device | None = None) -> Int[Tensor, "texts"]:
    """The ids of texts that are one token each; ValueError for a longer text."""
    encoded = [stored_pairs().encode(text) for text in texts]
    if multiple := [text for text, ids in zip(texts, encoded, strict=True) if len(ids) != 1]:
        raise ValueError(f"{multiple}: each should be one token")
    return torch.tensor(encoded, device=device).flatten()
