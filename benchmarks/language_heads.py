"""What the heads of three full GPTs do, which differ by their seeds, beside an untrained one.

    python benchmarks/language_model.py --size full --models GPT --seeds 1 2
    python benchmarks/language_heads.py    # results/language_heads.csv and .md, in five minutes

All is measured on every third of the excerpts' full windows, and copying on 32 random tokens said
twice. The roles are those that stored_model.py gives.
"""

import csv
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from language_model import GPT, SIZES, run_file
from runs import write_page
from stored_model import ROLE_SCORES, SEED, SIZE, removal_costs, roles
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
def zeroed_start_value(model: LanguageModel, block: int, head: int) -> Iterator[None]:
    """Within, this head's value of the start token is 0."""
    layer = attention_layers(model)[block]

    def zero_start(_, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        q, k, v = args
        # a head is the third axis from the end
        v = v.clone()
        v[..., head, 0, :] = 0
        return (q, k, v), kwargs

    with temporary_hooks([layer.attend.register_forward_pre_hook(zero_start, with_kwargs=True)]):
        yield


def moved_share(weights: Tensor, other_weights: Tensor) -> Tensor:
    """The share of a row's weight that moves when the decade changes, from 0 to 1."""
    return ((weights - other_weights).abs().sum(-1) / 2).mean((1, 3))


def repeated_tokens(windower: Windower) -> Tensor:
    """Random tokens, said two times after the prefix."""
    g = torch.Generator().manual_seed(0)
    tokens = torch.randint(256, len(windower.pairs), (TEXTS, PERIOD), generator=g)
    prefix = torch.tensor(windower.prefix(1950)).expand(TEXTS, 2)
    return torch.cat([prefix, tokens, tokens], dim=1)


def shift_century(tokens: Tensor, windower: Windower) -> Tensor:
    """The same windows, which say a decade a hundred years away."""
    first, count = windower.start + 2, windower.vocabulary - windower.start - 2
    decades = tokens[:, 1] - first
    shifted = torch.where(decades < count / 2, decades + CENTURY, decades - CENTURY)
    return torch.cat([tokens[:, :1], first + shifted[:, None], tokens[:, 2:]], dim=1)


def scores(model: LanguageModel, windower: Windower) -> dict[str, Tensor]:
    """Each measurement, by block and head."""
    rows = english.held_out_windows().tolist()[::3]
    batches, tokens = [*window_batches(rows, 64)], make_batch(rows[::3]).tokens
    characters = sum(len(windower.pairs.decode(row[2:])) for row in rows)
    total_bits = bits_by_window(model, batches).sum()
    weights = head_weights(model, tokens)
    costs = removal_costs(model, batches)
    start_costs = torch.zeros_like(costs)
    for block, head in torch.cartesian_prod(*map(torch.arange, costs.shape)).tolist():
        with zeroed_start_value(model, block, head):
            start_costs[block, head] = bits_by_window(model, batches).sum() - total_bits
    copying = head_weights(model, repeated_tokens(windower))[..., 2:, 2:]
    measures = (
        *(score(weights) for score in ROLE_SCORES.values()),
        induction_score(copying, PERIOD).mean(1),
        moved_share(weights, head_weights(model, shift_century(tokens, windower))),
        costs / characters,
        start_costs / characters,
    )
    return dict(zip(MEASUREMENTS, measures, strict=True))


def models(windower: Windower) -> Iterator[tuple[str, LanguageModel]]:
    """The one that comes with the course, those of the other seeds, and one that is untrained."""
    size = SIZES[SIZE]
    weights, metadata = load_weights("english")
    yield f"seed {SEED}", load_language_model(weights, metadata["heads"])
    for seed in range(SEED + 1, size.seeds[GPT]):
        weights = torch.load(run_file(SIZE, GPT, seed, "after-20"), weights_only=True)
        yield f"seed {seed}", load_language_model(weights, size.heads)
    with seeded(0):
        yield UNTRAINED, language_model(windower.vocabulary).eval()


def main() -> None:
    torch.set_num_threads(1)
    windower, lines = Windower(stored_pairs()), []
    for name, model in models(windower):
        head_scores = scores(model, windower)
        role_of_head = (
            {} if name == UNTRAINED else {(*x["head"],): x["role"] for x in roles(model, windower)}
        )
        for block, head in torch.cartesian_prod(
            *map(torch.arange, head_scores["lost"].shape)
        ).tolist():
            numbers = [
                f"{head_scores[measure][block, head].item():.3f}" for measure in MEASUREMENTS
            ]
            lines.append((name, block, head, *numbers, role_of_head.get((block, head), "")))
        print(name, role_of_head, flush=True)
    columns = ("model", "block", "head", *MEASUREMENTS, "role")
    with (RESULTS / "language_heads.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *lines])
    text = [
        "# What sixteen heads do, in three trainings",
        "Mean weights on the token before, on the decade, on the start and on the token itself; on "
        "32 random tokens said twice, the weight on what followed the first time (copying); what "
        "share of the weight moves if the window says a decade a hundred years away; bits a "
        "character that are lost without the head, and if its value of the start token is 0.",
    ]
    write_page("language_heads", "language_heads", text, columns, lines)


if __name__ == "__main__":
    main()
