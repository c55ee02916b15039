"""Measurements of the heads of three full GPTs, trained from different seeds, and an untrained one.

    python benchmarks/language_model.py --size full --models GPT --seeds 1 2
    python benchmarks/language_heads.py    # results/language_heads.csv and .md, in five minutes

The measurements use every third of the excerpts' full windows, and copying 32 random tokens and
their repetition. The roles are those of stored_model.py.
"""

import csv
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from language_model import GPT, SIZES, run_path
from runs import write_page
from stored_model import ROLE_SCORES, SEED, SIZE, ablation_costs, head_roles
from timing import RESULTS
from torch import Tensor

from attncourse import english
from attncourse.data import stored_pairs
from attncourse.data.windows import Windower, make_batch, window_batches
from attncourse.language_model import (
    bits_by_window,
    head_weights,
    induction_score,
    language_model,
    load_language_model,
)
from attncourse.language_model.heads import attention_layers, temporary_hooks
from attncourse.stored import load_weights
from attncourse.train import seeded
from attncourse.transformer import LanguageModel

MEASUREMENTS = (
    "one back",
    "decade",
    "start",
    "itself",
    "copying",
    "moved by the decade",
    "lost",
    "lost without the start's value",
)
UNTRAINED = "untrained"
PERIOD, TEXTS, CENTURY = 32, 16, 10


@contextmanager
def zero_start_value(model: LanguageModel, block: int, head: int) -> Iterator[None]:
    """A context in which this head's value vector of the start token is 0."""
    layer = attention_layers(model)[block]

    def zero_start(_, arguments: tuple, keywords: dict) -> tuple[tuple, dict]:
        q, k, v = arguments
        # a head is the third axis from the end
        v = v.clone()
        v[..., head, 0, :] = 0
        return (q, k, v), keywords

    with removed([layer.attend.register_forward_pre_hook(zero_start, with_kwargs=True)]):
        yield


def total_variation(weights: Tensor, other_weights: Tensor) -> Tensor:
    """Mean total variation distance of the rows of two sets of weights, by block and head."""
    return ((weights - other_weights).abs().sum(-1) / 2).mean((1, 3))


def repeated_tokens(windowed: Windowed) -> Tensor:
    """Rows of a prefix, random tokens, and the same tokens again."""
    g = torch.Generator().manual_seed(0)
    tokens = torch.randint(256, len(windowed.pairs), (TEXTS, PERIOD), generator=g)
    prefix = torch.tensor(windowed.prefix(1950)).expand(TEXTS, 2)
    return torch.cat([prefix, tokens, tokens], dim=1)


def shift_century(tokens: Tensor, windowed: Windowed) -> Tensor:
    """The same windows with the decade a hundred years later, or earlier."""
    first, count = windowed.start + 2, windowed.vocabulary - windowed.start - 2
    decades = tokens[:, 1] - first
    shifted = torch.where(decades < count / 2, decades + CENTURY, decades - CENTURY)
    return torch.cat([tokens[:, :1], first + shifted[:, None], tokens[:, 2:]], dim=1)


def measure(model: LanguageModel, windowed: Windowed) -> dict[str, Tensor]:
    """The measurements, each by block and head."""
    rows = english.windows().tolist()[::3]
    batches, tokens = [*batched(rows, 64)], batch(rows[::3]).tokens
    characters = sum(len(windowed.pairs.decode(row[2:])) for row in rows)
    total_bits = bits_by_window(model, batches).sum()
    weights = head_weights(model, tokens)
    costs = ablation_costs(model, batches)
    costs_of_start = torch.zeros_like(costs)
    for block, head in torch.cartesian_prod(*map(torch.arange, costs.shape)).tolist():
        with zero_start_value(model, block, head):
            costs_of_start[block, head] = bits_by_window(model, batches).sum() - total_bits
    copying = head_weights(model, repeated_tokens(windowed))[..., 2:, 2:]
    measurements = (
        *(score(weights) for score in ROLE_SCORES.values()),
        induction_score(copying, PERIOD).mean(1),
        total_variation(weights, head_weights(model, shift_century(tokens, windowed))),
        costs / characters,
        costs_of_start / characters,
    )
    return dict(zip(MEASUREMENTS, measurements, strict=True))


def models(windowed: Windowed) -> Iterator[tuple[str, LanguageModel]]:
    """Name and model: the course's own, those of the other seeds, and an untrained one."""
    size = SIZES[SIZE]
    weights, held = stored("english")
    yield f"seed {SEED}", load_language_model(weights, held["heads"])
    for seed in range(SEED + 1, size.seeds[GPT]):
        weights = torch.load(run_path(SIZE, GPT, seed, "after-20"), weights_only=True)
        yield f"seed {seed}", load_language_model(weights, size.heads)
    with seeded(0):
        yield UNTRAINED, language_model(windowed.vocabulary).eval()


def main() -> None:
    torch.set_num_threads(1)
    windowed, rows = Windowed(stored_pairs()), []
    for name, model in models(windowed):
        measurements = measure(model, windowed)
        named_roles = (
            {}
            if name == UNTRAINED
            else {(*entry["head"],): entry["role"] for entry in head_roles(model, windowed)}
        )
        for block, head in torch.cartesian_prod(
            *map(torch.arange, measurements["lost"].shape)
        ).tolist():
            numbers = [f"{measurements[key][block, head].item():.3f}" for key in MEASUREMENTS]
            rows.append((name, block, head, *numbers, named_roles.get((block, head), "")))
        print(name, named_roles, flush=True)
    columns = ("model", "block", "head", *MEASUREMENTS, "role")
    with (RESULTS / "language_heads.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    text = [
        "# What sixteen heads do, in three trainings",
        "Mean weights on the token before, on the decade, on the start and on the token itself; on "
        "32 random tokens said twice, the weight on what followed the first time (copying); what "
        "share of the weight moves if the window says a decade a hundred years away; bits a "
        "character that are lost without the head, and if its value of the start token is 0.",
    ]
    write_page("language_heads", "language_heads", text, columns, rows)


if __name__ == "__main__":
    main()
