"""The course's own methods, each in the small GPT of the protocol."""

from collections.abc import Callable
from functools import partial

from torch import nn

from attncourse.efficient import grouped_query_attention
from attncourse.language_model import language_model
from attncourse.today import (
    DeltaAttention,
    LatentAttention,
    PooledAttention,
    SelectedAttention,
    replace_attention,
)
from attncourse.transformer import Causal, CausalLinearAttention, LanguageModel, RotaryAttention
from attncourse.workbench.protocol import D_MODEL, DEPTH, HEADS

SIZE = D_MODEL, HEADS
# 16 keys of each query, a window of 16 tokens, a row for 4 tokens: an eighth of the text, or more
COUNT, WIDTH, BLOCK = 16, 16, 4


def of_heads(
    attend: Callable[[], nn.Module], groups: int | None = None
) -> Callable[[int], LanguageModel]:
    """What makes a GPT whose heads attend like this, with so many groups of keys and values."""
    return lambda vocabulary: language_model(vocabulary, *SIZE, DEPTH, attend, groups)


def of_layers(*layers: Callable[[], nn.Module] | None) -> Callable[[int], LanguageModel]:
    """What makes a GPT with these layers in place of its attention; None keeps it."""

    def make(vocabulary: int) -> LanguageModel:
        model = language_model(vocabulary, *SIZE, DEPTH)
        kept = [block.attention.part for block in model.stack.blocks]
        made = [layer() if layer else old for layer, old in zip(layers, kept, strict=True)]
        return replace_attention(model, made.__getitem__)

    return make


def grouped() -> Causal:
    """Causal attention with rotary positions, to fewer heads of keys and values."""
    return Causal(RotaryAttention(attend=grouped_query_attention))


DELTA = partial(DeltaAttention, *SIZE)
METHODS: dict[str, Callable[[int], LanguageModel]] = {
    "softmax": of_heads(lambda: Causal(RotaryAttention())),
    "two groups": of_heads(grouped, 2),
    "latent": of_layers(*3 * [partial(LatentAttention, *SIZE)]),
    "selected 16": of_layers(*3 * [partial(SelectedAttention, *SIZE, COUNT)]),
    "pooled by 4": of_layers(*3 * [partial(PooledAttention, *SIZE, BLOCK, WIDTH)]),
    "linear": of_heads(CausalLinearAttention),
    "per-channel delta": of_layers(*3 * [DELTA]),
    "hybrid": of_layers(DELTA, DELTA, None),
}
