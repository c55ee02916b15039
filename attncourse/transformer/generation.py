"""Decoding: greedy, sampling, and beam search."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncourse.transformer.stacks import Decoding


@torch.no_grad()
def generate(
    decoding: Decoding,
    prompt: Int[Tensor, "batch n"],
    max_tokens: int,
    stop: int | None = None,
    choose: Callable[[Tensor], Tensor] | None = None,
) -> Int[Tensor, "batch tokens"]:
    """The continuation of the prompt, at most `max_tokens` tokens; after `stop`, only `stop`.

    `choose` takes the scores of the next token, (batch, vocabulary), and gives a token
    for each row: `greedy` by default.
    Source: Vaswani et al. (2017), section 3.1 ("auto-regressive").
    """
    require_prompt(prompt, max_tokens)
    choose = choose or greedy
    new, written = prompt, prompt[:, :0]
    while written.shape[1] < max_tokens:
        token = choose(decoding.step(new)[:, -1])
        if stop is not None and written.shape[1]:
            token = token.where(written[:, -1] != stop, stop)
        new = token[:, None]
        written = torch.cat([written, new], dim=1)
        if stop is not None and (token == stop).all():
            break
    return written


def greedy(scores: Float[Tensor, "batch vocabulary"]) -> Int[Tensor, "batch"]:
    """The token with the highest score."""
    return scores.argmax(-1)


def sample(
    scores: Float[Tensor, "batch vocabulary"],
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
) -> Int[Tensor, "batch"]:
    """A token drawn from softmax(scores / temperature), of the `top_k` likeliest alone.

    Where several have the last of the top_k scores, all of them stay.
    Source: Fan et al. (2018), for top_k.
    """
    vocabulary = scores.shape[-1]
    top_k = vocabulary if top_k is None else top_k
    if temperature <= 0 or not 1 <= top_k <= vocabulary:
        raise ValueError(
            f"temperature={temperature} must be above 0, and top_k={top_k} from 1 to {vocabulary}"
        )
    least = scores.topk(top_k).values[..., -1:]
    weights = (scores.masked_fill(scores < least, -torch.inf) / temperature).softmax(-1)
    return torch.multinomial(weights, 1, generator=generator).squeeze(-1)


@torch.no_grad()
def beam_search(
    decoding: Decoding,
    prompt: Int[Tensor, "batch n"],
    max_tokens: int,
    stop: int,
    width: int = 4,
    length_penalty: float = 0.6,
) -> tuple[Int[Tensor, "batch tokens"], Float[Tensor, "batch"]]:
    """The best text found by keeping the `width` best at each length, and its score.

    The score is the log-probability of the text, divided by ((5 + length) / 6) ** length_penalty;
    the length counts the `stop`. Source: Wu et al. (2016), eq. 14, without coverage.
    """
    require_prompt(prompt, max_tokens, width)
    row = torch.arange(len(prompt), device=prompt.device)[:, None]
    texts, new = prompt[:, None, :0], prompt
    total = lengths = torch.zeros(len(prompt), 1, dtype=torch.float64, device=prompt.device)
    for _ in range(max_tokens):
        log_p = decoding.step(new)[:, -1].log_softmax(-1).unflatten(0, texts.shape[:2])
        ended = texts[..., -1:].eq(stop).any(-1)
        per_row, vocabulary = log_p.shape[1:]
        totals = (total[..., None] + only_stop(log_p, ended, stop)).flatten(1)
        all_lengths = (lengths + ~ended).repeat_interleave(vocabulary, dim=1)
        scores = totals / penalty(all_lengths, length_penalty)
        best = scores.topk(min(width, scores.shape[1])).indices
        parent, token = best // vocabulary, best % vocabulary
        total, lengths = totals.gather(1, best), all_lengths.gather(1, best)
        texts = torch.cat([texts[row, parent], token[..., None]], dim=-1)
        if token.eq(stop).all():
            break
        decoding.select((row * per_row + parent).flatten())
        new = token.view(-1, 1)
    score, place = (total / penalty(lengths, length_penalty)).max(1)
    return texts[row[:, 0], place], score


def only_stop(
    log_p: Float[Tensor, "batch texts vocabulary"], ended: Bool[Tensor, "batch texts"], stop: int
) -> Float[Tensor, "batch texts vocabulary"]:
    """Log-probabilities in which an ended text can only go on with `stop`, at log-probability 0."""
    alone = torch.full_like(log_p, -torch.inf)
    alone[..., stop] = 0
    return alone.where(ended[..., None], log_p)


def penalty(length: Float[Tensor, "*batch"], power: float) -> Float[Tensor, "*batch"]:
    """Length penalty, by which the log-probability of a text is divided.

    Source: Wu et al. (2016), eq. 14.
    """
    return ((5 + length) / 6) ** power


def require_prompt(prompt: Tensor, max_tokens: int, width: int = 1) -> None:
    """Raise ValueError, with the numbers, for an empty prompt, no tokens to write, or no beam."""
    if width < 1:
        raise ValueError(f"width={width}: at least 1 text is kept")
    if prompt.ndim != 2 or not prompt.numel() or max_tokens < 1:
        raise ValueError(
            f"prompt={tuple(prompt.shape)} must have at least 1 text of at least 1 token, "
            f"max_tokens={max_tokens} be at least 1"
        )
