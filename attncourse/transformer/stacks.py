"""Blocks in a stack, and the two models made of stacks: encoder-decoder, and decoder alone."""

from collections.abc import Callable, Iterable, Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse.transformer.attends import Causal
from attncourse.transformer.blocks import DecoderBlock, EncoderBlock, KeysValues
from attncourse.transformer.cache import Cache


class Embedding(nn.Module):
    """A vector for each token, plus that of its position if `position` is given.

    The same table scores the next token (tied embeddings).
    Source: Vaswani et al. (2017), section 3.4; Press & Wolf (2017).
    """

    def __init__(
        self,
        vocabulary: int,
        d_model: int,
        position: nn.Module | None = None,
        scale: float = 1.0,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.table = nn.Embedding(vocabulary, d_model)
        self.position, self.scale, self.dropout = position, scale, nn.Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "*batch n"], start: int = 0) -> Tensor:
        """The scaled vectors of the tokens, and their positions from `start` on."""
        require_known(tokens, self.table.num_embeddings)
        x = self.table(tokens) * self.scale
        return self.dropout(x if self.position is None else self.position(x, start))

    def scores(
        self,
        x: Float[Tensor, "*batch n d"],
    ) -> Float[Tensor, "*batch n vocabulary"]:
        """For each row, the score of each token: its product with the token's vector."""
        return x @ self.table.weight.mT


class Encoder(nn.Module):
    """Blocks one after another. `norm` comes after the last: pre-norm blocks need one."""

    blocks: Sequence[EncoderBlock]

    def __init__(self, blocks: Iterable[EncoderBlock], norm: nn.Module | None = None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)  # pyright: ignore[reportAttributeAccessIssue]
        self.norm = nn.Identity() if norm is None else norm

    def forward(
        self,
        x: Float[Tensor, "*batch n d"],
        mask: Bool[Tensor, "*#batch #n #m"] | None = None,
        caches: Sequence[Cache] | None = None,
    ) -> Float[Tensor, "*batch n d"]:
        """The output of the last block, after the norm."""
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x = block(x, mask, cache)
        return self.norm(x)


class Decoder(nn.Module):
    """Blocks with cross-attention, one after another, to one and the same memory."""

    blocks: Sequence[DecoderBlock]

    def __init__(self, blocks: Iterable[DecoderBlock], norm: nn.Module | None = None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)  # pyright: ignore[reportAttributeAccessIssue]
        self.norm = nn.Identity() if norm is None else norm

    def forward(
        self,
        x: Float[Tensor, "*batch n d"],
        memory: Float[Tensor, "*batch m d"] | Sequence[KeysValues],
        mask: Bool[Tensor, "*#batch #n #kept"] | None = None,
        memory_mask: Bool[Tensor, "*#batch #n #m"] | None = None,
        caches: Sequence[Cache] | None = None,
    ) -> Float[Tensor, "*batch n d"]:
        """The last block's output, normed; the memory is rows, or keys and values by block."""
        memories = [memory] * len(self.blocks) if isinstance(memory, Tensor) else memory
        kept = caches or [None] * len(self.blocks)
        for block, of_block, cache in zip(self.blocks, memories, kept, strict=True):
            x = block(x, of_block, mask, memory_mask, cache)
        return self.norm(x)


class Transformer(nn.Module):
    """An encoder reads the source; a decoder gives the scores of each next token of the target.

    Source: Vaswani et al. (2017), section 3.
    """

    def __init__(self, source: Embedding, encoder: Encoder, target: Embedding, decoder: Decoder):
        super().__init__()
        self.source, self.encoder, self.target, self.decoder = source, encoder, target, decoder

    def forward(
        self,
        source: Int[Tensor, "*batch m"],
        target: Int[Tensor, "*batch n"],
        source_mask: Bool[Tensor, "*#batch 1 m"] | None = None,
    ) -> Float[Tensor, "*batch n vocabulary"]:
        """Row t has the scores of token t + 1, given the source and the target up to token t.

        Padding at the end of the target needs no mask: no earlier token sees it.
        """
        memory = self.encoder(self.source(source), source_mask)
        x = self.decoder(self.target(target), memory, memory_mask=source_mask)
        return self.target.scores(x)

    def decode(
        self, source: Int[Tensor, "batch m"], source_mask: Bool[Tensor, "*#batch 1 m"] | None = None
    ) -> "Decoding":
        """Start decoding a target; the source is encoded once, here."""
        memory = self.encoder(self.source(source), source_mask)
        made = [block.keys_values(memory) for block in self.decoder.blocks]
        mask = None if source_mask is None else source_mask.expand(len(source), -1, -1)
        return Decoding(self.target, self.decoder, made, mask)


class LanguageModel(nn.Module):
    """One stack of causal blocks that gives the scores of each next token: GPT's kind of model.

    Source: Radford et al. (2019), section 2.3.
    """

    def __init__(self, embedding: Embedding, stack: Encoder):
        super().__init__()
        self.embedding, self.stack = embedding, stack

    def forward(
        self,
        tokens: Int[Tensor, "*batch n"],
        mask: Bool[Tensor, "*#batch #n #n"] | None = None,
    ) -> Float[Tensor, "*batch n vocabulary"]:
        """Row t has the scores of token t + 1, given the tokens up to t."""
        return self.embedding.scores(self.stack(self.embedding(tokens), mask))

    def decode(self) -> "Decoding":
        """Start decoding a text; its prompt is the first step."""
        return Decoding(self.embedding, self.stack)


def causal_model(
    embedding: Embedding,
    heads: int,
    depth: int,
    attend: Callable[[], Callable[..., Tensor]] = Causal,
    *,
    groups: int | None = None,
    d_ff: int | None = None,
) -> LanguageModel:
    """A model of GPT-2's kind: pre-norm blocks with GELU in its tanh form, and a final norm.

    `attend()` makes the attention of each block; d_ff is four times the width unless given.
    Source: Radford et al. (2019), section 2.3.
    """
    d = embedding.table.embedding_dim
    gelu = nn.GELU(approximate="tanh")
    blocks = [
        EncoderBlock(d, heads, d_ff or 4 * d, attend(), groups=groups, activation=gelu)
        for _ in range(depth)
    ]
    return LanguageModel(embedding, Encoder(blocks, nn.LayerNorm(d)))


class Decoding:
    """State of step-by-step decoding: the blocks' caches, and the number of tokens so far."""

    def __init__(
        self,
        embedding: Embedding,
        stack: Encoder | Decoder,
        keys_values: Sequence[KeysValues] | None = None,
        memory_mask: Bool[Tensor, "*#batch 1 m"] | None = None,
    ):
        self.embedding, self.stack, self.length = embedding, stack, 0
        self.keys_values, self.memory_mask = keys_values, memory_mask
        self.caches = [block.new_cache() for block in stack.blocks]
        # as many texts as sources, or as the prompt has
        self.rows = None if keys_values is None else len(keys_values[0][0])

    def step(self, tokens: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n vocabulary"]:
        """Append the tokens; returns, for each, the scores of the next token."""
        if self.rows is not None and self.rows != len(tokens):
            raise ValueError(f"{len(tokens)} rows of tokens cannot go on {self.rows} texts")
        x = self.embedding(tokens, self.length)
        if self.keys_values is None:
            x = self.stack(x, caches=self.caches)
        else:
            mask = self.memory_mask
            x = self.stack(x, self.keys_values, memory_mask=mask, caches=self.caches)
        self.rows, self.length = len(tokens), self.length + tokens.shape[-1]
        return self.embedding.scores(x)

    def select(self, rows: Int[Tensor, "rows"]) -> None:
        """Keep these rows of the batch, in this order; a row may be repeated."""
        for cache in self.caches:
            cache.select(rows)
        self.rows = len(rows)
        if self.keys_values is not None:
            self.keys_values = [(k[rows], v[rows]) for k, v in self.keys_values]
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask[rows]


def require_known(tokens: Tensor, vocabulary: int) -> None:
    """Raise ValueError, with the number, where a token is not one of the vocabulary."""
    all_known = (
        tokens.is_meta or not tokens.numel() or 0 <= tokens.min() <= tokens.max() < vocabulary
    )
    if not all_known:
        unknown = tokens[(tokens < 0) | (tokens >= vocabulary)][0].item()
        raise ValueError(f"token {unknown} is not one of a vocabulary of {vocabulary}")
