"""Claims about attention that is exact: blocks, shared keys and values, and what a cache keeps."""

from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from torch import Tensor

from attncourse.cost import count
from attncourse.course.claim import Measured, above, at_most, below, between, claim, exactly
from attncourse.course.dot_product.claims import normal
from attncourse.course.relative.claims import max_abs_diff
from attncourse.dot_product import attention, causal_mask
from attncourse.efficient import (
    cache_bytes,
    flash_attention,
    grouped_query_attention,
    online_softmax_update,
)
from judge.call.torch_internals import TorchDispatchMode, is_view, leaves

# how many numbers the fast memory holds, where a claim counts what is moved to and from it
FAST = 2**14
ROUNDING = at_most(1e-12, "rounding")


def with_gradients(form: Callable, tensors: list[Tensor], grad_output: Tensor) -> list[Tensor]:
    """The output of a form, and the gradients of its inputs."""
    leaves = [x.clone().requires_grad_() for x in tensors]
    z = form(*leaves)
    return [z.detach(), *torch.autograd.grad(z, leaves, grad_output)]


@claim(
    "Attention block by block gives the outputs and the gradients of attention: for blocks of 4 "
    "and of 64 keys, where there are 11, under a mask with a row that allows no key, and causally.",
    source="Dao et al. (2022), theorem 1 (that the result is exact)",
)
def blocks_are_exact(g):
    *tensors, grad_output = (normal(g, 2, 11, 8).double() for _ in range(4))
    mask, causal_pairs = normal(g, 11, 11) > 0, causal_mask(11, g.device)
    mask[3] = False
    errors = {4: [], 64: []}
    for block, causal in product(errors, (False, True)):
        blocks = partial(flash_attention, mask=mask, causal=causal, block=block)
        full = partial(attention, mask=mask & causal_pairs if causal else mask)
        ours, theirs = (with_gradients(form, tensors, grad_output) for form in (blocks, full))
        errors[block] += map(max_abs_diff, ours, theirs)
    return Measured(
        {
            f"apart, blocks of {b}": (max(errors_of_block), ROUNDING)
            for b, errors_of_block in errors.items()
        }
    )


@claim(
    "The blocks of keys may come in any order. They may also be folded into two parts that are "
    "then merged: what comes out at the end is attention.",
    source="Milakov & Gimelshein (2018), section 3.1: the step is associative",
)
def blocks_come_in_any_order(g):
    q, k, v = (normal(g, 20, 8).double() for _ in range(3))

    def folded(order):
        state = torch.full_like(q[:, :1], -1e9), 0 * q[:, :1], 0 * v
        for block_slice in (slice(4 * block, 4 * block + 4) for block in order):
            state = online_softmax_update(*state, q @ k[block_slice].mT / 8**0.5, v[block_slice])
        return state

    a, b = folded((0, 3)), folded((4, 1, 2))
    highest = torch.maximum(a[0], b[0])
    factors = [(state_of_blocks[0] - highest).exp() for state_of_blocks in (a, b)]
    merged = [factors[0] * x + factors[1] * y for x, y in zip(a, b, strict=True)]
    ends = {"backwards": folded((4, 3, 2, 1, 0)), "mixed": folded((2, 0, 4, 1, 3)), "two": merged}
    errors = {name: max_abs_diff(z / ell, attention(q, k, v)) for name, (_, ell, z) in ends.items()}
    return Measured({f"apart, {name}": (error, ROUNDING) for name, error in errors.items()})


# they take only the dtype and the device of their argument
LIKE = {torch.ops.aten.new_full.default, torch.ops.aten.new_zeros.default}


class CountMoved(TorchDispatchMode):
    """Counts the numbers read and written in tensors that are too large for the fast memory."""

    def __init__(self, fast: int):
        super().__init__()
        self.fast, self.numbers = fast, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if not is_view(function) and function not in LIKE:
            tensors = (x for x in leaves((args, out)) if isinstance(x, Tensor))
            large = (x for x in tensors if x.untyped_storage().nbytes() > self.fast * x.itemsize)
            self.numbers += sum(x.numel() for x in large)
        return out


def numbers_moved(call: Callable, fast: int = FAST) -> int:
    """The numbers that a call moves to and from slow memory; the fast one holds `fast` numbers."""
    with CountMoved(fast) as traffic:
        call()
    return traffic.numbers


@claim(
    "For $n = 1024$ tokens of width 64, attention in blocks of 128 takes as many operations as "
    "attention written out; if causal, it computes $8 \\cdot 9 / 2 = 36$ of 8 by 8 pairs of "
    "blocks. With 512 tokens or 1024, its largest tensor is $n/64$ times smaller: no larger than "
    "the queries. If tensors of up to $2^{14}$ numbers stay in the fast memory, a quarter as many "
    "numbers are moved to and from the slow one.",
    source="Dao et al. (2022), theorems 1 and 2; the counts are ours",
)
def blocks_save_memory_not_operations(g):
    xs = [torch.empty(n, 64, device="meta") for n in (512, 1024)]
    plain, blocks = ([count(f, x, x, x) for x in xs] for f in (attention, flash_attention))
    causal = count(flash_attention, *3 * [xs[1]], causal=True)
    moved_by_form = {}
    for form, x in product((attention, flash_attention), xs):
        moved_by_form.setdefault(form, []).append(numbers_moved(partial(form, x, x, x)))
    largest = [p.largest / b.largest for p, b in zip(plain, blocks, strict=True)]
    ratios = [p / max(b, 1) for p, b in zip(*moved_by_form.values(), strict=True)]
    return Measured(
        {
            "operations, blocks / written out": (blocks[1].flops / plain[1].flops, exactly(1)),
            "causal: pairs of blocks, of 64": (64 * causal.flops / plain[1].flops, exactly(36)),
            "largest tensor, written out / blocks, $n$ = 512": (largest[0], exactly(8)),
            "$n$ = 1024": (largest[1], exactly(16)),
            "numbers moved, written out / blocks": (ratios, exactly(4)),
        }
    )


def operations_per_byte(form: Callable, *tensors: Tensor) -> float:
    """The operations of a call for each byte of its inputs and outputs."""
    return count(form, *tensors).flops / sum(x.nbytes for x in (*tensors, form(*tensors)))


@claim(
    "In a step of decoding, each of 32 heads has one query for a cache of 8192 tokens in 16 bits. "
    "Without sharing, this takes about one operation for each byte that goes in or out; with 8 "
    "groups about 4, and with one group about 32. With a query for each of the 8192 tokens at "
    "once, it is over 1000. If the scores stay in the fast memory, a step without sharing moves "
    "exactly 32 times as many bytes as a step with one group, for as many operations.",
    source="Shazeer (2019), sections 2.4.1 and 3; the counts are ours",
)
def decoding_moves_a_byte_for_each_operation(g):
    def inputs(n, groups, m=8192):
        shapes = (32, n, 128), (groups, m, 128), (groups, m, 128)
        return [torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in shapes]

    intensity = {
        (n, groups): operations_per_byte(grouped_query_attention, *inputs(n, groups))
        for n, groups in ((1, 32), (1, 8), (1, 1), (8192, 32))
    }
    steps = [partial(grouped_query_attention, *inputs(1, groups)) for groups in (32, 1)]
    ungrouped, grouped = map(count, steps)
    # the fast memory holds a score of each head for each token
    moved_numbers = [numbers_moved(step, fast=32 * 8192) for step in steps]
    return Measured(
        {
            "operations per byte, 32 groups": (intensity[1, 32], between(0.9, 1)),
            "8 groups": (intensity[1, 8], between(3.9, 4)),
            "one group": (intensity[1, 1], between(31, 32)),
            "8192 queries, 32 groups": (intensity[8192, 32], above(1000)),
            "operations, 32 groups / one": (ungrouped.flops / grouped.flops, exactly(1)),
            "bytes moved, 32 groups / one": (moved_numbers[0] / moved_numbers[1], exactly(32)),
        }
    )


@claim(
    "32 heads that share keys and values in 8 groups, or in one, keep a cache that is 4 or 32 "
    "times smaller, and take exactly as many operations for attention itself. The output is that "
    "of 32 separate heads to which the keys and values are repeated.",
    source="Shazeer (2019), section 3; Ainslie et al. (2023), section 2.2",
)
def sharing_saves_bytes_not_operations(g):
    n, heads, d = 24, 32, 8
    q = normal(g, heads, 5, d).double()
    full_bytes = cache_bytes(n, 1, heads, d, q.dtype)
    reported, operations = [], []
    errors, ratios = [], []
    for groups in (8, 1):
        k, v = (normal(g, groups, n, d).double() for _ in "kv")
        repeated = [x.repeat_interleave(heads // groups, dim=0) for x in (k, v)]
        shared, separate = (
            count(f, q, *kv).flops
            for f, kv in ((grouped_query_attention, (k, v)), (attention, repeated))
        )
        operations.append(shared / separate)
        errors.append(max_abs_diff(grouped_query_attention(q, k, v), attention(q, *repeated)))
        shared_bytes = cache_bytes(n, 1, groups, d, q.dtype)
        ratios.append(full_bytes / shared_bytes)
        reported.append(shared_bytes / (k.nbytes + v.nbytes))
    return Measured(
        {
            "bytes, 32 groups / 8": (ratios[0], exactly(4)),
            "bytes, 32 groups / 1": (ratios[1], exactly(32)),
            "`cache_bytes` / bytes of the tensors": (reported, exactly(1)),
            "operations, shared / separate": (operations, exactly(1)),
            "outputs apart": (errors, ROUNDING),
        }
    )


@claim(
    "If matrices make the keys and values of 16 heads, each of width 32, from one latent vector "
    "of width 64 per token, then attention is multi-query attention to the latent vectors: it has "
    "the same output, and keeps 64 numbers per token instead of 1024.",
    source="DeepSeek-AI (2024), DeepSeek-V2, section 2.1",
)
def a_latent_serves_all_heads(g):
    heads, d, width = 16, 32, 64
    q, latent = normal(g, heads, 3, d).double(), normal(g, 10, width).double()
    w_k, w_v = (normal(g, heads, width, d).double() / 8 for _ in "kv")
    k, v = latent @ w_k, latent @ w_v
    # attention divides by the root of the latent width, and not of d
    latent_q = q @ w_k.mT * (width / d) ** 0.5
    z = grouped_query_attention(latent_q, latent[None], latent[None]) @ w_v
    ratio = (k.numel() + v.numel()) / latent.numel()
    return Measured(
        {
            "numbers kept, keys and values / latent": (ratio, exactly(1024 / 64)),
            "outputs apart": (max_abs_diff(z, attention(q, k, v)), ROUNDING),
        }
    )


def rounded(x: Tensor, bits: int, dim: int) -> Tensor:
    """x, rounded to one of 2^bits levels between the least and the largest number along dim."""
    low, high = x.aminmax(dim=dim, keepdim=True)
    step = (high - low) / (2**bits - 1)
    return low + ((x - low) / step).round() * step


@claim(
    "One channel of random keys is 10 times as large as the others. Rounding keys and values to 8 "
    "bits changes the outputs by less than 0.03 of their norm. With 4 bits, a scale for each "
    "token's key makes over 1.5 times the error of a scale for each channel of the keys.",
    source="Liu et al. (2024), on the outliers in trained models; the error is our own measurement",
)
def four_bits_want_a_scale_per_channel(g):
    q, k, v = (normal(g, 256, 64) for _ in "qkv")
    k[:, 0] *= 10
    exact = attention(q, k, v)
    errors = {}
    for bits, dim in product((8, 4), (-1, -2)):
        z = attention(q, rounded(k, bits, dim), rounded(v, bits, -1))
        errors[bits, dim] = ((z - exact).norm() / exact.norm()).item()
    return Measured(
        {
            "error, 8 bits": ([errors[8, -1], errors[8, -2]], below(0.03)),
            "4 bits, a scale per token / per channel": (errors[4, -1] / errors[4, -2], above(1.5)),
        }
    )
