"""The intermediate values of a forward pass."""

import torch
from jaxtyping import Int
from torch import Tensor

from attncourse.dot_product import causal_mask, masked_softmax
from attncourse.multi_head import join_heads, split_heads
from attncourse.relative import rope
from attncourse.transformer import EncoderBlock, FeedForward, GroupedAttention, LanguageModel


@torch.no_grad()
def trace(model: LanguageModel, tokens: Int[Tensor, "n"]) -> dict[str, Tensor]:
    """What a model with rotary positions computes for one text, step by step.

    The first axis of each tensor is the block, but for `final` and `logits`; `stream` has what
    enters each block, then what leaves the last, and `lens` the logits if a block were the last.
    """
    stream = [model.embedding(tokens)]
    steps = []
    for block in model.stack.blocks:
        steps.append(block_steps(block, stream[-1]))
        stream.append(block(stream[-1]))
    by_name = {name: torch.stack([step[name] for step in steps]) for name in steps[0]}
    lens = model.embedding.scores(model.stack.norm(torch.stack(stream[1:])))
    final = model.stack.norm(stream[-1])
    return by_name | {
        "stream": torch.stack(stream),
        "lens": lens,
        "final": final,
        "logits": model.embedding.scores(final),
    }


def block_steps(block: EncoderBlock, x: Tensor) -> dict[str, Tensor]:
    """The steps of one block, from the stream that enters it."""
    layer: GroupedAttention = block.attention.part  # pyright: ignore
    network: FeedForward = block.feed_forward.part  # pyright: ignore
    normed, positions = block.attention.norm(x), torch.arange(len(x), device=x.device)
    q, (k, v) = split_heads(layer.w_q(normed), layer.heads), layer.keys_values(normed)
    turned_q, turned_k = rope(q, positions), rope(k, positions)
    scores = turned_q @ turned_k.mT / q.shape[-1] ** 0.5
    weights = masked_softmax(scores, causal_mask(len(x), device=x.device))
    mixed = weights @ v
    attended = layer.w_o(join_heads(mixed))
    up = network.up(block.feed_forward.norm(x + attended))
    return {
        "query": q,
        "key": k,
        "value": v,
        "turned": turned_q,
        "turned_key": turned_k,
        "score": scores,
        "weight": weights,
        "mixed": mixed,
        "attended": attended,
        "up": up,
        "fed": network.down(network.activation(up)),
    }
