"""Relative attention beside its peers: time and memory, forward and with the gradients.

Every form runs in turn, again and again, in one process, and the median counts.
Milliseconds on the clock, with two threads, depend on what else the machine does; those of the
processor, with one thread, hardly do. Memory is counted: all tensors that are alive at once.
Needs transformers, whose Wav2Vec2-BERT has the keys' table of Shaw et al. (2018).
"""

import argparse
import csv
import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
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

RESULTS = Path(__file__).parent / "results"
HEADS, WIDTH, REACH, THREADS = 8, 64, 16, 2
PLAIN = "softmax attention, written out"
HEADINGS = ("n", "form", "forward, ms", "with gradients, ms", "to plain", "processor, ms",
            "to plain", "peak, MiB", "to plain")  # fmt: skip


class Peak(TorchDispatchMode):
    """The most bytes that the tensors made while it is on hold at once."""

    def __init__(self):
        super().__init__()
        self.live: dict[StorageWeakRef, int] = {}
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        before = {StorageWeakRef(x.untyped_storage()) for x in tensors((args, kwargs))}
        out = function(*args, **(kwargs or {}))
        made = {StorageWeakRef(x.untyped_storage()): x.untyped_storage() for x in tensors(out)}
        self.live = {ref: size for ref, size in self.live.items() if not ref.expired()}
        # a view, or the result of an operation in place, holds what was there before
        new = {ref: storage.nbytes() for ref, storage in made.items() if ref not in before}
        self.live |= new
        self.bytes = max(self.bytes, sum(self.live.values()))
        return out


def tensors(tree) -> list[Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


def transformers_attention(x: Tensor, a_k: Tensor) -> Callable[[], Tensor]:
    """Wav2Vec2-BERT's attention alone: q, k and v are x itself."""
    config = Wav2Vec2BertConfig(
        hidden_size=x.shape[-1], num_attention_heads=HEADS, position_embeddings_type="relative_key",
        left_max_position_embeddings=REACH, right_max_position_embeddings=REACH,
        attention_dropout=0.0, attn_implementation="eager",
    )  # fmt: skip
    layer = Wav2Vec2BertSelfAttention(config)
    layer.linear_q = layer.linear_k = layer.linear_v = layer.linear_out = nn.Identity()
    layer.distance_embedding.weight = nn.Parameter(a_k.detach().clone())
    return lambda: layer(x)[0]


def forms(n: int) -> tuple[dict[str, Callable[[], Tensor]], list[Tensor]]:
    """Each form as a call without arguments, and the tensors that it may have gradients for."""
    g = torch.Generator().manual_seed(0)
    shapes = [(1, HEADS, n, WIDTH)] * 3 + [(2 * REACH + 1, WIDTH)] * 2
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


def run(call: Callable[[], Tensor], inputs: list[Tensor], clock: Callable[[], float]) -> tuple:
    """Seconds for the output, and for the output with all gradients."""
    start = clock()
    out = call()
    middle = clock()
    out.backward(torch.ones_like(out))
    end = clock()
    for x in inputs:
        x.grad = None
    return middle - start, end - start


def in_turn(calls: dict, inputs: list[Tensor], seconds: float, clock) -> dict[str, tuple]:
    """Median seconds of each call, all run in turn, twice each; a very slow one in one turn."""
    took = {name: [] for name in calls}
    begin, rounds = time.monotonic(), 0
    while time.monotonic() - begin < seconds or rounds < 3:
        rounds += 1
        for name, call in calls.items():
            if not took[name] or took[name][-1][1] < seconds / 4:
                # the first of two finds the caches and the heap as another form left them
                took[name].append([run(call, inputs, clock) for _ in range(2)][1])
    return {
        name: tuple(statistics.median(column) for column in zip(*each, strict=True))
        for name, each in took.items()
    }


def measure(calls: dict, inputs: list[Tensor], seconds: float) -> dict[str, tuple]:
    """Forward and both on the clock, both on the processor, peak bytes: for each form."""
    found = {}
    torch.set_num_threads(THREADS)
    for name, call in calls.items():
        with Peak() as peak:
            run(call, inputs, time.monotonic)
        found[name] = peak.bytes
    clock = in_turn(calls, inputs, seconds, time.monotonic)
    torch.set_num_threads(1)
    processor = in_turn(calls, inputs, seconds, time.thread_time)
    return {name: (*clock[name], processor[name][1], found[name]) for name in calls}


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
        found = measure(*forms(n), seconds)
        plain = found[PLAIN]
        for name, (forward, both, cpu, peak) in found.items():
            rows.append((
                n, name, f"{1e3 * forward:.1f}", f"{1e3 * both:.1f}", f"{both / plain[1]:.2f}",
                f"{1e3 * cpu:.1f}", f"{cpu / plain[2]:.2f}", f"{peak / 2**20:.1f}",
                f"{peak / plain[3]:.2f}",
            ))  # fmt: skip
            print(*rows[-1], sep=" | ", flush=True)
    return rows


def steps(seconds: float) -> list[tuple]:
    calls = {
        PLAIN: step(None)[0],
        "relative, in blocks": step(lambda: RelativeAttention(WIDTH, REACH))[0],
        "relative, gather": step(lambda: Gathered(WIDTH, REACH))[0],
    }
    found = measure(calls, [], seconds)
    plain = found[PLAIN]
    return [
        (name, f"{1e3 * both:.0f}", f"{both / plain[1]:.2f}", f"{1e3 * cpu:.0f}",
         f"{cpu / plain[2]:.2f}", f"{peak / 2**20:.0f}", f"{peak / plain[3]:.2f}")
        for name, (_, both, cpu, peak) in found.items()
    ]  # fmt: skip


class Gathered(RelativeAttention):
    """The same layer with the gather in place of the blocks."""

    def forward(self, q, k, v, mask=None):
        return relative_attention_gather(q, k, v, self.a_k, self.a_v, mask)


def markdown(headings: tuple, rows: list[tuple]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def main() -> None:
    """Print the tables, and write them to the results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lengths", type=int, nargs="+", default=[256, 512, 1024, 2048])
    arguments.add_argument("--seconds", type=float, default=20, help="for each length, twice")
    chosen = arguments.parse_args()
    rows, of_steps = table(chosen.lengths, chosen.seconds), steps(chosen.seconds)
    for row in of_steps:
        print(*row, sep=" | ")
    made_with = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    load = f"{os.getloadavg()[0]:.1f} processes at work when it ended"
    where = f"{os.cpu_count()} cores, {platform.machine()}, {load}"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "relative.md").write_text(
        f"# Relative attention beside its peers\n\n{where}; Python {platform.python_version()}, "
        f"{made_with}, float32.\n\n"
        f"One sequence of n words, {HEADS} heads of width {WIDTH}, reach {REACH}. "
        f"Milliseconds: medians, on the clock with {THREADS} threads, on the processor with one, "
        "with the gradients. Peak: what the call's tensors and gradients hold at once.\n\n"
        f"{markdown(HEADINGS, rows)}\n"
        "## A training step\n\nTwo layers of the paper's base shape (512 wide, 8 heads, "
        f"feed-forward 2048), reach {REACH}, 8 sequences of 64 words, 8000 different words.\n\n"
        + markdown(("attention", *HEADINGS[3:]), of_steps),
        "utf-8",
    )
    with (RESULTS / "relative.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADINGS, *rows])


if __name__ == "__main__":
    main()
