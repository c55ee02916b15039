"""What the claims of the chapter share: models with random weights, and parts left out."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from attncourse.course.multi_head.claims import normal64
from attncourse.dot_product import attention
from attncourse.positional import SinusoidalEncoding
from attncourse.transformer import (
    Causal,
    Decoder,
    DecoderBlock,
    Embedding,
    Encoder,
    EncoderBlock,
    LanguageModel,
    PostNorm,
    PreNorm,
    Transformer,
)

WORDS, HEADS = 11, 4
Module = TypeVar("Module", bound=nn.Module)


def random_module(g: torch.Generator, make: Callable[[], Module]) -> Module:
    """A module in float64: matrices as Glorot and Bengio draw them, biases of 0.

    Torch's own generator, which belongs to the reader's next cell, stays as it is.
    """
    with torch.device("meta"):
        module = make().double()
    module.to_empty(device=g.device)
    for submodule in module.modules():
        if isinstance(submodule, nn.LayerNorm):
            submodule.reset_parameters()
        elif isinstance(submodule, nn.Linear):
            nn.init.xavier_normal_(submodule.weight, generator=g)
            nn.init.zeros_(submodule.bias)
        elif isinstance(submodule, nn.Embedding):
            nn.init.normal_(submodule.weight, std=submodule.embedding_dim**-0.5, generator=g)
    return module


def tokens(g: torch.Generator, *shape: int) -> Tensor:
    """Random tokens."""
    return torch.randint(WORDS, shape, generator=g, device=g.device)


def zero_heads(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention whose heads give only zeros."""
    return torch.zeros_like(q)


class NoSkip(PreNorm):
    """The part's output in place of x, and not beside it."""

    def forward(self, x: Tensor, *args, **kwargs) -> Tensor:
        return self.part(self.norm(x), *args, **kwargs)


class NoNorm(PreNorm):
    """The part reads the stream as it is."""

    def __init__(self, d_model: int, part: nn.Module, dropout: float = 0.0):
        super().__init__(d_model, part, dropout)
        self.norm = nn.Identity()


def stack(
    g: torch.Generator,
    depth: int,
    d: int,
    residual: type[PreNorm | PostNorm] = PreNorm,
    norm: bool = True,
) -> Encoder:
    """So many encoder blocks, and a last norm."""

    def make() -> Encoder:
        blocks = [EncoderBlock(d, HEADS, 4 * d, residual=residual) for _ in range(depth)]
        return Encoder(blocks, nn.LayerNorm(d) if norm else None)

    return random_module(g, make)


def translator(
    g: torch.Generator,
    d: int = 16,
    attend=attention,
    cross_attend=attention,
    positions: bool = True,
) -> Transformer:
    """An encoder-decoder of two blocks each."""

    def make() -> Transformer:
        position = SinusoidalEncoding(d) if positions else None
        encoder = [EncoderBlock(d, HEADS, 4 * d, attend) for _ in range(2)]
        decoder = [DecoderBlock(d, HEADS, 4 * d, cross_attend=cross_attend) for _ in range(2)]
        ends = [Embedding(WORDS, d, position) for _ in range(2)]
        norms = [nn.LayerNorm(d) for _ in range(2)]
        return Transformer(ends[0], Encoder(encoder, norms[0]), ends[1], Decoder(decoder, norms[1]))

    return random_module(g, make)


def writer(
    g: torch.Generator, d: int = 16, depth: int = 2, attend: Callable | None = None, **options
) -> LanguageModel:
    """A language model."""
    block = partial(EncoderBlock, d, HEADS, 4 * d, **options)

    def make() -> LanguageModel:
        blocks = [block(attend=Causal() if attend is None else attend) for _ in range(depth)]
        embedding = Embedding(WORDS, d, SinusoidalEncoding(d))
        return LanguageModel(embedding, Encoder(blocks, nn.LayerNorm(d)))

    return random_module(g, make)


def relative_difference(first: Tensor, second: Tensor) -> float:
    """Their largest difference, as a share of the largest number."""
    return ((first - second).abs().max() / second.abs().max()).item()


def gradients(g: torch.Generator, stack: Encoder, d: int) -> list[float]:
    """In each block, the norm of the gradient of the feed-forward network's last matrix.

    The loss is the cross-entropy of random words for 8 sequences of 16 random tokens.
    """
    x, words = normal64(g, 8, 16, d), normal64(g, 64, d) / d**0.5
    targets = torch.randint(64, (8 * 16,), generator=g, device=g.device)
    loss = nn.functional.cross_entropy((stack(x) @ words.mT).flatten(0, 1), targets)
    matrices = [block.get_parameter("feed_forward.part.down.weight") for block in stack.blocks]
    return [gradient.norm().item() for gradient in torch.autograd.grad(loss, matrices)]
