"""A small tagger whose positions and attention are arguments, to compare what they bring."""

from collections.abc import Callable

from torch import Tensor, nn

from attncourse.data import Batch, Vocabulary
from attncourse.dot_product import attention, masked_softmax, padding_mask
from attncourse.multi_head import MultiHeadAttention
from attncourse.positional import tree_distance
from attncourse.relative import RelativeAttention

WIDTH, HEADS, HIDDEN, DROPOUT = 64, 4, 128, 0.2


class Tagger(nn.Module):
    """Words and suffixes, one encoder layer, and for each word a score for each label.

    `place(x, batch)` adds positions to the words; `attend` is what each head does, and without
    it each word is alone.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        place: Callable[[Tensor, Batch], Tensor],
        attend: Callable[..., Tensor] | None = attention,
    ):
        super().__init__()
        self.words = embedding(len(vocabulary.words) + 2)
        self.suffixes = embedding(len(vocabulary.suffixes) + 2)
        self.place = place
        self.attend = attend
        self.mix = None if attend is None else MultiHeadAttention(WIDTH, HEADS, attend)
        self.each = nn.Sequential(
            nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(HIDDEN, WIDTH)
        )
        self.norm_mix, self.norm_each = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.label = nn.Linear(WIDTH, len(vocabulary.labels))

    def forward(self, batch: Batch) -> Tensor:
        x = self.place(self.words(batch.words) + self.suffixes(batch.suffixes), batch)
        x = self.dropout(x)
        if self.mix is not None:
            if isinstance(self.attend, TreeAttention):
                # a layer hands on queries, keys and values, but no trees
                self.attend.trees = batch.parents
            mask = padding_mask(batch.lengths, batch.words.shape[1])
            x = x + self.dropout(self.mix(self.norm_mix(x), mask=mask))
        x = x + self.dropout(self.each(self.norm_each(x)))
        return self.label(self.norm(x))


def embedding(rows: int) -> nn.Embedding:
    table = nn.Embedding(rows, WIDTH)
    nn.init.normal_(table.weight, std=0.1)
    return table


class TreeAttention(RelativeAttention):
    """Relative attention by the signed distance in the tree, clipped, in place of j - i."""

    trees: Tensor

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        max_distance = len(self.a_k) // 2
        index = tree_distance(self.trees).clamp(-max_distance, max_distance) + max_distance
        index = index[:, None].expand(-1, q.shape[1], -1, -1)
        scores = q @ k.mT + (q @ self.a_k.mT).gather(-1, index)
        weights = masked_softmax(scores / q.shape[-1] ** 0.5, mask)
        shares = weights.new_zeros(*q.shape[:-1], len(self.a_v)).scatter_add(-1, index, weights)
        return weights @ v + shares @ self.a_v
