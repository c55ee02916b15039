"""The claims of the chapter dot_product."""

import math
from itertools import pairwise, product

import torch
from torch import Tensor
from torch.func import jacrev, vmap

from attncourse import english
from attncourse.cost import Cost, count, elements_by_operation
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
from attncourse.dot_product import (
    additive_weights,
    attention,
    attention_weights,
    causal_mask,
    masked_softmax,
)

VASWANI, BAHDANAU = "Vaswani et al. (2017)", "Bahdanau et al. (2015)"
WIDTHS = (4, 16, 64, 256, 1024)


def normal(g: torch.Generator, *shape: int) -> Tensor:
    """Independent entries with mean 0 and variance 1."""
    return torch.randn(shape, generator=g, device=g.device)


def at_most_rounding(m: int, tensor: Tensor):
    """The bound on a difference that only rounding makes, in a sum of m numbers."""
    return at_most(m * torch.finfo(tensor.dtype).eps, "rounding")


@claim(
    "In a trained model, a word can hang on one that stands far back. Hide “more” from the words "
    "after it, and “than”, six words later, costs at least one bit more. Hide “in”, which is "
    "nearer, and its cost changes by less than 0.1 bit.",
    source="our own measurement",
)
def one_word_waits_for_another(g):
    model, tokens = english.model("english", g.device), english.tokens(device=g.device)
    costs = english.costs_of_hiding(model, tokens)[:, english.token_index(english.TARGET)]
    words = english.CUE, english.CONTROL
    cue_cost, control_cost = (costs[english.token_index(word)].item() for word in words)
    return Measured(
        {
            f"bits more for “{english.TARGET}”, without “{english.CUE}”": (cue_cost, at_least(1)),
            f"without “{english.CONTROL}”, up or down": (abs(control_cost), below(0.1)),
        }
    )


@claim(
    "With 64 queries on 64 keys, the weights of each query sum to 1 over the keys, whether the "
    "scores are moderate or 60 times as large. The weights of each key over the queries do not: "
    "these sums range from below 0.9 to above 1.1.",
    source=f"{VASWANI}, eq. 1",
)
def rows_sum_to_one(g):
    m = 64
    q, k = normal(g, m, 16), normal(g, m, 16)
    weights = torch.stack([attention_weights(length * q, k) for length in (1, 60)])
    over_queries = weights[0].sum(-2)
    return Measured(
        {
            "sums over the keys, off 1 by": (
                (weights.sum(-1) - 1).abs().max().item(),
                at_most_rounding(m, q),
            ),
            "smallest sum over the queries": (over_queries.min().item(), below(0.9)),
            "largest": (over_queries.max().item(), above(1.1)),
        }
    )


@claim(
    "The output is a mean: if every value $x$ is mapped to $xA + b$, every output is mapped in the "
    "same way, and no component of an output lies outside the range of the values.",
    source=f"{VASWANI}, eq. 1",
)
def output_is_a_mean(g):
    q = 10 * normal(g, 32, 16)
    k = normal(g, 24, 16)
    v = normal(g, 24, 8)
    a, b = normal(g, 8, 5), 100 * normal(g, 5)
    out, mapped = attention(q, k, v), attention(q, k, v @ a + b)
    difference = ((mapped - (out @ a + b)).abs().max() / mapped.abs().max()).item()
    excess = torch.maximum(out - v.amax(-2), v.amin(-2) - out).max() / v.abs().max()
    return Measured(
        {
            "mapped before or after, apart by": (difference, at_most_rounding(24, v)),
            "beyond the values by (below 0: within)": (excess.item(), at_most_rounding(24, v)),
        }
    )


def weights_cost(n: int, d: int) -> tuple[Cost, Cost]:
    """Dot-product and additive weights of n queries on n keys of width d; hidden = d."""
    x, w, w_v = (torch.empty(*shape, device="meta") for shape in ((n, d), (d, d), (d,)))
    return count(attention_weights, x, x), count(additive_weights, x, x, w, w, w_v)


@claim(
    "With hidden = $d_k$ and $n$ queries on $n$ keys, the matrix products of additive scores take "
    "only $1 + 2 d_k / n$ times the operations of the dot products. But the largest tensor on the "
    "way has `hidden` times as many elements.",
    source=f"{VASWANI}, section 3.2.1; {BAHDANAU}, appendix A.1.2",
)
def additive_holds_hidden_times_more(g):
    rows = {}
    for n, d in ((64, 64), (512, 64), (160, 16)):
        dot, additive = weights_cost(n, d)
        size = f"$n = {n}$, hidden = {d}"
        rows[f"operations, {size}"] = additive.flops / dot.flops, exactly(1 + 2 * d / n)
        rows[f"elements, {size}"] = additive.largest / dot.largest, exactly(d)
    return Measured(rows)


@claim(
    "For 256 queries on 256 keys, with $d_k$ = hidden = 64, dot-product weights make 3 numbers for "
    "each pair of a query and a key: the product, the score and the weight. Additive weights make "
    "64 sums, 64 tanhs, the score and the weight, and the projections, shared by all pairs, come "
    r"to $2 \cdot 256 \cdot 64 / 256^2$, half a number for each: 130.5 in all. Even "
    "without the tanhs, that is 22 times as many as dot products make.",
    source=f"counted; the formulas: {VASWANI}, eq. 1, and {BAHDANAU}, appendix A.1.2",
)
def dot_product_makes_fewer_numbers(g):
    shapes = [(256, 64)] * 2 + [(64, 64)] * 2 + [(64,)]
    q, k, *network = (torch.empty(shape, device="meta") for shape in shapes)
    dot = elements_by_operation(attention_weights, q, k)
    additive = elements_by_operation(additive_weights, q, k, *network)
    pairs, tanhs = 256 * 256, additive["tanh"]
    other_numbers = additive.total() - tanhs
    return Measured(
        {
            "additive without the tanhs / dot product": (
                other_numbers / dot.total(),
                between(22, 22.5),
            ),
            "numbers made for each pair, dot product": (dot.total() / pairs, exactly(3)),
            "additive": (additive.total() / pairs, exactly(130.5)),
            "tanhs among them": (tanhs / pairs, exactly(64)),
        }
    )


@claim(
    r"If the components of $q$ and $k$ are independent with mean 0 and variance 1, then "
    r"$q \cdot k$ has variance $d_k$, and the scores that `attention_weights` makes from them have "
    "variance 1, for $d_k$ from 4 to 1024.",
    source=f"{VASWANI}, section 3.2.1, footnote 4",
)
def variance_is_d_k(g):
    pairs = 4096
    raw, scaled = [], []
    for d in WIDTHS:
        q, k = normal(g, pairs, 1, d), normal(g, pairs, 2, d)
        raw.append((q @ k.mT)[..., 0].var().item() / d)
        # the log of a ratio of weights is the difference of two scores: twice the variance
        logs = attention_weights(q, k).log()
        scaled.append((logs[..., 0] - logs[..., 1]).var().item() / 2)
    # the variance of a sample variance, where the fourth moment of q·k is (3 + 6 / d_k) d_k^2
    error = math.sqrt((2 + 6 / WIDTHS[0]) / pairs)
    expected = about(1, 5 * error, "5 standard errors")
    return Measured(
        {
            r"variance of $q \cdot k$, divided by $d_k$": (raw, expected),
            "variance of the scores": (scaled, expected),
        }
    )


@claim(
    "Among 512 independent tokens with $q = k = x$, a token's weight on itself is on average below "
    "0.2 at $d_k = 16$, over half at 64, and over 0.99 at 256.",
    source=r"the scaled score of a vector of variance 1 with itself is $\sqrt{d_k}$ on average",
)
def tokens_attend_to_themselves(g):
    own_terms = {}
    for d, expected in ((16, below(0.2)), (64, above(0.5)), (256, above(0.99))):
        x = normal(g, 512, d)
        weight = attention_weights(x, x).diagonal().mean().item()
        own_terms[f"weight on itself, $d_k = {d}$"] = weight, expected
    return Measured(own_terms)


@claim(
    r"From $d_k = 16$ to 1024, the variance of unscaled dot products within a row grows about "
    r"64-fold. That of additive scores is below 1 at both, if the entries of $w_v$ have variance "
    r"1/hidden and those of $W_q$ and $W_k$ variance $1/d_k$. And with $q$ and $k$ 64 times as "
    r"long, no two additive scores of a row differ by more than $2 \sum |w_v|$.",
    source=r"$|\tanh| < 1$",
)
def additive_scores_are_bounded(g):
    dots, additive = [], []
    shares = []
    for d in (16, 1024):
        q, k = normal(g, 2, 64, d).double()
        net = [normal(g, *shape).double() / d**0.5 for shape in ((d, d), (d, d), (d,))]
        # the logarithms of a row of weights are its scores, shifted
        dots.append(attention_weights(q * d**0.5, k).log().var(-1).mean().item())
        additive.append(additive_weights(q, k, *net).log().var(-1).mean().item())
        logs = additive_weights(64 * q, 64 * k, *net).log()
        spread = (logs.amax(-1) - logs.amin(-1)).max()
        shares.append((spread / (2 * net[-1].abs().sum())).item())
    return Measured(
        {
            "dot products: variance at 1024 / at 16": (dots[1] / dots[0], between(45, 90)),
            "additive scores: variance at 16 and 1024": (additive, below(1)),
            r"largest difference / $2 \sum |w_v|$": (shares, at_most(1)),
        }
    )


def sample(g: torch.Generator, d: int, scaled: bool) -> tuple[Tensor, Tensor]:
    """1024 queries, each to be scored on 64 keys: by q·k / √d where scaled, else by q·k."""
    q, k = normal(g, 16, 64, d), normal(g, 16, 64, d)
    # attention_weights divides by √d: what it is to leave unscaled is multiplied first
    return (q if scaled else q * d**0.5), k


@claim(
    "Without the division, the share of rows in which one of 64 keys takes more than 0.99 of the "
    "weight grows from under 1/20 at $d_k = 4$ to over 1/2 at 1024. With it, none of the 1024 rows "
    "at any of five widths from 4 to 1024 is such a row.",
    source=f"{VASWANI}, section 3.2.1 (there a suspicion)",
)
def one_key_takes_all_unscaled(g):
    raw, scaled = (
        [
            (attention_weights(*sample(g, d, is_scaled)).amax(-1) > 0.99).float().mean().item()
            for d in ds
        ]
        for is_scaled, ds in ((False, (4, 1024)), (True, WIDTHS))
    )
    return Measured(
        {
            "share of rows unscaled, $d_k = 4$": (raw[0], below(0.05)),
            "unscaled, $d_k = 1024$": (raw[1], above(0.5)),
            "scaled, at any width": (scaled, exactly(0)),
        }
    )


def mean_jacobian_norm(g: torch.Generator, d: int, scaled: bool) -> float:
    """The mean Frobenius norm, over 1024 rows w, of the softmax's Jacobian diag(w) - w w^T."""
    w = attention_weights(*sample(g, d, scaled))
    jacobian = w.diag_embed() - w[..., :, None] * w[..., None, :]
    return torch.linalg.matrix_norm(jacobian).mean().item()


@claim(
    "Over 64 keys and without the division, the softmax's Jacobian is on average less than half as "
    "large at $d_k = 1024$ as at $d_k = 4$, by its Frobenius norm, the root of the sum of its "
    "squared entries; with the division, the norm differs by less than a fifth between any two of "
    "five widths from 4 to 1024.",
    source=f"{VASWANI}, section 3.2.1 (there a suspicion)",
)
def jacobian_collapses_unscaled(g):
    small, large = (mean_jacobian_norm(g, d, scaled=False) for d in (4, 1024))
    scaled = [mean_jacobian_norm(g, d, scaled=True) for d in WIDTHS]
    return Measured(
        {
            "unscaled: norm at 1024 / at 4": (large / small, below(0.5)),
            "scaled: largest norm / smallest": (max(scaled) / min(scaled), below(1.2)),
        }
    )


def gradients(g: torch.Generator, d: int, scaled: bool) -> Tensor:
    """The norm of the derivative of each row of weights with respect to its query, 1024 rows."""
    by_query = vmap(jacrev(lambda q, k: attention_weights(q[None], k)[0]), (0, None))
    rows = [by_query(q, k) for q, k in zip(*sample(g, d, scaled), strict=True)]
    norms = torch.stack([torch.linalg.matrix_norm(row) for row in rows])
    # the unscaled query was multiplied by √d, and by the chain rule so is its derivative
    return norms if scaled else norms * d**0.5


@claim(
    r"Without the division, from $d_k = 4$ to 1024 the median over the rows of the gradient's norm "
    r"$\|\partial w / \partial q\|$ falls to less than a fifth, while its mean more than doubles; "
    "with the division, both change by less than a third.",
    source="our own measurement",
)
def most_rows_pass_no_gradient(g):
    ratios = []
    for scaled in (False, True):
        small, large = (gradients(g, d, scaled) for d in (4, 1024))
        ratios += [(large.median() / small.median()).item(), (large.mean() / small.mean()).item()]
    return Measured(
        {
            "unscaled: median at 1024 / at 4": (ratios[0], below(0.2)),
            "unscaled: mean at 1024 / at 4": (ratios[1], above(2)),
            "scaled: the same two": (ratios[2:], between(0.75, 4 / 3)),
        }
    )


@claim(
    r"If each component of $q$ has the correlation 1/2 with the same component of $k$, the score "
    r"$q \cdot k / \sqrt{d_k}$ has the mean $\sqrt{d_k} / 2$: 1 at $d_k = 4$, and 16 at 1024. "
    r"Divided by $d_k$ instead, its mean is 1/2 at any width.",
    source="Yang et al. (2022), definition 4.1",
)
def aligned_scores_outgrow_the_root(g):
    means, pairs = {}, 4096
    for d in WIDTHS:
        keys = normal(g, pairs, 2, d)
        q = keys[:, :1] / 2 + 0.75**0.5 * normal(g, pairs, 1, d)
        logs = attention_weights(q, keys).log()
        # the second key has nothing to do with the query: its score has the mean 0
        means[d] = (logs[..., 0] - logs[..., 1]).mean().item()
    return Measured(
        {
            r"mean score, $d_k = 4$": (means[4], about(1, 0.12)),
            r"$d_k = 1024$": (means[1024], about(16, 0.12)),
            r"divided by $d_k$, any width": ([means[d] / d**0.5 for d in WIDTHS], about(0.5, 0.06)),
        }
    )


@claim(
    r"With QK-norm, the weights of 256 queries on 64 keys stay the same, up to rounding, when "
    r"queries and keys become 16 times as long, and two scores differ by at most $2 \sqrt{d_k}$. "
    "Without it, one key then takes over 0.99 of the weight in more than 4 of 5 rows.",
    source="Henry et al. (2020); Dehghani et al. (2023)",
)
def qk_norm_bounds_the_scores(g):
    q, k = normal(g, 256, 64), normal(g, 64, 64)
    saturated = (attention_weights(16 * q, 16 * k).amax(-1) > 0.99).float().mean().item()
    short, long = (
        attention_weights(*(torch.rms_norm(c * x, x.shape[-1:]) for x in (q, k))) for c in (1, 16)
    )
    largest_difference = (short.log().amax(-1) - short.log().amin(-1)).max().item() / (2 * 64**0.5)
    return Measured(
        {
            "rows with a weight over 0.99, without": (saturated, above(0.8)),
            "weights with it, apart by": (
                (short - long).abs().max().item(),
                at_most_rounding(64, q),
            ),
            r"largest difference / $2 \sqrt{d_k}$": (largest_difference, at_most(1)),
        }
    )


@claim(
    "Forbid 7 of 8 keys by filling in a score. With 0, they keep over half of the weight on "
    r"average. With $-10^9$, they keep none next to scores of variance 1, but all of it in a row "
    r"that allows no key, and over a quarter next to scores of the size $10^{10}$. The course's "
    "mask leaves them none in any of these cases.",
    source=f"{VASWANI}, section 3.2.3 (there $-\\infty$)",
)
def finite_fill_is_not_enough(g):
    scores, keys = normal(g, 256, 8), torch.arange(8, device=g.device)
    cases = {
        "0, scores of variance 1": (0, 1, 1, above(0.5)),
        "$-10^9$, scores of variance 1": (-1e9, 1, 1, exactly(0)),
        "$-10^9$, no key allowed": (-1e9, 1, 0, about(1, 1e-6)),
        "$-10^9$, scores of $10^{10}$": (-1e9, 1e10, 1, above(0.25)),
    }
    quantities, masked = {}, []
    for name, (fill, size, allowed, expected) in cases.items():
        s, mask = size * scores, (keys < allowed)[None]
        w = s.masked_fill(~mask, fill).softmax(-1)
        quantities[f"weight left by {name}"] = w[:, allowed:].sum(-1).mean().item(), expected
        masked.append(masked_softmax(s, mask)[:, allowed:].sum(-1).max().item())
    return Measured(quantities | {"weight left by the mask": (masked, exactly(0))})


@claim(
    r"Under the causal mask, output $i$ of 8 has a gradient with respect to token $j$ where "
    r"$j \le i$, and a gradient of exactly 0 where $j > i$.",
    source=f"{VASWANI}, section 3.2.3",
)
def future_has_no_gradient(g):
    n = 8
    mask = causal_mask(n, g.device)
    jacobian = jacrev(lambda x: attention(x, x, x, mask))(normal(g, n, 4))
    has_gradient = (jacobian != 0).any(-1).any(1)
    return Measured({
        r"pairs with a gradient, $j \le i$": (
            (has_gradient & mask).sum().item(), exactly(n * (n + 1) // 2, "$n(n+1)/2$")),
        "$j > i$": ((has_gradient & ~mask).sum().item(), exactly(0)),
    })  # fmt: skip


def product_by_loops(a: Tensor, b: Tensor) -> tuple[Tensor, int]:
    """The product of two matrices, and how many multiplications and additions it took."""
    out, operations = a.new_zeros(a.shape[0], b.shape[1]), 0
    for i, j, term in product(*map(range, (*out.shape, b.shape[0]))):
        out[i, j] += a[i, term] * b[term, j]
        operations += 2
    return out, operations


@claim(
    "Attention of $n$ queries on $m$ keys by loops, where each multiplication and each addition of "
    "the two matrix products is counted as it is made, takes $2 n m (d_k + d_v)$ of them; the "
    "counter of this page counts as many.",
    source=f"{VASWANI}, table 1 (there $O(n^2 d)$)",
)
def operations_are_n_m_d(g):
    n, m, d_k, d_v = 3, 5, 4, 2
    q = normal(g, n, d_k)
    k = normal(g, m, d_k)
    v = normal(g, m, d_v)
    scores, first = product_by_loops(q, k.mT)
    out, second = product_by_loops((scores / d_k**0.5).softmax(-1), v)
    stated = exactly(2 * n * m * (d_k + d_v), f"$2 \\cdot {n} \\cdot {m} \\cdot ({d_k} + {d_v})$")
    return Measured(
        {
            "operations by loops": (first + second, stated),
            "by the counter": (count(attention, q, k, v).flops, stated),
            "outputs apart by": ((out - attention(q, k, v)).abs().max().item(), below(1e-5)),
        }
    )


@claim(
    "With $d_k = d_v = 64$, doubling $n$ multiplies both the operations and the elements of the "
    "largest tensor by exactly 4, from $n = 64$ on.",
    source=f"{VASWANI}, table 1",
)
def cost_is_quadratic(g):
    inputs = [torch.empty(64 * 2**i, 64, device="meta") for i in range(7)]
    costs = [count(attention, x, x, x) for x in inputs]
    ratios = [
        getattr(long, attribute) / getattr(short, attribute)
        for short, long in pairwise(costs)
        for attribute in ("flops", "largest")
    ]
    return Measured({"ratios": (ratios, exactly(4, "a slope of 2"))})
