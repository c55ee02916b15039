"""Training loop, checkpoints and accuracy, for any model and any batches."""

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


class LabelledBatch(Protocol):
    """A batch: the inputs of a model, and its labels, -100 where a position has none."""

    @property
    def inputs(self) -> tuple[Tensor, ...]: ...

    @property
    def labels(self) -> Int[Tensor, "..."]: ...


@contextmanager
def seeded(seed: int) -> Iterator[torch.Generator]:
    """Context in which torch's global generator has this seed; its state is restored afterwards.

    Yields another generator with the same seed.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield torch.Generator().manual_seed(seed)


class CombinedOptimizer(torch.optim.Optimizer):
    """Several optimizers with disjoint parameters, stepped as one."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]):
        self.optimizers = optimizers
        # the groups are shared, so that a scheduler changes the rates of the optimizers
        super().__init__(
            [group for optimizer in optimizers for group in optimizer.param_groups], {}
        )

    def step(self, closure: None = None) -> None:  # pyright: ignore
        for optimizer in self.optimizers:
            optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """The state of each optimizer, by its index."""
        return {str(i): optimizer.state_dict() for i, optimizer in enumerate(self.optimizers)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the states that `state_dict` returned."""
        for i, optimizer in enumerate(self.optimizers):
            optimizer.load_state_dict(state_dict[str(i)])
        self.param_groups = [
            group for optimizer in self.optimizers for group in optimizer.param_groups
        ]


def adamw(model: nn.Module, lr: float) -> torch.optim.Optimizer:
    """AdamW for all parameters. Source: Loshchilov & Hutter (2019)."""
    return torch.optim.AdamW(model.parameters(), lr, fused=True)


def muon(model: nn.Module, lr: float) -> torch.optim.Optimizer:
    """Muon for the matrices of linear layers, AdamW for all else, both without weight decay.

    Source: Jordan et al. (2024). Its steps are scaled to be as large as AdamW's, so that both
    share one learning rate.
    """
    linear = [layer.weight for layer in model.modules() if isinstance(layer, nn.Linear)]
    linear_ids = set(map(id, linear))
    other_weights = [weight for weight in model.parameters() if id(weight) not in linear_ids]
    groups = (
        (linear, partial(torch.optim.Muon, adjust_lr_fn="match_rms_adamw")),
        (other_weights, partial(torch.optim.AdamW, fused=True)),
    )
    return CombinedOptimizer(
        [make(parameters, lr=lr, weight_decay=0.0) for parameters, make in groups if parameters]
    )


def no_auxiliary_loss(model: nn.Module) -> float:
    """What is added to the loss of a model that has no other."""
    return 0.0


def fit(
    model: nn.Module,
    batches: Callable[[], Iterable[LabelledBatch]],
    epochs: int,
    lr: float = 3e-3,
    *,
    optimizer: Callable[[nn.Module, float], torch.optim.Optimizer] = adamw,
    max_steps: int | None = None,
    precision: torch.dtype | None = None,
    checkpoint: Path | None = None,
    generator: torch.Generator | None = None,
    track: Callable[[range], Iterable[int]] = iter,
    auxiliary_loss: Callable[[nn.Module], Tensor | float] = no_auxiliary_loss,
) -> list[float]:
    """Train with a learning rate that falls linearly to zero; returns each epoch's mean loss.

    `batches` gives the batches of one epoch, as many each time, and `model(*batch.inputs)` a score
    for each possible label. Training ends early after `max_steps`. With a `precision`, such as
    torch.bfloat16, the model runs under torch.autocast; it may be compiled.
    The file `checkpoint` is written after each epoch; if it exists, training resumes from it, with
    the same result as without the interruption, if the `generator` from which `batches` draws is
    given too. `track` wraps the epochs, as tqdm does, to show progress. `auxiliary_loss(model)` is
    added to the loss of each step.
    """
    was_training = model.training
    optim = optimizer(model, lr)
    # total_iters is set when the first epoch has its number of batches
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optim, total_iters=1)
    states = {"model": model, "optimizer": optim, "rate": scheduler}
    history = load_checkpoint(checkpoint, states, generator)
    model.train()
    for epoch in track(range(len(history), epochs)):
        epoch_batches = list(batches())
        scheduler.total_iters = epochs * len(epoch_batches)
        remaining = (
            len(epoch_batches)
            if max_steps is None
            else max(0, max_steps - epoch * len(epoch_batches))
        )
        losses = [
            train_step(model, batch, optim, scheduler, precision, auxiliary_loss)
            for batch in epoch_batches[:remaining]
        ]
        if not losses:
            break
        history.append(sum(losses) / len(losses))
        if checkpoint is not None and len(losses) == len(epoch_batches):
            save_checkpoint(checkpoint, states, generator, history)
    model.train(was_training)
    return history


def train_step(
    model: nn.Module,
    batch: LabelledBatch,
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    precision: torch.dtype | None = None,
    auxiliary_loss: Callable[[nn.Module], Tensor | float] = no_auxiliary_loss,
) -> float:
    """One optimizer step on a batch; returns the loss before it, without the auxiliary one."""
    optimizer.zero_grad()
    device = batch.labels.device.type
    with torch.autocast(device, precision, enabled=precision is not None):
        scores = model(*batch.inputs).flatten(0, -2)
    loss = F.cross_entropy(scores.float(), batch.labels.flatten())
    (loss + auxiliary_loss(model)).backward()
    optimizer.step()
    scheduler.step()
    return loss.item()


def save_checkpoint(
    checkpoint: Path,
    states: dict[str, Any],
    generator: torch.Generator | None,
    history: list[float],
) -> None:
    """Write the training state and the random states to a file, atomically."""
    state = {name: temporary_path.state_dict() for name, temporary_path in states.items()}
    state |= {"history": history, "random": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["random_cuda"] = torch.cuda.get_rng_state_all()
    if generator is not None:
        state["generator"] = generator.get_state()
    # a name of its own: two processes may train the same model at the same time
    temporary_path = checkpoint.with_name(f"{checkpoint.name}.{os.getpid()}.part")
    torch.save(state, temporary_path)
    temporary_path.replace(checkpoint)


def load_checkpoint(
    checkpoint: Path | None, states: dict[str, Any], generator: torch.Generator | None
) -> list[float]:
    """Restore the training state from a file; returns its mean losses, none without a file."""
    if checkpoint is None or not checkpoint.is_file():
        return []
    try:
        state = torch.load(checkpoint, weights_only=True)
        for name, state_holder in states.items():
            state_holder.load_state_dict(state[name])
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
def checkpoint_path(
    name: str, model: nn.Module, batches: Iterable[LabelledBatch], *recipe: object
) -> Path | None:
    """Path of a model's checkpoint in the cache folder; None where no file can be written.

    Its name has a hash of all that decides the result: torch's version, the model, its initial
    weights, its outputs, the batches of an epoch, and the recipe.
    """
    epoch_batches, was_training = list(batches), model.training
    scores = model.eval()(*epoch_batches[0].inputs)
    model.train(was_training)
    digest = hashlib.sha256(repr((torch.__version__, model, recipe)).encode())
    tensors = (x for batch in epoch_batches for x in (*batch.inputs, batch.labels))
    for x in (scores, *model.state_dict().values(), *tensors):
        digest.update(x.cpu().numpy().tobytes())
    folder = cache_folder() / "models"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder / f"{name}-{digest.hexdigest()[:16]}.pt" if os.access(folder, os.W_OK) else None


class ProgressBar:
    """Text bar of the epochs done."""

    def __init__(self, done: int, epochs: int):
        self.done, self.epochs = done, epochs

    def __repr__(self) -> str:
        bar = "■" * self.done + "□" * (self.epochs - self.done)
        return f"{bar} {self.done} of {self.epochs} epochs"


def progress(epochs: range) -> Iterator[int]:
    """Iterate over the epochs with a progress bar in the notebook; for the `track` of `fit`."""
    # imported here: only notebooks have IPython
    from IPython.display import display

    line = display(ProgressBar(epochs.start, epochs.stop), display_id=True)
    for epoch in epochs:
        yield epoch
        if line is not None:
            line.update(ProgressBar(epoch + 1, epochs.stop))


@torch.no_grad()
def accuracy(model: nn.Module, batches: Iterable[LabelledBatch]) -> float:
    """Share of labels that have the highest score, in eval mode."""
    was_training = model.training
    model.eval()
    correct = total = 0
    for batch in batches:
        labelled = batch.labels != -100
        correct += ((model(*batch.inputs).argmax(-1) == batch.labels) & labelled).sum().item()
        total += labelled.sum().item()
    model.train(was_training)
    return correct / total
