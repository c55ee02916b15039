"""What is done in the sandbox: a handed-in method's layers are called with weights and numbers.

Each call is made in a process of its own, which has had no other.
"""

import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

from attncourse.data.addresses import Address, Addresses
from attncourse.today import auxiliary_loss
from attncourse.train import seeded
from attncourse.transformer import LayerState
from attncourse.workbench.checks import gradients
from attncourse.workbench.counts import work, work_of_part
from attncourse.workbench.layers import (
    InPlace,
    State,
    load_method,
    new_layer,
    run_steps,
    takes_mask,
)
from attncourse.workbench.ours import is_inherited
from attncourse.workbench.protocol import train_on_addresses

# the names of a state dict, and its tensors
Weights = tuple[list[str], list[Tensor]]


class Inside:
    """What can be asked of a method's code."""

    def __init__(self, code: str):
        path = Path(tempfile.mkdtemp(), "method.py")
        path.write_text(code, "utf-8")
        self.method = load_method(path)
        # torch loads its compiler for the first count, which would take the time of each call
        work(lambda: torch.ones(1, 1) @ torch.ones(1, 1))
        self.calls = {
            f.__name__: f
            for f in (self.new, self.whole, self.gradients, self.steps, self.work, self.train)
        }

    def new(self, i: int, seed: int) -> tuple[Weights, list[str], bool, bool, int]:
        """The weights of a new layer of block i, and the names of those that learn; whether it
        takes a mask, and is the course's own; how many blocks' layers differ."""
        with seeded(seed):
            layer = new_layer(self.method, i).float()
        learned = [name for name, p in layer.named_parameters() if p.requires_grad]
        own = is_inherited(layer)
        return listed(layer), learned, takes_mask(layer), own, len(self.method.distinct)

    def layer(self, i: int, weights: Weights, x: Tensor, training: bool = False) -> nn.Module:
        """A layer of block i with these weights, in the precision of x."""
        layer = new_layer(self.method, i).to(x.dtype).train(training)
        layer.load_state_dict(dict(zip(*weights, strict=True)))
        # in training, the same numbers are dropped in each call
        torch.manual_seed(0) if training else torch.seed()
        return layer

    @torch.no_grad()
    def whole(
        self, i: int, weights: Weights, training: bool, x: Tensor, *mask: Tensor
    ) -> tuple[Tensor, Tensor | float]:
        """The output of x, and what the layer learns from beside it."""
        layer = self.layer(i, weights, x, training)
        return layer(x, *mask), auxiliary_loss(layer)

    def gradients(
        self,
        i: int,
        weights: Weights,
        training: bool,
        along: list[Tensor],
        x: Tensor,
        *mask: Tensor,
    ) -> list[Tensor | None]:
        """The gradients, for x and what learns, of both results of `whole` along others."""
        layer = self.layer(i, weights, x, training)
        z = layer(x.requires_grad_(), *mask)
        loss = (z * along[0]).sum() + auxiliary_loss(layer) * along[1]
        return [*gradients(loss, [x, *(p for p in layer.parameters() if p.requires_grad)])]

    def steps(
        self, i: int, weights: Weights, state: State | None, x: Tensor, start: int
    ) -> tuple[State, Tensor]:
        """The state after the tokens of x, and their outputs."""
        return run_steps(self.layer(i, weights, x), state, x, start)

    @torch.no_grad()
    def work(self, i: int, weights: Weights, x: Tensor) -> list[int]:
        """Operations and elements to read all tokens of x but one, and to write it."""
        return work_of_part(InPlace(self.layer(i, weights, x)), LayerState(), x)

    def train(self, years: list[int], texts: list[str], seed: int, steps: int) -> Weights:
        """The weights of a new model that is trained on texts."""
        corpus = Addresses(tuple(map(Address, years, texts)), (), (), sample=False)
        checkpoint = Path(tempfile.mkdtemp(), "checkpoint.pt")
        return listed(train_on_addresses(self.method.model, corpus, seed, checkpoint, steps))


def listed(module: nn.Module) -> Weights:
    """The weights of a module."""
    weights = module.state_dict()
    return [*weights], [*weights.values()]
