"""Relative attention beside its peers: time and memory, forward and with the gradients.

Every form runs in turn, again and again, in one process, and the median counts.
Milliseconds on the clock, with two threads, depend on what else the machine does; those of the
processor, with one thread, hardly do. Memory is counted: all tensors that are alive at once.
Needs transformers, whose Wav2Vec2-BERT has the keys' table of Shaw et al. (2018).
"""

import argparse
from collections.abc import Callable

import torch
import torch.nn.functional as F
from timing import HEADINGS, RESULTS, THREADS, markdown, measure, rows_of, where, write_csv
from torch import Tensor, nn
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from attncourse.dot_product import attention
from attncourse.multi_head import MultiHeadAttention
from attncourse.relative import (
    RelativeAttention,
    relative_attention,
    relative_attention_dense,
    relative_attention_gather,
)

HEADS, WIDTH, MAX_DISTANCE = 8, 64, 16
PLAIN = "softmax attention, written out"


def transformers_attention(x: Tensor, a_k: Tensor) -> Callable[[], Tensor]:
    """Wav2Vec2-BERT's attention alone: q, k and v are x itself."""
    config = Wav2Vec2BertConfig(
        hidden_size=x.shape[-1], num_attention_heads=HEADS, position_embeddings_type="relative_key",
        left_max_position_embeddings=MAX_DISTANCE, right_max_position_embeddings=MAX_DISTANCE,
        attention_dropout=0.0, attn_implementation="eager",
    )  # fmt: skip
    layer = Wav2Vec2BertSelfAttention(config)
    layer.linear_q = layer.linear_k = layer.linear_v = layer.linear_out = nn.Identity()
    layer.distance_embedding.weight = nn.Parameter(a_k.detach().clone())
    return lambda: layer(x)[0]


def forms(n: int) -> tuple[dict[str, Callable[[], Tensor]], list[Tensor]]:
    """Each form as a call without arguments, and the tensors that it may have gradients for."""
    g = torch.Generator().manual_seed(0)
    shapes = [(1, HEADS, n, WIDTH)] * 3 + [(2 * MAX_DISTANCE + 1, WIDTH)] * 2
    q, k, v, a_k, a_v = inputs = [torch.randn(s, generator=g).requires_grad_() for s in shapes]
    x = torch.randn(1, n, HEADS * WIDTH, generator=g).requires_grad_()
    split = x.detach().unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)
    theirs = transformers_attention(x, a_k)
    ours = relative_attention(split, split, split, a_k, None).transpose(1, 2).flatten(2)
    torch.testing.assert_close(theirs(), ours, atol=1e-4, rtol=1e-4)
    calls = {
        PLAIN: lambda: attention(q, k, v),
        "torch's own, without positions": lambda: F.scaled_dot_product_attention(q, k, v),
        "relative, in blocks": lambda: relative_attention(q, k, v, a_k, a_v),
        "relative, gather": lambda: relative_attention_gather(q, k, v, a_k, a_v),
        "relative, dense": lambda: relative_attention_dense(q, k, v, a_k, a_v),
        "transformers, keys only": theirs,
    }
    return calls, [*inputs, x]


def step(attend) -> tuple[Callable[[], Tensor], list[Tensor]]:
    """The loss of a Transformer of 2 layers, 512 wide, for 8 sequences of 64 words."""
    torch.manual_seed(0)
    layers = []
    for _ in range(2):
        block = MultiHeadAttention(512, HEADS, attend() if callable(attend) else attention)
        more = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))
        layers.append(nn.ModuleList([nn.LayerNorm(512), block, nn.LayerNorm(512), more]))
    model = nn.ModuleList([nn.Embedding(8000, 512), *layers, nn.Linear(512, 8000)])
    words = torch.randint(8000, (8, 64), generator=torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def loss() -> Tensor:
        optimizer.step()
        optimizer.zero_grad()
        x = model[0](words)
        for first, block, second, more in model[1:-1]:
            x = x + block(first(x))
            x = x + more(second(x))
        return F.cross_entropy(model[-1](x).flatten(0, 1), words.flatten())

    return loss, []


def table(lengths: list[int], seconds: float) -> list[tuple]:
    rows = []
    for n in lengths:
        found = rows_of(measure(*forms(n), seconds), PLAIN)
        rows += [(n, *row) for row in found]
        for row in found:
            print(n, *row, sep=" | ", flush=True)
    return rows


def in_short(rows: list[tuple]) -> list[tuple]:
    """Each form's times at all lengths, and its peak at the last, in those of the plain form."""
    names = dict.fromkeys(form for _, form, *_ in rows)
    found = {name: [row for row in rows if row[1] == name] for name in names}
    return [(name, *(row[4] for row in some), some[-1][8]) for name, some in found.items()]


def steps(seconds: float) -> list[tuple]:
    calls = {
        PLAIN: step(None)[0],
        "relative, in blocks": step(lambda: RelativeAttention(WIDTH, MAX_DISTANCE))[0],
        "relative, gather": step(lambda: Gathered(WIDTH, MAX_DISTANCE))[0],
    }
    # without what goes forward alone: the optimizer's step is part of it
    return [(row[0], *row[2:]) for row in rows_of(measure(calls, [], seconds), PLAIN)]


class Gathered(RelativeAttention):
    """RelativeAttention with the gather in place of the blocks."""

    def forward(self, q, k, v, mask=None):
        return relative_attention_gather(q, k, v, self.a_k, self.a_v, mask)


def main() -> None:
    """Print the tables, and write them to the results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lengths", type=int, nargs="+", default=[256, 512, 1024, 2048])
    arguments.add_argument("--seconds", type=float, default=20, help="for each length, twice")
    chosen = arguments.parse_args()
    rows, of_steps = table(chosen.lengths, chosen.seconds), steps(chosen.seconds)
    for row in of_steps:
        print(*row, sep=" | ")
    (RESULTS / "relative.md").write_text(
        f"# Relative attention beside its peers\n\n{where('transformers')}\n\n"
        f"One sequence of n words, {HEADS} heads of width {WIDTH}, max_distance {MAX_DISTANCE}. "
        f"Milliseconds: medians, on the clock with {THREADS} threads, on the processor with one, "
        "with the gradients. Peak: what the call's tensors and gradients hold at once.\n\n"
        f"{markdown(HEADINGS, rows)}\n"
        f"## In times of {PLAIN}\n\nWith the gradients, on the clock.\n\n"
        f"{markdown(('form', *(f'n = {n}' for n in chosen.lengths), 'peak'), in_short(rows))}\n"
        "## A training step\n\nTwo layers of the paper's base shape (512 wide, 8 heads, "
        f"feed-forward 2048), max_distance {MAX_DISTANCE}, 8 sequences of 64 words, "
        "8000 different words.\n\n" + markdown(("attention", *HEADINGS[3:]), of_steps),
        "utf-8",
    )
    write_csv("relative", rows)


if __name__ == "__main__":
    main()
