"""The claims of the chapter convolution."""

import math
from collections.abc import Callable
from functools import partial, reduce

import torch
import torch.nn.functional as F
from torch import Tensor

from attncourse.claims import Measured, claim
from attncourse.claims.dot_product import normal
from attncourse.claims.relative import max_abs_diff, with_gradients
from attncourse.convolution import (
    convolution_as_attention,
    convolutional_self_attention,
    tap_offsets,
    tap_weights,
    window_mask,
    windowed_attention,
)
from attncourse.cost import count, time_ratio
from attncourse.dot_product import attention, masked_softmax

CORDONNIER = "Cordonnier et al. (2020)"


def convolution(x: Tensor, weight: Tensor, dilation: int = 1) -> Tensor:
    """torch's convolution for (length, channels), with zeros beyond the ends."""
    return F.conv1d(x.mT, weight, padding="same", dilation=dilation).mT


def repeated(x: Tensor, weight: Tensor) -> Tensor:
    """torch's convolution of an input whose ends are repeated, as far as an odd kernel reaches."""
    reach = weight.shape[-1] // 2
    return F.conv1d(F.pad(x.mT, (reach, reach), mode="replicate"), weight).mT


def gradients(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The gradient of each number of the output by each number of the input."""
    gradient = torch.autograd.functional.jacobian(layer, x)
    assert isinstance(gradient, Tensor)
    return gradient


def footprint(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """For output i and input j the size of the gradient: 0 where i does not see j."""
    return gradients(layer, x).square().sum((1, 3)).sqrt()


@claim(
    "Cut into blocks, attention within a window gives the output of attention under the mask, and "
    "the same gradients of q, k and v: around the query and before it, for 9 tokens, 64 and 100.",
    source="the definition of the window; the blocks are ours",
)
def windows_are_masked_attention(g):
    off = []
    for n in (9, 64, 100):
        for width, causal in ((7, False), (6, True), (41, False)):
            parts = [normal(g, 2, n, 8).double().requires_grad_() for _ in "qkv"]
            mask, grad_output = window_mask(n, width, causal, g.device), normal(g, 2, n, 8).double()
            outs = (
                windowed_attention(*parts, width=width, causal=causal),
                attention(*parts, mask=mask),
            )
            grads = [torch.autograd.grad((out * grad_output).sum(), parts) for out in outs]
            off += [max_abs_diff(*outs), *map(max_abs_diff, *grads)]
    return Measured({"off by at most": max(off)}, "rounding, at most 1e-12", max(off) <= 1e-12)


@claim(
    "With a causal window of 128 positions, the products of 8 heads with d = 64 take 191/n of the "
    "operations of full attention, and the largest tensor, gradients included, has 191/n of the "
    "elements, for n a multiple of 64: 64 queries share 64 + 127 keys. About a third of these "
    "pairs are in no window.",
    source="counted; linear in n as in Vaswani et al. (2017), table 1, restricted self-attention",
)
def windows_cost_grows_with_n(g):
    ratios, as_said = {}, True
    for n in (1024, 2048, 4096):
        parts = [torch.empty(8, n, 64, device="meta") for _ in "qkv"]
        full, near = (
            (count(f, *parts).flops, count(with_gradients, f, parts).largest)
            for f in (attention, lambda *x: windowed_attention(*x, width=128, causal=True))
        )
        ratios[f"full / window, n = {n}"] = full[0] / near[0]
        as_said &= all(191 * whole == n * part for whole, part in zip(full, near, strict=True))
    in_window = window_mask(4096, 128, causal=True, device=g.device).sum().item()
    idle = 1 - in_window / (4096 * 191)
    return Measured(
        ratios | {"in no window, n = 4096": idle},
        "exactly n/191, operations and elements: 5.36, 10.7, 21.4; 0.32 to 0.35",
        as_said and 0.32 < idle < 0.35,
    )


@claim(
    "A mask spares full attention nothing: under it, the products take as many operations as "
    "without. With 2048 tokens of d = 32 and a window of 33, the blocks take one operation for 32, "
    "and on one thread of a CPU less than half the time of full attention, even without a mask.",
    source="counted, and our own measurement",
)
def a_mask_saves_no_time(g):
    parts = [normal(g, 1, 2048, 32).cpu() for _ in "qkv"]
    full, blocks = partial(attention, *parts), partial(windowed_attention, *parts, width=33)
    masked = count(full, mask=window_mask(2048, 33)).flops / count(full).flops
    fewer, ratio = count(full).flops / count(blocks).flops, time_ratio(full, blocks)
    return Measured(
        {
            "operations, masked / full": masked,
            "operations, full / blocks": fewer,
            "time, full / blocks": ratio,
        },
        "exactly 1; exactly 32; over 2",
        masked == 1 and fewer == 32 and ratio > 2,
    )


def stacked(layers: list[Callable[[Tensor], Tensor]]) -> Callable[[Tensor], Tensor]:
    """One layer after the other."""
    return lambda x: reduce(lambda x, layer: layer(x), layers, x)


@claim(
    "Away from the ends, L layers of kernels of width w let an output see L(w - 1) + 1 inputs, and "
    "so do L layers of attention in windows of width w. With the taps of layer l = 0, 1, ... 2^l "
    "apart, it is (2^L - 1)(w - 1) + 1. One layer of attention without a window sees all n.",
    source="van den Oord et al. (2016), section 2.1, for the doubling; the counts are measured",
)
def each_layer_widens_the_view(g):
    x = normal(g, 31, 2).double()
    weights = [normal(g, 2, 2, 3).double() for _ in range(3)]
    stacks = {
        "kernels": [partial(convolution, weight=weight) for weight in weights],
        "windows": [lambda x: windowed_attention(x, x, x, 3)] * 3,
        "spread": [partial(convolution, weight=w, dilation=2**i) for i, w in enumerate(weights)],
        "no window": [lambda x: attention(x, x, x)],
    }
    seen = {}
    for name, layers in stacks.items():
        for depth in range(1, len(layers) + 1):
            layer = stacked(layers[:depth])
            sizes = footprint(lambda x, layer=layer: layer(x)[15:16], x)
            seen[f"{name}, L = {depth}"] = sizes.count_nonzero().item()
    return Measured(
        seen,
        "for w = 3 and n = 31: 3, 5, 7; 3, 5, 7; 3, 7, 15; 31",
        [*seen.values()] == [3, 5, 7, 3, 5, 7, 3, 7, 15, 31],
    )


def inexact(x: Tensor, alpha: float) -> float:
    """How many numbers of 5 heads are not exactly those at their offset, away from the ends."""
    heads = tap_weights(tap_offsets((5,), x.device).to(x), x.shape[:1], alpha) @ x
    return sum((heads[t, 2:-2] != x[t : t + len(x) - 4]).sum().item() for t in range(5))


@claim(
    "Attention in K heads that look at one offset each comes as near to a kernel of K taps as one "
    "wants: one step more of alpha leaves 1/e of the error. In float32, at alpha = 20 rounding is "
    "all that is left. At 46 each head gives exactly the input at its offset, but not where that "
    "is 0: the other weights are 1e-20. At 104 they are 0 in float32, and that is exact too.",
    source=f"{CORDONNIER}, section 3, lemmas 1 and 2 (the limit); the rate is measured",
)
def heads_become_a_kernel(g):
    x, weight = normal(g, 50, 6), normal(g, 4, 6, 5)
    exact = repeated(x.double(), weight.double())
    off = {
        a: max_abs_diff(convolution_as_attention(weight.double(), a)(x.double()), exact)
        for a in (5.0, 9.0)
    }
    single = convolution_as_attention(weight, 20.0)(x)
    rounding = (max_abs_diff(single.double(), exact) / exact.abs().max()).item()
    zeros = x.index_fill(0, torch.tensor(10, device=g.device), 0)
    rate = math.log(off[5.0] / off[9.0]) / 4
    wrong = {
        "inexact at 46": inexact(x, 46.0),
        "one token 0, inexact at 46": inexact(zeros, 46.0),
        "at 104": inexact(zeros, 104.0),
    }
    return Measured(
        {"rate, from alpha 5 to 9": rate, "relative error at 20": rounding} | wrong,
        "1, to within 0.05; at most 1e-6; exactly 0, the 30 numbers of that token in 5 heads, 0",
        abs(rate - 1) < 0.05 and rounding <= 1e-6 and [*wrong.values()] == [0, 30, 0],
    )


@claim(
    "A kernel of 3 × 3 taps takes 9 heads, each with an offset along both axes: on an image of "
    "5 × 7 pixels they give torch's own convolution of the image with its border repeated.",
    source=f"{CORDONNIER}, theorem 1",
)
def nine_heads_are_a_square_kernel(g):
    x, weight = normal(g, 2, 5, 7, 3).double(), normal(g, 4, 3, 3, 3).double()
    heads = len(tap_offsets(weight.shape[2:]))
    ours = convolution_as_attention(weight, 60.0)(x)
    around = F.pad(x.permute(0, 3, 1, 2), (1, 1, 1, 1), mode="replicate")
    off = max_abs_diff(ours, F.conv2d(around, weight).permute(0, 2, 3, 1))
    return Measured({"heads": heads, "off by": off}, "9; rounding", heads == 9 and off <= 1e-12)


@claim(
    "At the border the heads differ from a kernel that finds zeros outside: a softmax has to look "
    "somewhere, so a head whose tap lies outside takes the nearest position inside. Inside there "
    "is no difference, and with zeros put around the input and cut off again, nowhere.",
    source=f"{CORDONNIER}, section 3, on padding",
)
def heads_cannot_look_outside(g):
    x, weight = normal(g, 20, 6).double(), normal(g, 4, 6, 5).double()
    layer, exact = convolution_as_attention(weight, 60.0), convolution(x, weight)
    off = (layer(x) - exact).abs().amax(-1)
    nearest = max_abs_diff(layer(x), repeated(x, weight))
    padded = max_abs_diff(layer(F.pad(x, (0, 0, 2, 2)))[2:-2], exact)
    inside, border = off[2:-2].max().item(), torch.cat([off[:2], off[-2:]]).min().item()
    return Measured(
        {"inside": inside, "border": border, "ends repeated": nearest, "zeros around": padded},
        "rounding, over 0.01, rounding, rounding",
        max(inside, nearest, padded) <= 1e-12 and border > 0.01,
    )


@claim(
    "Fewer heads than taps leave a rest of a kernel of full rank, whatever the output's matrix: of "
    "a random kernel with 3 taps and 8 channels, sharp heads at one tap leave over 0.7 of the "
    "output (root mean square), and at two over 0.4. No heads whose weights ignore the content can "
    "beat the rank, tried with sharp and blunt ones: on white noise H leave at least what the "
    "kernel's H largest singular values do.",
    source="least squares, and Eckart and Young (1936), for the kernel as taps × (out · in)",
)
def fewer_heads_leave_a_rest(g):
    x, weight = normal(g, 600, 8).double(), normal(g, 8, 8, 3).double()
    y = convolution_as_attention(weight, 60.0)(x)
    offsets, rest = tap_offsets((3,), g.device).to(x), {}
    for alpha in (60.0, 1.0, 0.3):
        seen = tap_weights(offsets, (600,), alpha) @ x
        for heads in (1, 2, 3):
            known = torch.cat([*seen[:heads]], -1)
            best = known @ torch.linalg.lstsq(known, y).solution
            rest[alpha, heads] = ((y - best).norm() / y.norm()).item()
    singular = torch.linalg.svdvals(weight.flatten(0, 1)).square()
    bound = {h: (singular[h:].sum() / singular.sum()).sqrt().item() for h in (1, 2)}
    return Measured(
        {f"left by {h}": rest[60.0, h] for h in (1, 2, 3)}
        | {f"by {h} blunt": min(rest[1.0, h], rest[0.3, h]) for h in bound}
        | {f"rank's bound, {h}": one for h, one in bound.items()},
        "over 0.7, over 0.4, rounding; all above the bounds, to within 5 %",
        rest[60.0, 1] > 0.7 and rest[60.0, 2] > 0.4 and rest[60.0, 3] <= 1e-9
        and all(one > 0.95 * bound[h] for (_, h), one in rest.items() if h in bound),
    )  # fmt: skip


@claim(
    "The output of one head is a mean, with no weight below 0. One head is a blur with the taps "
    "1/4, 1/2, 1/4, exactly, from three scores. Of the edge filter -1, 0, 1 it leaves at least √½, "
    "whatever its three scores: the best, times the best number, finds one of the two taps.",
    source="the softmax gives positive weights; 5000 heads with random scores, and a sharp one",
)
def one_head_is_no_edge_filter(g):
    x, scores = normal(g, 30, 4).double(), torch.tensor([0.25, 0.5, 0.25], dtype=torch.double).log()
    near = window_mask(30, 3, device=g.device)
    table = x.new_zeros(30, 30)
    for offset, score in zip((-1, 0, 1), scores, strict=True):
        table.diagonal(offset).fill_(score)
    blur = (0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]) - (masked_softmax(table, near) @ x)[1:-1]
    tried = torch.cat([8 * normal(g, 5000, 3).double(), x.new_tensor([[0, 0, 60]])])
    means = masked_softmax(tried, x.new_ones(1, 3, dtype=torch.bool))
    edge = x.new_tensor([-1, 0, 1])
    scale = means @ edge / means.square().sum(-1)
    left = ((edge - scale[:, None] * means).norm(dim=-1) / edge.norm()).min().item()
    off = blur.abs().max().item()
    return Measured(
        {"blur, off by": off, "left of the edge filter": left},
        "rounding; √½ = 0.7071, to within 1e-9",
        off <= 1e-12 and abs(left - 0.5**0.5) < 1e-9,
    )


@claim(
    "A kernel does the same whatever the input is: the gradient of each output by each input is "
    "the same at two inputs. So does a kernel made of heads, since no content enters its scores. "
    "Attention in a window makes its weights from the input, and its gradients differ.",
    source="equation of the convolution; measured",
)
def a_kernel_ignores_the_input(g):
    x, y, weight = *(normal(g, 12, 3).double() for _ in "xy"), normal(g, 3, 3, 3).double()
    layers = {
        "kernel": partial(convolution, weight=weight),
        "heads": convolution_as_attention(weight, 3.0),
        "window": lambda x: windowed_attention(x, x, x, 3),
    }
    differ = {name: max_abs_diff(gradients(f, x), gradients(f, y)) for name, f in layers.items()}
    return Measured(
        {f"gradients apart, {name}": one for name, one in differ.items()},
        "rounding, rounding, over 0.1",
        max(differ["kernel"], differ["heads"]) <= 1e-12 and differ["window"] > 0.1,
    )


@claim(
    "A window over N neighbouring heads takes N times the operations of one head's; N = 1 gives "
    "the same numbers as a window in each head by itself, N = 3 others.",
    source="Yang et al. (2019), section 3",
)
def neighbouring_heads_cost_operations_alone(g):
    parts = [normal(g, 4, 50, 8).double() for _ in "qkv"]
    paper = [x.to("meta") for x in parts]
    apiece = count(windowed_attention, *paper, width=5).flops
    times = {
        heads: count(convolutional_self_attention, *paper, width=5, heads_width=heads).flops
        / apiece
        for heads in (1, 3, 5)
    }
    q, k, v = parts
    alone = windowed_attention(q, k, v, 5)
    differ = {h: max_abs_diff(convolutional_self_attention(q, k, v, 5, h), alone) for h in (1, 3)}
    return Measured(
        {f"operations, N = {heads}": one for heads, one in times.items()}
        | {f"outputs apart, N = {heads}": one for heads, one in differ.items()},
        "exactly 1, 3, 5; rounding, over 0.01",
        all(times[h] == h for h in times) and differ[1] <= 1e-12 and differ[3] > 0.01,
    )


@claim(
    "In one layer of attention in a window without positions, order is lost: swap two tokens on "
    "either side of a query, inside its window, and its output stays. The output of a kernel at "
    "that place changes, and so does that of two layers, whose windows overlap. But turn the whole "
    "text round, and the two layers give the same outputs, turned round; the kernel does not.",
    source="attention is permutation-equivariant; the window is a mask, the same from both sides",
)
def a_window_has_no_order(g):
    x, weight = normal(g, 9, 4).double(), normal(g, 4, 4, 5).double()
    swapped = x[[0, 1, 6, 3, 4, 5, 2, 7, 8]]
    layers = {
        "window": lambda x: windowed_attention(x, x, x, 5),
        "two windows": stacked([lambda x: windowed_attention(x, x, x, 5)] * 2),
        "kernel": partial(convolution, weight=weight),
    }
    moved = {name: max_abs_diff(f(x)[4], f(swapped)[4]) for name, f in layers.items()}
    turned = {name: max_abs_diff(f(x).flip(0), f(x.flip(0))) for name, f in layers.items()}
    return Measured(
        {f"change by the swap, {name}": one for name, one in moved.items()}
        | {f"by the turn, {name}": one for name, one in turned.items()},
        "rounding, over 0.001, over 0.01; rounding, rounding, over 0.01",
        max(moved["window"], turned["window"], turned["two windows"]) <= 1e-12
        and moved["two windows"] > 0.001 and min(moved["kernel"], turned["kernel"]) > 0.01,
    )  # fmt: skip
