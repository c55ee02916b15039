"""The claims of the chapter efficient."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import torch
from torch import Tensor
from torch.nn.functional import normalize

from attncourse.claims import Measured, claim
from attncourse.claims.dot_product import normal
from attncourse.cost import count
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.efficient import (
    bigbird_mask,
    cache_bytes,
    flash_attention,
    fold_in,
    grouped_query_attention,
    iterative_inverse,
    linformer_attention,
    log_features,
    longformer_mask,
    lsh_attention,
    nystrom_attention,
    performer_attention,
    random_directions,
    segment_means,
)

DAO = "Dao et al. (2022)"


def apart(x: Tensor, y: Tensor) -> float:
    """The largest difference between two tensors."""
    return (x - y).abs().max().item()


def with_gradients(form: Callable, parts: list[Tensor], toward: Tensor) -> list[Tensor]:
    """The output, and the gradients of all that went in."""
    leaves = [x.clone().requires_grad_() for x in parts]
    z = form(*leaves)
    return [z.detach(), *torch.autograd.grad(z, leaves, toward)]


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


def counted(form: Callable[..., Tensor], *parts: object) -> tuple[int, Tensor]:
    """The operations of a call, and what it gives."""
    given = []
    return count(lambda: given.append(form(*parts))).flops, given[0]


def tradeoff(g: torch.Generator, n: int, strength: float) -> dict[str, list[tuple[float, float]]]:
    """For each method, at several budgets: its share of attention's operations, and its error."""
    x, v = smooth(g, n, 16, strength), smooth(g, n, 16, 4)
    whole, exact = counted(attention, x, x, v)
    points = {}
    for r in (n // 32, n // 16, n // 8, n // 4):
        masks = {
            "Longformer": longformer_mask(n, r - 1, [0], g.device),
            "BigBird": bigbird_mask(n, r // 2 - 1, [0], r // 2, g),
        }
        for name, mask in masks.items():
            pairs, z = mask.double().mean().item(), attention(x, x, v, mask)
            points.setdefault(name, []).append((pairs, error(z, exact, v)))
        e, w = pooling(n, r, g.device), random_directions(r, 16, g)
        forms = {
            "Linformer": (linformer_attention, x, x, v, e, e),
            "Performer": (performer_attention, x, x, v, w),
            "Nyström": (nystrom_attention, x, x, v, r),
        }
        for name, (form, *parts) in forms.items():
            flops, z = counted(form, *parts)
            points.setdefault(name, []).append((flops / whole, error(z, exact, v)))
    # keys of length 1, and queries longer by as much: the scores stay, but for those with itself
    long, others = (
        x * x.norm(dim=-1, keepdim=True),
        ~torch.eye(n, dtype=torch.bool, device=x.device),
    )
    exact, points["Reformer"] = attention(x, x, v, others), []
    for rounds in (1, 2, 4):
        flops, z = counted(lsh_attention, long, v, n // 16, rounds, g)
        points["Reformer"].append((flops / whole, error(z, exact, v)))
    return points


@claim(
    "Attention block by block gives attention and its gradients, for blocks of 4 and 64 of 11 "
    "keys, under a mask with a row that allows no key, and causally.",
    source=f"{DAO}, theorem 1 (that the result is exact)",
)
def blocks_are_exact(g):
    *parts, toward = (normal(g, 2, 11, 8).double() for _ in range(4))
    mask, earlier = normal(g, 11, 11) > 0, causal_mask(11, g.device)
    mask[3] = False
    worst = {}
    for block, causal in product((4, 64), (False, True)):
        blocks = partial(flash_attention, mask=mask, causal=causal, block=block)
        whole = partial(attention, mask=mask & earlier if causal else mask)
        ours, theirs = (with_gradients(form, parts, toward) for form in (blocks, whole))
        worst[block] = max(worst.get(block, 0), *map(apart, ours, theirs))
    return Measured(
        {f"apart, blocks of {block}": off for block, off in worst.items()},
        "rounding, at most 1e-12",
        max(worst.values()) <= 1e-12,
    )


@claim(
    "The blocks of keys may come in any order: what is left at the end is attention.",
    source="Milakov & Gimelshein (2018), section 3: the step is associative",
)
def blocks_come_in_any_order(g):
    q, k, v = (normal(g, 20, 8).double() for _ in range(3))
    exact, differ = attention(q, k, v), {}
    for name, order in {"backwards": range(4, -1, -1), "mixed": (2, 0, 4, 1, 3)}.items():
        top, total, z = torch.full_like(q[:, :1], -1e9), 0 * q[:, :1], 0 * v
        for block in order:
            here = slice(4 * block, 4 * block + 4)
            top, total, z = fold_in(top, total, z, q @ k[here].mT / 8**0.5, v[here])
        differ[name] = apart(z / total, exact)
    return Measured(
        {f"apart, {name}": off for name, off in differ.items()},
        "rounding, at most 1e-12",
        max(differ.values()) <= 1e-12,
    )


@claim(
    "With d = 64, the largest tensor of attention in blocks of 128 is as large as the queries, and "
    "n/64 times smaller than that of attention written out. The operations are the same; in the "
    "causal case, of b by b blocks, b(b + 1)/2 are computed.",
    source=f"{DAO}, theorems 1 and 2, there with the traffic between memories; the count is ours",
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
        as_said &= apart(grouped_query_attention(q, k, v), attention(q, *wide)) <= 1e-12
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
        layers["window"] == 32
        and layers["with a global token"] == 2
        and layers["with random keys"] <= 6,
    )


@claim(
    "Whether the weights are nearly of low rank depends on the scores. For 256 tokens that change "
    "slowly, with the score 1 with themselves, fewer than 5 singular values hold 0.9 of the sum of "
    "their squares; with the score 32, more than 40 are needed.",
    source="Wang et al. (2020), section 3.1, measured there on trained models",
)
def low_rank_is_a_matter_of_scores(g):
    ranks = {}
    for strength in (1, 32):
        x = smooth(g, 256, 16, strength)
        squares = torch.linalg.svdvals(attention_weights(x, x).double()).square()
        ranks[strength] = (squares.cumsum(0) < 0.9 * squares.sum()).sum().item() + 1
    return Measured(
        {f"singular values, strength {strength}": rank for strength, rank in ranks.items()},
        "below 5; over 40",
        ranks[1] < 5 and ranks[32] > 40,
    )


@claim(
    "With means of stretches as mixtures, Linformer's error on 256 such tokens at strength 2 falls "
    "by more than half each time the number of mixtures doubles, from 8 to 64; with one for each "
    "key there is none. So does that of Nyström with as many landmarks, from 8 to 32.",
    source="Wang et al. (2020), section 4 (pooling, among others); Xiong et al. (2021), section 3",
)
def mixtures_and_landmarks_come_closer(g):
    n = 256
    x, v = smooth(g, n, 16, 2), smooth(g, n, 16, 4)
    exact, errors = attention(x, x, v), {"Linformer": [], "Nyström": []}
    for r in (8, 16, 32, 64, n):
        e = pooling(n, r, g.device)
        errors["Linformer"].append(error(linformer_attention(x, x, v, e, e), exact, v))
        if r <= 32:
            errors["Nyström"].append(error(nystrom_attention(x, x, v, r), exact, v))
    *falls, none = errors["Linformer"]
    halved = [b < a / 2 for few in (falls, errors["Nyström"]) for a, b in pairwise(few)]
    return Measured(
        {
            f"{name}, {r}": e
            for name, es in errors.items()
            for r, e in zip((8, 16, 32), es, strict=False)
        },
        f"each below half of the one before; rounding at r = {n}",
        all(halved) and none < 1e-4,
    )


@claim(
    "What one step of the iteration leaves missing, I - A Z, is (3 E³ + E⁴)/4, where E was missing "
    "before: the error is cubed, so that a few steps are enough.",
    source="Xiong et al. (2021), section 3; expanding the product",
)
def each_step_cubes_what_is_missing(g):
    a = attention_weights(normal(g, 8, 16).double() * 3, normal(g, 8, 16).double())
    one = torch.eye(8, dtype=a.dtype, device=a.device)
    missing = [one - a @ iterative_inverse(a, steps) for steps in (3, 4)]
    cubed = torch.linalg.matrix_power(missing[0], 3)
    off = apart(missing[1], (3 * cubed + missing[0] @ cubed) / 4)
    return Measured(
        {"largest entry missing before": apart(missing[0], 0 * one), "off by": off},
        "over 0.01; rounding, at most 1e-9",
        off <= 1e-9 and apart(missing[0], 0 * one) > 0.01,
    )


def kernel_error(x: Tensor, w: Tensor) -> tuple[float, float]:
    """Of the products of features, as shares of what they estimate: the mean error, its size."""
    features, want = log_features(x, w).exp(), (x @ x.mT / x.shape[-1] ** 0.5).exp()
    shares = features @ features.mT / want - 1
    return shares.mean().item(), shares.square().mean().item()


@claim(
    "The products of random positive features are right on average: over 100 draws of 256, their "
    "mean is off by less than 0.02 of what they estimate. With 16 times as many features, the "
    "root mean square error is 3 to 5.5 times smaller: about the root of 16.",
    source="Choromanski et al. (2021), lemma 1 (right on average)",
)
def features_are_right_on_average(g):
    x, errors = 0.35 * normal(g, 64, 16), {}
    for r in (16, 256):
        draws = torch.tensor([kernel_error(x, random_directions(r, 16, g)) for _ in range(100)])
        errors[r] = draws.mean(0).tolist()
    ratio = (errors[16][1] / errors[256][1]) ** 0.5
    return Measured(
        {"mean error, 256": errors[256][0], "root mean square, 16 / 256": ratio},
        "below 0.02 in size; from 3 to 5.5",
        abs(errors[256][0]) < 0.02 and 3 < ratio < 5.5,
    )


@claim(
    "Large scores are hard for random features: with 256 of them, the root mean square error of "
    "the products is below half of what they estimate at strength 1, and over half at strength 8.",
    source="our own measurement; Choromanski et al. (2021), lemma 2, on the variance",
)
def large_scores_need_more_features(g):
    sizes = {}
    for strength in (1, 8):
        x = smooth(g, 128, 16, strength)
        draws = [kernel_error(x, random_directions(256, 16, g))[1] for _ in range(10)]
        sizes[strength] = (sum(draws) / 10) ** 0.5
    return Measured(
        {f"root mean square error, strength {s}": size for s, size in sizes.items()},
        "below 0.5; over 0.5",
        sizes[1] < 0.5 < sizes[8],
    )


@claim(
    "For 256 such tokens at strength 8, the error of LSH attention in 16 buckets falls by more "
    "than half from 1 round to 4, and again from 4 to 16.",
    source="Kitaev et al. (2020), section 2, on several rounds; the measure is ours",
)
def more_rounds_come_closer(g):
    x, v = smooth(g, 256, 16, 8), smooth(g, 256, 16, 4)
    others = ~torch.eye(256, dtype=torch.bool, device=x.device)
    exact, long = attention(x, x, v, others), x * x.norm(dim=-1, keepdim=True)
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
    "No method is best for all: for 256 tokens and an eighth as many keys, mixtures or landmarks, "
    "Nyström's error is below that of Longformer at strength 2, and above it at strength 16.",
    source="our own measurement",
)
def none_is_best_for_all(g):
    n, errors = 256, {}
    for strength in (2, 16):
        x, v = smooth(g, n, 16, strength), smooth(g, n, 16, 4)
        exact, mask = attention(x, x, v), longformer_mask(n, n // 8 - 1, [0], g.device)
        errors["Longformer", strength] = error(attention(x, x, v, mask), exact, v)
        errors["Nyström", strength] = error(nystrom_attention(x, x, v, n // 8), exact, v)
    return Measured(
        {f"error, {name}, strength {s}": size for (name, s), size in errors.items()},
        "Nyström smaller; Longformer smaller",
        errors["Nyström", 2] < errors["Longformer", 2]
        and errors["Longformer", 16] < errors["Nyström", 16],
    )
