"""The networks that benchmarks/sentiment.py compares: they share the embedding and its width."""

from collections.abc import Callable

import torch
from taggers import Alone
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attncourse.data.sentiment import Vocabulary
from attncourse.dot_product import attention
from attncourse.relative import RelativeAttention
from attncourse.tasks import Classifier
from attncourse.transformer import Embedding, Encoder, EncoderBlock

WIDTH, HEADS, HIDDEN, DROPOUT, REACH = 64, 4, 128, 0.2, 8


class GRU(nn.Module):
    """Both directions; no padding is read."""

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
    """Convolutions over 3, 4 and 5 words, and of each kernel its largest output: Kim (2014)."""

    def __init__(self, embedding: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.kernels = nn.ModuleList(
            nn.Conv1d(WIDTH, WIDTH, size, padding="same") for size in (3, 4, 5)
        )
        self.dropout = nn.Dropout(DROPOUT)
        self.label = nn.Linear(3 * WIDTH, 2)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        real = (torch.arange(words.shape[1]) < lengths[:, None])[:, None]
        x = self.embedding(words).mT * real
        found = [kernel(x).relu().masked_fill(~real, 0).amax(-1) for kernel in self.kernels]
        return self.label(self.dropout(torch.cat(found, -1)))


def block(attend: Callable | None) -> Encoder:
    """One block, without attention where there is none."""
    kind = Alone if attend is None else EncoderBlock
    return Encoder([kind(WIDTH, HEADS, HIDDEN, attend, dropout=DROPOUT)], nn.LayerNorm(WIDTH))


# what each makes of an embedding, anew for each run
MODELS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "CNN": CNN,
    "GRU, both directions": lambda embedding: Classifier(embedding, GRU(), WIDTH, 2),
    "no attention": lambda embedding: Classifier(embedding, block(None), WIDTH, 2),
    "attention, no positions": lambda embedding: Classifier(embedding, block(attention), WIDTH, 2),
    "Shaw, max_distance 8": lambda embedding: Classifier(
        embedding, block(RelativeAttention(WIDTH // HEADS, REACH)), WIDTH, 2
    ),
}


def classifier(name: str, vocabulary: Vocabulary) -> nn.Module:
    embedding = Embedding(len(vocabulary.words) + 2, WIDTH, dropout=DROPOUT)
    nn.init.normal_(embedding.table.weight, std=0.1)
    return MODELS[name](embedding)
