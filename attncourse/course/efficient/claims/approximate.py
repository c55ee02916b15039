"""Claims about attention that leaves something out: pairs, keys, or all but random features."""

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import normalize

from attncourse import english
from attncourse.cost import count
from attncourse.course.claim import Measured, above, at_most, below, between, claim, exactly
from attncourse.course.dot_product.claims import normal
from attncourse.course.relative.claims import max_abs_diff
from attncourse.data import excerpts
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.efficient import (
    bigbird_mask,
    iterative_pinv,
    linformer_attention,
    log_positive_features,
    longformer_mask,
    lsh_attention,
    nystrom_attention,
    orthogonal_random_matrix,
    performer_attention,
    segment_means,
)


def smooth(g: torch.Generator, n: int, d: int, strength: float) -> Tensor:
    """Tokens that change slowly along the sequence; each has the score `strength` with itself."""
    position = torch.arange(n, device=g.device)
    kernel = torch.exp(-((position - position[:, None]) ** 2) / 128)
    return normalize(kernel @ normal(g, n, d), dim=-1) * (strength * d**0.5) ** 0.5


def error(z: Tensor, exact: Tensor, v: Tensor) -> float:
    """The distance of z from exact, divided by that of the mean of all values."""
    return ((z - exact).norm() / (v.mean(-2) - exact).norm()).item()


def error_of_rank(r: int, weights: Tensor, v: Tensor) -> float:
    """The error of the matrix of rank r that is closest to the weights."""
    u, singular_values, v_t = torch.linalg.svd(weights)
    return error((u[:, :r] * singular_values[:r]) @ v_t[:r] @ v, weights @ v, v)


def pooling(n: int, r: int, device: torch.device) -> Tensor:
    """Each of r rows takes the mean of a stretch of n tokens."""
    return segment_means(torch.eye(n, device=device), r)


def trained_weights(device: torch.device | None = None, n: int = 128) -> Tensor:
    """The weights of the 16 heads of a trained model, on n tokens that begin with its sentence.

    The two tokens before the text are left out, and each row is divided by its sum.
    """
    text = f"{english.SENTENCE} {excerpts()[-1].text}"
    tokens = english.tokens(text, device)[:, : n + 2]
    weights = english.head_weights(english.model("english", device), tokens)[:, 0, :, 2:, 2:]
    return (weights / weights.sum(-1, keepdim=True)).flatten(0, 1)


def relative_distance(weights: Tensor, others: Tensor) -> float:
    """The distance of other weights from these, as a share of their norm; the mean of the heads."""
    return ((others - weights).norm(dim=(1, 2)) / weights.norm(dim=(1, 2))).mean().item()


def renormalised(weights: Tensor, mask: Tensor) -> Tensor:
    """The weights that the mask allows, each row divided by its sum."""
    masked = weights * mask
    return masked / masked.sum(-1, keepdim=True).clamp(min=1e-9)


def trained_tradeoff(g: torch.Generator) -> dict[str, list[tuple[float, float]]]:
    """For each approximation: its share of attention's operations, and its error.

    The largest weights are what the best pattern would leave, if it knew them; the best matrix of
    rank r is more than r mixtures or landmarks can reach.
    """
    weights = trained_weights(g.device)
    n = weights.shape[-1]
    rows, sizes, columns = torch.linalg.svd(weights)
    points = {}
    for r in (4, 8, 16, 32):
        masks = {
            "largest": torch.zeros_like(weights).scatter(-1, weights.topk(r, -1).indices, 1) > 0,
            "Longformer": longformer_mask(n, 2 * r - 1, [0], g.device),
            "BigBird": bigbird_mask(n, r - 1, [0], r // 2, g),
        }
        for name, bidirectional in masks.items():
            mask = bidirectional & causal_mask(n, g.device)
            share = mask.double().sum((-2, -1)).mean().item() / n**2
            points.setdefault(name, []).append(
                (share, relative_distance(weights, renormalised(weights, mask)))
            )
        low_rank = (rows[..., :r] * sizes[:, None, :r]) @ columns[:, :r]
        points.setdefault("best rank", []).append((2 * r / n, relative_distance(weights, low_rank)))
    return points


@claim(
    "On 128 tokens, and on average over the 16 heads of a trained model, the 16 largest weights of "
    "each query, divided by their sum, are off by less than a tenth of the norm of all weights. A "
    "window of 16 tokens with the first one is off by less than 0.3, and the best matrix of rank "
    "16 by more than 0.6.",
    source="our own measurement",
)
def trained_heads_are_sparse_and_not_of_low_rank(g):
    points = {name: tradeoff_points[2][1] for name, tradeoff_points in trained_tradeoff(g).items()}
    return Measured(
        {
            "error, 16 largest weights": (points["largest"], below(0.1)),
            "window": (points["Longformer"], below(0.3)),
            "best matrix of rank 16": (points["best rank"], above(0.6)),
        }
    )


def tradeoff(g: torch.Generator, n: int, strength: float) -> dict[str, list[tuple[float, float]]]:
    """For each method, at several budgets: its share of attention's operations, and its error."""
    x, v = smooth(g, n, 16, strength), smooth(g, n, 16, 4)
    full_flops, exact = count(attention, x, x, v).flops, attention(x, x, v)
    points = {}
    for r in (n // 32, n // 16, n // 8, n // 4):
        masks = {
            "Longformer": longformer_mask(n, r - 1, [0], g.device),
            "BigBird": bigbird_mask(n, r // 2 - 1, [0], r // 2, g),
        }
        for name, mask in masks.items():
            pairs, z = mask.double().mean().item(), attention(x, x, v, mask)
            points.setdefault(name, []).append((pairs, error(z, exact, v)))
        e, w = pooling(n, r, g.device), orthogonal_random_matrix(r, 16, g)
        forms = {
            "Linformer": (linformer_attention, x, x, v, e, e),
            "Performer": (performer_attention, x, x, v, w),
            "Nyström": (nystrom_attention, x, x, v, r),
        }
        for name, (form, *args) in forms.items():
            share = count(form, *args).flops / full_flops
            points.setdefault(name, []).append((share, error(form(*args), exact, v)))
    # keys of norm 1, and queries longer by as much: the scores stay, but for those with itself
    long_q, not_self = x * x.norm(dim=-1, keepdim=True), torch.eye(n, device=x.device) == 0
    exact = attention(x, x, v, not_self)
    points["Reformer"] = []
    for rounds in (1, 2, 4):
        args = long_q, v, n // 16, rounds, g
        share = count(lsh_attention, *args).flops / full_flops
        points["Reformer"].append((share, error(lsh_attention(*args), exact, v)))
    return points


@claim(
    "In Longformer's pattern, with a window of 9 and one global token, each token more adds 11 "
    "pairs, however long the sequence is. Over half of all pairs are left at $n = 16$, and fewer "
    "than 0.006 at $n = 2048$.",
    source="Beltagy et al. (2020), section 3.1; the count is ours",
)
def pairs_grow_with_the_length(g):
    pairs = {n: longformer_mask(n, 9, [0], g.device).sum().item() for n in (16, 17, 1024, 2048)}
    pairs_by_token = [(pairs[b] - pairs[a]) / (b - a) for a, b in ((16, 17), (1024, 2048))]
    return Measured(
        {
            "pairs per token added, at 16 and at 1024": (pairs_by_token, exactly(11)),
            "share of all pairs, $n$ = 16": (pairs[16] / 16**2, above(0.5)),
            "$n$ = 2048": (pairs[2048] / 2048**2, below(0.006)),
        }
    )


def layers_until_all_are_reached(mask: Tensor) -> int:
    """How many layers it takes until every output depends on every token."""
    reachable, layers = mask.float(), 1
    while not reachable.all():
        reachable, layers = (reachable @ mask.float()).clamp(max=1), layers + 1
    return layers


@claim(
    "Of 129 tokens, each with a window of 9, the first reaches the last after 32 layers. With one "
    "global token, all reach each other after 2 layers; with 3 random keys each and no global "
    "token, after at most 6.",
    source="Zaheer et al. (2020), section 2, on graphs with short paths; the count is ours",
)
def few_layers_reach_everything(g):
    window, hub = (longformer_mask(129, 9, tokens, g.device) for tokens in ([], [0]))
    random_mask = bigbird_mask(129, 9, [], 3, g)
    return Measured(
        {
            "layers, window": (layers_until_all_are_reached(window), exactly(32)),
            "with a global token": (layers_until_all_are_reached(hub), exactly(2)),
            "with random keys": (layers_until_all_are_reached(random_mask), at_most(6)),
        }
    )


@claim(
    "For 256 tokens that change slowly, each with the score 8 with itself, the error of LSH "
    "attention in 16 buckets falls by more than half from 1 round to 4, and again from 4 to 16.",
    source="Kitaev et al. (2020), section 2, on several rounds; the measure is ours",
)
def more_rounds_come_closer(g):
    x, v = smooth(g, 256, 16, 8), smooth(g, 256, 16, 4)
    not_self, long_q = torch.eye(256, device=x.device) == 0, x * x.norm(dim=-1, keepdim=True)
    exact = attention(x, x, v, not_self)
    error_of_1, error_of_4, error_of_many = (
        sum(error(lsh_attention(long_q, v, 16, rounds, g), exact, v) for _ in range(3)) / 3
        for rounds in (1, 4, 16)
    )
    return Measured(
        {
            "error, 4 rounds / 1": (error_of_4 / error_of_1, below(0.5)),
            "error, 16 rounds / 4": (error_of_many / error_of_4, below(0.5)),
        }
    )


@claim(
    "Whether the weights are nearly of low rank depends on the scores. For 256 tokens that change "
    "slowly, the best matrix of rank 16 leaves an error below 0.05 where a token's score with "
    "itself is 1, and above 0.15 where it is 32.",
    source="Wang et al. (2020), section 3, measured there on trained models",
)
def low_rank_is_a_matter_of_scores(g):
    v, xs = smooth(g, 256, 16, 4), [smooth(g, 256, 16, strength) for strength in (1, 32)]
    spread, sharp = (error_of_rank(16, attention_weights(x, x), v) for x in xs)
    return Measured({"score 1": (spread, below(0.05)), "score 32": (sharp, above(0.15))})


@claim(
    "Weights that are nearly of low rank are not enough. For 256 independent tokens, each with "
    "the score 2 with itself, the best matrix of rank 64 leaves an error below 0.3, where that of "
    "the mean of all values is 1. The error of Linformer with 64 means of stretches, and of "
    "Nyström with 64 landmarks, is over twice as large.",
    source="our own measurement",
)
def low_rank_is_not_enough(g):
    x, v = (normalize(normal(g, 256, 16), dim=-1) * 8**0.5 for _ in "xv")
    weights, e = attention_weights(x, x), pooling(256, 64, g.device)
    best, exact = error_of_rank(64, weights, v), weights @ v
    means = error(linformer_attention(x, x, v, e, e), exact, v)
    landmarks = error(nystrom_attention(x, x, v, 64), exact, v)
    return Measured(
        {
            "error, best matrix of rank 64": (best, below(0.3)),
            "Linformer / best": (means / best, above(2)),
            "Nyström / best": (landmarks / best, above(2)),
        }
    )


@claim(
    "For 256 tokens that change slowly, each with the score 2 with itself, and means of stretches "
    "as mixtures, Linformer's error falls by more than half each time the number of mixtures "
    "doubles, from 8 to 64; with one for each key there is none. Nyström's error does so from 8 "
    "landmarks to 32. With 128 it is still over half of that with 32, unless the inverse takes 12 "
    "steps instead of six: then it is below a tenth.",
    source="Wang et al. (2020), section 4 (pooling, among others); Xiong et al. (2021)",
)
def mixtures_and_landmarks_come_closer(g):
    x, v = smooth(g, 256, 16, 2), smooth(g, 256, 16, 4)
    exact = attention(x, x, v)
    linformer, nystrom = {}, {}
    for r in (8, 16, 32, 64, 256):
        e = pooling(256, r, g.device)
        linformer[r] = error(linformer_attention(x, x, v, e, e), exact, v)
    for r, steps in ((8, 6), (16, 6), (32, 6), (128, 6), (128, 12)):
        nystrom[r, steps] = error(nystrom_attention(x, x, v, r, steps), exact, v)
    *linformer_errors, linformer_exact = linformer.values()
    *nystrom_errors, error_of_128, error_of_12_steps = nystrom.values()
    halves = [[b / a for a, b in pairwise(errors)] for errors in (linformer_errors, nystrom_errors)]
    return Measured(
        {
            "Linformer, with twice as many, 8 to 64": (halves[0], below(0.5)),
            "Linformer, 256": (linformer_exact, at_most(1e-4, "rounding")),
            "Nyström, with twice as many, 8 to 32": (halves[1], below(0.5)),
            "128 / 32": (error_of_128 / nystrom_errors[-1], above(0.5)),
            "128 with 12 steps / 32": (error_of_12_steps / nystrom_errors[-1], below(0.1)),
        }
    )


@claim(
    "What one step of the iteration leaves missing, $D' = I - A Y'$, is $(3 D^3 + D^4)/4$, where "
    "$D = I - A Y$ was missing before: once that is small, about three quarters of its cube.",
    source="expanding the iteration of Razavi et al. (2014)",
)
def each_step_cubes_what_is_missing(g):
    a = attention_weights(normal(g, 8, 16).double() * 3, normal(g, 8, 16).double())
    identity = torch.eye(8, dtype=a.dtype, device=a.device)
    residuals = [identity - a @ iterative_pinv(a, steps) for steps in (3, 4)]
    cubed = torch.linalg.matrix_power(residuals[0], 3)
    difference = max_abs_diff(residuals[1], (3 * cubed + residuals[0] @ cubed) / 4)
    return Measured(
        {
            "largest entry of $D$": (residuals[0].abs().max().item(), above(0.01)),
            "$D'$, off by": (difference, at_most(1e-9, "rounding")),
        }
    )


def estimate_ratios(x: Tensor, w: Tensor) -> Tensor:
    """The products of features, divided by the exponentials that they estimate."""
    features = log_positive_features(x, w).exp()
    return features @ features.mT / (x @ x.mT / x.shape[-1] ** 0.5).exp()


@claim(
    "The products of random positive features are right on average: over 100 draws of 256, their "
    "mean is off by less than 0.005 of what they estimate. With 16 times as many features, the "
    r"root mean square error is about $\sqrt{16} = 4$ times smaller: between 3 and 5.5 times. With "
    "orthogonal directions the mean square error is more than a tenth smaller than with "
    "independent ones.",
    source="Choromanski et al. (2021), lemma 1 (right on average) and theorem 2 (orthogonal)",
)
def features_are_right_on_average(g):
    x = 0.35 * normal(g, 64, 16)
    errors = {}
    for r in (16, 256):
        draws = [estimate_ratios(x, orthogonal_random_matrix(r, 16, g)) - 1 for _ in range(100)]
        errors[r] = torch.stack(draws)
    errors["alone"] = torch.stack([estimate_ratios(x, normal(g, 256, 16)) - 1 for _ in range(100)])
    bias, square = (
        errors[256].mean().item(),
        {kind: x.square().mean().item() for kind, x in errors.items()},
    )
    ratio, gain = (square[16] / square[256]) ** 0.5, square[256] / square["alone"]
    return Measured(
        {
            "mean error": (abs(bias), below(0.005)),
            "root mean square error, 16 / 256 features": (ratio, between(3, 5.5)),
            "mean square error, orthogonal / independent": (gain, below(0.9)),
        }
    )


@claim(
    "Large scores are hard for random features. With 256 of them, half of the tokens' products "
    "with themselves come out below 0.05 of what they estimate where that is $e^8$, and half above "
    "0.7 of it where it is $e^1$.",
    source="our own measurement; Choromanski et al. (2021), lemma 2, on the variance",
)
def large_scores_need_more_features(g):
    medians = {}
    for score in (1, 8):
        x = smooth(g, 128, 16, score)
        draws = [
            estimate_ratios(x, orthogonal_random_matrix(256, 16, g)).diagonal() for _ in range(10)
        ]
        medians[score] = torch.cat(draws).median().item()
    return Measured(
        {
            "median share, score 1": (medians[1], above(0.7)),
            "median share, score 8": (medians[8], below(0.05)),
        }
    )


@claim(
    "Neither of two methods is better for all weights: for 256 tokens that change slowly, and an "
    "eighth as many keys or landmarks, Nyström's error is below that of Longformer where a token's "
    "score with itself is 2, and above it where it is 16.",
    source="our own measurement",
)
def none_is_best_for_all(g):
    mask = longformer_mask(256, 31, [0], g.device)
    ratio = {}
    for score in (2, 16):
        x, v = smooth(g, 256, 16, score), smooth(g, 256, 16, 4)
        exact = attention(x, x, v)
        errors = [
            error(z, exact, v) for z in (nystrom_attention(x, x, v, 32), attention(x, x, v, mask))
        ]
        ratio[score] = errors[0] / max(errors[1], 1e-9)
    return Measured(
        {
            "error, Nyström / Longformer, score 2": (ratio[2], below(1)),
            "score 16": (ratio[16], above(1)),
        }
    )
