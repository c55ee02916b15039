"""The claims of the chapter convolution."""

import math
from collections.abc import Callable
from functools import partial, reduce

import torch
import torch.nn.functional as F
from torch import Tensor

from attncourse import english
from attncourse.convolution import (
    convolution_as_attention,
    convolutional_self_attention,
    dynamic_convolution,
    tap_offsets,
    tap_weights,
    window_mask,
    windowed_attention,
)
from attncourse.cost import count, elements_by_operation
from attncourse.course.claim import (
    Measured,
    about,
    above,
    at_least,
    at_most,
    below,
    between,
    claim,
    exactly,
)
from attncourse.course.dot_product.claims import normal
from attncourse.course.relative.claims import max_abs_diff, with_gradients
from attncourse.dot_product import attention, masked_softmax
from attncourse.positional import sinusoids
from attncourse.relative import relative_attention, rope

CORDONNIER = "Cordonnier et al. (2020)"
ROUNDING = at_most(1e-12, "rounding")


@claim(
    "A trained model that is given only the last three words, or five, needs at least 4 bits more "
    "for “than”, because “more” stands six words before it. Given the last six, it needs less "
    "than one bit more.",
    source="our own measurement",
)
def a_window_of_three_misses_a_word(g):
    tokens, target = english.tokens(device=g.device), english.token_index(english.TARGET)
    model = english.model("english", g.device)
    full_cost = english.surprisals(model, tokens)[0, target].item()
    extra_bits = {
        width: english.surprisals_of_last(model, tokens, width)[target].item() - full_cost
        for width in (3, 5, 6)
    }
    return Measured(
        {
            "bits more for “than”, last 3 and 5 words": (
                [extra_bits[3], extra_bits[5]],
                at_least(4),
            ),
            "last 6": (extra_bits[6], below(1)),
        }
    )


def convolution(x: Tensor, weight: Tensor, dilation: int = 1) -> Tensor:
    """torch's convolution for (length, channels), with zeros beyond the ends."""
    return F.conv1d(x.mT, weight, padding="same", dilation=dilation).mT


def replicate_convolution(x: Tensor, weight: Tensor) -> Tensor:
    """torch's convolution, with the two ends repeated outside."""
    padding = weight.shape[-1] // 2
    return F.conv1d(F.pad(x.mT, (padding, padding), mode="replicate"), weight).mT


def gradients(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The gradient of each number of the output with respect to each number of the input."""
    gradient = torch.autograd.functional.jacobian(layer, x)
    assert isinstance(gradient, Tensor)
    return gradient


def footprint(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """For output i and input j the norm of the gradient: 0 where i does not see j."""
    return gradients(layer, x).square().sum((1, 3)).sqrt()


def changes(layer: Callable[..., Tensor], tokens: Tensor, first: int = 0) -> list[float]:
    """The changes of the outputs when their tokens move from position `first` further on, among 40.

    The other positions are empty: zeros for a kernel, and masked for attention.
    """
    n, positions = len(tokens), torch.arange(40, device=tokens.device)

    def outputs(start: int) -> Tensor:
        x = F.pad(tokens, (0, 0, start, 40 - start - n))
        return layer(x, (start <= positions) & (positions < start + n)[None])[start : start + n]

    return [max_abs_diff(outputs(first + shift), outputs(first)) for shift in (1, 5, 16)]


@claim(
    "Nine tokens are moved to later positions, among empty ones. The outputs of a kernel move "
    "along unchanged; so do those of attention with relative positions (Shaw's tables, RoPE) or "
    "without positions. With sinusoids, which are absolute, they change. They also change in two "
    "kernels with a bias between them when the tokens begin at the first position, where the "
    "kernels find zeros outside.",
    source="Cohen and Welling (2016), section 2; Islam et al. (2020) on the zeros; measured",
)
def a_kernel_moves_with_its_input(g):
    tokens, kernel, table = (normal(g, *size).double() for size in ((9, 6), (6, 6, 3), (7, 6)))
    positions, waves = torch.arange(40, device=g.device), sinusoids(40, 6, g.device).double()
    layers = {
        "kernel": lambda x, mask: convolution(x, kernel),
        "Shaw": lambda x, mask: relative_attention(x, x, x, table, None, mask),
        "RoPE": lambda x, mask: attention(rope(x, positions), rope(x, positions), x, mask),
        "none": lambda x, mask: attention(x, x, x, mask),
        "sinusoids": lambda x, mask: attention(x + waves, x + waves, x, mask),
        "bias": lambda x, mask: convolution(convolution(x, kernel) + 1, kernel),
    }
    change = {name: changes(layer, tokens) for name, layer in layers.items()}
    return Measured(
        {
            "change of the outputs, kernel": (max(change["kernel"]), ROUNDING),
            "attention, relative positions": (max(change["Shaw"] + change["RoPE"]), ROUNDING),
            "attention, no positions": (max(change["none"]), ROUNDING),
            "attention, sinusoids": (change["sinusoids"], above(0.01)),
            "two kernels and a bias, from the first place": (change["bias"], above(0.01)),
            "the same, from the fourth place": (max(changes(layers["bias"], tokens, 3)), ROUNDING),
        }
    )


@claim(
    "With a causal window of 128 positions, the matrix products of 8 heads of width 64 take "
    "$191/n$ of the operations of full attention, and the largest tensor, gradients included, has "
    "$191/n$ of the elements, for multiples $n$ of 64. The reason: 64 queries share $64 + 127$ "
    "keys. About a third of the pairs so computed lie in no window.",
    source="counted; linear in $n$ as in Vaswani et al. (2017), table 1, restricted self-attention",
)
def windows_cost_grows_with_n(g):
    operations, largest = [], []
    for n in (1024, 2048, 4096):
        tensors = [torch.empty(8, n, 64, device="meta") for _ in "qkv"]
        full, window = (
            (count(f, *tensors).flops, count(with_gradients, f, tensors).largest)
            for f in (attention, lambda *x: windowed_attention(*x, width=128, causal=True))
        )
        operations.append(n * window[0] / full[0])
        largest.append(n * window[1] / full[1])
    in_window = window_mask(4096, 128, causal=True, device=g.device).sum().item()
    return Measured(
        {
            "$n$ times the operations, window / full": (operations, exactly(191)),
            "$n$ times the elements, window / full": (largest, exactly(191)),
            "pairs in no window, $n = 4096$": (1 - in_window / (4096 * 191), between(0.32, 0.35)),
        }
    )


@claim(
    "A mask saves full attention no work. With 2048 tokens of width 32 and a window of 33, "
    "attention under the window's mask takes as many operations in matrix products as attention "
    "without a mask, and makes more than twice as many numbers on the way. Attention in blocks "
    "takes 1/32 of the operations, and makes less than a tenth of the numbers.",
    source="counted",
)
def a_mask_saves_no_work(g):
    tensors = [torch.empty(1, 2048, 32, device="meta") for _ in "qkv"]
    full, blocks = partial(attention, *tensors), partial(windowed_attention, *tensors, width=33)
    masked = partial(full, mask=window_mask(2048, 33, device="meta"))
    attentions = masked, full, blocks
    operations = [count(call).flops for call in attentions]
    numbers = [elements_by_operation(call).total() for call in attentions]
    return Measured(
        {
            "operations, under the mask / without": (operations[0] / operations[1], exactly(1)),
            "numbers made, under the mask / without": (numbers[0] / numbers[1], above(2)),
            "operations, under the mask / in blocks": (operations[0] / operations[2], exactly(32)),
            "numbers made, under the mask / in blocks": (numbers[0] / numbers[2], above(10)),
        }
    )


def compose(layers: list[Callable[[Tensor], Tensor]]) -> Callable[[Tensor], Tensor]:
    """A function that applies the layers one after the other."""
    return lambda x: reduce(lambda x, layer: layer(x), layers, x)


@claim(
    "Away from the ends, $L$ layers of kernels of width $K$ let an output see $L (K - 1) + 1$ "
    "inputs, and so do $L$ layers of attention in windows of width $K$. With the taps of layer "
    "$l = 0, 1, \\ldots$ at a distance of $2^l$ from each other, it sees $(2^L - 1)(K - 1) + 1$. "
    "One layer of attention without a window lets it see all $n$.",
    source="van den Oord et al. (2016), section 2.1, for the doubling; the counts are measured",
)
def each_layer_widens_the_view(g):
    x = normal(g, 31, 2).double()
    weights = [normal(g, 2, 2, 3).double() for _ in range(3)]
    kernels = [partial(convolution, weight=weight) for weight in weights]
    windows = [lambda x: windowed_attention(x, x, x, 3)] * 3
    dilated = [partial(convolution, weight=w, dilation=2**i) for i, w in enumerate(weights)]

    def count_seen(*layers) -> float:
        return footprint(lambda x: compose(list(layers))(x)[15:16], x).count_nonzero().item()

    return Measured(
        {
            "kernels, $K = 3$, $L = 2$": (count_seen(*kernels[:2]), exactly(5)),
            "kernels, $L = 3$": (count_seen(*kernels), exactly(7)),
            "windows, $L = 3$": (count_seen(*windows), exactly(7)),
            "dilated kernels, $L = 2$": (count_seen(*dilated[:2]), exactly(7)),
            "dilated kernels, $L = 3$": (count_seen(*dilated), exactly(15)),
            "attention, $n = 31$": (count_seen(lambda x: attention(x, x, x)), exactly(31)),
        }
    )


def count_inexact(x: Tensor, alpha: float) -> float:
    """The count of numbers of 5 heads that are not those at their offset, away from the ends."""
    heads = tap_weights(tap_offsets((5,), x.device).to(x), x.shape[:1], alpha) @ x
    return sum((heads[t, 2:-2] != x[t : t + len(x) - 4]).sum().item() for t in range(5))


@claim(
    r"Attention in $K$ heads comes as close as you like to a kernel of $K$ taps that finds the "
    r"ends repeated outside. An $\alpha$ larger by 1 leaves about $1/e$ of the error. In "
    r"float32, rounding is all that is left at $\alpha = 20$. Cordonnier et al. name 46, but a "
    r"weight beside the right place is then $10^{-20}$, so an input of exactly 0 is not met. At "
    "104 the weight is 0 in float32, and every input is met exactly.",
    source=f"{CORDONNIER}, section 3, lemmas 1 and 2 (the limit); the rate is measured",
)
def heads_become_a_kernel(g):
    x, weight = normal(g, 50, 6), normal(g, 4, 6, 5)
    exact = replicate_convolution(x.double(), weight.double())
    errors = {
        a: max_abs_diff(convolution_as_attention(weight.double(), a)(x.double()), exact)
        for a in (5.0, 9.0)
    }
    single = convolution_as_attention(weight, 20.0)(x)
    error = (max_abs_diff(single.double(), exact) / exact.abs().max()).item()
    zeros = x.index_fill(0, torch.tensor(10, device=g.device), 0)
    rate = math.log(errors[5.0] / errors[9.0]) / 4
    return Measured(
        {
            r"rate of decay, from $\alpha = 5$ to 9": (rate, about(1, 0.05)),
            r"relative error, float32, $\alpha = 20$": (error, at_most(1e-6, "rounding")),
            r"numbers not met exactly, $\alpha = 46$": (count_inexact(x, 46.0), exactly(0)),
            r"one token 0, $\alpha = 46$": (
                count_inexact(zeros, 46.0),
                exactly(30, "6 in each of 5 heads"),
            ),
            r"one token 0, $\alpha = 104$": (count_inexact(zeros, 104.0), exactly(0)),
        }
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
    padded = F.pad(x.permute(0, 3, 1, 2), (1, 1, 1, 1), mode="replicate")
    error = max_abs_diff(ours, F.conv2d(padded, weight).permute(0, 2, 3, 1))
    return Measured({"heads": (heads, exactly(9)), "off by": (error, ROUNDING)})


@claim(
    "At the border, heads differ from a kernel that finds zeros outside. A softmax has to put its "
    "weight somewhere, so a head whose tap lies outside attends to the nearest position inside. "
    "Away from the border there is no difference. With zeros put around the input and cut off "
    "again, there is none anywhere.",
    source=f"{CORDONNIER}, section 3, on padding",
)
def heads_cannot_look_outside(g):
    x, weight = normal(g, 20, 6).double(), normal(g, 4, 6, 5).double()
    layer, exact = convolution_as_attention(weight, 60.0), convolution(x, weight)
    errors = (layer(x) - exact).abs().amax(-1)
    nearest = max_abs_diff(layer(x), replicate_convolution(x, weight))
    padded = max_abs_diff(layer(F.pad(x, (0, 0, 2, 2)))[2:-2], exact)
    border = torch.cat([errors[:2], errors[-2:]]).min().item()
    return Measured(
        {
            "off by, away from the border": (errors[2:-2].max().item(), ROUNDING),
            "off by, at the border": (border, above(0.01)),
            "off a kernel that finds the ends repeated by": (nearest, ROUNDING),
            "off by, zeros put around": (padded, ROUNDING),
        }
    )


@claim(
    "Fewer heads than taps, with weights that ignore the content, cannot make a kernel of full "
    "rank, whatever the output's matrix: of a random kernel with 3 taps and 8 channels, one sharp "
    "head leaves over 0.7 of the output (root mean square), and two leave over 0.4. No $H$ such "
    "heads can do better than the rank allows: on white noise, they leave at least what the "
    "kernel's $H$ largest singular values leave. Sharp and blunt heads were tried.",
    source="least squares, and Eckart and Young (1936), for the kernel as taps × (out · in)",
)
def fewer_heads_leave_a_rest(g):
    x, weight = normal(g, 600, 8).double(), normal(g, 8, 8, 3).double()
    y = convolution_as_attention(weight, 60.0)(x)
    offsets = tap_offsets((3,), g.device).to(x)
    residuals = {}
    for alpha in (60.0, 1.0, 0.3):
        by_head = tap_weights(offsets, (600,), alpha) @ x
        for heads in (1, 2, 3):
            head_outputs = torch.cat([*by_head[:heads]], -1)
            best = head_outputs @ torch.linalg.lstsq(head_outputs, y).solution
            residuals[alpha, heads] = ((y - best).norm() / y.norm()).item()
    singular = torch.linalg.svdvals(weight.flatten(0, 1)).square()
    bound = {h: (singular[h:].sum() / singular.sum()).sqrt().item() for h in (1, 2)}
    ratios_to_bound = [error / bound[h] for (_, h), error in residuals.items() if h in bound]
    return Measured(
        {
            "left by 1 sharp head": (residuals[60.0, 1], above(0.7)),
            "left by 2": (residuals[60.0, 2], above(0.4)),
            "left by 3": (residuals[60.0, 3], at_most(1e-9, "rounding")),
            "left by 1 or 2, over the rank's bound": (
                ratios_to_bound,
                at_least(0.95, "1 but for chance"),
            ),
        }
    )


@claim(
    r"The output of one head is a mean: no weight is below 0. One head is a blur with the taps "
    r"1/4, 1/2, 1/4, exactly, from three scores. Of the edge filter $-1, 0, 1$ it leaves at least "
    r"$\sqrt{1/2}$, whatever its three scores and whatever number its output is multiplied by: the "
    "best head finds one of the two taps.",
    source="the softmax gives positive weights; 5000 heads with random scores, and a sharp one",
)
def one_head_is_no_edge_filter(g):
    x, scores = normal(g, 30, 4).double(), torch.tensor([0.25, 0.5, 0.25], dtype=torch.double).log()
    window = window_mask(30, 3, device=g.device)
    table = x.new_zeros(30, 30)
    for offset, score in zip((-1, 0, 1), scores, strict=True):
        table.diagonal(offset).fill_(score)
    blur = (0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]) - (masked_softmax(table, window) @ x)[
        1:-1
    ]
    scores_of_heads = torch.cat([8 * normal(g, 5000, 3).double(), x.new_tensor([[0, 0, 60]])])
    means = masked_softmax(scores_of_heads, x.new_ones(1, 3, dtype=torch.bool))
    edge = x.new_tensor([-1, 0, 1])
    scale = means @ edge / means.square().sum(-1)
    remaining = ((edge - scale[:, None] * means).norm(dim=-1) / edge.norm()).min().item()
    return Measured(
        {
            "blur, off by": (blur.abs().max().item(), ROUNDING),
            "left of the edge filter": (remaining, about(0.5**0.5, 1e-9, r"$\sqrt{1/2}$")),
        }
    )


@claim(
    "Take the gradient of output 5 with respect to token 6, and change one of the two tokens. In a "
    "kernel, and in one made of heads, the gradient stays: the weights are there before the input "
    "is. In a dynamic convolution it stays when token 6 changes, and not when token 5 does, "
    "because token 5 makes the weights alone. In attention in a window, both tokens make the "
    "weight, and the gradient changes with either.",
    source="the equations; Wu et al. (2019), section 4; measured",
)
def a_kernel_ignores_the_input(g):
    x, weight = normal(g, 12, 4).double(), normal(g, 4, 4, 3).double()
    w, step = normal(g, 4, 2, 3).double(), normal(g, 1, 4).double()

    def gradient_change(layer: Callable[[Tensor], Tensor], position: int) -> float:
        changed_x = x.index_add(0, torch.tensor([position]).to(x.device), step)
        return max_abs_diff(*(gradients(layer, input_)[5, :, 6] for input_ in (x, changed_x)))

    kernels = partial(convolution, weight=weight), convolution_as_attention(weight, 3.0)
    kernel_changes = [
        max(gradient_change(kernel, position) for position in (5, 6)) for kernel in kernels
    ]
    dynamic = partial(dynamic_convolution, w=w)
    window_changes = [
        gradient_change(lambda x: windowed_attention(x, x, x, 3), position) for position in (5, 6)
    ]
    return Measured(
        {
            "kernel, token 5 or 6": (kernel_changes[0], ROUNDING),
            "kernel made of heads, 5 or 6": (kernel_changes[1], ROUNDING),
            "dynamic convolution, token 6": (gradient_change(dynamic, 6), ROUNDING),
            "dynamic convolution, token 5": (gradient_change(dynamic, 5), above(1e-4)),
            "attention in a window, 5 or 6": (window_changes, above(1e-4)),
        }
    )


@claim(
    "A window over $N$ neighbouring heads takes $N$ times the operations of a window in each head, "
    "and its largest tensor has $N$ times the elements. $N = 1$ gives the same numbers as a window "
    "in each head by itself, and $N = 3$ gives others.",
    source="Yang et al. (2019), section 3; counted",
)
def neighbouring_heads_cost_operations_alone(g):
    q, k, v = (normal(g, 4, 50, 8).double() for _ in "qkv")
    sizes = [x.to("meta") for x in (q, k, v)]
    single_cost = count(windowed_attention, *sizes, 5)
    costs = {h: count(convolutional_self_attention, *sizes, 5, h) for h in (1, 3, 5)}
    expected = windowed_attention(q, k, v, 5)
    differences = {
        h: max_abs_diff(convolutional_self_attention(q, k, v, 5, h), expected) for h in (1, 3)
    }
    flops, largest = (
        [
            getattr(cost, attribute) / getattr(single_cost, attribute) / heads
            for heads, cost in costs.items()
        ]
        for attribute in ("flops", "largest")
    )
    return Measured(
        {
            "operations, divided by $N$": (flops, exactly(1)),
            "elements, divided by $N$": (largest, exactly(1)),
            "outputs apart, $N = 1$": (differences[1], ROUNDING),
            "outputs apart, $N = 3$": (differences[3], above(0.01)),
        }
    )


@claim(
    "One layer of attention in a window without positions sees no order: swap two others inside "
    "the window of a query, and its output stays. The output of two layers changes, because their "
    "windows overlap. But with symmetric windows, the reversed text gives the same outputs, "
    "reversed. With causal windows it does not; nor does it in a kernel, whose output the swap "
    "changes, too.",
    source="attention is permutation-equivariant; a symmetric window is the same from both sides",
)
def a_window_has_no_order(g):
    x, weight = normal(g, 9, 4).double(), normal(g, 4, 4, 5).double()
    swapped = x[[0, 1, 6, 3, 4, 5, 2, 7, 8]]

    def one_window(x, causal=False):
        return windowed_attention(x, x, x, 5, causal)

    two, causal = compose([one_window] * 2), compose([partial(one_window, causal=True)] * 2)
    kernel = partial(convolution, weight=weight)
    swap = [max_abs_diff(f(x)[4], f(swapped)[4]) for f in (one_window, two, kernel)]
    turn = [max_abs_diff(f(x).flip(0), f(x.flip(0))) for f in (one_window, two, causal, kernel)]
    return Measured(
        {
            "the swap, one window": (swap[0], ROUNDING),
            "the swap, two windows": (swap[1], above(0.001)),
            "the swap, a kernel": (swap[2], above(0.01)),
            "the reversal, one or two windows": (max(turn[:2]), ROUNDING),
            "the reversal, two causal windows": (turn[2], above(0.01)),
            "the reversal, a kernel": (turn[3], above(0.01)),
        }
    )
