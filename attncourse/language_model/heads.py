"""Weights, ablation and scores of the heads of a language model."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attncourse.shapes import shaped
from attncourse.transformer import GroupedAttention, LanguageModel


@torch.no_grad()
def head_weights(
    model: LanguageModel, tokens: Int[Tensor, "batch n"]
) -> Float[Tensor, "depth batch heads n n"]:
    """The attention weights of all heads of all blocks.

    With unit vectors as values, the output of a head is its weights.
    """
    weights_by_layer: list[Tensor] = []

    def record(attend: nn.Module, args: tuple, kwargs: dict) -> None:
        q, k, _ = args
        units = torch.eye(k.shape[-2], dtype=q.dtype, device=q.device)
        weights_by_layer.append(attend.forward(q, k, units.expand(*k.shape[:-1], -1), **kwargs))

    # blocks may share one `attend`
    attends = dict.fromkeys(layer.attend for layer in attention_layers(model))
    with temporary_hooks(
        attend.register_forward_pre_hook(record, with_kwargs=True) for attend in attends
    ):
        model(tokens)
    weights = torch.stack(weights_by_layer)
    if not weights.is_meta and (weights.sum(-1) - 1).abs().max() > 1e-3:
        raise ValueError("rows do not sum to 1: these heads add something to the values")
    return weights


@contextmanager
def without(model: LanguageModel, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """Context in which these heads, (block, head) pairs, add nothing to the residual stream.

    Source: Michel et al. (2019), section 2.3.
    """
    layers, heads = attention_layers(model), list(heads)
    for block, head in heads:
        if not (0 <= block < len(layers) and 0 <= head < layers[block].heads):
            raise ValueError(
                f"there is no head {head} in a block {block} of {len(layers)}, "
                f"which have {layers[0].heads} heads each"
            )
    with temporary_hooks(
        layers[block].w_o.register_forward_pre_hook(zero_head_hook(head, layers[block].heads))
        for block, head in heads
    ):
        yield


def zero_head_hook(head: int, heads: int) -> Callable[[nn.Module, tuple], Tensor]:
    """A pre-hook of w_o that sets one head's part of the joined heads to 0."""

    def hook(_: nn.Module, args: tuple) -> Tensor:
        z = args[0].unflatten(-1, (heads, -1)).clone()
        z[..., head, :] = 0
        return z.flatten(-2)

    return hook


@contextmanager
def temporary_hooks(hooks: Iterable) -> Iterator[None]:
    """Context that removes these hooks at its end, also after an error."""
    registered = []
    try:
        # one by one: if registering one fails, the earlier ones are removed
        for hook in hooks:
            registered.append(hook)
        yield
    finally:
        for hook in registered:
            hook.remove()


def attention_layers(model: LanguageModel) -> list[GroupedAttention]:
    """The attention layer of each block."""
    return [block.attention.part for block in model.stack.blocks]  # pyright: ignore


@shaped
def offset_score(weights: Float[Tensor, "*batch n n"], offset: int = 1) -> Float[Tensor, "*batch"]:
    """Mean weight on the token `offset` positions before."""
    n = weights.shape[-1]
    if not 0 <= offset < n:
        raise ValueError(f"offset={offset} is not from 0 to {n - 1}, for {n} tokens")
    return weights.diagonal(-offset, -2, -1).mean(-1)


@shaped
def induction_score(weights: Float[Tensor, "*batch n n"], period: int) -> Float[Tensor, "*batch"]:
    """Mean weight on the token after the previous copy, if the first `period` tokens are repeated.

    Source: Olsson et al. (2022), "prefix matching".
    """
    n = weights.shape[-1]
    if not 1 <= period < n:
        raise ValueError(f"period={period} is not from 1 to {n - 1}, for {n} tokens")
    return weights.diagonal(1 - period, -2, -1)[..., 1:].mean(-1)
