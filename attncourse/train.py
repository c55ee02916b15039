"""Train a model on batches, and measure its accuracy; it knows no model and no data."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F


class Labelled(Protocol):
    """A batch: what a model reads, and the labels it should give, -100 where there is none."""

    @property
    def labels(self) -> Int[Tensor, "..."]: ...


@contextmanager
def seeded(seed: int) -> Iterator[torch.Generator]:
    """Initial weights and dropout follow this seed; afterwards torch's own generator is as before.

    Gives a generator of the same seed, for whatever takes one.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield torch.Generator().manual_seed(seed)


def fit(
    model: nn.Module,
    batches: Callable[[], Iterable[Labelled]],
    epochs: int,
    lr: float = 3e-3,
) -> list[float]:
    """Train with AdamW, at a rate that falls to zero; the mean loss of each epoch.

    `batches` gives the batches of one epoch, and model(batch) a score for each possible label.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr, fused=True)
    history = []
    was_training = model.training
    model.train()
    for epoch in range(epochs):
        losses = []
        work = list(batches())
        for step, batch in enumerate(work):
            rate = lr * (1 - (epoch + step / len(work)) / epochs)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch).flatten(0, -2), batch.labels.flatten())
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.train(was_training)
    return history


@torch.no_grad()
def accuracy(model: nn.Module, batches: Iterable[Labelled]) -> float:
    """The share of the labels that get the highest score, without dropout."""
    was_training = model.training
    model.eval()
    correct = total = 0
    for batch in batches:
        labelled = batch.labels != -100
        correct += ((model(batch).argmax(-1) == batch.labels) & labelled).sum().item()
        total += labelled.sum().item()
    model.train(was_training)
    return correct / total
