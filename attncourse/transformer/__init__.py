r"""The Transformer: its blocks, its stacks, and how it generates (chapter: transformer).

$$\text{pre-norm: } x + f(\mathrm{norm}(x)), \qquad \text{post-norm: } \mathrm{norm}(x + f(x))$$

Here $f$ is attention, cross-attention or the feed-forward network. The heads do whatever
`attend(q, k, v, mask)` computes; in self-attention, the n queries are the last of m positions.
Source: Vaswani et al. (2017), section 3; pre-norm: Xiong et al. (2020).
"""

from attncourse.transformer.attends import (
    ALiBiAttention,
    Causal,
    CausalLinearAttention,
    RotaryAttention,
    T5Attention,
    WindowedAttention,
)
from attncourse.transformer.blocks import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    GroupedAttention,
    PostNorm,
    PreNorm,
)
from attncourse.transformer.cache import KeyValueCache, LayerState, LinearState
from attncourse.transformer.generation import beam_search, generate, greedy, sample
from attncourse.transformer.gpt import GPT, Block
from attncourse.transformer.stacks import (
    Decoder,
    Decoding,
    Embedding,
    Encoder,
    LanguageModel,
    Transformer,
    causal_model,
)
from attncourse.transformer.weights import composed, load_gpt2

__all__ = [
    "GPT",
    "ALiBiAttention",
    "Block",
    "Causal",
    "CausalLinearAttention",
    "Decoder",
    "DecoderBlock",
    "Decoding",
    "Embedding",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "GroupedAttention",
    "KeyValueCache",
    "LanguageModel",
    "LayerState",
    "LinearState",
    "PostNorm",
    "PreNorm",
    "RotaryAttention",
    "T5Attention",
    "Transformer",
    "WindowedAttention",
    "beam_search",
    "causal_model",
    "composed",
    "generate",
    "greedy",
    "load_gpt2",
    "sample",
]
