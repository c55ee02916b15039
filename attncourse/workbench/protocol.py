"""The work that methods of attention are compared on: the addresses, in bits a character.

A small GPT, with a method in place of its attention, is trained on windows of 128 tokens; all
models have the same windows, steps and optimizer.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attncourse.data.addresses import Address, Addresses
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.language_model import bits_by_window, bootstrap_interval
from attncourse.today import auxiliary_loss
from attncourse.train import fit, muon, seeded

D_MODEL, HEADS, DEPTH = 64, 4, 3
BATCH, STEPS, QUICK_STEPS, RATE = 16, 2500, 300, 6e-3
# of a batch
TOKENS = BATCH * 128
# a training that was stopped goes on from the last of so many parts
PARTS, BOOTSTRAP_SEED = 20, 0

# with a vocabulary's size, a model
MakeModel = Callable[[int], nn.Module]
Track = Callable[[range], Iterable[int]]


class Bits(NamedTuple):
    """Bits a character of the test texts, their 95 % interval, those of the validation's texts,
    and those of each test text."""

    test: float
    low: float
    high: float
    validation: float
    texts: list[float]

    @property
    def of_all_texts(self) -> list[float]:
        """The bits without those of each text: what a table has of a training."""
        return [self.test, self.low, self.high, self.validation]


def train_on_addresses(
    make: MakeModel,
    corpus: Addresses,
    seed: int,
    checkpoint: Path,
    steps: int = STEPS,
    track: Track = iter,
) -> nn.Module:
    """A new model, trained on the addresses; a training that was stopped goes on."""
    windower = Windower(stored_pairs())
    with seeded(seed) as g:
        model = make(windower.vocabulary)
        fit(
            model,
            partial(windower.random_batches, corpus.train, BATCH, steps // PARTS, g),
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


def seconds_a_step(make: MakeModel, corpus: Addresses, steps: int = 5) -> float:
    """Seconds that a step of the training takes, measured on a model of its own."""
    windower = Windower(stored_pairs())
    with seeded(0) as g:
        model = make(windower.vocabulary)
        batches = [*windower.random_batches(corpus.train, BATCH, steps + 1, g)]
        options = {"optimizer": muon, "auxiliary_loss": auxiliary_loss}
        # torch loads what it needs in the first step
        fit(model, batches[:1].copy, 1, RATE, **options)
        start = time.perf_counter()
        fit(model, batches[1:].copy, 1, RATE, **options)
    return (time.perf_counter() - start) / steps


def measure_bits(
    model: nn.Module, windower: Windower, corpus: Addresses, device: str = "cpu"
) -> Bits:
    """What the texts of the test and of the validation cost a model."""
    bits, characters = bits_of_texts(model, windower, corpus.test, device)
    g = torch.Generator().manual_seed(BOOTSTRAP_SEED)
    validation = [x.sum() for x in bits_of_texts(model, windower, corpus.validation, device)]
    return Bits(
        (bits.sum() / characters.sum()).item(),
        *bootstrap_interval(bits, characters, g),
        (validation[0] / validation[1]).item(),
        (bits / characters).tolist(),
    )


def bits_of_texts(
    model: nn.Module, windower: Windower, texts: tuple[Address, ...], device: str = "cpu"
) -> tuple[Tensor, Tensor]:
    """For each text the bits that it costs, and its characters."""
    batches = (batch.to(device) for batch in windower.batches(texts, 64))
    bits = bits_by_window(model, batches).double().cpu()
    counts = [len(windower.rows(text)) for text in texts]
    totals = torch.stack([window_bits.sum() for window_bits in bits.split(counts)])
    return totals, torch.tensor([len(text.text) for text in texts], dtype=torch.float64)
