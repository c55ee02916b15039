"""Three models on an encoder: a tagger, a classifier and a translator."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse.dot_product import padding_mask
from attncourse.tasks.trees import TreeAttention
from attncourse.transformer import Decoding, Encoder, Transformer, generate
from attncourse.transformer.stacks import require_known


class WordEmbedding(nn.Module):
    """The vector of a word plus that of its suffix, and of its position if `position` is given.

    A rare word is unknown, but its suffix often is not.
    """

    def __init__(
        self,
        words: int,
        suffixes: int,
        d_model: int,
        position: nn.Module | None = None,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.words, self.suffixes = nn.Embedding(words, d_model), nn.Embedding(suffixes, d_model)
        for table in (self.words, self.suffixes):
            nn.init.normal_(table.weight, std=0.1)
        self.position, self.dropout = position, nn.Dropout(dropout)

    def forward(
        self, words: Int[Tensor, "*batch n"], suffixes: Int[Tensor, "*batch n"]
    ) -> Float[Tensor, "*batch n d"]:
        """The sum of both vectors, and the positions from 0 on."""
        for numbers, table in ((words, self.words), (suffixes, self.suffixes)):
            require_known(numbers, table.num_embeddings)
        x = self.words(words) + self.suffixes(suffixes)
        return self.dropout(x if self.position is None else self.position(x))


class Tagger(nn.Module):
    """A label per token: a linear layer scores the labels of each of the encoder's rows."""

    def __init__(self, embedding: WordEmbedding, encoder: Encoder, d_model: int, labels: int):
        super().__init__()
        self.embedding, self.encoder = embedding, encoder
        self.label = nn.Linear(d_model, labels)

    def forward(
        self,
        words: Int[Tensor, "batch n"],
        suffixes: Int[Tensor, "batch n"],
        lengths: Int[Tensor, "batch"],
        parents: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch n labels"]:
        """For each token, the score of each label; only TreeAttention reads the parents."""
        for part in self.encoder.modules():
            if isinstance(part, TreeAttention):
                # a block hands on queries, keys and values, but no trees
                part.parents = parents
        mask = padding_mask(lengths, words.shape[1])
        return self.label(self.encoder(self.embedding(words, suffixes), mask))


class Classifier(nn.Module):
    """A label per sequence: the mean of the encoder's rows, then a linear layer."""

    def __init__(self, embedding: nn.Module, encoder: nn.Module, d_model: int, labels: int):
        super().__init__()
        self.embedding, self.encoder = embedding, encoder
        self.label = nn.Linear(d_model, labels)

    def forward(
        self, words: Int[Tensor, "batch n"], lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch labels"]:
        """For each sequence, the score of each label."""
        mask = padding_mask(lengths, words.shape[1])
        rows = self.encoder(self.embedding(words), mask)
        return self.label(mean_of_tokens(rows, mask.squeeze(-2)))


def mean_of_tokens(
    x: Float[Tensor, "*batch n d"], real: Bool[Tensor, "*batch n"]
) -> Float[Tensor, "*batch d"]:
    """The mean of the rows that are no padding; zeros where all are."""
    total = x.masked_fill(~real[..., None], 0).sum(-2)
    return total / real.sum(-1, keepdim=True).clamp(min=1)


class Translator(Transformer):
    """An encoder-decoder that writes a sequence until its stop token."""

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        source: Int[Tensor, "batch m"],
        target: Int[Tensor, "batch n"],
        lengths: Int[Tensor, "batch"],
    ) -> Float[Tensor, "batch n vocabulary"]:
        """The scores of each next token of the target; `lengths` are those of the sources."""
        return super().forward(source, target, padding_mask(lengths, source.shape[1]))

    def translate(
        self,
        source: Int[Tensor, "batch m"],
        lengths: Int[Tensor, "batch"],
        start: int,
        stop: int,
        max_tokens: int,
    ) -> Int[Tensor, "batch tokens"]:
        """Greedy decoding until `stop` or `max_tokens`."""
        return generate(
            self.decoding(source, lengths), self.prompt(source, start), max_tokens, stop
        )

    def decoding(self, source: Int[Tensor, "batch m"], lengths: Int[Tensor, "batch"]) -> Decoding:
        """Start decoding a target."""
        return self.decode(source, padding_mask(lengths, source.shape[1]))

    @staticmethod
    def prompt(source: Int[Tensor, "batch m"], start: int) -> Int[Tensor, "batch 1"]:
        """The start token of each target."""
        return source.new_full((len(source), 1), start)
