"""The claims of the chapter language_model."""

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from attncourse import english
from attncourse.course.claim import Measured, about, above, at_least, below, between, claim, exactly
from attncourse.data import Address, BytePairs, Windower, excerpts, stored_pairs
from attncourse.english import windower
from attncourse.language_model import (
    BackOff,
    bits_per_character,
    head_weights,
    induction_score,
    language_model,
    load_language_model,
    offset_score,
    perplexity,
    surprisal,
    without,
)
from attncourse.stored import load_weights
from attncourse.train import seeded
from attncourse.transformer import LanguageModel

CENTURY = 100


@cache
def load_model(name: str, device: torch.device) -> LanguageModel:
    """A model that comes with the course."""
    weights, metadata = load_weights(name)
    return load_language_model(weights, metadata["heads"]).to(device)


def course_model(device: torch.device) -> LanguageModel:
    """The model of the course, which has learned English."""
    return english.model("english", device)


def bits(
    model,
    texts: Sequence[Address],
    windows: Windower,
    device: torch.device | None = None,
) -> float:
    """Bits a character of these texts, which the model reads in the windows."""
    batches = (batch.to(device) for batch in windows.batches(texts, 64))
    return bits_per_character(model, batches, sum(len(text.text) for text in texts))


def halves(g: torch.Generator) -> tuple[list[Address], list[Address]]:
    """The excerpts in two halves, drawn at random."""
    texts = excerpts()
    order = torch.randperm(len(texts), generator=g, device=g.device).tolist()
    return [texts[i] for i in order[::2]], [texts[i] for i in order[1::2]]


def count_back_off(order: int, texts: Sequence[Address], windows: Windower) -> BackOff:
    """An n-gram model of these texts."""
    model = BackOff(order, windows.vocabulary)
    model.learn((row for text in texts for row in windows.rows(text)), first=2)
    return model


def whole_numbers(g: torch.Generator, count: int, *shape: int) -> Tensor:
    """Random whole numbers, of which there are so many from 0 on."""
    return torch.randint(count, shape, generator=g, device=g.device)


@claim(
    "Every text comes back from its tokens as it was, also one with signs that training never saw.",
    source="Radford et al. (2019), section 2.2; our own measurement",
)
def tokens_come_back(g):
    points = [*range(0x20, 0xD800), *range(0xE000, 0x110000)]
    random_text = "".join(chr(points[i]) for i in whole_numbers(g, len(points), 2000).tolist())
    texts, pairs = [*(excerpt.text for excerpt in excerpts()), random_text], stored_pairs()
    changed_count = sum(pairs.decode(pairs.encode(text)) != text for text in texts)
    characters = sum(map(len, texts[:-1])) / sum(len(pairs.encode(text)) for text in texts[:-1])
    return Measured(
        {
            "texts that came back changed": (changed_count, exactly(0)),
            "characters a token, of addresses": (characters, about(3.6, 0.1)),
            "tokens of 🚀": (len(pairs.encode("🚀")), exactly(4)),
        }
    )


@claim(
    "A trigram model that has counted a text itself needs at most half as many bits for it as one "
    "that has counted others of its kind.",
    source="our own measurement",
)
def a_seen_text_looks_easy(g):
    texts = excerpts()
    index = int(whole_numbers(g, len(texts), 1))
    test_text, other_texts = texts[index : index + 1], texts[:index] + texts[index + 1 :]
    fair_bits, peeking_bits = (
        bits(count_back_off(3, training_texts, windower()), test_text, windower())
        for training_texts in (other_texts, texts)
    )
    return Measured(
        {
            "bits when it was counted itself, divided by those when not": (
                peeking_bits / fair_bits,
                below(0.5),
            ),
            "bits a character, never seen": (fair_bits, between(1.6, 3)),
        }
    )


@claim(
    "Of two models that only count single tokens, the one that counts bytes has less than a tenth "
    "of the other's perplexity, but needs over 1.4 times as many bits for each character.",
    source="our own measurement",
)
def perplexity_needs_its_tokens(g):
    training, test = halves(g)
    measures = []
    for windows in (Windower(BytePairs([])), windower()):
        model = count_back_off(1, training, windows)
        (batch,) = windows.batches(test, 1000)
        measures.append((perplexity(model(batch.tokens), batch.labels), bits(model, test, windows)))
    (perplexity_of_bytes, bits_of_bytes), (perplexity_of_tokens, bits_of_tokens) = measures
    return Measured(
        {
            "bits a character, bytes divided by tokens": (
                bits_of_bytes / bits_of_tokens,
                above(1.4),
            ),
            "perplexity, bytes divided by tokens": (
                perplexity_of_bytes / perplexity_of_tokens,
                below(0.1),
            ),
            "perplexity of bytes": (perplexity_of_bytes, about(20, 3)),
            "perplexity of our tokens": (perplexity_of_tokens, about(680, 80)),
            "bits a character with bytes": (bits_of_bytes, about(4.35, 0.15)),
            "bits a character with our tokens": (bits_of_tokens, about(2.65, 0.2)),
        }
    )


@claim(
    "Counted on half of the texts, a model of pairs of tokens needs fewer bits for the other half "
    "than one of single tokens.",
    source="our own measurement",
)
def one_token_before_helps(g):
    training, test = halves(g)
    single, pair = (bits(count_back_off(n, training, windower()), test, windower()) for n in (1, 2))
    return Measured(
        {
            "bits a character, single tokens": (single, about(2.65, 0.2)),
            "of those, with one token before": (pair / single, below(0.95)),
        }
    )


@claim(
    "The model predicts the same tokens better from more tokens before them, and each further "
    "token is worth less: from 8 on, less than a fifth of what one is worth from 2 to 8.",
    source="our own measurement",
)
def context_pays_less_and_less(g):
    model, contexts, rows = (
        course_model(g.device),
        (2, 8, 32, 100),
        english.held_out_windows().tolist(),
    )
    sample = [rows[i] for i in torch.randperm(len(rows), generator=g, device=g.device)[:80]]
    mean = [mean_surprisal(model, sample, context, g.device) for context in contexts]
    gains = [
        (a - b) / (n - m)
        for a, b, m, n in zip(mean, mean[1:], contexts, contexts[1:], strict=False)
    ]
    return Measured(
        {
            "what a token from 8 to 32 is worth, as a share of one from 2 to 8": (
                gains[1] / gains[0],
                below(0.2),
            ),
            "one from 32 to 100, as a share of one from 8 to 32": (gains[2] / gains[1], below(1)),
            "bits that a token costs after 2": (mean[0], between(4, 7)),
            "after 8": (mean[1], below(mean[0])),
            "after 32": (mean[2], below(mean[1])),
            "after 100": (mean[3], below(mean[2])),
        }
    )


@torch.no_grad()
def mean_surprisal(
    model: LanguageModel, rows: Sequence[Sequence[int]], context: int, device: torch.device
) -> float:
    """The mean surprisal of some tokens of each row, given only `context` tokens before them."""
    positions = range(104, 128, 6)
    inputs = [[*row[:2], *row[i - context : i]] for row in rows for i in positions]
    targets = [row[i] for row in rows for i in positions]
    scores = model(torch.tensor(inputs, device=device))[:, -1:]
    return surprisal(scores, torch.tensor(targets, device=device)[:, None]).mean().item()


@claim(
    "If the window says a decade a century away from its text's own, the model needs at least a "
    "twentieth of a bit more for each character.",
    source="our own measurement",
)
def the_decade_is_worth_bits(g):
    model = course_model(g.device)
    shifted = [
        Address(excerpt.year + (CENTURY if excerpt.year < 1900 else -CENTURY), excerpt.text)
        for excerpt in excerpts()
    ]
    right_bits, wrong_bits = (
        bits(model, texts, windower(), g.device) for texts in (excerpts(), shifted)
    )
    return Measured(
        {
            "bits a character more, with a decade a century away": (
                wrong_bits - right_bits,
                at_least(0.05),
            ),
            "bits a character": (right_bits, about(1.31, 0.02)),
        }
    )


@torch.no_grad()
def second_time(model: LanguageModel, text: Tensor) -> float:
    """The mean surprisal of a token of the second half."""
    n = text.shape[-1] // 2
    return surprisal(model(text)[:, n:-1], text[:, n + 1 :]).mean().item()


def bits_of_a_guess(texts: Tensor) -> float:
    """The bits of a token of these texts, given the frequencies of the tokens in its text."""
    frequencies = (texts[:, :, None] == texts[:, None]).double().mean(-1)
    return -frequencies.log2().mean().item()


@claim(
    "Trained on random tokens that are repeated, a model of two blocks has learned to copy, by a "
    "head that looks at what followed the first time. A model of one block has no such head, and "
    "does about as well as a guess among the tokens of the first half.",
    source="Elhage et al. (2021); Olsson et al. (2022); our own measurement",
)
def copying_takes_two_blocks(g):
    models = {depth: load_model(f"copier_{depth}", g.device) for depth in (2, 1)}
    tokens = whole_numbers(g, models[1].embedding.table.num_embeddings, 64, 16)
    by_model, text = {}, tokens.repeat(1, 2)
    for depth, model in models.items():
        score = induction_score(head_weights(model, text), 16).mean(1).max().item()
        by_model[depth] = second_time(model, text), score
    return Measured(
        {
            "bits of a token the second time, two blocks": (by_model[2][0], below(1)),
            "one block": (
                by_model[1][0],
                about(bits_of_a_guess(tokens), 0.2, "a guess among those seen"),
            ),
            "the highest induction score, two blocks": (by_model[2][1], above(0.4)),
            "one block's": (by_model[1][1], below(0.3)),
        }
    )


@claim(
    "The model has a head that looks mostly at the token before, and one that looks mostly at the "
    "decade; without either, it needs more bits. An untrained model has neither.",
    source="our own measurement",
)
def heads_look_one_back_and_at_the_decade(g):
    model = course_model(g.device)
    tokens = english.held_out_windows(g.device)[::4]
    with seeded(int(whole_numbers(g, 2**31, 1))):
        untrained = language_model(windower().vocabulary).to(g.device)
    rows, full_bits = {}, bits(model, excerpts(), windower(), g.device)
    weights, untrained_weights = head_weights(model, tokens), head_weights(untrained, tokens)
    for name, score in (("the token before", one_back), ("the decade", on_the_decade)):
        scores = score(weights)
        with without(model, [divmod(int(scores.argmax()), scores.shape[1])]):
            costs = bits(model, excerpts(), windower(), g.device) - full_bits
        rows[f"largest weight on {name}"] = scores.max().item(), above(0.4)
        rows[f"largest weight on {name}, untrained"] = (
            score(untrained_weights).max().item(),
            below(0.2),
        )
        rows[f"bits a character that its loss costs ({name})"] = costs, above(0.02)
    return Measured(rows)


def one_back(weights: Tensor) -> Tensor:
    return offset_score(weights).mean(1)


def on_the_decade(weights: Tensor) -> Tensor:
    """The mean weight on the second token, of queries after it."""
    return weights[..., 2:, 1].mean((1, 3))
