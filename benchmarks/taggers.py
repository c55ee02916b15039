"""The taggers that benchmarks/tagging.py compares: their positions and their attention."""

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

WIDTH, HEADS, HIDDEN, DROPOUT, REACH, LONGEST = 64, 4, 128, 0.2, 8, 128
PLAIN, SHAW = "attention, no positions", "Shaw, max_distance 8"
TREE = "distance in the tree, gold"


class Alone(EncoderBlock):
    """A block without its attention: each word is alone."""

    def __init__(self, *shape, **options):
        super().__init__(*shape, **options)
        del self.attention

    def forward(self, x: Tensor, mask: Tensor | None = None, cache: None = None) -> Tensor:
        return self.feed_forward(x)


class ScaledSinusoids(nn.Module):
    """Adds the sinusoids, smaller than they are."""

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return x + self.scale * sinusoids(x.shape[1], WIDTH, x.device)


class Depths(LearnedEncoding):
    """Adds a learned row for each word's depth in its tree; `place` may add where it stands."""

    parents: Tensor

    def __init__(self, place: nn.Module | None = None):
        super().__init__(LONGEST, WIDTH)
        self.place = nn.Identity() if place is None else place

    def see(self, model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """The trees of a batch, before the tagger reads it."""
        self.parents = inputs[-1]

    def forward(self, x: Tensor) -> Tensor:
        return self.place(x) + self.table[tree_depth(self.parents)]


def shaw(max_distance: int, **tables: bool) -> RelativeAttention:
    return RelativeAttention(WIDTH // HEADS, max_distance, **tables)


# what gives a word its position, and what the heads do, if there are any: anew for each run
MODELS: dict[str, Callable[[], tuple]] = {
    "no attention": lambda: (None, None),
    PLAIN: lambda: (None, attention),
    "sinusoids": lambda: (SinusoidalEncoding(WIDTH), attention),
    "learned table": lambda: (LearnedEncoding(LONGEST, WIDTH), attention),
    "RoPE": lambda: (None, RotaryAttention()),
    SHAW: lambda: (None, shaw(REACH)),
    TREE: lambda: (None, TreeAttention(WIDTH // HEADS, REACH)),
    "Shaw and the tree, gold": lambda: (None, TreeAttention(WIDTH // HEADS, REACH, offsets=True)),
    "sinusoids at 0.1 of their size": lambda: (ScaledSinusoids(0.1), attention),
    "sinusoids at 0.3 of their size": lambda: (ScaledSinusoids(0.3), attention),
    "MLP of the position": lambda: (MLPEncoding(WIDTH, 32), attention),
    "depth in the tree, gold": lambda: (Depths(), attention),
    "sinusoids and depth, gold": lambda: (Depths(SinusoidalEncoding(WIDTH)), attention),
    "Shaw, max_distance 0": lambda: (None, shaw(0)),
    "Shaw, max_distance 1": lambda: (None, shaw(1)),
    "Shaw, max_distance 2": lambda: (None, shaw(2)),
    "Shaw, max_distance 4": lambda: (None, shaw(4)),
    "Shaw, max_distance 16": lambda: (None, shaw(16)),
    "max_distance 8, keys only": lambda: (None, shaw(REACH, values=False)),
    "max_distance 8, values only": lambda: (None, shaw(REACH, keys=False)),
    "max_distance 8, and sinusoids": lambda: (SinusoidalEncoding(WIDTH), shaw(REACH)),
}


def tagger(vocabulary: Vocabulary, position: nn.Module | None, attend: Callable | None) -> Tagger:
    words, suffixes = (len(known) + 2 for known in (vocabulary.words, vocabulary.suffixes))
    embedding = WordEmbedding(words, suffixes, WIDTH, position, DROPOUT)
    kind = Alone if attend is None else EncoderBlock
    block = kind(WIDTH, HEADS, HIDDEN, attend, dropout=DROPOUT)
    encoder = Encoder([block], nn.LayerNorm(WIDTH))
    model = Tagger(embedding, encoder, WIDTH, len(vocabulary.labels))
    if isinstance(position, Depths):
        model.register_forward_pre_hook(position.see)
    return model
