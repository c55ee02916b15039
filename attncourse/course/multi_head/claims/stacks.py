"""Claims about stacks of layers: the residual stream, rank collapse, normalisation."""

import math

import torch
from torch import Tensor, nn

from attncourse.course.claim import Measured, about, above, at_least, at_most, below, claim
from attncourse.course.multi_head.claims.heads import (
    ROUNDING,
    normal64,
    random_layer,
    random_module,
)

DONG = "Dong et al. (2021)"


def normalised(x: Tensor) -> Tensor:
    """LayerNorm without parameters: each row has mean 0 and variance 1."""
    return nn.functional.layer_norm(x, x.shape[-1:])


# what a stack makes of x at each of its parts
STEPS = {
    "attention alone": lambda x, layer: layer(x),
    "LayerNorm": lambda x, layer: normalised(layer(x)),
    "skip": lambda x, layer: x + layer(x),
    "post-norm": lambda x, layer: normalised(x + layer(x)),
    "pre-norm": lambda x, layer: x + layer(normalised(x)),
}


def distance(x: Tensor) -> float:
    """The norm of what is left of x without the nearest matrix of equal rows, its mean row."""
    return (x - x.mean(-2, keepdim=True)).norm().item()


@claim(
    "Take tokens that are nearly alike, and bring each ten times closer to their mean. What "
    "attention alone makes of them, without a mask, is then about a thousand times closer to being "
    "all alike; with a skip around it, about ten times.",
    source=f"{DONG}, section 2 (there a bound: the cube)",
)
def attention_cubes_the_distance(g):
    layer = random_layer(g, 64, 4)
    mean = normal64(g, 1, 64)
    around = normal64(g, 16, 64)
    far_tokens, near_tokens = (mean + size * around for size in (0.01, 0.001))
    alone = math.log10(distance(layer(far_tokens)) / distance(layer(near_tokens)))
    skip = math.log10(
        distance(far_tokens + layer(far_tokens)) / distance(near_tokens + layer(near_tokens))
    )
    return Measured(
        {
            "powers of ten closer, attention alone": (alone, about(3, 0.02)),
            "with a skip": (skip, about(1, 0.02)),
        }
    )


def stack(g, x: Tensor, depth: int, step: str, mlps: bool = False, gain: float = 1) -> list[Tensor]:
    """The tokens x, and the outputs of 1, 2, ... layers with weights of `random_module`."""
    stream, d = [x], x.shape[-1]
    for _ in range(depth):
        layer = random_layer(g, d, 4, gain)
        for part in [layer, random_module(g, lambda: mlp(d), gain)] if mlps else [layer]:
            x = STEPS[step](x, part)
        stream.append(x)
    return stream


def mlp(d: int) -> nn.Module:
    """Two linear maps with a ReLU between, where it is four times as wide."""
    widen, narrow = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)
    return nn.Sequential(widen, nn.ReLU(), narrow)


def unlike(stream: list[Tensor]) -> list[float]:
    """The relative distance of each layer's tokens from being all alike: from 0, alike, to 1."""
    return [distance(x) / x.norm().item() for x in stream]


@claim(
    "Without skips or masks, 4 attention layers with random weights of `nn.Linear`'s variance "
    "make 16 random tokens all alike, to 12 digits and more. With a random MLP after each, they do "
    "so as well. With weights three times as large, what sets the tokens apart (their distance "
    "from their mean, as a share of their norm) is over a fifth after 4 layers, and nothing but "
    "rounding after 24.",
    source=f"our own measurement; for weights that are small enough: {DONG}, section 2; that other "
    "MLPs can slow it down: section 3",
)
def attention_alone_collapses(g):
    x = normal64(g, 16, 64)
    start, *_, alone = unlike(stack(g, x, 4, "attention alone"))
    mlps = unlike(stack(g, x, 4, "attention alone", mlps=True))[-1]
    large = unlike(stack(g, x, 24, "attention alone", gain=3))
    return Measured(
        {
            "distance from the mean / norm, after 4 layers": (alone, ROUNDING),
            "at first": (start, above(0.9)),
            "after 4 layers, each with an MLP": (mlps, ROUNDING),
            "weights three times as large, 4 layers": (large[4], above(0.2)),
            "the same, 24 layers": (large[24], ROUNDING),
        }
    )


@claim(
    "With skips, and with skips and MLPs, 16 random tokens are still unlike after 32 layers with "
    "random weights of `nn.Linear`'s variance: what sets them apart is over a tenth of their norm, "
    "where attention alone leaves nothing but rounding. After 128 layers, it is less than a "
    "twentieth.",
    source=f"our own measurement; that skips stop the fast collapse: {DONG}, section 3",
)
def skips_slow_the_collapse(g):
    x = normal64(g, 16, 64)
    alone = unlike(stack(g, x, 32, "attention alone"))
    differences = [unlike(stack(g, x, 128, "skip", mlps)) for mlps in (False, True)]
    return Measured(
        {
            "$r$ after 32 layers, attention alone": (alone[32], ROUNDING),
            "with skips, without MLPs and with": ([r[32] for r in differences], above(0.1)),
            "the same after 128 layers": ([r[128] for r in differences], below(0.05)),
        }
    )


@claim(
    r"With skips and random weights $\sqrt 3$ times as large as `nn.Linear`'s (variance "
    r"$1/d_\text{model}$), what sets the tokens apart is less than a thousandth of their norm "
    "after 32 layers. The collapse goes by a factor a layer: layers 33 to 64 take about twice as "
    "many digits as layers 17 to 32.",
    source="our own measurement",
)
def large_weights_collapse_in_spite_of_skips(g):
    r = unlike(stack(g, normal64(g, 16, 64), 64, "skip", gain=3**0.5))
    digits = math.log10(r[32] / r[64]) / math.log10(r[16] / r[32])
    return Measured(
        {
            "$r$ after 32 layers": (r[32], below(1e-3)),
            "digits, 33 to 64 / 17 to 32": (digits, about(2, 0.5)),
        }
    )


@claim(
    r"With skips and random weights of variance $1/d_\text{model}$, LayerNorm after the sum does "
    "not stop the collapse: as without it, what sets the tokens apart is less than a millionth of "
    "their norm after 64 layers. With LayerNorm before each layer, it is over a twentieth. Without "
    "skips, LayerNorm after each layer leaves nothing but rounding after 8.",
    source="our own measurement; the two places: Xiong et al. (2020)",
)
def norm_before_the_layer_slows_the_collapse(g):
    x = normal64(g, 16, 64)
    differences = {residual: unlike(stack(g, x, 64, residual, gain=3**0.5)) for residual in STEPS}
    return Measured(
        {
            "$r$ after 64 layers, skips alone": (differences["skip"][64], below(1e-6)),
            "LayerNorm after the sum": (differences["post-norm"][64], below(1e-6)),
            "LayerNorm before the layer": (differences["pre-norm"][64], above(0.05)),
            "LayerNorm without skips, 8 layers": (differences["LayerNorm"][8], ROUNDING),
        }
    )


def match_count(stream: list[Tensor]) -> float:
    """The count of last tokens whose nearest first vector is their own."""
    first, last = (nn.functional.normalize(x, dim=-1) for x in (stream[0], stream[-1]))
    return float(((last @ first.mT).argmax(-1).cpu() == torch.arange(len(first))).sum())


@claim(
    "With skips, MLPs and random weights of `nn.Linear`'s variance, and no normalisation, at least "
    "14 of 16 tokens still point to their own embedding more than to any other after 16 layers, "
    r"but at most 12 after 32. Without skips, or with weights $\sqrt 3$ times as large, at most 3 "
    "do after 16 layers.",
    source="our own measurement",
)
def stream_remembers_its_tokens(g):
    x = normal64(g, 16, 64)
    stream = stack(g, x, 32, "skip", mlps=True)
    attention_count = match_count(stack(g, x, 16, "attention alone", mlps=True))
    large_weights_count = match_count(stack(g, x, 16, "skip", mlps=True, gain=3**0.5))
    return Measured(
        {
            "tokens of 16, after 16 layers": (match_count(stream[:17]), at_least(14)),
            "after 32 layers": (match_count(stream), at_most(12)),
            "16 layers without skips": (attention_count, at_most(3)),
            "16 layers, larger weights": (large_weights_count, at_most(3)),
        }
    )
