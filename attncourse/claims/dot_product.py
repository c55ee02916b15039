"""The claims of the chapter dot_product."""

import math
from itertools import pairwise, product

import torch
from torch import Tensor
from torch.func import jacrev, vmap

from attncourse.claims import Measured, about, above, at_most, below, claim, exactly
from attncourse.cost import Cost, count, time_ratio
from attncourse.dot_product import (
    additive_weights,
    attention,
    attention_weights,
    causal_mask,
    masked_softmax,
)

VASWANI = "Vaswani et al. (2017)"
WIDTHS = (4, 16, 64, 256, 1024)


def normal(g: torch.Generator, *shape: int) -> Tensor:
    """Independent entries with mean 0 and variance 1."""
    return torch.randn(shape, generator=g, device=g.device)


@claim(
    "With 64 queries on 64 keys, the weights of each query sum to 1 over the keys, whether the "
    "scores are moderate or 60 times as large. The weights of each key over the queries do not: "
    "the sums range from below 0.9 to above 1.1.",
    source=f"{VASWANI}, eq. 1",
)
def rows_sum_to_one(g):
    m = 64
    q, k = normal(g, m, 16), normal(g, m, 16)
    both = torch.stack([attention_weights(length * q, k) for length in (1, 60)])
    over_keys = (both.sum(-1) - 1).abs().max().item()
    over_queries = both[0].sum(-2)
    rounding = at_most(m * torch.finfo(both.dtype).eps, "rounding")
    return Measured(
        {
            "sums over the keys, off 1 by": (over_keys, rounding),
            "smallest sum over the queries": (over_queries.min().item(), below(0.9)),
            "largest": (over_queries.max().item(), above(1.1)),
        }
    )


@claim(
    "The output is a mean: map every value x to x A + b, and every output is mapped in the same "
    "way; and no coordinate of an output lies beyond the values.",
    source=f"{VASWANI}, eq. 1",
)
def output_is_a_mean(g):
    q, k, v = 10 * normal(g, 32, 16), normal(g, 24, 16), normal(g, 24, 8)
    a, b = normal(g, 8, 5), 100 * normal(g, 5)
    out, mapped = attention(q, k, v), attention(q, k, v @ a + b)
    difference = ((mapped - (out @ a + b)).abs().max() / mapped.abs().max()).item()
    beyond = torch.maximum(out - v.amax(-2), v.amin(-2) - out).max().item()
    rounding = 24 * torch.finfo(v.dtype).eps
    return Measured(
        {
            "mapped before or after, apart by": difference,
            "beyond the values by (below 0: within)": beyond,
        },
        f"at most rounding, {rounding:.1g}, both",
        difference <= rounding and beyond <= rounding * v.abs().max().item(),
    )


@claim(
    "exp(s) / sum of exp(s), computed in float32 as it stands, gives NaN for every row with a "
    "score above 88.8; the course's softmax is right in every row.",
    source="range of float32: log of its largest number is 88.7",
)
def softmax_needs_the_largest_subtracted(g):
    m = 8
    s = 60 * normal(g, 256, m)
    large = s.amax(-1) > 88.8
    nan = (s.exp() / s.exp().sum(-1, keepdim=True)).isnan().any(-1)
    wrong = (masked_softmax(s) - s.double().softmax(-1)).abs().max().item()
    return Measured(
        {"rows with NaN": nan.sum().item(), "above 88.8": large.sum().item(), "error": wrong},
        "NaN in each row above; rounding",
        bool(large.any() and nan[large].all()) and wrong <= m * torch.finfo(s.dtype).eps,
    )


def weights_cost(n: int, d: int) -> tuple[Cost, Cost]:
    """Dot-product and additive weights of n queries on n keys of width d; hidden = d."""
    x, w_v = torch.empty(n, d, device="meta"), torch.empty(d, device="meta")
    w = torch.empty(d, d, device="meta")
    return count(attention_weights, x, x), count(additive_weights, x, x, w, w, w_v)


def additive_over_dot(of: str) -> dict[tuple[int, int], float]:
    """How many times as much the additive weights cost, for several (n, d)."""
    sizes = [(64, 64), (512, 64), (4096, 64), (256, 16)]
    costs = {size: weights_cost(*size) for size in sizes}
    return {size: getattr(add, of) / getattr(dot, of) for size, (dot, add) in costs.items()}


@claim(
    "With hidden = d_k and n queries on n keys, the matrix products of additive scores take "
    "1 + 2 d_k / n times the operations of the dot products: hardly more, if n is much larger "
    "than 2 d_k.",
    source=f"{VASWANI}, section 3.2.1; Bahdanau et al. (2015), appendix A.1.2",
)
def additive_products_cost_the_same(g):
    ratios = additive_over_dot("flops")
    measured = {f"at n = {n}, d_k = {d}": ratio for (n, d), ratio in ratios.items()}
    holds = all(ratio == 1 + 2 * d / n for (n, d), ratio in ratios.items())
    return Measured(measured, "exactly 1 + 2 d_k / n", holds)


@claim(
    "The largest tensor on the way to additive weights has hidden times the elements of the "
    "largest on the way to dot-product weights.",
    source=f"{VASWANI}, section 3.2.1 (there: more space-efficient in practice)",
)
def additive_holds_hidden_times_more(g):
    ratios = additive_over_dot("largest")
    measured = {f"at n = {n}, hidden = {d}": ratio for (n, d), ratio in ratios.items()}
    return Measured(measured, "exactly hidden", all(r == d for (_, d), r in ratios.items()))


@claim(
    "On a CPU, additive weights of 256 queries on 256 keys (d_k = hidden = 64) take more than "
    "twice as long as dot-product weights, even with the tanh left out; the tanh alone makes them "
    "take more than 1.5 times as long.",
    source=f"{VASWANI}, section 3.2.1; the part of the tanh is our own measurement",
)
def dot_product_is_faster(g):
    shapes = [(256, 64)] * 2 + [(64, 64)] * 2 + [(64,)]
    q, k, w_q, w_k, w_v = (normal(g, *shape).cpu() for shape in shapes)

    def without_tanh():
        return masked_softmax(((q @ w_q)[:, None] + (k @ w_k)[None]) @ w_v)

    bare = time_ratio(without_tanh, lambda: attention_weights(q, k))
    tanh = time_ratio(lambda: additive_weights(q, k, w_q, w_k, w_v), without_tanh)
    return Measured(
        {"additive / dot product": tanh * bare, "without the tanh": bare, "with / without": tanh},
        "the last two over 2 and over 1.5",
        bare > 2 and tanh > 1.5,
    )


@claim(
    r"If the components of $q$ and $k$ are independent with mean 0 and variance 1, then "
    r"$q \cdot k$ has variance $d_k$, and the scores that `attention_weights` makes of them have "
    "variance 1, for $d_k$ from 4 to 1024.",
    source=f"{VASWANI}, section 3.2.1, footnote 4",
)
def variance_is_d_k(g):
    pairs, raw, scaled = 4096, [], []
    for d in WIDTHS:
        q, k = normal(g, pairs, 1, d), normal(g, pairs, 2, d)
        raw.append((q @ k.mT)[..., 0].var().item() / d)
        # the log of a ratio of weights is the difference of two scores: twice the variance
        logs = attention_weights(q, k).log()
        scaled.append((logs[..., 0] - logs[..., 1]).var().item() / 2)
    # the variance of a sample variance, where the fourth moment of q·k is (3 + 6 / d_k) d_k^2
    error = math.sqrt((2 + 6 / WIDTHS[0]) / pairs)
    one = about(1, 5 * error, "5 standard errors")
    return Measured(
        {
            "variance of $q \\cdot k$ divided by $d_k$": (raw, one),
            "variance of the scores": (scaled, one),
        }
    )


@claim(
    "Among 512 independent tokens with q = k = x, a token's weight on itself is on average below "
    "0.2 at d_k = 16, over half at 64, and over 0.99 at 256.",
    source="the scaled score of a vector of variance 1 with itself is √d_k on average",
)
def tokens_attend_to_themselves(g):
    own = {}
    for d in (16, 64, 256):
        x = normal(g, 512, d)
        own[d] = attention_weights(x, x).diagonal().mean().item()
    return Measured(
        {f"at d_k = {d}": weight for d, weight in own.items()},
        "below 0.2, over 1/2, over 0.99",
        own[16] < 0.2 and own[64] > 0.5 and own[256] > 0.99,
    )


@claim(
    "Make q and k 8 times as long, and the scores of dot products differ 64 times as much. "
    "Additive scores never differ by more than 2 Σ|w_v|, however long q and k are.",
    source="|tanh| < 1",
)
def additive_scores_are_bounded(g):
    q, k, w_q, w_k, w_v = (
        normal(g, *shape).double() for shape in [(32, 64)] * 2 + [(64, 64)] * 2 + [(64,)]
    )
    w_q, w_k, w_v = w_q / 8, w_k / 8, w_v / 8

    def score_range(weights):
        # the log of a ratio of weights is the difference of two scores
        return (weights.amax(-1) / weights.amin(-1)).log().max().item()

    bound = 2 * w_v.abs().sum().item()
    growth = score_range(attention_weights(8 * q, 8 * k)) / score_range(attention_weights(q, k))
    shares = {}
    for c in (1, 8, 64):
        w = additive_weights(c * q, c * k, w_q, w_k, w_v)
        shares[f"additive / bound, {c} times as long"] = score_range(w) / bound
    return Measured(
        {"growth for dot products": growth} | shares,
        "64 within 1 %; at most 1",
        abs(growth / 64 - 1) < 0.01 and max(shares.values()) <= 1,
    )


def sample(g: torch.Generator, d: int, scaled: bool) -> tuple[Tensor, Tensor]:
    """1024 queries, each to be scored on 64 keys: by q·k / √d where scaled, else by q·k."""
    q, k = normal(g, 16, 64, d), normal(g, 16, 64, d)
    # attention_weights divides by √d: what it is to leave unscaled is multiplied first
    return (q if scaled else q * d**0.5), k


@claim(
    "Without the division, the share of rows in which one of 64 keys takes more than 0.99 of the "
    "weight grows from under 1/20 at d_k = 4 to over 1/2 at 1024; with it, there is no such row.",
    source=f"{VASWANI}, section 3.2.1 (there a suspicion)",
)
def one_key_takes_all_unscaled(g):
    raw, scaled = (
        [(attention_weights(*sample(g, d, by)).amax(-1) > 0.99).float().mean().item() for d in ds]
        for by, ds in ((False, (4, 1024)), (True, WIDTHS))
    )
    return Measured(
        {"unscaled at d_k = 4": raw[0], "at 1024": raw[1], "scaled, at any width": max(scaled)},
        "under 1/20, over 1/2, exactly 0",
        raw[0] < 0.05 and raw[1] > 0.5 and max(scaled) == 0,
    )


def mean_jacobian_norm(g: torch.Generator, d: int, scaled: bool) -> float:
    """The mean Frobenius norm, over 1024 rows w, of the softmax's Jacobian diag(w) - w w^T."""
    w = attention_weights(*sample(g, d, scaled))
    return (
        torch.linalg.matrix_norm(w.diag_embed() - w[..., :, None] * w[..., None, :]).mean().item()
    )


@claim(
    "Over 64 keys and without the division, the softmax's Jacobian has on average less than half "
    "the Frobenius norm at d_k = 1024 that it has at d_k = 4; with it, the norm differs by less "
    "than a fifth between any two d_k from 4 to 1024.",
    source=f"{VASWANI}, section 3.2.1 (there a suspicion)",
)
def jacobian_collapses_unscaled(g):
    small, large = (mean_jacobian_norm(g, d, scaled=False) for d in (4, 1024))
    scaled = [mean_jacobian_norm(g, d, scaled=True) for d in WIDTHS]
    level = max(scaled) / min(scaled)
    return Measured(
        {"unscaled at d_k = 4": small, "at 1024": large, "scaled, largest / smallest": level},
        "a ratio below 1/2; below 1.2",
        large < small / 2 and level < 1.2,
    )


def gradients(g: torch.Generator, d: int, scaled: bool) -> Tensor:
    """The norm of the derivative of each row of weights in its query, for 1024 rows."""
    by_query = vmap(jacrev(lambda q, k: attention_weights(q[None], k)[0]), (0, None))
    rows = [by_query(q, k) for q, k in zip(*sample(g, d, scaled), strict=True)]
    norms = torch.stack([torch.linalg.matrix_norm(one) for one in rows])
    # the unscaled query was multiplied by √d, and by the chain rule so is its derivative
    return norms if scaled else norms * d**0.5


@claim(
    "Without the division, from d_k = 4 to 1024 the median over the rows of the gradient's norm "
    "|∂w/∂q| falls to less than a fifth, while its mean more than doubles; with it, both change "
    "by less than a third.",
    source="our own measurement",
)
def most_rows_pass_no_gradient(g):
    ratios = {}
    for name, scaled in (("unscaled", False), ("scaled", True)):
        small, large = (gradients(g, d, scaled) for d in (4, 1024))
        ratios[f"{name}, ratio of medians"] = (large.median() / small.median()).item()
        ratios[f"{name}, of means"] = (large.mean() / small.mean()).item()
    median, mean, *level = ratios.values()
    return Measured(
        ratios,
        "below 1/5; over 2; from 3/4 to 4/3 both",
        median < 0.2 and mean > 2 and all(3 / 4 < one < 4 / 3 for one in level),
    )


@claim(
    "Where half of 64 keys are forbidden, filling in a score of 0 leaves them over a quarter of "
    "the weight on average. The course's mask leaves none, and the other keys get what they would "
    "get if the forbidden ones did not exist.",
    source=f"{VASWANI}, section 3.2.3",
)
def zero_is_no_mask(g):
    q, k = normal(g, 256, 16), normal(g, 64, 16)
    mask = (torch.arange(64, device=g.device) < 32)[None]
    zeros = (q @ k.mT / 16**0.5).masked_fill(~mask, 0).softmax(-1)[:, 32:].sum(-1).mean().item()
    w = attention_weights(q, k, mask)
    left = w[:, 32:].sum(-1).max().item()
    difference = (w[:, :32] - attention_weights(q, k[:32])).abs().max().item()
    return Measured(
        {"weight left by 0": zeros, "by the mask": left, "apart from 32 keys alone": difference},
        "over 1/4; exactly 0; rounding",
        zeros > 0.25 and left == 0 and difference <= 64 * torch.finfo(w.dtype).eps,
    )


@claim(
    "In float32, a fill of -1e9 gives a forbidden key a weight of exactly 0 beside scores of "
    "variance 1. In a row that allows no key, the forbidden keys get the whole weight. In a row "
    "that allows one of 8, with scores of the size 1e10, they do in more than a quarter of cases.",
    source="-1e9 is a number like any other",
)
def finite_fill_is_not_enough(g):
    scores = normal(g, 256, 8)
    keys = torch.arange(8, device=g.device)
    cases = {"moderate scores": (1, 1), "no key allowed": (1, 0), "scores of 1e10": (1e10, 1)}
    left = {}
    for name, (size, allowed) in cases.items():
        w = (size * scores).masked_fill(keys >= allowed, -1e9).softmax(-1)
        left[f"weight of the forbidden keys, {name}"] = w[:, allowed:].sum(-1).mean().item()
    moderate, empty, large = left.values()
    holds = moderate == 0 and abs(empty - 1) < 1e-6 and large > 0.25
    return Measured(left, "exactly 0; 1; over 1/4", holds)


@claim(
    "Under the causal mask, output i has a gradient in token j where j ≤ i, and a gradient of "
    "exactly 0 where j > i.",
    source=f"{VASWANI}, section 3.2.3",
)
def future_has_no_gradient(g):
    n = 8
    mask = causal_mask(n, g.device)
    jacobian = jacrev(lambda x: attention(x, x, x, mask))(normal(g, n, 4))
    reaches = (jacobian != 0).any(-1).any(1)
    return Measured(
        {"pairs (i, j) with a gradient": reaches.sum().item(), "of": n * n},
        f"n(n+1)/2 = {n * (n + 1) // 2}, those with j ≤ i",
        torch.equal(reaches, mask),
    )


def product_by_loops(a: Tensor, b: Tensor) -> tuple[Tensor, int]:
    """The product of two matrices, and how many multiplications and additions it took."""
    out, operations = a.new_zeros(a.shape[0], b.shape[1]), 0
    for i, j, term in product(*map(range, (*out.shape, b.shape[0]))):
        out[i, j] += a[i, term] * b[term, j]
        operations += 2
    return out, operations


@claim(
    "Attention of n queries on m keys by loops, where each multiplication and each addition of "
    "the two matrix products is counted as it is made, takes 2 n m (d_k + d_v) of them; the "
    "counter of this page counts as many.",
    source=f"{VASWANI}, table 1 (there O(n² d))",
)
def operations_are_n_m_d(g):
    n, m, d_k, d_v = 3, 5, 4, 2
    q, k, v = normal(g, n, d_k), normal(g, m, d_k), normal(g, m, d_v)
    scores, first = product_by_loops(q, k.mT)
    out, second = product_by_loops((scores / d_k**0.5).softmax(-1), v)
    difference = (out - attention(q, k, v)).abs().max().item()
    counted = count(attention, q, k, v).flops
    return Measured(
        {"by loops": first + second, "by the counter": counted, "outputs apart by": difference},
        f"2 · {n} · {m} · ({d_k} + {d_v}) = {2 * n * m * (d_k + d_v)} both; rounding",
        first + second == counted == 2 * n * m * (d_k + d_v) and difference < 1e-5,
    )


@claim(
    "With d_k = d_v = 64, doubling n multiplies both the operations and the elements of the "
    "largest tensor by exactly 4, from n = 64 on.",
    source=f"{VASWANI}, table 1",
)
def cost_is_quadratic(g):
    inputs = [torch.empty(64 * 2**i, 64, device="meta") for i in range(7)]
    costs = [count(attention, x, x, x) for x in inputs]
    ratios = [
        getattr(long, of) / getattr(short, of)
        for short, long in pairwise(costs)
        for of in ("flops", "largest")
    ]
    return Measured({"ratios": (ratios, exactly(4, "a slope of 2"))})
