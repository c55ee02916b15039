"""Attention within a window beside its peers: time and memory, forward and with the gradients.

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
    in_turn,
    markdown,
    measure,
    rows_of,
    where,
    write_csv,
)
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attncourse.convolution import window_mask, windowed_attention
from attncourse.dot_product import attention

HEADS, WIDTH, WINDOW = 8, 64, 129
FULL, OURS = "attention under a mask", "windows in blocks"
THEIRS, FLEX = "local-attention", "flex attention, compiled"


def flex(n: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """torch's flex attention with the same window, compiled."""

    def within(batch, head, query, key):
        return (key - query).abs() <= WINDOW // 2

    blocks = create_block_mask(within, None, None, n, n, device="cpu")
    return partial(torch.compile(flex_attention, dynamic=False), block_mask=blocks)


def forms(n: int) -> tuple[dict[str, Callable[[], Tensor]], list[Tensor]]:
    """Each form as a call without arguments, and the tensors that it may have gradients for."""
    g = torch.Generator().manual_seed(0)
    q, k, v = inputs = [
        torch.randn(1, HEADS, n, WIDTH, generator=g).requires_grad_() for _ in "qkv"
    ]
    mask = window_mask(n, WINDOW)
    # with one block back and one on, and each query's own window exact
    theirs = LocalAttention(
        WINDOW // 2, causal=False, look_backward=1, look_forward=1, exact_windowsize=True,
        autopad=True, use_rotary_pos_emb=False,
    )  # fmt: skip
    calls = {
        FULL: lambda: attention(q, k, v, mask),
        OURS: lambda: windowed_attention(q, k, v, WINDOW),
        THEIRS: lambda: theirs(q, k, v),
    }
    for name in (OURS, THEIRS):
        torch.testing.assert_close(calls[name](), calls[FULL](), atol=1e-4, rtol=1e-4, msg=name)
    return calls, inputs


def beside_flex(n: int, seconds: float) -> tuple | str:
    """Milliseconds forward of flex attention and of ours; or why flex attention could not run."""
    q, k, v = (torch.randn(1, HEADS, n, WIDTH) for _ in "qkv")
    try:
        compiled = flex(n)
        theirs, ours = compiled(q, k, v), windowed_attention(q, k, v, WINDOW)
        torch.testing.assert_close(theirs, ours, atol=1e-4, rtol=1e-4)
    # whatever a compiler may say
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    calls = {FLEX: lambda: compiled(q, k, v), OURS: lambda: windowed_attention(q, k, v, WINDOW)}
    torch.set_num_threads(THREADS)
    took = {name: each[0] for name, each in in_turn(calls, [], seconds, time.monotonic).items()}
    milliseconds = (f"{1e3 * took[name]:.1f}" for name in (FLEX, OURS))
    return n, *milliseconds, f"{took[OURS] / took[FLEX]:.2f}"


def slopes(found: dict[int, dict[str, Cost]]) -> list[tuple]:
    """Time and memory of each form grow from the second length to the last as n to this power."""
    first, last = (sorted(found)[i] for i in (1, -1))

    def power(before: float, after: float) -> str:
        return f"{math.log(after / before, last / first):.2f}"

    return [
        (name, power(found[first][name].both, one.both), power(found[first][name].peak, one.peak))
        for name, one in found[last].items()
    ]


def main() -> None:
    """Print the tables, and write them to the results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lengths", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192])
    arguments.add_argument("--seconds", type=float, default=20, help="for each length, twice")
    chosen = arguments.parse_args()
    found, rows = {}, []
    for n in chosen.lengths:
        found[n] = measure(*forms(n), chosen.seconds)
        for row in rows_of(found[n], FULL):
            rows.append((n, *row))
            print(*rows[-1], sep=" | ", flush=True)
    flexed = [beside_flex(n, chosen.seconds / 4) for n in chosen.lengths]
    print(*flexed, sep="\n")
    growth = slopes(found)
    reasons = [why for why in flexed if isinstance(why, str)]
    timed = [row for row in flexed if not isinstance(row, str)]
    about_flex = (
        f"It could not be run here: {reasons[0]}\n"
        if reasons
        else markdown(("n", f"{FLEX}, ms", f"{OURS}, ms", "ours to flex"), timed)
    )
    (RESULTS / "convolution.md").write_text(
        f"# Attention within a window beside its peers\n\n{where('local-attention')}\n\n"
        f"One sequence of n words, {HEADS} heads of width {WIDTH}, a window of {WINDOW} words. "
        f"Milliseconds: medians, on the clock with {THREADS} threads, on the processor with one, "
        "with the gradients. Peak: what the call's tensors and gradients hold at once. Plain is "
        f"{FULL}.\n\n{markdown(HEADINGS, rows)}\n"
        f"## How they grow\n\nWith the gradients, as n to the power of, from n = "
        f"{sorted(found)[1]} to {sorted(found)[-1]}.\n\n"
        f"{markdown(('form', 'time', 'peak'), growth)}\n"
        "## Forward alone, beside torch's flex attention\n\nOn a CPU it has no gradients.\n\n"
        f"{about_flex}",
        "utf-8",
    )
    write_csv("convolution", rows)


if __name__ == "__main__":
    main()
