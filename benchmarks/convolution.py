"""Windowed attention compared with other implementations: time and memory, with gradients.

    PYTHONPATH=. python benchmarks/convolution.py   # a quarter of an hour

Needs the package local-attention. torch's flex attention has no gradients on a CPU, and compiles
a program of its own where there is a compiler; it is left out, and said to be, where it fails.
"""

import argparse
import math
import time
from collections.abc import Callable
from functools import partial

import torch
from local_attention import LocalAttention
from timing import (
    HEADINGS,
    RESULTS,
    THREADS,
    Cost,
    cost_rows,
    machine_info,
    markdown_table,
    measure,
    time_interleaved,
    write_csv,
)
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attncourse.convolution import window_mask, windowed_attention
from attncourse.dot_product import attention

HEADS, WIDTH, WINDOW = 8, 64, 129
MASKED, OURS = "attention under a mask", "windows in blocks"
THEIRS, FLEX = "local-attention", "flex attention, compiled"


def compiled_flex_attention(n: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """torch's flex attention with the same window, compiled."""

    def in_window(batch, head, query, key):
        return (key - query).abs() <= WINDOW // 2

    blocks = create_block_mask(in_window, None, None, n, n, device="cpu")
    return partial(torch.compile(flex_attention, dynamic=False), block_mask=blocks)


def build_calls(n: int) -> tuple[dict[str, Callable[[], Tensor]], list[Tensor]]:
    """Each implementation as a call without arguments, and the inputs that get gradients."""
    g = torch.Generator().manual_seed(0)
    q, k, v = inputs = [
        torch.randn(1, HEADS, n, WIDTH, generator=g).requires_grad_() for _ in "qkv"
    ]
    mask = window_mask(n, WINDOW)
    # one block before and one after, masked to each query's exact window
    theirs = LocalAttention(
        WINDOW // 2, causal=False, look_backward=1, look_forward=1, exact_windowsize=True,
        autopad=True, use_rotary_pos_emb=False,
    )  # fmt: skip
    calls = {
        MASKED: lambda: attention(q, k, v, mask),
        OURS: lambda: windowed_attention(q, k, v, WINDOW),
        THEIRS: lambda: theirs(q, k, v),
    }
    for name in (OURS, THEIRS):
        torch.testing.assert_close(calls[name](), calls[MASKED](), atol=1e-4, rtol=1e-4, msg=name)
    return calls, inputs


def compare_with_flex(n: int, seconds: float) -> tuple | str:
    """A row of forward milliseconds of flex attention and ours, or the error of flex attention."""
    q, k, v = (torch.randn(1, HEADS, n, WIDTH) for _ in "qkv")
    try:
        compiled = compiled_flex_attention(n)
        theirs, ours = compiled(q, k, v), windowed_attention(q, k, v, WINDOW)
        torch.testing.assert_close(theirs, ours, atol=1e-4, rtol=1e-4)
    # a compiler may raise anything
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    calls = {FLEX: lambda: compiled(q, k, v), OURS: lambda: windowed_attention(q, k, v, WINDOW)}
    torch.set_num_threads(THREADS)
    times = {
        name: columns[0]
        for name, columns in time_interleaved(calls, [], seconds, time.monotonic).items()
    }
    milliseconds = (f"{1e3 * times[name]:.1f}" for name in (FLEX, OURS))
    return n, *milliseconds, f"{times[OURS] / times[FLEX]:.2f}"


def growth_exponents(costs: dict[int, dict[str, Cost]]) -> list[tuple]:
    """Exponents of n in the growth of time and memory, from the second length to the last."""
    first, last = (sorted(costs)[i] for i in (1, -1))

    def exponent(small: float, large: float) -> str:
        return f"{math.log(large / small, last / first):.2f}"

    return [
        (
            name,
            exponent(costs[first][name].total, cost.total),
            exponent(costs[first][name].peak, cost.peak),
        )
        for name, cost in costs[last].items()
    ]


def main() -> None:
    """Print the tables, and write them to the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192])
    parser.add_argument("--seconds", type=float, default=20, help="for each length, twice")
    arguments = parser.parse_args()
    costs, rows = {}, []
    for n in arguments.lengths:
        costs[n] = measure(*build_calls(n), arguments.seconds)
        for row in cost_rows(costs[n], MASKED):
            rows.append((n, *row))
            print(*rows[-1], sep=" | ", flush=True)
    flex_rows = [compare_with_flex(n, arguments.seconds / 4) for n in arguments.lengths]
    print(*flex_rows, sep="\n")
    exponents = growth_exponents(costs)
    reasons = [reason for reason in flex_rows if isinstance(reason, str)]
    timed = [row for row in flex_rows if not isinstance(row, str)]
    flex_section = (
        f"It could not be run here: {reasons[0]}\n"
        if reasons
        else markdown_table(("n", f"{FLEX}, ms", f"{OURS}, ms", "ours to flex"), timed)
    )
    (RESULTS / "convolution.md").write_text(
        f"# Attention within a window beside its peers\n\n{machine_info('local-attention')}\n\n"
        f"One sequence of n words, {HEADS} heads of width {WIDTH}, a window of {WINDOW} words. "
        f"Milliseconds: medians, on the clock with {THREADS} threads, on the processor with one, "
        "with the gradients. Peak: what the call's tensors and gradients hold at once. Plain is "
        f"{MASKED}.\n\n{markdown_table(HEADINGS, rows)}\n"
        f"## How they grow\n\nWith the gradients, as n to the power of, from n = "
        f"{sorted(costs)[1]} to {sorted(costs)[-1]}.\n\n"
        f"{markdown_table(('form', 'time', 'peak'), exponents)}\n"
        "## Forward alone, beside torch's flex attention\n\nOn a CPU it has no gradients.\n\n"
        f"{flex_section}",
        "utf-8",
    )
    write_csv("convolution", rows)


if __name__ == "__main__":
    main()
