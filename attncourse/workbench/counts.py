"""What a method keeps and computes: its state, operations, and elements of new tensors.

For one text, in the layers of attention of the protocol's GPT alone, since the rest of it is the
same with each method.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attncourse.cost import Cost, count, elements_by_operation
from attncourse.today import state_bytes
from attncourse.train import seeded
from attncourse.transformer.blocks import EncoderBlock
from attncourse.workbench.protocol import D_MODEL, MakeModel

# a window of the training, and a text longer than any
SHORT, LONG = 128, 512


class Counts(NamedTuple):
    """Bytes of the state after a short and a long text; work to read the short one, then to write
    a token."""

    short_state: int
    long_state: int
    read_operations: int
    read_elements: int
    write_operations: int
    write_elements: int


@torch.no_grad()
def count_method(make: MakeModel) -> Counts:
    """The sum over the layers of a new model."""
    x = random_text(SHORT + 1)
    totals = torch.zeros(4, dtype=torch.long)
    for block in new_blocks(make):
        totals += torch.tensor(work_of_part(block.attention.part, block.new_cache(), x))
    return Counts(state_after(SHORT, make), state_after(LONG, make), *totals.tolist())


def work_of_part(part: nn.Module, cache: object, x: Tensor) -> list[int]:
    """Operations and elements to read all tokens of x but one, and to write it."""
    before, last = x[:, :-1], x[:, -1:]
    read = work(partial(part, before))
    part(before, cache=cache)
    return [*read, *work(partial(part, last, cache=cache))]


@torch.no_grad()
def state_after(n: int, make: MakeModel) -> int:
    """The bytes that all layers of a new model keep of a text of n tokens."""
    total = 0
    for block in new_blocks(make):
        cache = block.new_cache()
        block.attention.part(random_text(n), cache=cache)
        total += state_bytes(tuple(vars(cache).values()))
    return total


def new_blocks(make: MakeModel) -> Sequence[EncoderBlock]:
    """The blocks of a new model."""
    with seeded(0):
        return make(1).eval().stack.blocks  # pyright: ignore


def random_text(n: int) -> Tensor:
    """Random vectors of n tokens."""
    return torch.randn(1, n, D_MODEL, generator=torch.Generator().manual_seed(0))


def work(f: Callable[[], Tensor]) -> tuple[int, int]:
    """The operations of matrix products in a call, and the elements of all new tensors."""
    costs: list[Cost] = []
    elements = elements_by_operation(lambda: costs.append(count(f)))
    return costs[0].flops, elements.total()
