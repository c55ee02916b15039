"""Relative attention compared with other implementations: time and memory, with gradients.

Every form runs in turn, again and again, in one process, and the median counts.
Milliseconds on the clock, with two threads, depend on what else the machine does; those of the
processor, with one thread, hardly do. Memory is counted: all tensors that are alive at once.
Needs transformers, whose Wav2Vec2-BERT has the keys' table of Shaw et al. (2018).
"""

import argparse
from collections.abc import Callable

import torch
import torch.nn.functional as F
from timing import (
    HEADINGS,
    RESULTS,
    THREADS,
    cost_rows,
    machine_info,
    markdown_table,
    measure,
    write_csv,
)
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
BASELINE = "softmax attention, written out"


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


def build_calls(n: int) -> tuple[dict[str, Callable[[], Tensor]], list[Tensor]]:
    """Each implementation as a call without arguments, and the inputs that get gradients."""
    g = torch.Generator().manual_seed(0)
    shapes = [(1, HEADS, n, WIDTH)] * 3 + [(2 * MAX_DISTANCE + 1, WIDTH)] * 2
    q, k, v, a_k, a_v = inputs = [torch.randn(s, generator=g).requires_grad_() for s in shapes]
    x = torch.randn(1, n, HEADS * WIDTH, generator=g).requires_grad_()
    split = x.detach().unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)
    theirs = transformers_attention(x, a_k)
    ours = relative_attention(split, split, split, a_k, None).transpose(1, 2).flatten(2)
    torch.testing.assert_close(theirs(), ours, atol=1e-4, rtol=1e-4)
    calls = {
        BASELINE: lambda: attention(q, k, v),
        "torch's own, without positions": lambda: F.scaled_dot_product_attention(q, k, v),
        "relative, in blocks": lambda: relative_attention(q, k, v, a_k, a_v),
        "relative, gather": lambda: relative_attention_gather(q, k, v, a_k, a_v),
        "relative, dense": lambda: relative_attention_dense(q, k, v, a_k, a_v),
        "transformers, keys only": theirs,
    }
    return calls, [*inputs, x]


def training_step(attend) -> tuple[Callable[[], Tensor], list[Tensor]]:
    """A training step of a Transformer of 2 layers, 512 wide, on 8 sequences of 64 words."""
    torch.manual_seed(0)
    layers = []
    for _ in range(2):
        block = MultiHeadAttention(512, HEADS, attend() if callable(attend) else attention)
        feed_forward = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))
        layers.append(nn.ModuleList([nn.LayerNorm(512), block, nn.LayerNorm(512), feed_forward]))
    model = nn.ModuleList([nn.Embedding(8000, 512), *layers, nn.Linear(512, 8000)])
    words = torch.randint(8000, (8, 64), generator=torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def run_step() -> Tensor:
        optimizer.step()
        optimizer.zero_grad()
        x = model[0](words)
        for norm1, block, norm2, feed_forward in model[1:-1]:
            x = x + block(norm1(x))
            x = x + feed_forward(norm2(x))
        return F.cross_entropy(model[-1](x).flatten(0, 1), words.flatten())

    return run_step, []


def measure_lengths(lengths: list[int], seconds: float) -> list[tuple]:
    """A row of costs for each length and implementation."""
    rows = []
    for n in lengths:
        length_rows = cost_rows(measure(*build_calls(n), seconds), BASELINE)
        rows += [(n, *row) for row in length_rows]
        for row in length_rows:
            print(n, *row, sep=" | ", flush=True)
    return rows


def summary_rows(rows: list[tuple]) -> list[tuple]:
    """For each implementation, its times at all lengths and peak at the last, as ratios."""
    names = dict.fromkeys(form for _, form, *_ in rows)
    rows_by_name = {name: [row for row in rows if row[1] == name] for name in names}
    return [
        (name, *(row[4] for row in form_rows), form_rows[-1][8])
        for name, form_rows in rows_by_name.items()
    ]


def measure_training_steps(seconds: float) -> list[tuple]:
    """A row of costs of a training step for each kind of attention."""
    calls = {
        BASELINE: training_step(None)[0],
        "relative, in blocks": training_step(lambda: RelativeAttention(WIDTH, MAX_DISTANCE))[0],
        "relative, gather": training_step(lambda: GatherRelativeAttention(WIDTH, MAX_DISTANCE))[0],
    }
    # without the forward time, which includes the optimizer's step
    return [(row[0], *row[2:]) for row in cost_rows(measure(calls, [], seconds), BASELINE)]


class GatherRelativeAttention(RelativeAttention):
    """RelativeAttention by the gather form instead of blocks."""

    def forward(self, q, k, v, mask=None):
        return relative_attention_gather(q, k, v, self.a_k, self.a_v, mask)


def main() -> None:
    """Print the tables, and write them to the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--seconds", type=float, default=20, help="for each length, twice")
    arguments = parser.parse_args()
    rows, step_rows = (
        measure_lengths(arguments.lengths, arguments.seconds),
        measure_training_steps(arguments.seconds),
    )
    for row in step_rows:
        print(*row, sep=" | ")
    summary_headings = ("form", *(f"n = {n}" for n in arguments.lengths), "peak")
    (RESULTS / "relative.md").write_text(
        f"# Relative attention beside its peers\n\n{machine_info('transformers')}\n\n"
        f"One sequence of n words, {HEADS} heads of width {WIDTH}, max_distance {MAX_DISTANCE}. "
        f"Milliseconds: medians, on the clock with {THREADS} threads, on the processor with one, "
        "with the gradients. Peak: what the call's tensors and gradients hold at once.\n\n"
        f"{markdown_table(HEADINGS, rows)}\n"
        f"## In times of {BASELINE}\n\nWith the gradients, on the clock.\n\n"
        f"{markdown_table(summary_headings, summary_rows(rows))}\n"
        "## A training step\n\nTwo layers of the paper's base shape (512 wide, 8 heads, "
        f"feed-forward 2048), max_distance {MAX_DISTANCE}, 8 sequences of 64 words, "
        "8000 different words.\n\n" + markdown_table(("attention", *HEADINGS[3:]), step_rows),
        "utf-8",
    )
    write_csv("relative", rows)


if __name__ == "__main__":
    main()
