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
from timing import RESULTS, THREADS, machine_info, markdown_table, time_interleaved, write_csv
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
TIME_HEADINGS = ("forward, ms", "package / it", "with gradients, ms", "package / it")
HEADINGS = ("n", "form", *TIME_HEADINGS, *(f"processor, {heading}" for heading in TIME_HEADINGS))
COMPARED = ("torch's softmax", "the package")
RATIO_HEADINGS = (
    "n",
    *(f"{other}, {kind}" for other in COMPARED for kind in ("forward", "with gradients")),
)


def build_calls(n: int) -> tuple[dict[str, Callable[[], Tensor]], list[Tensor]]:
    """Each implementation as a call without arguments, and the inputs that get gradients."""
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, HEADS, n, WIDTH, generator=g).requires_grad_() for _ in "qkv")
    # the package has the axis of tokens before that of heads
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


def measure_lengths(lengths: list[int], seconds: float) -> list[tuple]:
    """A row of times for each length and implementation."""
    rows = []
    for n in lengths:
        calls, inputs = build_calls(n)
        times = {name: [] for name in calls}
        for threads, clock in ((THREADS, time.monotonic), (1, time.process_time)):
            torch.set_num_threads(threads)
            for name, seconds_of_call in time_interleaved(calls, inputs, seconds, clock).items():
                times[name] += seconds_of_call
        for name, row_times in times.items():
            cells = [
                cell
                for ours, theirs in zip(row_times, times[PACKAGE], strict=True)
                for cell in (f"{1e3 * ours:.1f}", f"{theirs / ours:.2f}")
            ]
            rows.append((n, name, *cells))
            print(*rows[-1], sep=" | ", flush=True)
    return rows


def time_ratios(rows: list[tuple]) -> list[tuple]:
    """Wall times of torch's softmax and of the package, as multiples of our causal form."""
    times = {
        (n, name): (float(forward), float(with_gradients))
        for n, name, forward, _, with_gradients, *_ in rows
    }
    return [
        (
            n,
            *(
                f"{theirs / ours:.1f}"
                for name in ("torch's own softmax", PACKAGE)
                for theirs, ours in zip(times[n, name], times[n, "linear, causal"], strict=True)
            ),
        )
        for n in dict.fromkeys(row[0] for row in rows)
    ]


def measure_steps(lengths: tuple[int, ...] = (128, 8192), rounds: int = 2000) -> list[tuple]:
    """A row for each attention and length: median microseconds of the next token, KiB of state."""
    torch.set_num_threads(1)
    steps, state_bytes = {}, {}
    for n in lengths:
        q, k, v = (torch.randn(HEADS, n, WIDTH) for _ in "qkv")
        state, token = linear_attention_state(k, v), [x[:, -1] for x in (q, k, v)]
        steps["linear", n] = lambda state=state, token=token: linear_attention_step(state, *token)
        steps["softmax", n] = lambda q=q, k=k, v=v: attention(q[:, -1:], k, v)
        state_bytes["linear", n] = sum(x.nbytes for x in state)
        state_bytes["softmax", n] = k.nbytes + v.nbytes
    times = {name: [] for name in steps}
    with torch.no_grad():
        for _ in range(rounds):
            for name, step in steps.items():
                start = time.perf_counter()
                step()
                times[name].append(time.perf_counter() - start)
    median = {name: statistics.median(seconds) for name, seconds in times.items()}
    return [
        (name, n, f"{1e6 * times:.0f}", f"{times / median[name, lengths[0]]:.2f}",
         f"{state_bytes[name, n] / 2**10:.0f}")
        for (name, n), times in median.items()
    ]  # fmt: skip


def main() -> None:
    """Print the tables, and write them to the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    default_lengths = [512, 1024, 2048, 4096, 8192, 16384]
    parser.add_argument("--lengths", type=int, nargs="+", default=default_lengths)
    parser.add_argument("--seconds", type=float, default=15, help="for each length, twice")
    arguments = parser.parse_args()
    rows, step_rows = measure_lengths(arguments.lengths, arguments.seconds), measure_steps()
    for row in step_rows:
        print(*row, sep=" | ")
    (RESULTS / "linear.md").write_text(
        "# Causal linear attention beside its peers\n\n"
        f"{machine_info('pytorch-fast-transformers')}\n\n"
        f"One sequence of n tokens, {HEADS} heads of width {WIDTH}. Milliseconds: medians, on the "
        f"clock with {THREADS} threads, then on the processor with one.\n\n"
        f"{markdown_table(HEADINGS, rows)}\n"
        "## In times of the causal form\n\nHow many times as long the others take, on the "
        "clock.\n\n"
        f"{markdown_table(RATIO_HEADINGS, time_ratios(rows))}\n"
        "## A token at a time\n\nThe next token after n, with one thread.\n\n"
        + markdown_table(("attention", "n", "microseconds", "to n = 128", "held, KiB"), step_rows),
        "utf-8",
    )
    write_csv("linear", rows, HEADINGS)


if __name__ == "__main__":
    main()
