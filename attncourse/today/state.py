"""What a process needs to go on writing a text: the state of a cache step."""

import torch
from jaxtyping import Float
from torch import Tensor

from attncourse.shapes import shaped


@shaped
def append_row(
    rows: Float[Tensor, "*batch m width"], row: Float[Tensor, "*batch width"]
) -> Float[Tensor, "*batch m_and_1 width"]:
    """The rows of the tokens so far, and that of the next token."""
    return torch.cat([rows, row[..., None, :].to(rows.dtype)], dim=-2)


def state_bytes(state: Tensor | tuple) -> int:
    """The bytes of all tensors in a state."""
    if isinstance(state, Tensor):
        return state.numel() * state.element_size()
    return sum(map(state_bytes, state))
