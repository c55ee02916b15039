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
from language_model import GPT, SIZES, kept
from runs import write_page
from stored_model import PLACES, SEED, SIZE, losses, roles
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

MEASURED = (
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
def start_says_nothing(model: LanguageModel, block: int, head: int) -> Iterator[None]:
    """Within, this head's value of the start token is 0."""
    layer = attention_layers(model)[block]

    def silence(_, given: tuple, named: dict) -> tuple[tuple, dict]:
        q, k, v = given
        # a head is the third axis from the end
        v = v.clone()
        v[..., head, 0, :] = 0
        return (q, k, v), named

    with temporary_hooks([layer.attend.register_forward_pre_hook(silence, with_kwargs=True)]):
        yield


def moved(looks: Tensor, others: Tensor) -> Tensor:
    """How much of a row's weight lies elsewhere in another decade: from 0 to 1."""
    return ((looks - others).abs().sum(-1) / 2).mean((1, 3))


def twice(windowed: Windower) -> Tensor:
    """Random tokens, said two times after the prefix."""
    g = torch.Generator().manual_seed(0)
    said = torch.randint(256, len(windowed.pairs), (TEXTS, PERIOD), generator=g)
    prefix = torch.tensor(windowed.prefix(1950)).expand(TEXTS, 2)
    return torch.cat([prefix, said, said], dim=1)


def of_the_other_century(tokens: Tensor, windowed: Windower) -> Tensor:
    """The same windows, which say a decade a hundred years away."""
    first, count = windowed.start + 2, windowed.vocabulary - windowed.start - 2
    decades = tokens[:, 1] - first
    away = torch.where(decades < count / 2, decades + CENTURY, decades - CENTURY)
    return torch.cat([tokens[:, :1], first + away[:, None], tokens[:, 2:]], dim=1)


def scores(model: LanguageModel, windowed: Windower) -> dict[str, Tensor]:
    """Each measurement, by block and head."""
    rows = english.held_out_windows().tolist()[::3]
    some, tokens = [*window_batches(rows, 64)], make_batch(rows[::3]).tokens
    characters = sum(len(windowed.pairs.decode(row[2:])) for row in rows)
    whole = bits_by_window(model, some).sum()
    looks = head_weights(model, tokens)
    lost = losses(model, some)
    unsaid = torch.zeros_like(lost)
    for block, head in torch.cartesian_prod(*map(torch.arange, lost.shape)).tolist():
        with start_says_nothing(model, block, head):
            unsaid[block, head] = bits_by_window(model, some).sum() - whole
    copying = head_weights(model, twice(windowed))[..., 2:, 2:]
    found = (
        *(score(looks) for score in PLACES.values()),
        induction_score(copying, PERIOD).mean(1),
        moved(looks, head_weights(model, of_the_other_century(tokens, windowed))),
        lost / characters,
        unsaid / characters,
    )
    return dict(zip(MEASURED, found, strict=True))


def models(windowed: Windower) -> Iterator[tuple[str, LanguageModel]]:
    """The one that comes with the course, those of the other seeds, and one that is untrained."""
    sized = SIZES[SIZE]
    weights, held = load_weights("english")
    yield f"seed {SEED}", load_language_model(weights, held["heads"])
    for seed in range(SEED + 1, sized.seeds[GPT]):
        weights = torch.load(kept(SIZE, GPT, seed, "after-20"), weights_only=True)
        yield f"seed {seed}", load_language_model(weights, sized.heads)
    with seeded(0):
        yield UNTRAINED, language_model(windowed.vocabulary).eval()


def main() -> None:
    torch.set_num_threads(1)
    windowed, lines = Windower(stored_pairs()), []
    for name, model in models(windowed):
        found = scores(model, windowed)
        said = (
            {} if name == UNTRAINED else {(*x["head"],): x["role"] for x in roles(model, windowed)}
        )
        for block, head in torch.cartesian_prod(*map(torch.arange, found["lost"].shape)).tolist():
            numbers = [f"{found[one][block, head].item():.3f}" for one in MEASURED]
            lines.append((name, block, head, *numbers, said.get((block, head), "")))
        print(name, said, flush=True)
    columns = ("model", "block", "head", *MEASURED, "role")
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
