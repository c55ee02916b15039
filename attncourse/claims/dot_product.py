"""The claims of the chapter dot_product."""

import math
from itertools import pairwise

import torch
from torch import Tensor

from attncourse.claims import Measured, claim
from attncourse.cost import Cost, count, time_ratio
from attncourse.dot_product import additive_weights, attention, attention_weights, causal_mask

VASWANI = "Vaswani et al. (2017)"
BAHDANAU = "Bahdanau et al. (2015)"
WIDTHS = (4, 16, 64, 256, 1024)


def normal(g: torch.Generator, *shape: int) -> Tensor:
    """Independent entries with mean 0 and variance 1."""
    return torch.randn(shape, generator=g, device=g.device)


@claim(
    "The weights of each query sum to 1 over the keys; the weights of each key over the queries "
    "do not.",
    source=f"{VASWANI}, eq. 1",
)
def rows_sum_to_one(g):
    n, m = 32, 24
    w = attention_weights(normal(g, n, 16), normal(g, m, 16))
    over_keys, over_queries = ((w.sum(axis) - 1).abs().max().item() for axis in (-1, -2))
    # the m columns share the n rows' weight, so some column has n/m or more
    return Measured(
        {"furthest from 1 over the keys": over_keys, "over the queries": over_queries},
        f"at most rounding; at least n/m - 1 = {n / m - 1:.2f}",
        over_keys <= m * torch.finfo(w.dtype).eps and over_queries >= n / m - 1,
    )


@claim(
    "Each coordinate of the output lies between the smallest and the largest value of that "
    "coordinate: the output is a mean, and can point at nothing beyond the values.",
    source=f"{VASWANI}, eq. 1",
)
def output_within_values(g):
    m = 24
    q, k, v = 10 * normal(g, 32, 16), normal(g, m, 16), normal(g, m, 8)
    out = attention(q, k, v)
    beyond = torch.maximum(out - v.amax(-2), v.amin(-2) - out).max().item()
    rounding = m * torch.finfo(v.dtype).eps * v.abs().max().item()
    return Measured(
        {"furthest beyond the values": beyond},
        f"at most the rounding of a sum, {rounding:.1g}",
        beyond <= rounding,
    )


@claim(
    "exp(s) / sum of exp(s), computed in float32 as it stands, gives NaN for every row with a "
    "score above 88.8; with the row's largest score subtracted first, no row is wrong.",
    source="range of float32: log of its largest number is 88.7",
)
def softmax_needs_the_largest_subtracted(g):
    m = 8
    s = 60 * normal(g, 256, m)
    large = s.amax(-1) > 88.8
    nan = (s.exp() / s.exp().sum(-1, keepdim=True)).isnan().any(-1)
    shifted = (s - s.amax(-1, keepdim=True)).exp()
    wrong = (shifted / shifted.sum(-1, keepdim=True) - s.double().softmax(-1)).abs().max().item()
    return Measured(
        {
            "share of rows with NaN": nan.float().mean().item(),
            "share of rows above 88.8": large.float().mean().item(),
            "largest error with the subtraction": wrong,
        },
        "NaN wherever the score is that large, and rounding with the subtraction",
        bool(large.any() and nan[large].all()) and wrong <= m * torch.finfo(s.dtype).eps,
    )


@claim(
    "If the components of q and k are independent with mean 0 and variance 1, then q·k has "
    "variance d_k, and q·k / √d_k has variance 1, for d_k from 4 to 1024.",
    source=f"{VASWANI}, section 3.2.1, footnote 4",
)
def variance_is_d_k(g):
    pairs = 4096
    ratios = [(normal(g, pairs, d) * normal(g, pairs, d)).sum(-1).var().item() / d for d in WIDTHS]
    # the variance of a sample variance, where the fourth moment of q·k is (3 + 6 / d_k) d_k^2
    error = math.sqrt((2 + 6 / WIDTHS[0]) / pairs)
    return Measured(
        {"variance / d_k, smallest": min(ratios), "largest": max(ratios)},
        f"1 within 5 standard errors, {5 * error:.2f}",
        all(abs(ratio - 1) < 5 * error for ratio in ratios),
    )


@claim(
    "A vector's scaled score with itself is √d_k on average, not 0: q and k are then not "
    "independent, and the footnote's argument does not cover it.",
    source="the mean of a sum of d_k squares of variance 1",
)
def own_score_is_root_d_k(g):
    vectors = 1024
    ratios = [
        normal(g, vectors, d).square().sum(-1).mean().item() / d**0.5 / d**0.5 for d in WIDTHS
    ]
    # a squared normal has variance 2
    error = math.sqrt(2 / WIDTHS[0] / vectors)
    return Measured(
        {"own score / √d_k, smallest": min(ratios), "largest": max(ratios)},
        f"1 within 5 standard errors, {5 * error:.2f}",
        all(abs(ratio - 1) < 5 * error for ratio in ratios),
    )


def sample_scores(g: torch.Generator, d: int) -> Tensor:
    """Unscaled scores of 1024 queries, each on 64 keys."""
    return normal(g, 16, 64, d) @ normal(g, 16, 64, d).mT


def jacobian_norm(p: Tensor) -> Tensor:
    """The Frobenius norm of the softmax's Jacobian diag(p) - p p^T, for each row p."""
    return torch.linalg.matrix_norm(p.diag_embed() - p[..., :, None] * p[..., None, :])


def mean_jacobian_norm(g: torch.Generator, d: int, scale: float) -> float:
    """The norm's mean over 1024 rows of 64 weights."""
    return jacobian_norm((sample_scores(g, d) / scale).softmax(-1)).mean().item()


@claim(
    "Without the division, the softmax's Jacobian over 64 keys has on average less than half the "
    "Frobenius norm at d_k = 1024 that it has at d_k = 4.",
    source=f"{VASWANI}, section 3.2.1 (there a suspicion)",
)
def jacobian_collapses_unscaled(g):
    small, large = (mean_jacobian_norm(g, d, scale=1) for d in (4, 1024))
    return Measured(
        {"norm at d_k = 4": small, "at d_k = 1024": large, "ratio": large / small},
        "a ratio below 1/2",
        large < small / 2,
    )


@claim(
    "With the division by √d_k, the same norm differs by less than a fifth between any two d_k "
    "from 4 to 1024.",
    source=f"{VASWANI}, section 3.2.1",
)
def jacobian_is_steady_scaled(g):
    norms = [mean_jacobian_norm(g, d, scale=d**0.5) for d in WIDTHS]
    return Measured(
        {"norm, smallest": min(norms), "largest": max(norms), "ratio": max(norms) / min(norms)},
        "a ratio below 1.2",
        max(norms) < 1.2 * min(norms),
    )


@claim(
    "At d_k = 1024 without the division, one of 64 keys takes more than 0.99 of the weight in "
    "over half of the rows; with it, in none.",
    source=f"{VASWANI}, section 3.2.1 (there a suspicion)",
)
def one_key_takes_all_unscaled(g):
    scores = sample_scores(g, 1024)
    raw, scaled = (
        (s.softmax(-1).amax(-1) > 0.99).float().mean().item() for s in (scores, scores / 1024**0.5)
    )
    return Measured(
        {"share of rows unscaled": raw, "scaled": scaled},
        "over 1/2 against 0",
        raw > 0.5 and scaled == 0,
    )


@claim(
    "Where half of 64 keys are forbidden and the scores have variance 1, filling in a score of 0 "
    "leaves the forbidden keys over a quarter of the weight on average; -10 leaves a little; "
    "-inf leaves nothing.",
    source="exp(0) = 1, exp(-10) > 0, exp(-inf) = 0",
)
def zero_is_no_mask(g):
    scores = normal(g, 256, 64)
    forbidden = torch.arange(64, device=g.device) >= 32
    left = {
        fill: scores.masked_fill(forbidden, fill).softmax(-1)[:, forbidden].sum(-1).mean().item()
        for fill in (0.0, -10.0, -math.inf)
    }
    return Measured(
        {f"weight left by {fill:g}": share for fill, share in left.items()},
        "over 1/4, over 0, exactly 0",
        left[0.0] > 0.25 and left[-10.0] > 0 and left[-math.inf] == 0,
    )


@claim(
    "Under the causal mask, output i has a gradient in token j where j ≤ i, and a gradient of "
    "exactly 0 where j > i.",
    source=f"{VASWANI}, section 3.2.3",
)
def future_has_no_gradient(g):
    n = 8
    mask = causal_mask(n, g.device)
    jacobian = torch.func.jacrev(lambda x: attention(x, x, x, mask))(normal(g, n, 4))
    reaches = (jacobian != 0).any(-1).any(1)
    return Measured(
        {"pairs (i, j) with a gradient": reaches.sum().item(), "of": n * n},
        f"n(n+1)/2 = {n * (n + 1) // 2}, those with j ≤ i",
        torch.equal(reaches, mask),
    )


def additive_scores(g: torch.Generator, d: int) -> Tensor:
    """Scores of 32 pairs by each of 64 networks with hidden = d and weights of variance 1/d."""
    q, k = normal(g, 64, 32, d), normal(g, 64, 32, d)
    w_q, w_k, w_v = (normal(g, 64, d, width) / d**0.5 for width in (d, d, 1))
    return torch.tanh(q @ w_q + k @ w_k) @ w_v


@claim(
    "As d_k grows from 4 to 256, the variance of the dot product grows in proportion; that of "
    "additive scores (hidden = d_k, weights of variance 1/d_k) stays level, as tanh bounds it.",
    source=f"{VASWANI}, section 3.2.1",
)
def additive_scores_stay_small(g):
    slopes = []
    for scores in (sample_scores, additive_scores):
        small, large = (scores(g, d).square().mean().item() for d in (4, 256))
        slopes.append(math.log(large / small) / math.log(256 / 4))
    return Measured(
        {"slope for the dot product": slopes[0], "for additive scores": slopes[1]},
        "1 and 0 within 0.15, on a log-log scale",
        abs(slopes[0] - 1) < 0.15 and abs(slopes[1]) < 0.15,
    )


def weights_cost(n: int, d: int) -> tuple[Cost, Cost]:
    """Dot-product and additive weights of n queries on n keys of width d; hidden = d."""
    x, w_v = torch.empty(n, d, device="meta"), torch.empty(d, device="meta")
    w = torch.empty(d, d, device="meta")
    return count(attention_weights, x, x), count(additive_weights, x, x, w, w, w_v)


@claim(
    "With hidden = d_k and n queries on n keys, additive scores take 1 + 2 d_k / n times the "
    "operations of dot products (those in matrix products): the same, but for two linear maps.",
    source=f"{VASWANI}, section 3.2.1; {BAHDANAU}, appendix A.1.2",
)
def additive_takes_as_many_operations(g):
    sizes = [(64, 64), (512, 64), (4096, 64), (256, 16)]
    costs = {size: weights_cost(*size) for size in sizes}
    ratios = {size: additive.flops / dot.flops for size, (dot, additive) in costs.items()}
    return Measured(
        {f"at n = {n}, d_k = {d}": ratio for (n, d), ratio in ratios.items()},
        "exactly 1 + 2 d_k / n",
        all(ratio == 1 + 2 * d / n for (n, d), ratio in ratios.items()),
    )


@claim(
    "The largest tensor on the way to additive weights has hidden times the elements of the "
    "largest on the way to dot-product weights.",
    source=f"{VASWANI}, section 3.2.1",
)
def additive_holds_hidden_times_more(g):
    sizes = [(64, 64), (512, 64), (256, 16)]
    costs = {size: weights_cost(*size) for size in sizes}
    ratios = {size: additive.largest / dot.largest for size, (dot, additive) in costs.items()}
    return Measured(
        {f"at n = {n}, hidden = {d}": ratio for (n, d), ratio in ratios.items()},
        "exactly hidden",
        all(ratio == d for (_, d), ratio in ratios.items()),
    )


@claim(
    "For 256 queries on 256 keys of width 64 (hidden = 64), dot-product weights are computed "
    "more than twice as fast as additive ones.",
    source=f"{VASWANI}, section 3.2.1",
)
def dot_product_is_faster(g):
    q, k, w_q, w_k, w_v = (normal(g, *s) for s in [(256, 64)] * 2 + [(64, 64)] * 2 + [(64,)])
    ratio = time_ratio(
        lambda: additive_weights(q, k, w_q / 8, w_k / 8, w_v / 8), lambda: attention_weights(q, k)
    )
    return Measured({"ratio of times": ratio}, "over 2", ratio > 2)


def attention_cost(n: int, m: int, d_k: int, d_v: int) -> Cost:
    """Plain attention, counted on the meta device."""
    shapes = ((n, d_k), (m, d_k), (m, d_v))
    return count(attention, *(torch.empty(shape, device="meta") for shape in shapes))


@claim(
    "n queries on m keys take 2 n m (d_k + d_v) operations in the two matrix products.",
    source=f"{VASWANI}, table 1 (there O(n² d))",
)
def operations_are_n_m_d(g):
    sizes = [(3, 5, 4, 2), (64, 64, 16, 16), (1, 100, 64, 32), (512, 512, 64, 64)]
    ratios = [attention_cost(*s).flops / (2 * s[0] * s[1] * (s[2] + s[3])) for s in sizes]
    return Measured(
        {"counted / formula, smallest": min(ratios), "largest": max(ratios)},
        "exactly 1",
        min(ratios) == max(ratios) == 1,
    )


@claim(
    "With d_k = d_v = 64, doubling n multiplies both the operations and the elements of the "
    "largest tensor by exactly 4, from n = 64 on.",
    source=f"{VASWANI}, table 1",
)
def cost_is_quadratic(g):
    costs = [attention_cost(n, n, 64, 64) for n in (64, 128, 256, 512, 1024, 2048, 4096)]
    ratios = [
        getattr(long, of) / getattr(short, of)
        for short, long in pairwise(costs)
        for of in ("flops", "largest")
    ]
    return Measured(
        {"ratio, smallest": min(ratios), "largest": max(ratios)},
        "exactly 4, a slope of 2",
        min(ratios) == max(ratios) == 4,
    )
