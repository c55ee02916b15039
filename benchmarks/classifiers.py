"""The networks that benchmarks/sentiment.py compares; they share the embedding's width."""

from collections.abc import Callable

import torch
from taggers import BlockWithoutAttention
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attncourse.data.sentiment import Vocabulary
from attncourse.dot_product import attention
from attncourse.relative import RelativeAttention
from attncourse.tasks import Classifier
from attncourse.transformer import Embedding, Encoder, EncoderBlock

WIDTH, HEADS, HIDDEN, DROPOUT, MAX_DISTANCE = 64, 4, 128, 0.2, 8


class GRU(nn.Module):
    """A bidirectional GRU that skips padding."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        lengths = mask.sum((-1, -2)).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        rows, _ = pad_packed_sequence(self.gru(packed)[0], True, total_length=x.shape[1])
        return self.dropout(rows)


class CNN(nn.Module):
    """Convolutions over 3, 4 and 5 words with max pooling over time: Kim (2014)."""

    def __init__(self, embedding: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.kernels = nn.ModuleList(
            nn.Conv1d(WIDTH, WIDTH, size, padding="same") for size in (3, 4, 5)
        )
        self.dropout = nn.Dropout(DROPOUT)
        self.label = nn.Linear(3 * WIDTH, 2)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        mask = (torch.arange(words.shape[1]) < lengths[:, None])[:, None]
        x = self.embedding(words).mT * mask
        features = [kernel(x).relu().masked_fill(~mask, 0).amax(-1) for kernel in self.kernels]
        return self.label(self.dropout(torch.cat(features, -1)))


def one_block_encoder(attend: Callable | None) -> Encoder:
    """An encoder of one block; without attention where `attend` is None."""
    block_class = BlockWithoutAttention if attend is None else EncoderBlock
    return Encoder(
        [block_class(WIDTH, HEADS, HIDDEN, attend, dropout=DROPOUT)], nn.LayerNorm(WIDTH)
    )


# each makes a new classifier around an embedding
MODELS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "CNN": CNN,
    "GRU, both directions": lambda embedding: Classifier(embedding, GRU(), WIDTH, 2),
    "no attention": lambda embedding: Classifier(embedding, one_block_encoder(None), WIDTH, 2),
    "attention, no positions": lambda embedding: Classifier(
        embedding, one_block_encoder(attention), WIDTH, 2
    ),
    "Shaw, max_distance 8": lambda embedding: Classifier(
        embedding, one_block_encoder(RelativeAttention(WIDTH // HEADS, MAX_DISTANCE)), WIDTH, 2
    ),
}


def classifier(name: str, vocabulary: Vocabulary) -> nn.Module:
    """A new classifier of this name."""
    embedding = Embedding(len(vocabulary.words) + 2, WIDTH, dropout=DROPOUT)
    nn.init.normal_(embedding.table.weight, std=0.1)
    return MODELS[name](embedding)
