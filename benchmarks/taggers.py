"""The taggers that benchmarks/tagging.py compares, by positions and attention."""

from collections.abc import Callable

from torch import Tensor, nn

from attncourse.data import Vocabulary
from attncourse.dot_product import attention
from attncourse.positional import (
    LearnedEncoding,
    MLPEncoding,
    SinusoidalEncoding,
    sinusoids,
    tree_depth,
)
from attncourse.relative import RelativeAttention
from attncourse.tasks import Tagger, TreeAttention, WordEmbedding
from attncourse.transformer import Encoder, EncoderBlock, RotaryAttention

WIDTH, HEADS, HIDDEN, DROPOUT, MAX_DISTANCE, MAX_LENGTH = 64, 4, 128, 0.2, 8, 128
NO_POSITIONS, SHAW = "attention, no positions", "Shaw, max_distance 8"
TREE = "distance in the tree, gold"


class BlockWithoutAttention(EncoderBlock):
    """An encoder block without attention: its feed-forward network alone."""

    def __init__(self, *shape, **options):
        super().__init__(*shape, **options)
        del self.attention

    def forward(self, x: Tensor, mask: Tensor | None = None, cache: None = None) -> Tensor:
        return self.feed_forward(x)


class ScaledSinusoids(nn.Module):
    """Adds the sinusoids, multiplied by a factor."""

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return x + self.scale * sinusoids(x.shape[1], WIDTH, x.device)


class DepthEncoding(LearnedEncoding):
    """Adds a learned vector for each word's depth in its tree, after another encoding if given."""

    parents: Tensor

    def __init__(self, position: nn.Module | None = None):
        super().__init__(MAX_LENGTH, WIDTH)
        self.position = nn.Identity() if position is None else position

    def store_trees(self, model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """Store the trees of a batch: a forward pre-hook of the tagger."""
        self.parents = inputs[-1]

    def forward(self, x: Tensor) -> Tensor:
        return self.position(x) + self.table[tree_depth(self.parents)]


def shaw(max_distance: int, **tables: bool) -> RelativeAttention:
    """Shaw's relative attention for one head."""
    return RelativeAttention(WIDTH // HEADS, max_distance, **tables)


# by name, a function that makes the positional encoding and the attention, or None for either
MODELS: dict[str, Callable[[], tuple]] = {
    "no attention": lambda: (None, None),
    NO_POSITIONS: lambda: (None, attention),
    "sinusoids": lambda: (SinusoidalEncoding(WIDTH), attention),
    "learned table": lambda: (LearnedEncoding(MAX_LENGTH, WIDTH), attention),
    "RoPE": lambda: (None, RotaryAttention()),
    SHAW: lambda: (None, shaw(MAX_DISTANCE)),
    TREE: lambda: (None, TreeAttention(WIDTH // HEADS, MAX_DISTANCE)),
    "Shaw and the tree, gold": lambda: (
        None,
        TreeAttention(WIDTH // HEADS, MAX_DISTANCE, offsets=True),
    ),
    "sinusoids at 0.1 of their size": lambda: (ScaledSinusoids(0.1), attention),
    "sinusoids at 0.3 of their size": lambda: (ScaledSinusoids(0.3), attention),
    "MLP of the position": lambda: (MLPEncoding(WIDTH, 32), attention),
    "depth in the tree, gold": lambda: (DepthEncoding(), attention),
    "sinusoids and depth, gold": lambda: (DepthEncoding(SinusoidalEncoding(WIDTH)), attention),
    "Shaw, max_distance 0": lambda: (None, shaw(0)),
    "Shaw, max_distance 1": lambda: (None, shaw(1)),
    "Shaw, max_distance 2": lambda: (None, shaw(2)),
    "Shaw, max_distance 4": lambda: (None, shaw(4)),
    "Shaw, max_distance 16": lambda: (None, shaw(16)),
    "max_distance 8, keys only": lambda: (None, shaw(MAX_DISTANCE, values=False)),
    "max_distance 8, values only": lambda: (None, shaw(MAX_DISTANCE, keys=False)),
    "max_distance 8, and sinusoids": lambda: (SinusoidalEncoding(WIDTH), shaw(MAX_DISTANCE)),
}


def build_tagger(
    vocabulary: Vocabulary, position: nn.Module | None, attend: Callable | None
) -> Tagger:
    """A new tagger of one encoder block."""
    words, suffixes = (len(entries) + 2 for entries in (vocabulary.words, vocabulary.suffixes))
    embedding = WordEmbedding(words, suffixes, WIDTH, position, DROPOUT)
    block_class = BlockWithoutAttention if attend is None else EncoderBlock
    block = block_class(WIDTH, HEADS, HIDDEN, attend, dropout=DROPOUT)
    encoder = Encoder([block], nn.LayerNorm(WIDTH))
    model = Tagger(embedding, encoder, WIDTH, len(vocabulary.labels))
    if isinstance(position, DepthEncoding):
        model.register_forward_pre_hook(position.store_trees)
    return model
