"""Recall at a distance: tokens in a row, filler that means nothing, and the same tokens again."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attncourse.data.batches import NO_LABEL
from attncourse.today import auxiliary_loss
from attncourse.train import fit, muon, seeded
from attncourse.workbench.protocol import PARTS, MakeModel, Track

WORDS, FILLERS, LENGTH = 32, 16, 16
VOCABULARY = WORDS + FILLERS
DISTANCES, TRAINED_DISTANCE = (16, 64, 128, 512), 128
STEPS, BATCH, RATE = 1000, 32, 1e-2
# of a batch, on average: the mean distance is 26
TOKENS = BATCH * (2 * LENGTH + 26)


class RecallBatch(NamedTuple):
    """Texts that repeat their first tokens after filler, labelled where a token comes again."""

    tokens: Int[Tensor, "batch n"]
    labels: Int[Tensor, "batch n"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return (self.tokens,)


def recall_batch(count: int, distance: int, g: torch.Generator) -> RecallBatch:
    """Texts whose first tokens, all different, come again after so many tokens of filler."""
    said = torch.rand(count, WORDS, generator=g).argsort(-1)[:, :LENGTH]
    filler = torch.randint(FILLERS, (count, distance), generator=g) + WORDS
    text = torch.cat([said, filler, said], dim=-1)
    labels = text[:, 1:].clone()
    # what is said first cannot be known, nor when it comes again
    labels[:, : 1 - LENGTH] = NO_LABEL
    return RecallBatch(text[:, :-1], labels)


def train_to_recall(
    make: MakeModel, seed: int, checkpoint: Path, steps: int = STEPS, track: Track = iter
) -> nn.Module:
    """A new model, trained to recall from up to TRAINED_DISTANCE; a stopped training goes on."""
    with seeded(seed) as g:
        model = make(VOCABULARY)

        def batches() -> Iterator[RecallBatch]:
            for _ in range(steps // PARTS):
                # as often from 1 to 2 as from 64 to 128
                distance = round(TRAINED_DISTANCE ** torch.rand((), generator=g).item())
                yield recall_batch(BATCH, distance, g)

        fit(
            model,
            batches,
            PARTS,
            RATE,
            optimizer=muon,
            checkpoint=checkpoint,
            generator=g,
            track=track,
            auxiliary_loss=auxiliary_loss,
        )
    checkpoint.unlink()
    return model.eval()


def shares_recalled(model: nn.Module) -> list[float]:
    """The share recalled at each distance."""
    return [share_recalled(model, distance) for distance in DISTANCES]


@torch.no_grad()
def share_recalled(model: nn.Module, distance: int, count: int = 128) -> float:
    """The share of tokens after which the one that followed is the likeliest, in new texts."""
    batch = recall_batch(count, distance, torch.Generator().manual_seed(distance))
    is_labelled = batch.labels != NO_LABEL
    guesses = torch.cat([model(tokens).argmax(-1) for tokens in batch.tokens.split(16)])
    return (guesses == batch.labels)[is_labelled].double().mean().item()
