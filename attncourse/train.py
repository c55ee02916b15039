"""Train a model on batches, and measure its accuracy; it knows no model and no data."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Protocol

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from attncourse.data.archives import cache_folder


class Labelled(Protocol):
    """A batch: what a model reads, and the labels it should give, -100 where there is none."""

    @property
    def inputs(self) -> tuple[Tensor, ...]: ...

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


class Together(torch.optim.Optimizer):
    """Several optimizers, each with parameters of its own, as one."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]):
        self.parts = optimizers
        # torch keeps the groups themselves, so that a schedule changes the parts' rates
        super().__init__([group for one in optimizers for group in one.param_groups], {})

    def step(self, closure: None = None) -> None:  # pyright: ignore
        for one in self.parts:
            one.step()

    def state_dict(self) -> dict[str, Any]:
        """The states of all of them, by their places."""
        return {str(i): one.state_dict() for i, one in enumerate(self.parts)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up what `state_dict()` gave."""
        for i, one in enumerate(self.parts):
            one.load_state_dict(state_dict[str(i)])
        self.param_groups = [group for one in self.parts for group in one.param_groups]


def adamw(model: nn.Module, lr: float) -> torch.optim.Optimizer:
    """AdamW for all parameters. Source: Loshchilov & Hutter (2019)."""
    return torch.optim.AdamW(model.parameters(), lr, fused=True)


def muon(model: nn.Module, lr: float) -> torch.optim.Optimizer:
    """Muon for the matrices of linear layers, AdamW for all else, both without weight decay.

    Source: Jordan et al. (2024). Its steps are scaled to be as large as AdamW's, so that one rate
    does for both.
    """
    linear = [one.weight for one in model.modules() if isinstance(one, nn.Linear)]
    theirs = set(map(id, linear))
    others = [one for one in model.parameters() if id(one) not in theirs]
    parts = (
        (linear, partial(torch.optim.Muon, adjust_lr_fn="match_rms_adamw")),
        (others, partial(torch.optim.AdamW, fused=True)),
    )
    return Together([kind(own, lr=lr, weight_decay=0.0) for own, kind in parts if own])


def fit(
    model: nn.Module,
    batches: Callable[[], Iterable[Labelled]],
    epochs: int,
    lr: float = 3e-3,
    *,
    optimizer: Callable[[nn.Module, float], torch.optim.Optimizer] = adamw,
    max_steps: int | None = None,
    precision: torch.dtype | None = None,
    checkpoint: Path | None = None,
    generator: torch.Generator | None = None,
    track: Callable[[range], Iterable[int]] = iter,
) -> list[float]:
    """Train at a rate that falls to zero, with AdamW or another optimizer; each epoch's mean loss.

    `batches` gives the batches of one epoch, as many each time, and `model(*batch.inputs)` a score
    for each possible label. Training ends early after `max_steps`. With a `precision`, such as
    torch.bfloat16, the model runs under torch.autocast; it may be what torch.compile made.
    A `checkpoint` is a file that is written after each epoch: where it is there, training goes on
    from it and ends as it would have without the break, if the `generator` from which `batches`
    draws is given too. `track` is wrapped around the epochs, as tqdm is, to show progress.
    """
    was_training = model.training
    optimized = optimizer(model, lr)
    # its length comes with the first epoch's batches
    rate = torch.optim.lr_scheduler.PolynomialLR(optimized, total_iters=1)
    parts = {"model": model, "optimizer": optimized, "rate": rate}
    history = restore(checkpoint, parts, generator)
    model.train()
    for epoch in track(range(len(history), epochs)):
        work = list(batches())
        rate.total_iters = epochs * len(work)
        left = len(work) if max_steps is None else max(0, max_steps - epoch * len(work))
        losses = [step(model, batch, optimized, rate, precision) for batch in work[:left]]
        if not losses:
            break
        history.append(sum(losses) / len(losses))
        if checkpoint is not None and len(losses) == len(work):
            keep(checkpoint, parts, generator, history)
    model.train(was_training)
    return history


def step(
    model: nn.Module,
    batch: Labelled,
    optimizer: torch.optim.Optimizer,
    rate: torch.optim.lr_scheduler.LRScheduler,
    precision: torch.dtype | None = None,
) -> float:
    """One step of training; the loss before it."""
    optimizer.zero_grad()
    device = batch.labels.device.type
    with torch.autocast(device, precision, enabled=precision is not None):
        scores = model(*batch.inputs).flatten(0, -2)
    loss = F.cross_entropy(scores.float(), batch.labels.flatten())
    loss.backward()
    optimizer.step()
    rate.step()
    return loss.item()


def keep(
    checkpoint: Path,
    parts: dict[str, Any],
    generator: torch.Generator | None,
    history: list[float],
) -> None:
    """Write all that the next epoch depends on; the file is whole at every moment."""
    state = {name: part.state_dict() for name, part in parts.items()}
    state |= {"history": history, "random": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["random_cuda"] = torch.cuda.get_rng_state_all()
    if generator is not None:
        state["generator"] = generator.get_state()
    # two programs may train the same model at the same time
    part = checkpoint.with_name(f"{checkpoint.name}.{os.getpid()}.part")
    torch.save(state, part)
    part.replace(checkpoint)


def restore(
    checkpoint: Path | None, parts: dict[str, Any], generator: torch.Generator | None
) -> list[float]:
    """Take up what a file kept, if it is there; the mean losses of its epochs."""
    if checkpoint is None or not checkpoint.is_file():
        return []
    try:
        state = torch.load(checkpoint, weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(state[name])
    except (RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
        raise ValueError(
            f"{checkpoint} is no checkpoint of this model ({error}): move it away to begin anew"
        ) from error
    torch.set_rng_state(state["random"])
    if "random_cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["random_cuda"])
    if generator is not None and "generator" in state:
        generator.set_state(state["generator"])
    return state["history"]


@torch.no_grad()
def kept(name: str, model: nn.Module, batches: Iterable[Labelled], *recipe: object) -> Path | None:
    """The checkpoint of a model that is trained in this way, beside the archives of data.

    Whatever changes the result makes another file: torch's version, the model and its initial
    weights, what it computes, the batches of an epoch, and the recipe. None where no file can be
    written.
    """
    work, was_training = list(batches), model.training
    scores = model.eval()(*work[0].inputs)
    model.train(was_training)
    told = hashlib.sha256(repr((torch.__version__, model, recipe)).encode())
    seen = (x for batch in work for x in (*batch.inputs, batch.labels))
    for x in (scores, *model.state_dict().values(), *seen):
        told.update(x.cpu().numpy().tobytes())
    folder = cache_folder() / "models"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder / f"{name}-{told.hexdigest()[:16]}.pt" if os.access(folder, os.W_OK) else None


class Progress:
    """How many epochs are done, as a bar."""

    def __init__(self, done: int, epochs: int):
        self.done, self.epochs = done, epochs

    def __repr__(self) -> str:
        bar = "■" * self.done + "□" * (self.epochs - self.done)
        return f"{bar} {self.done} of {self.epochs} epochs"


def progress(epochs: range) -> Iterator[int]:
    """Show in a notebook, in one line that is written over, how many epochs are done."""
    # imported here: whoever asks for this has a notebook
    from IPython.display import display

    line = display(Progress(epochs.start, epochs.stop), display_id=True)
    for epoch in epochs:
        yield epoch
        if line is not None:
            line.update(Progress(epoch + 1, epochs.stop))


@torch.no_grad()
def accuracy(model: nn.Module, batches: Iterable[Labelled]) -> float:
    """The share of the labels that get the highest score, without dropout."""
    was_training = model.training
    model.eval()
    correct = total = 0
    for batch in batches:
        labelled = batch.labels != -100
        correct += ((model(*batch.inputs).argmax(-1) == batch.labels) & labelled).sum().item()
        total += labelled.sum().item()
    model.train(was_training)
    return correct / total
