"""The claims of the chapter linear."""

from collections.abc import Callable

import torch
from torch import Tensor

from attncourse.claims import Measured, claim
from attncourse.claims.dot_product import normal
from attncourse.claims.recurrence import kept
from attncourse.cost import count
from attncourse.dot_product import attention, masked_softmax
from attncourse.linear import (
    feature_map,
    linear_attention,
    linear_attention_chunkwise,
    linear_attention_cumsum,
    linear_attention_parallel,
    linear_attention_recurrent,
    linear_attention_state,
    linear_attention_step,
    taylor_features,
)

PAPER = "Katharopoulos et al. (2020)"


def inputs(g: torch.Generator, n: int, d: int) -> list[Tensor]:
    """q, k and v, in float64."""
    return [normal(g, n, d).double() for _ in "qkv"]


def by_hand(q: Tensor, k: Tensor, v: Tensor, feature_map=feature_map) -> Tensor:
    """The causal form of the package."""
    return linear_attention(q, k, v, causal=True, feature_map=feature_map)


def max_abs_diff(x: Tensor, y: Tensor) -> float:
    """The largest difference between two tensors."""
    return (x - y).abs().max().item()


def meta_inputs(n: int, d: int = 64, heads: int = 8) -> list[Tensor]:
    """q, k and v as shapes without numbers, for counting."""
    return [torch.empty(heads, n, d, device="meta") for _ in "qkv"]


def with_gradients(form: Callable[..., Tensor], parts: list[Tensor]) -> None:
    """A call, and the gradients of all that went in."""
    out = form(*(x.requires_grad_() for x in parts))
    out.backward(torch.empty_like(out))


@claim(
    "The masked matrix, the cumulative sums, the recurrent state and the chunks, with torch's "
    "backward pass and with the package's own, give the same output, and the same gradients of q, "
    "k and v, for 150 tokens, which are no whole number of chunks; with features elu(x) + 1, and "
    "with those of three terms of exp.",
    source=f"{PAPER}, eq. 8-12 and 16-20; the chunks after Sun et al. (2023)",
)
def all_forms_are_one(g):
    parts, grad_output = inputs(g, 150, 4), normal(g, 150, 4).double()
    forms = {
        "cumulative": linear_attention_cumsum,
        "recurrent": linear_attention_recurrent,
        "chunks": linear_attention_chunkwise,
        "own backward pass": by_hand,
    }
    off = dict.fromkeys(forms, 0.0)
    for features in (feature_map, taylor_features):
        found = {}
        for name, form in {"masked": linear_attention_parallel, **forms}.items():
            leaves = [x.clone().requires_grad_() for x in parts]
            out = form(*leaves, feature_map=features)
            found[name] = [out.detach(), *torch.autograd.grad((out * grad_output).sum(), leaves)]
        for name in forms:
            off[name] = max(off[name], *map(max_abs_diff, found["masked"], found[name]))
    return Measured(
        {f"{name}, off by at most": by for name, by in off.items()},
        "rounding, at most 1e-10, for the output and three gradients",
        max(off.values()) <= 1e-10,
    )


@claim(
    "Without a causal mask, both orders of the product give the same output. With the keys and "
    "values first, twice the tokens take exactly twice the operations of matrix products; with the "
    "queries and keys first, exactly four times.",
    source=f"{PAPER}, eq. 5 and 6, section 3.2.1",
)
def order_of_the_product_decides(g):
    q, k, v = inputs(g, 40, 4)
    off = max_abs_diff(linear_attention(q, k, v), linear_attention_parallel(q, k, v, causal=False))

    def growth(f: Callable[..., Tensor]) -> float:
        return count(f, *meta_inputs(2048)).flops / count(f, *meta_inputs(1024)).flops

    first = growth(lambda *parts: linear_attention_parallel(*parts, causal=False))
    last = growth(linear_attention)
    return Measured(
        {"outputs apart": off, "growth, keys and values first": last, "queries first": first},
        "rounding, at most 1e-12; exactly 2; exactly 4",
        off <= 1e-12 and last == 2 and first == 4,
    )


@claim(
    "The output is a mean of the values: values that are all 1 give 1, and no output is outside "
    "the range of the values so far. With q and k themselves for features, the total weight of "
    "about half of 200 random tokens is negative, and some outputs are outside that range by more "
    "than all its width.",
    source=f"{PAPER}, section 3.2: the similarity has to be non-negative",
)
def weights_may_not_be_negative(g):
    q, k, v = inputs(g, 200, 4)
    highest, lowest = v.cummax(0).values, v.cummin(0).values
    ones = max_abs_diff(linear_attention(q, k, torch.ones_like(v), causal=True), torch.ones_like(v))
    outside = {}
    for name, features in {"elu + 1": feature_map, "q and k": lambda x: x}.items():
        out = linear_attention(q, k, v, causal=True, feature_map=features)
        beyond = torch.maximum(out - highest, lowest - out)
        # the first token has a range of width 0
        outside[name] = (beyond / (highest - lowest))[1:].max().item()
    negative = ((q * k.cumsum(0)).sum(-1) < 0).double().mean().item()
    return Measured(
        {"means of ones, off by": ones, "negative totals, q and k": negative}
        | {f"outside, in widths, {name}": by for name, by in outside.items()},
        "rounding; 0.3 to 0.7; rounding; over 1",
        ones <= 1e-12 and 0.3 < negative < 0.7
        and outside["elu + 1"] <= 1e-12 and outside["q and k"] > 1,
    )  # fmt: skip


@claim(
    "For 8 heads of width 64 and 1024 tokens, the largest tensor of the masked form has n/d = 16 "
    "times as many numbers as the queries, that of the cumulative form d = 64 times, and that of "
    "the chunks exactly as many as the queries, gradients included or not.",
    source="n² pairs, n states of d² numbers, and n vectors of d: counted",
)
def chunks_hold_no_large_tensor(g):
    forms = {
        "masked": linear_attention_parallel,
        "cumulative": linear_attention_cumsum,
        "chunks": by_hand,
    }
    times, parts = {}, meta_inputs(1024)
    for name, form in forms.items():
        times[name] = count(form, *parts).largest / parts[0].numel()
        times[f"{name}, with gradients"] = (
            count(with_gradients, form, parts).largest / parts[0].numel()
        )
    as_said = list(times.values()) == [16, 16, 64, 64, 1, 1]
    return Measured(times, "exactly 16, 64 and 1, with gradients too", as_said)


@claim(
    "For the backward pass of 512 tokens of width 64, the masked form keeps more than n/d = 8 "
    "times as many numbers as the queries have, besides the inputs, the cumulative and the "
    "recurrent form more than d = 64 times, and the chunks fewer than 6: with torch's backward "
    "pass more, with the package's own less.",
    source="n² pairs; n states of d² numbers; n/128 states, and 128 n pairs or none: counted "
    "in what autograd saves",
)
def chunks_keep_the_least(g):
    forms = {
        "masked": linear_attention_parallel,
        "cumulative": linear_attention_cumsum,
        "recurrent": linear_attention_recurrent,
        "chunks": linear_attention_chunkwise,
        "own backward pass": by_hand,
    }
    times = {}
    for name, form in forms.items():
        q, *others = inputs(g, 512, 64)
        times[name] = kept(lambda x, f=form, o=others: f(x, *o), q, others) / q.numel()
    pairs, *states, chunks, own = times.values()
    as_said = pairs > 8 and min(states) > 64 and own < chunks < 6
    return Measured(times, "over 8; over 64, twice; under 6; under the one before", as_said)


@claim(
    "Token 8192 takes exactly as many operations of matrix products as token 128, and the state "
    "exactly as many numbers. With softmax attention, both are exactly 64 times as many.",
    source=f"{PAPER}, section 3.3.2",
)
def a_token_costs_the_same_everywhere(g):
    flops, held, softmax, cache = [], [], [], []
    for n in (128, 8192):
        q, k, v = meta_inputs(n)
        S, z = linear_attention_state(k, v)
        token = [x[..., -1, :] for x in (q, k, v)]
        flops.append(count(linear_attention_step, (S, z), *token).flops)
        held.append(S.numel() + z.numel())
        softmax.append(count(attention, q[..., -1:, :], k, v).flops)
        cache.append(k.numel() + v.numel())
    growth = {
        "operations, linear": flops[1] / flops[0],
        "numbers held, linear": held[1] / held[0],
        "operations, softmax": softmax[1] / softmax[0],
        "numbers held, softmax": cache[1] / cache[0],
    }
    return Measured(growth, "exactly 1, 1, 64, 64", list(growth.values()) == [1, 1, 64, 64])


def numbers_held(n: int, d: int) -> tuple[int, int]:
    """In one head: the numbers of a cache of n tokens, and those of the state after them."""
    _, k, v = meta_inputs(n, d, heads=1)
    return k.numel() + v.numel(), sum(x.numel() for x in linear_attention_state(k, v))


@claim(
    "With d = 64, the state is smaller than a cache of keys and values from 33 tokens on, or from "
    "66 if the cache is in 16 bits and the state in 32. All queries of a sequence take fewer "
    "operations than with softmax from 65 tokens on.",
    source="d² + d numbers against 2 n d; 4 n d² + 2 n d operations against 4 n² d: counted",
)
def break_even_is_early(g):
    def held(n: int, wider: int = 1) -> bool:
        cache, state = numbers_held(n, 64)
        return cache > wider * state

    def operations(n: int) -> bool:
        return (
            count(attention, *meta_inputs(n)).flops > count(linear_attention, *meta_inputs(n)).flops
        )

    first = {
        name: next((float(n) for n in range(1, 99) if less(n)), 0.0)
        for name, less in {
            "numbers held": held,
            "bytes held, cache of 16 bits": lambda n: held(n, wider=2),
            "operations": operations,
        }.items()
    }
    return Measured({**first}, "exactly 33, 66, 65", list(first.values()) == [33, 66, 65])


@claim(
    "Of a past read through the state, the order is lost: shuffle the first 20 tokens, and every "
    "later output of that layer stays. The prompt may be taken in at once and the rest token by "
    "token: the outputs are those of the whole.",
    source=f"{PAPER}, eq. 18 and 19: the state is a sum; section 3.4",
)
def the_past_is_a_sum(g):
    q, k, v = inputs(g, 30, 8)
    whole = linear_attention(q, k, v, causal=True)[20:]
    order = torch.randperm(20, generator=torch.Generator().manual_seed(g.initial_seed() % 1000))
    state, outputs = linear_attention_state(k[order], v[order]), []
    for token in zip(q[20:], k[20:], v[20:], strict=True):
        state, output = linear_attention_step(state, *token)
        outputs.append(output)
    off = max_abs_diff(torch.stack(outputs), whole)
    first = linear_attention(q[:20], k[order], v[order], causal=True)
    moved = max_abs_diff(first, linear_attention(q[:20], k[:20], v[:20], causal=True))
    return Measured(
        {"later outputs, off by": off, "outputs among the shuffled": moved},
        "rounding, at most 1e-12; over 0.1",
        off <= 1e-12 and moved > 0.1,
    )


@claim(
    "In bfloat16, a running sum of ones stops at 256. Summed in float32, 32768 tokens of bfloat16 "
    "count as 32768, and every output, the mean of values around 3, is within 2⁻⁸ of the one in "
    "float64, relative to it, which is the rounding of bfloat16 itself.",
    source="bfloat16 has 8 significant bits; the sums are eq. 10 and 11 of " + PAPER,
)
def long_sums_need_more_than_16_bits(g):
    one = torch.ones((), dtype=torch.bfloat16, device=g.device)
    stops = sum([one] * 300, 0 * one).item()
    q, k, v = (normal(g, 2**15, 4).bfloat16() for _ in "qkv")
    counted = linear_attention_state(torch.zeros_like(k), v)[1].min().item()
    out = linear_attention(q, k, v + 3, causal=True).double()
    want = linear_attention(q.double(), k.double(), (v + 3).double(), causal=True)
    off = ((out - want) / want).abs().max().item()
    return Measured(
        {"sum of 300 ones": stops, "sum of 32768": counted, "outputs off by": off},
        "exactly 256, exactly 32768, at most 2⁻⁸ = 0.0039",
        stops == 256 and counted == 2**15 and off <= 2**-8 * 1.001,
    )


def recall_error(weights: Tensor) -> float:
    """How far the n answers are from the n values, in mean squares, if values are drawn at random.

    Weights that are the identity recall everything: 0. Zeros recall nothing: 1.
    """
    return ((weights - torch.eye(len(weights)).to(weights)) ** 2).sum().item() / len(weights)


def recalled(g: torch.Generator, n: int, d: int = 16) -> dict[str, float]:
    """The error of each kind of attention when each of n stored keys asks for its own value."""
    k = torch.nn.functional.normalize(normal(g, n, d).double(), dim=-1)
    # as sharp a question as one likes: softmax takes the key that fits best
    q, v = 1000 * k, torch.eye(n).to(k)
    return {
        "elu + 1": recall_error(linear_attention(q, k, v)),
        "three terms of exp": recall_error(linear_attention(q, k, v, feature_map=taylor_features)),
        "softmax": recall_error(attention(q, k, v)),
    }


@claim(
    "Store n keys of equal length with their values, then ask for each value by its own key. In "
    "the mean over random values, the squared error is at least 1 - r/n of that of answering 0, if "
    "r features are independent: 16 with elu(x) + 1, and at most 153 of the 273 of three terms of "
    "exp, in which each pair comes twice. More features lose less. Softmax, sharp enough, stays "
    "under 0.001. All this for n = 32, 256 and 1024.",
    source="a matrix of rank r is at least n - r from the identity, squared (Eckart and Young, "
    "1936); measured with d = 16",
)
def a_state_recalls_only_so_much(g):
    errors, as_said = {}, True
    for n in (32, 256, 1024):
        found = recalled(g, n)
        errors |= {f"{name}, n = {n}": error for name, error in found.items()}
        few, more, softmax = found.values()
        as_said &= few >= 1 - 16 / n and more >= 1 - 153 / n and few > more and softmax < 0.001
    return Measured(errors, "at least 1 - r/n; the same, and less; under 0.001", as_said)


@claim(
    "The features choose the similarity: with three terms of exp, of queries divided by √d, the "
    "weights of 64 tokens are those of softmax to within 3 % of the largest where scores are about "
    "0.1, and not where they are about 3. With elu(x) + 1 they are not at either.",
    source=f"{PAPER}, eq. 3 and 4, section 3.2.1",
)
def features_choose_the_similarity(g):
    tokens, off = torch.eye(64, dtype=torch.float64, device=g.device), {}
    q, k = inputs(g, 64, 16)[:2]
    for scale in (0.1, 3):
        left = q * scale / 4
        softmax = masked_softmax(left @ k.mT)
        for name, features in {"exp, cut off": taylor_features, "elu + 1": feature_map}.items():
            weights = linear_attention(left, k, tokens, feature_map=features)
            off[f"{name}, scores of {scale}"] = (
                max_abs_diff(weights, softmax) / softmax.max().item()
            )
    close, *others = off.values()
    return Measured(off, "under 0.03; all others over 0.1", close < 0.03 and min(others) > 0.1)
