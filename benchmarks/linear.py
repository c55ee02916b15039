"""Causal linear attention beside torch's own softmax attention and the paper's own package.

All forms run in turn, again and again, in one process, and the median counts. Milliseconds on the
clock, with two threads, depend on what else the machine does; those of the processor, with one
thread, hardly do. Then one token at a time: a step after 128 tokens and after 8192.
Needs pytorch-fast-transformers, which is installed with --no-build-isolation and --no-deps.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from fast_transformers.attention import CausalLinearAttention
from fast_transformers.masking import LengthMask, TriangularCausalMask
from timing import RESULTS, THREADS, in_turn, markdown, where, write_csv
from torch import Tensor

from attncourse.dot_product import attention
from attncourse.linear import (
    linear_attention,
    linear_attention_chunkwise,
    linear_attention_state,
    linear_attention_step,
)

HEADS, WIDTH = 8, 64
PACKAGE = "fast-transformers"
TIMES = ("forward, ms", "package / it", "with gradients, ms", "package / it")
HEADINGS = ("n", "form", *TIMES, *(f"processor, {one}" for one in TIMES))
OTHERS = ("torch's softmax", "the package")
SHORT = ("n", *(f"{other}, {way}" for other in OTHERS for way in ("forward", "with gradients")))


def forms(n: int) -> tuple[dict[str, Callable[[], Tensor]], list[Tensor]]:
    """Each form as a call without arguments, and the tensors that it may have gradients for."""
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, HEADS, n, WIDTH, generator=g).requires_grad_() for _ in "qkv")
    # the package has the tokens before the heads
    theirs = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in (q, k, v)]
    package = CausalLinearAttention(WIDTH)
    masks = TriangularCausalMask(n), LengthMask(torch.tensor([n])), LengthMask(torch.tensor([n]))
    calls = {
        PACKAGE: lambda: package(*theirs, *masks),
        "linear, causal": lambda: linear_attention(q, k, v, causal=True),
        "linear, plain chunks": lambda: linear_attention_chunkwise(q, k, v),
        "torch's own softmax": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    }
    # the package adds 1e-6 to each total weight
    torch.testing.assert_close(
        calls[PACKAGE]().transpose(1, 2), calls["linear, causal"](), atol=1e-4, rtol=1e-4
    )
    return calls, [q, k, v, *theirs]


def table(lengths: list[int], seconds: float) -> list[tuple]:
    """A row for each length and form."""
    rows = []
    for n in lengths:
        calls, inputs = forms(n)
        found = {name: [] for name in calls}
        for threads, clock in ((THREADS, time.monotonic), (1, time.process_time)):
            torch.set_num_threads(threads)
            for name, both in in_turn(calls, inputs, seconds, clock).items():
                found[name] += both
        for name, took in found.items():
            cells = [
                cell
                for ours, theirs in zip(took, found[PACKAGE], strict=True)
                for cell in (f"{1e3 * ours:.1f}", f"{theirs / ours:.2f}")
            ]
            rows.append((n, name, *cells))
            print(*rows[-1], sep=" | ", flush=True)
    return rows


def times_as_long(rows: list[tuple]) -> list[tuple]:
    """What torch's own softmax and the package take on the clock, in times of our causal form."""
    took = {(n, name): (float(forward), float(both)) for n, name, forward, _, both, *_ in rows}
    return [
        (
            n,
            *(
                f"{theirs / ours:.1f}"
                for name in ("torch's own softmax", PACKAGE)
                for theirs, ours in zip(took[n, name], took[n, "linear, causal"], strict=True)
            ),
        )
        for n in dict.fromkeys(row[0] for row in rows)
    ]


def tokens(lengths: tuple[int, ...] = (128, 8192), rounds: int = 2000) -> list[tuple]:
    """What the next token takes after each length: median microseconds, and KiB that are held."""
    torch.set_num_threads(1)
    steps, held = {}, {}
    for n in lengths:
        q, k, v = (torch.randn(HEADS, n, WIDTH) for _ in "qkv")
        state, token = linear_attention_state(k, v), [x[:, -1] for x in (q, k, v)]
        steps["linear", n] = lambda state=state, token=token: linear_attention_step(state, *token)
        steps["softmax", n] = lambda q=q, k=k, v=v: attention(q[:, -1:], k, v)
        held["linear", n] = sum(x.nbytes for x in state)
        held["softmax", n] = k.nbytes + v.nbytes
    took = {name: [] for name in steps}
    with torch.no_grad():
        for _ in range(rounds):
            for name, step in steps.items():
                start = time.perf_counter()
                step()
                took[name].append(time.perf_counter() - start)
    median = {name: statistics.median(each) for name, each in took.items()}
    return [
        (name, n, f"{1e6 * took:.0f}", f"{took / median[name, lengths[0]]:.2f}",
         f"{held[name, n] / 2**10:.0f}")
        for (name, n), took in median.items()
    ]  # fmt: skip


def main() -> None:
    """Print the tables, and write them to the results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    every = [512, 1024, 2048, 4096, 8192, 16384]
    arguments.add_argument("--lengths", type=int, nargs="+", default=every)
    arguments.add_argument("--seconds", type=float, default=15, help="for each length, twice")
    chosen = arguments.parse_args()
    rows, of_tokens = table(chosen.lengths, chosen.seconds), tokens()
    for row in of_tokens:
        print(*row, sep=" | ")
    (RESULTS / "linear.md").write_text(
        f"# Causal linear attention beside its peers\n\n{where('pytorch-fast-transformers')}\n\n"
        f"One sequence of n tokens, {HEADS} heads of width {WIDTH}. Milliseconds: medians, on the "
        f"clock with {THREADS} threads, then on the processor with one.\n\n"
        f"{markdown(HEADINGS, rows)}\n"
        "## In times of the causal form\n\nHow many times as long the others take, on the "
        "clock.\n\n"
        f"{markdown(SHORT, times_as_long(rows))}\n"
        "## A token at a time\n\nThe next token after n, with one thread.\n\n"
        + markdown(("attention", "n", "microseconds", "to n = 128", "held, KiB"), of_tokens),
        "utf-8",
    )
    write_csv("linear", rows, HEADINGS)


if __name__ == "__main__":
    main()
