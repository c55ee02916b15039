"""The claims of the chapter efficient."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import torch
from torch import Tensor
from torch.nn.functional import normalize

from attncourse.claims import Measured, claim
from attncourse.claims.dot_product import normal
from attncourse.claims.relative import max_abs_diff
from attncourse.cost import count
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.efficient import (
    bigbird_mask,
    cache_bytes,
    flash_attention,
    grouped_query_attention,
    iterative_pinv,
    linformer_attention,
    log_positive_features,
    longformer_mask,
    lsh_attention,
    nystrom_attention,
    online_softmax_update,
    orthogonal_random_matrix,
    performer_attention,
    segment_means,
)


def with_gradients(form: Callable, parts: list[Tensor], grad_output: Tensor) -> list[Tensor]:
    """The output, and the gradients of all that went in."""
    leaves = [x.clone().requires_grad_() for x in parts]
    z = form(*leaves)
    return [z.detach(), *torch.autograd.grad(z, leaves, grad_output)]


def smooth(g: torch.Generator, n: int, d: int, strength: float) -> Tensor:
    """Tokens that change slowly along the sequence; each has the score `strength` with itself."""
    position = torch.arange(n, device=g.device)
    near = torch.exp(-((position - position[:, None]) ** 2) / 128)
    return normalize(near @ normal(g, n, d), dim=-1) * (strength * d**0.5) ** 0.5


def error(z: Tensor, exact: Tensor, v: Tensor) -> float:
    """How far z is from exact, where 1 is as far as the mean of all values, for every query."""
    return ((z - exact).norm() / (v.mean(-2) - exact).norm()).item()


def pooling(n: int, r: int, device: torch.device) -> Tensor:
    """Each of r rows takes the mean of a stretch of n tokens."""
    return segment_means(torch.eye(n, device=device), r)


def tradeoff(g: torch.Generator, n: int, strength: float) -> dict[str, list[tuple[float, float]]]:
    """For each method, at several budgets: its share of attention's operations, and its error."""
    x, v = smooth(g, n, 16, strength), smooth(g, n, 16, 4)
    whole, exact = count(attention, x, x, v).flops, attention(x, x, v)
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
        for name, (form, *parts) in forms.items():
            share = count(form, *parts).flops / whole
            points.setdefault(name, []).append((share, error(form(*parts), exact, v)))
    # keys of length 1, and queries longer by as much: the scores stay, but for those with itself
    long, others = x * x.norm(dim=-1, keepdim=True), torch.eye(n, device=x.device) == 0
    exact, points["Reformer"] = attention(x, x, v, others), []
    for rounds in (1, 2, 4):
        parts = long, v, n // 16, rounds, g
        share = count(lsh_attention, *parts).flops / whole
        points["Reformer"].append((share, error(lsh_attention(*parts), exact, v)))
    return points


@claim(
    "Attention block by block gives attention and its gradients, for blocks of 4 and 64 of 11 "
    "keys, under a mask with a row that allows no key, and causally.",
    source="Dao et al. (2022), theorem 1 (that the result is exact)",
)
def blocks_are_exact(g):
    *parts, grad_output = (normal(g, 2, 11, 8).double() for _ in range(4))
    mask, earlier = normal(g, 11, 11) > 0, causal_mask(11, g.device)
    mask[3] = False
    worst = {}
    for block, causal in product((4, 64), (False, True)):
        blocks = partial(flash_attention, mask=mask, causal=causal, block=block)
        whole = partial(attention, mask=mask & earlier if causal else mask)
        ours, theirs = (with_gradients(form, parts, grad_output) for form in (blocks, whole))
        worst[block] = max(worst.get(block, 0), *map(max_abs_diff, ours, theirs))
    return Measured(
        {f"apart, blocks of {block}": off for block, off in worst.items()},
        "rounding, at most 1e-12",
        max(worst.values()) <= 1e-12,
    )


@claim(
    "The blocks of keys may come in any order, and may be folded in two parts that are merged: "
    "what is left at the end is attention.",
    source="Milakov & Gimelshein (2018), section 3.1: the step is associative",
)
def blocks_come_in_any_order(g):
    q, k, v = (normal(g, 20, 8).double() for _ in range(3))

    def folded(order):
        state = torch.full_like(q[:, :1], -1e9), 0 * q[:, :1], 0 * v
        for here in (slice(4 * block, 4 * block + 4) for block in order):
            state = online_softmax_update(*state, q @ k[here].mT / 8**0.5, v[here])
        return state

    a, b = folded((0, 3)), folded((4, 1, 2))
    highest = torch.maximum(a[0], b[0])
    fades = [(part[0] - highest).exp() for part in (a, b)]
    merged = [fades[0] * x + fades[1] * y for x, y in zip(a, b, strict=True)]
    ends = {"backwards": folded((4, 3, 2, 1, 0)), "mixed": folded((2, 0, 4, 1, 3)), "two": merged}
    differ = {
        name: max_abs_diff(z / total, attention(q, k, v)) for name, (_, total, z) in ends.items()
    }
    return Measured(
        {f"apart, {name}": off for name, off in differ.items()},
        "rounding, at most 1e-12",
        max(differ.values()) <= 1e-12,
    )


@claim(
    "With d = 64 and n = 128 b, b at least 2, the largest tensor of attention in blocks of 128 is "
    "as large as the queries, and n/64 times smaller than that of attention written out. The "
    "products take as many operations; if causal, b(b + 1)/2 of b by b blocks are computed.",
    source="Dao et al. (2022), theorems 1 and 2, on memory and its traffic; the count is ours",
)
def blocks_save_memory_not_operations(g):
    ratios, as_said = {}, True
    for n in (256, 512):
        x = torch.empty(n, 64, device="meta")
        plain, blocks = count(attention, x, x, x), count(flash_attention, x, x, x)
        causal, b = count(flash_attention, x, x, x, causal=True), n // 128
        ratios[f"largest, plain / blocks, n = {n}"] = plain.largest / blocks.largest
        as_said &= plain.largest * 64 == blocks.largest * n and blocks.flops == plain.flops
        as_said &= causal.flops * 2 * b == plain.flops * (b + 1)
    return Measured(ratios, "exactly n/64: 4, 8; the same operations", as_said)


@claim(
    "32 heads that share keys and values in 8 groups, or in one, keep a cache 4 or 32 times "
    "smaller, and take exactly as many operations in the attention itself. With repeated keys and "
    "values, 32 separate heads give the same output.",
    source="Shazeer (2019), section 3; Ainslie et al. (2023), section 2.2",
)
def sharing_saves_bytes_not_operations(g):
    n, heads, d = 24, 32, 8
    q = normal(g, heads, 5, d).double()
    whole = cache_bytes(n, 1, heads, d, q.dtype)
    ratios, as_said = {}, True
    for groups in (8, 1):
        k, v = (normal(g, groups, n, d).double() for _ in "kv")
        wide = [x.repeat_interleave(heads // groups, dim=0) for x in (k, v)]
        as_said &= count(grouped_query_attention, q, k, v).flops == count(attention, q, *wide).flops
        as_said &= max_abs_diff(grouped_query_attention(q, k, v), attention(q, *wide)) <= 1e-12
        ratios[f"bytes, 32 / {groups}"] = whole / cache_bytes(n, 1, groups, d, q.dtype)
        as_said &= cache_bytes(n, 1, groups, d, q.dtype) == 8 * (k.numel() + v.numel())
    return Measured(ratios, "exactly 4 and 32; the same operations and output", as_said)


@claim(
    "In Longformer's pattern, with a window of 9 and one global token, each token more adds 11 "
    "pairs, however long the sequence is. Of all pairs, over half are left at n = 16, and below "
    "0.006 at n = 2048.",
    source="Beltagy et al. (2020), section 3.1; the count is ours",
)
def pairs_grow_with_the_length(g):
    pairs = {n: longformer_mask(n, 9, [0], g.device).sum().item() for n in (16, 17, 1024, 2048)}
    added = {(a, b): (pairs[b] - pairs[a]) / (b - a) for a, b in ((16, 17), (1024, 2048))}
    share = {n: pairs[n] / n**2 for n in (16, 2048)}
    return Measured(
        {f"pairs a token, from {a} to {b}": by for (a, b), by in added.items()}
        | {f"share, n = {n}": by for n, by in share.items()},
        "exactly 11, twice; over 0.5; below 0.006",
        set(added.values()) == {11} and share[16] > 0.5 and share[2048] < 0.006,
    )


def layers_until_all_are_reached(mask: Tensor) -> int:
    """How many layers it takes until every output depends on every token."""
    reached, layers = mask.float(), 1
    while not reached.all():
        reached, layers = (reached @ mask.float()).clamp(max=1), layers + 1
    return layers


@claim(
    "Of 129 tokens, each with a window of 9, the first reaches the last after 32 layers; with one "
    "global token all reach each other after 2, and with 3 random keys each, without a global "
    "token, after at most 6.",
    source="Zaheer et al. (2020), section 2, on graphs with short paths; the count is ours",
)
def few_layers_reach_everything(g):
    window, hub = (longformer_mask(129, 9, tokens, g.device) for tokens in ([], [0]))
    layers = {
        "window": layers_until_all_are_reached(window),
        "with a global token": layers_until_all_are_reached(hub),
        "with random keys": layers_until_all_are_reached(bigbird_mask(129, 9, [], 3, g)),
    }
    return Measured(
        {f"layers, {name}": number for name, number in layers.items()},
        "exactly 128/4 = 32; exactly 2; at most 6",
        [*layers.values()][:2] == [32, 2] and layers["with random keys"] <= 6,
    )


def singular_values(weights: Tensor) -> int:
    """How many of them hold 0.9 of the sum of their squares."""
    squares = torch.linalg.svdvals(weights.double()).square()
    return (squares.cumsum(0) < 0.9 * squares.sum()).sum().item() + 1


@claim(
    "Whether the weights are nearly of low rank depends on the scores. For 256 tokens that change "
    "slowly, with the score 1 with themselves, fewer than 5 singular values hold 0.9 of the sum of "
    "their squares; with the score 32, more than 40 are needed.",
    source="Wang et al. (2020), section 3, measured there on trained models",
)
def low_rank_is_a_matter_of_scores(g):
    xs = {strength: smooth(g, 256, 16, strength) for strength in (1, 32)}
    ranks = {strength: singular_values(attention_weights(x, x)) for strength, x in xs.items()}
    return Measured(
        {f"singular values, score {strength}": rank for strength, rank in ranks.items()},
        "below 5; over 40",
        ranks[1] < 5 and ranks[32] > 40,
    )


@claim(
    "Weights of low rank are not enough: for 256 independent tokens, each with the score 2 with "
    "itself, 11 or 12 singular values hold 0.9 of the sum of squares, and yet the error of "
    "Linformer with 64 means of stretches, and of Nyström with 64 landmarks, is over 0.4, where "
    "that of the mean of all values is 1.",
    source="our own measurement",
)
def low_rank_is_not_enough(g):
    x, v = (normalize(normal(g, 256, 16), dim=-1) * 8**0.5 for _ in "xv")
    rank, exact = singular_values(attention_weights(x, x)), attention(x, x, v)
    e = pooling(256, 64, g.device)
    lin = error(linformer_attention(x, x, v, e, e), exact, v)
    nys = error(nystrom_attention(x, x, v, 64), exact, v)
    return Measured(
        {"singular values": rank, "error, Linformer": lin, "error, Nyström": nys},
        "11 or 12; each over 0.4",
        rank in (11, 12) and min(lin, nys) > 0.4,
    )


@claim(
    "For 256 tokens that change slowly, each with the score 2 with itself, and means of stretches "
    "as mixtures, Linformer's error falls by more than half each time the number of mixtures "
    "doubles, from 8 to 64; with one for each key there is none. So does that of Nyström with as "
    "many landmarks, from 8 to 32. With 128 it is still over half of that with 32, unless the "
    "inverse takes 12 steps instead of six: then it is below a tenth.",
    source="Wang et al. (2020), section 4 (pooling, among others); Xiong et al. (2021)",
)
def mixtures_and_landmarks_come_closer(g):
    x, v = smooth(g, 256, 16, 2), smooth(g, 256, 16, 4)
    exact, lin, nys = attention(x, x, v), {}, {}
    for r in (8, 16, 32, 64, 256):
        e = pooling(256, r, g.device)
        lin[r] = error(linformer_attention(x, x, v, e, e), exact, v)
    for r, steps in ((8, 6), (16, 6), (32, 6), (128, 6), (128, 12)):
        nys[r, steps] = error(nystrom_attention(x, x, v, r, steps), exact, v)
    *falls, none = lin.values()
    *fall, few, many, better = nys.values()
    return Measured(
        {f"Linformer, {r}": e for r, e in lin.items()}
        | {f"Nyström, {r}, {steps} steps": e for (r, steps), e in nys.items()},
        "each below half of the one before; rounding at 256; Nyström with 128, over half of that "
        "with 32; below a tenth of it",
        all(b < a / 2 for es in (falls, [*fall, few]) for a, b in pairwise(es))
        and (none < 1e-4 and many > few / 2 and better < few / 10),
    )


@claim(
    "What one step of the iteration leaves missing, I - A Y, is (3 E³ + E⁴)/4, where E was missing "
    "before: what is missing is cubed.",
    source="expanding the iteration of Xiong et al. (2021)",
)
def each_step_cubes_what_is_missing(g):
    a = attention_weights(normal(g, 8, 16).double() * 3, normal(g, 8, 16).double())
    one = torch.eye(8, dtype=a.dtype, device=a.device)
    missing = [one - a @ iterative_pinv(a, steps) for steps in (3, 4)]
    cubed = torch.linalg.matrix_power(missing[0], 3)
    off = max_abs_diff(missing[1], (3 * cubed + missing[0] @ cubed) / 4)
    return Measured(
        {"largest entry missing before": max_abs_diff(missing[0], 0 * one), "off by": off},
        "over 0.01; rounding, at most 1e-9",
        off <= 1e-9 and max_abs_diff(missing[0], 0 * one) > 0.01,
    )


def shares(x: Tensor, w: Tensor) -> Tensor:
    """The products of features, as shares of what they estimate."""
    features = log_positive_features(x, w).exp()
    return features @ features.mT / (x @ x.mT / x.shape[-1] ** 0.5).exp()


@claim(
    "The products of random positive features are right on average: over 100 draws of 256, their "
    "mean is off by less than 0.005 of what they estimate. With 16 times as many features, the "
    "root mean square error is 3 to 5.5 times smaller: about the root of 16. Orthogonal directions "
    "make the mean square error more than a tenth smaller than independent ones.",
    source="Choromanski et al. (2021), lemma 1 (right on average) and theorem 2 (orthogonal)",
)
def features_are_right_on_average(g):
    x, off = 0.35 * normal(g, 64, 16), {}
    for r in (16, 256):
        draws = [shares(x, orthogonal_random_matrix(r, 16, g)) - 1 for _ in range(100)]
        off[r] = torch.stack(draws)
    off["alone"] = torch.stack([shares(x, normal(g, 256, 16)) - 1 for _ in range(100)])
    bias, square = off[256].mean().item(), {of: x.square().mean().item() for of, x in off.items()}
    ratio, gain = (square[16] / square[256]) ** 0.5, square[256] / square["alone"]
    return Measured(
        {"mean error": bias, "root mean square, 16 / 256": ratio, "orthogonal / not": gain},
        "below 0.005 in size; from 3 to 5.5; below 0.9",
        abs(bias) < 0.005 and 3 < ratio < 5.5 and gain < 0.9,
    )


@claim(
    "Large scores are hard for random features: with 256 of them, half of all tokens' products "
    "with themselves come out below 0.05 of what they estimate where that is the exponential of 8, "
    "and half above 0.7 of it where it is that of 1.",
    source="our own measurement; Choromanski et al. (2021), lemma 2, on the variance",
)
def large_scores_need_more_features(g):
    middle = {}
    for score in (1, 8):
        x = smooth(g, 128, 16, score)
        draws = [shares(x, orthogonal_random_matrix(256, 16, g)).diagonal() for _ in range(10)]
        middle[score] = torch.cat(draws).median().item()
    return Measured(
        {f"median share, score {score}": share for score, share in middle.items()},
        "over 0.7; below 0.05",
        middle[1] > 0.7 and middle[8] < 0.05,
    )


@claim(
    "For 256 tokens that change slowly, each with the score 8 with itself, the error of LSH "
    "attention in 16 buckets falls by more than half from 1 round to 4, and again from 4 to 16.",
    source="Kitaev et al. (2020), section 2, on several rounds; the measure is ours",
)
def more_rounds_come_closer(g):
    x, v = smooth(g, 256, 16, 8), smooth(g, 256, 16, 4)
    others, long = torch.eye(256, device=x.device) == 0, x * x.norm(dim=-1, keepdim=True)
    exact = attention(x, x, v, others)
    errors = {
        rounds: sum(error(lsh_attention(long, v, 16, rounds, g), exact, v) for _ in range(3)) / 3
        for rounds in (1, 4, 16)
    }
    return Measured(
        {f"error, {rounds} rounds": size for rounds, size in errors.items()},
        "each below half of the one before",
        2 * errors[4] < errors[1] and 2 * errors[16] < errors[4],
    )


@claim(
    "No method is best for all: for 256 tokens that change slowly, and an eighth as many keys or "
    "landmarks, Nyström's error is below that of Longformer where a token's score with itself is "
    "2, and above it where it is 16.",
    source="our own measurement",
)
def none_is_best_for_all(g):
    mask, errors = longformer_mask(256, 31, [0], g.device), {}
    for score in (2, 16):
        x, v = smooth(g, 256, 16, score), smooth(g, 256, 16, 4)
        exact = attention(x, x, v)
        errors["Longformer", score] = error(attention(x, x, v, mask), exact, v)
        errors["Nyström", score] = error(nystrom_attention(x, x, v, 32), exact, v)
    return Measured(
        {f"error, {name}, score {s}": size for (name, s), size in errors.items()},
        "Nyström smaller; Longformer smaller",
        errors["Nyström", 2] < errors["Longformer", 2]
        and errors["Longformer", 16] < errors["Nyström", 16],
    )
