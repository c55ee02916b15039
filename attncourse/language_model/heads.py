"""What the heads of a language model do: where they look, and what is lost without them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncourse.shapes import shaped
from attncourse.transformer import LanguageModel

Weights = Float[Tensor, "*batch n n"]


@torch.no_grad()
def head_weights(
    model: LanguageModel, tokens: Int[Tensor, "batch n"]
) -> Float[Tensor, "depth batch heads n n"]:
    """The attention weights of all heads of all blocks.

    With unit vectors in the place of the values, what a head gives is its weights.
    """
    seen: list[Tensor] = []

    def look(attend, given: tuple, named: dict) -> None:
        q, k, _ = given
        units = torch.eye(k.shape[-2], dtype=q.dtype, device=q.device)
        seen.append(attend.forward(q, k, units.expand(*k.shape[:-1], -1), **named))

    hooks = [
        block.attention.part.attend.register_forward_pre_hook(look, with_kwargs=True)
        for block in model.stack.blocks
    ]
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(seen)


@contextmanager
def without(model: LanguageModel, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """Within, these heads, each a block and its place there, add nothing to the residual stream.

    Source: Michel et al. (2019), section 2.3.
    """
    hooks = []
    for block, head in heads:
        part = model.stack.blocks[block].attention.part
        if not 0 <= head < part.heads:
            raise ValueError(f"head={head} is none of the {part.heads} heads of block {block}")

        def silence(_, given: tuple, head: int = head, count: int = part.heads) -> tuple:
            z = given[0].unflatten(-1, (count, -1)).clone()
            z[..., head, :] = 0
            return (z.flatten(-2),)

        hooks.append(part.w_o.register_forward_pre_hook(silence))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@shaped
def offset_score(weights: Float[Tensor, "*batch n n"], offset: int = 1) -> Float[Tensor, "*batch"]:
    """The mean weight on the token that stands so many places before."""
    return weights.diagonal(-offset, -2, -1).mean(-1)


@shaped
def induction_score(weights: Float[Tensor, "*batch n n"], period: int) -> Float[Tensor, "*batch"]:
    """In a text that repeats its first `period` tokens: the mean weight on what followed before.

    Source: Olsson et al. (2022), "prefix matching".
    """
    return weights.diagonal(1 - period, -2, -1)[..., 1:].mean(-1)
