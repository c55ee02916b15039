"""Claims about training and generating."""

import torch
from torch import Tensor, nn

from attncourse.cost import count
from attncourse.course.claim import Measured, about, at_least, at_most, below, claim, exactly
from attncourse.course.multi_head.claims import relative_error
from attncourse.course.transformer.claims.shared import WORDS, tokens, translator, writer
from attncourse.efficient import grouped_query_attention
from attncourse.transformer import (
    Causal,
    CausalLinearAttention,
    Decoding,
    LanguageModel,
    beam_search,
    generate,
    sample,
)

VASWANI = "Vaswani et al. (2017)"
ROUNDING = at_most(1e-12, "rounding")


def counting(g: torch.Generator, texts: int, length: int) -> Tensor:
    """Texts that count on from a random token."""
    return (tokens(g, texts, 1) + torch.arange(length, device=g.device)) % WORDS


def train_to_count(g: torch.Generator, shift: int, steps: int = 60) -> tuple[LanguageModel, float]:
    """Train a small model whose target is `shift` tokens on; return it and its last loss."""
    model, loss = writer(g, depth=1), torch.tensor(torch.nan)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(steps):
        text = counting(g, 32, 8 + shift)
        scores, targets = model(text[:, :8]), text[:, shift:]
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, loss.item()


@claim(
    "Trained for 60 steps on texts that count, a model whose targets are shifted by one token goes "
    "on counting. One whose targets are not shifted reaches a low loss too, but what it writes "
    "repeats the last token of the prompt.",
    source=f"our own measurement; the shift: {VASWANI}, section 3.1",
)
def targets_are_shifted(g):
    texts = counting(g, 64, 10)
    rows = {}
    for shift, name in ((1, "shifted"), (0, "not shifted")):
        model, loss = train_to_count(g, shift)
        continuation = generate(model.decode(), texts[:, :3], 7)
        right_share = (continuation == texts[:, 3:]).double().mean().item()
        rows[f"{name}, last loss"] = loss, below(0.1)
        rows[f"{name}, tokens right"] = right_share, at_least(0.95) if shift else exactly(0)
    repeated = (continuation == texts[:, 2:3]).double().mean().item()
    return Measured(rows | {"not shifted, tokens repeated": (repeated, at_least(0.95))})


def step_by_step(decoding: Decoding, text: Tensor) -> Tensor:
    """The scores of a text whose first 3 tokens come at once, and the others one at a time."""
    pieces = [text[:, :3], *text[:, 3:].split(1, dim=1)]
    return torch.cat([decoding.step(piece) for piece in pieces], dim=1)


@claim(
    "With caches, the scores and the twelve tokens that are written are those of the whole model "
    "applied to the whole text at each step: in an encoder-decoder, a language model, and one with "
    "linear attention.",
    source="Shazeer (2019), section 2.4; Katharopoulos et al. (2020), section 3.4",
)
def caches_change_nothing(g):
    source = tokens(g, 2, 7)
    prompt = tokens(g, 2, 3)
    errors, mismatches = [], []
    encoder_decoder = translator(g)
    models = [(writer(g, attend=attend), ()) for attend in (None, CausalLinearAttention())]
    for model, inputs in [(encoder_decoder, (source,)), *models]:
        text = prompt
        for _ in range(12):
            text = torch.cat([text, model(*inputs, text)[:, -1:].argmax(-1)], dim=1)
        continuation = generate(model.decode(*inputs), prompt, 12)
        mismatches.append((continuation != text[:, 3:]).sum().item())
        errors.append(
            relative_error(step_by_step(model.decode(*inputs), text), model(*inputs, text))
        )
    return Measured(
        {"scores apart by": (errors, ROUNDING), "tokens that differ": (mismatches, exactly(0))}
    )


def cached_numbers(decoding: Decoding, n: int) -> int:
    """The number of numbers in its caches after n tokens."""
    decoding.step(
        torch.zeros(1, n, dtype=torch.long, device=decoding.embedding.table.weight.device)
    )
    values = [value for cache in decoding.caches for value in vars(cache).values()]
    flat = [x for value in values for x in (value if isinstance(value, tuple) else [value])]
    return sum(x.numel() for x in flat)


@claim(
    r"For each token and block, a cache keeps $2 d_\text{model}$ numbers, and a fourth as many if "
    "one group of keys and values serves 4 heads. What is kept for linear attention does not grow "
    "with the text.",
    source="Shazeer (2019), sections 2.4 and 3; Katharopoulos et al. (2020), section 3.4",
)
def cache_grows_with_the_text(g):
    d, depth = 32, 3
    per_text = 2 * 32 * 20 * 3
    grouped = {"attend": Causal(grouped_query_attention), "groups": 1}
    plain, shared = (
        cached_numbers(writer(g, d, depth, **options).decode(), 20) for options in ({}, grouped)
    )
    linear = writer(g, d, depth, attend=CausalLinearAttention())
    short, long = (cached_numbers(linear.decode(), n) for n in (20, 80))
    return Measured(
        {
            r"20 tokens, numbers / $(2 \cdot 20\, d_\text{model})$ a block": (
                plain / per_text,
                exactly(1),
            ),
            "the same, one group for 4 heads": (shared / per_text, exactly(0.25)),
            "linear attention, 80 tokens / 20": (long / short, exactly(1)),
        }
    )


@claim(
    "Scoring the last of $n$ tokens with a cache takes one $n$-th of the operations in matrix "
    "products that the whole text takes without one, if those of hidden pairs are counted too.",
    source="our own count",
)
def a_step_costs_one_row(g):
    model = writer(g, 64).to("meta")
    rows = {}
    for n in (16, 256):
        text = torch.zeros(1, n, dtype=torch.long, device="meta")
        decoding = model.decode()
        decoding.step(text[:, 1:])
        step_flops = count(decoding.step, text[:, :1]).flops
        rows[f"$n = {n}$, whole text / one step"] = (
            count(model, text).flops / step_flops,
            exactly(n),
        )
    return Measured(rows)


class Table(Decoding):
    """A model whose next token depends on the last one alone: a row of probabilities for each."""

    def __init__(self, words: str, next_words: dict[str, dict[str, float]]):
        # after any other word the text ends
        rows = [
            [next_words.get(last_word, {".": 1}).get(word, 0) for word in words]
            for last_word in words
        ]
        self.scores, self.words = torch.tensor(rows, dtype=torch.float64).log(), words

    def step(self, tokens: Tensor) -> Tensor:
        return self.scores.to(tokens.device)[tokens]

    def select(self, rows: Tensor) -> None:
        """Nothing is kept."""

    def text_of(self, tokens: Tensor) -> str:
        """A text, up to its end."""
        return "".join(self.words[token] for token in tokens.tolist()).partition(".")[0]


@claim(
    "Let the first word be *a* (0.6) or *t* (0.4); after *a* come *x*, *y* or *z* (0.4, 0.3, 0.3), "
    "after *t* come *x* or *y* (0.9, 0.1). Greedy writes *ax*, with probability 0.24, and a beam "
    "of 2 *tx*, with 0.36.",
    source="our own example",
)
def a_beam_finds_a_likelier_text(g):
    next_words = {">": {"a": 0.6, "t": 0.4}, "t": {"x": 0.9, "y": 0.1}}
    model = Table(">atxyz.", next_words | {"a": {"x": 0.4, "y": 0.3, "z": 0.3}})
    begin = torch.zeros(1, 1, dtype=torch.long, device=g.device)
    greedy_options = {"width": 1, "length_penalty": 0.0}
    first, first_log_p = beam_search(model, begin, 3, stop=6, **greedy_options)
    best, best_log_p = beam_search(model, begin, 3, stop=6, **greedy_options | {"width": 2})
    texts = [generate(model, begin, 3, stop=6)[0], first[0], best[0]]
    as_stated = [model.text_of(text) for text in texts] == ["ax", "ax", "tx"]
    return Measured(
        {
            "greedy, or a beam of 1": (first_log_p.exp().item(), about(0.24, 1e-9)),
            "a beam of 2": (best_log_p.exp().item(), about(0.36, 1e-9)),
            "texts as stated": (float(as_stated), exactly(1)),
        }
    )


@claim(
    "Of a text of 2 tokens with probability 0.52 and one of 5 with 0.48, beam search returns the "
    "shorter one without a length penalty, and the longer one with a penalty of 0.6.",
    source="our own example; Wu et al. (2016), eq. 14",
)
def a_penalty_helps_longer_texts(g):
    certain_words = {"l": {"o": 1.0}, "o": {"n": 1.0}, "n": {"g": 1.0}}
    model = Table(">slong.", certain_words | {">": {"s": 0.52, "l": 0.48}})
    begin = torch.zeros(1, 1, dtype=torch.long, device=g.device)
    lengths = {}
    for power in (0.0, 0.6):
        text, _ = beam_search(model, begin, 6, stop=6, width=2, length_penalty=power)
        lengths[power] = len(model.text_of(text[0])) + 1
    return Measured(
        {
            "tokens, no penalty": (lengths[0.0], exactly(2)),
            "tokens, penalty 0.6": (lengths[0.6], exactly(5)),
        }
    )


@claim(
    "With scores whose softmax is 0.5, 0.3 and 0.2, a temperature of 1/2 makes the odds of the "
    "first two $(5/3)^2$, and `top_k=2` never draws the third. Counted over 40,000 draws.",
    source="our own measurement; Fan et al. (2018)",
)
def temperature_and_top_k(g):
    p = torch.tensor([0.5, 0.3, 0.2], device=g.device, dtype=torch.float64)
    scores = p.log().expand(40_000, 3)
    shares = {}
    settings = {"sharp": {"temperature": 0.5}, "top 2": {"top_k": 2}, "plain": {}}
    for name, options in settings.items():
        shares[name] = sample(scores, g, **options).bincount(minlength=3) / len(scores)
    odds = {name: (share[0] / share[1]).item() for name, share in shares.items()}
    return Measured(
        {
            "odds, temperature 1": (odds["plain"], about(5 / 3, 0.1)),
            "odds, temperature 1/2": (odds["sharp"], about(25 / 9, 0.2)),
            "odds, `top_k=2`": (odds["top 2"], about(5 / 3, 0.1)),
            "share of the third, `top_k=2`": (shares["top 2"][2].item(), exactly(0)),
        }
    )
