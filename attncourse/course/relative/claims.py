"""The claims of the chapter relative."""

from collections.abc import Callable

import torch
from torch import Tensor

from attncourse import english
from attncourse.cost import count
from attncourse.course.claim import Measured, about, above, at_most, below, between, claim, exactly
from attncourse.course.dot_product.claims import normal
from attncourse.course.multi_head.claims import weights_of_the_model
from attncourse.dot_product import attention, masked_softmax
from attncourse.positional import SinusoidalEncoding
from attncourse.relative import (
    alibi_bias,
    causal_skew,
    relative_attention,
    relative_attention_dense,
    relative_attention_gather,
    relative_attention_loops,
    relative_index,
    rope,
    sinusoidal_relative,
    skew,
    t5_buckets,
)

SHAW = "Shaw et al. (2018)"
ROUNDING = at_most(1e-12, "rounding")


def inputs(g: torch.Generator, n: int, d: int, max_distance: int) -> list[Tensor]:
    """q, k, v and the two tables, in float64."""
    shapes = [(n, d)] * 3 + [(2 * max_distance + 1, d)] * 2
    return [normal(g, *shape).double() for shape in shapes]


def scores_by_offset(device: torch.device, count: int = 24, texts: int = 24) -> Tensor:
    """A trained model's scores for tokens up to `count` - 1 back, in texts that it never saw.

    Of shape (blocks, heads, queries, count), less the mean of each query, which the softmax does
    not see.
    """
    windows = english.held_out_windows(device)[:texts]
    weights = english.head_weights(english.model("english", device), windows).double()
    offsets = torch.arange(count, device=device)
    # queries that have so many tokens of text before them
    queries = torch.arange(1 + count, windows.shape[1], device=device)[:, None]
    scores = weights[..., queries, queries - offsets].log()
    return (scores - scores.mean(-1, keepdim=True)).transpose(1, 2).flatten(2, 3)


def explained_share(scores: Tensor) -> Tensor:
    """The share of the scores' variance within a query that their mean by offset explains."""
    return scores.mean(-2).square().mean(-1) / scores.square().mean((-2, -1))


def beside_the_offset(device: torch.device | None = None) -> Tensor:
    """The weights of each head when “today” asks, and those that the offsets alone would give.

    Of shape (blocks, heads, tokens so far, 2); alone, each offset has its mean score in texts.
    """
    asks = 2 + english.token_index("today")
    weights = weights_of_the_model(device)[..., asks, : asks + 1]
    scores = scores_by_offset(weights.device).mean(-2)
    alone = scores[..., : asks + 1].flip(-1).softmax(-1)
    return torch.stack([weights, alone.float()], dim=-1)


@claim(
    "Of the 16 heads of a trained model, which scores tokens up to 23 back, the offset alone "
    "explains more than three quarters of the variance of the scores in one, head 0 of block 1. "
    "In another, head 2 of block 1, it explains less than a tenth. In each of the others, its "
    "share lies between these two.",
    source="our own measurement",
)
def heads_differ_in_what_the_offset_explains(g):
    shares = explained_share(scores_by_offset(g.device))
    largest, smallest = shares[1, 0].item(), shares[1, 2].item()
    other_shares = [
        share for share in shares.flatten().tolist() if share not in (largest, smallest)
    ]
    return Measured(
        {
            "block 1, head 0": (largest, above(0.75)),
            "block 1, head 2": (smallest, below(0.1)),
            "the others": (other_shares, between(smallest, largest)),
        }
    )


def max_abs_diff(x: Tensor, y: Tensor) -> float:
    """The largest difference between two tensors."""
    return (x - y).abs().max().item()


@claim(
    "The loops, the dense form, the form that looks up, and the form in blocks give the same "
    "outputs and the same gradients of $q$, $k$, $v$ and both tables, also under a mask with a "
    "row that allows no key. All four are compared on 9 tokens, and all but the loops on 300, "
    "which are three blocks.",
    source=f"{SHAW}, eq. 3-5",
)
def all_forms_are_one(g):
    looking_up = {"gather": relative_attention_gather, "blocks": relative_attention}
    errors, empty = {}, []
    # the loops are too slow for several blocks; there, the dense form stands for them
    for n, by_pair in ((9, relative_attention_loops), (300, relative_attention_dense)):
        tensors = inputs(g, n, 4, 3)
        mask = normal(g, n, n) > 0
        weight = normal(g, n, 4).double()
        mask[2] = False
        forms = {"by pair": by_pair, "dense": relative_attention_dense} | looking_up
        results = {}
        for name, form in forms.items():
            leaves = [x.clone().requires_grad_() for x in tensors]
            out = form(*leaves, mask=mask)
            results[name] = [out.detach(), *torch.autograd.grad((out * weight).sum(), leaves)]
        expected = results.pop("by pair")
        empty.append(expected[0][2].abs().max().item())
        for name, by_length in results.items():
            errors[name] = max(errors.get(name, 0), *map(max_abs_diff, expected, by_length))
    return Measured(
        {f"{name}: off by at most": (error, ROUNDING) for name, error in errors.items()}
        | {"output of the query that may attend nowhere": (empty, exactly(0))}
    )


@claim(
    "A table of $2k + 1$ rows serves every length. Of $n^2$ pairs, $(n - k)(n - k + 1)/2$ share "
    "the first row and as many share the last: at $k = 16$, over half of all pairs at $n = 100$, "
    "and over 0.96 of them at $n = 1000$.",
    source=f"{SHAW}, section 3.2 (the clipping); the shares are counted",
)
def the_end_rows_serve_most_pairs(g):
    max_distance = 16
    shares, differences, used = {}, [], []
    for n in (100, 1000):
        rows = relative_index(n, max_distance, g.device)
        ends = [(rows == row).sum().item() for row in (0, 2 * max_distance)]
        shares[n] = sum(ends) / n**2
        formula = (n - max_distance) * (n - max_distance + 1) / 2
        differences += [pairs - formula for pairs in ends]
        used.append(float(len(rows.unique())))
    return Measured(
        {
            "share of the two end rows, $n = 100$": (shares[100], above(0.5)),
            "share of the two end rows, $n = 1000$": (shares[1000], above(0.96)),
            "pairs of an end row, less those stated": (differences, exactly(0)),
            "rows in use": (used, exactly(2 * max_distance + 1)),
        }
    )


@claim(
    "Swap two keys, with their values, that lie $k$ or more before a query, and the query's "
    "output stays the same. Swap two of which one is nearer, and the output changes.",
    source=f"{SHAW}, section 3.2",
)
def order_beyond_max_distance_is_lost(g):
    q, k, v, a_k, a_v = inputs(g, 12, 8, 3)
    out = relative_attention(q[11:], k, v, a_k, a_v)
    changes = {}
    # the query is token 11 and max_distance is 3: token 8 is the nearest without a row of its own
    for label, (i, j) in {"beyond": (1, 8), "within": (8, 9)}.items():
        order = torch.arange(12)
        order[i], order[j] = j, i
        swapped = relative_attention(q[11:], k[order], v[order], a_k, a_v)
        changes[label] = max_abs_diff(out, swapped)
    return Measured(
        {
            "change if both are $k$ or more away": (changes["beyond"], ROUNDING),
            "change if one is nearer": (changes["within"], above(1e-3)),
        }
    )


@claim(
    "The keys' table can decide where to look. Let the first component be 1 in every query and 0 "
    "in every key. Then a large entry for it in the row of offset $-1$, here 100, makes every "
    "query but the first give over 0.999 of its weight to the token before it, whatever its other "
    "components are. The values' table leaves every weight as it is without positions, although "
    "it changes the outputs.",
    source=f"{SHAW}, eq. 3 and 4",
)
def a_keys_table_can_point_to_the_token_before(g):
    q, k, _, a_k, a_v = inputs(g, 10, 8, 2)
    q[:, 0], k[:, 0], a_k[:] = 1, 0, 0
    a_k[1, 0] = 100
    tokens = torch.eye(10, dtype=q.dtype, device=g.device)
    weight_before = relative_attention(q, k, tokens, a_k, None).diagonal(-1).min().item()
    # the values' vectors go to columns of their own, so that the first ten hold the weights
    wide, a_v = torch.cat([tokens, 0 * q], -1), torch.cat([a_v.new_zeros(5, 10), a_v], -1)
    out, weights = relative_attention(q, k, wide, None, a_v), attention(q, k, tokens)
    return Measured(
        {
            "least weight of the token before": (weight_before, above(0.999)),
            "values' table: change of a weight": (max_abs_diff(out[:, :10], weights), ROUNDING),
            "values' table: largest number added": (out[:, 10:].abs().max().item(), above(0.1)),
        }
    )


@claim(
    "Only the differences between the rows of the keys' table count: add one vector $c$ to every "
    "row, and nothing changes. Add $c$ to every row of the values' table, and the output of every "
    "query that may attend somewhere moves by $c$; the output of one that may not stays 0.",
    source="the softmax sees only differences of scores, and weights sum to 1, or all are 0",
)
def only_differences_of_rows_count(g):
    q, k, v, a_k, a_v = inputs(g, 10, 8, 3)
    c = normal(g, 8).double()
    mask = torch.ones(10, 10, dtype=torch.bool, device=g.device)
    mask[4] = False
    out = relative_attention(q, k, v, a_k, a_v, mask)
    expected = out + c * mask.any(-1, keepdim=True)
    by_key = relative_attention(q, k, v, a_k + c, a_v, mask)
    by_value = relative_attention(q, k, v, a_k, a_v + c, mask)
    by_one_row = relative_attention(q, k, v, torch.cat([a_k[:1] + c, a_k[1:]]), a_v, mask)
    return Measured(
        {
            "change by $c$ in all rows, keys": (max_abs_diff(out, by_key), ROUNDING),
            "off $c$, or 0: by $c$ in all rows, values": (
                max_abs_diff(expected, by_value),
                ROUNDING,
            ),
            "change by $c$ in one row, keys": (max_abs_diff(out, by_one_row), above(1e-3)),
        }
    )


def scores_by_pair(q: Tensor, k: Tensor, a_k: Tensor) -> Tensor:
    """The scores, from a key vector made for each pair in each head."""
    index = relative_index(k.shape[-2], len(a_k) // 2, q.device)
    keys = k[..., None, :, :] + a_k[index]
    return (keys @ q[..., None]).squeeze(-1) / q.shape[-1] ** 0.5


def meta_inputs(*leading: int, n: int, d: int, max_distance: int) -> list[Tensor]:
    """q, k, v and the two tables as shapes without numbers, for counting."""
    shapes = [(*leading, n, d)] * 3 + [(2 * max_distance + 1, d)] * 2
    return [torch.empty(shape, device="meta") for shape in shapes]


@claim(
    "With 4 sequences of 1024 tokens, 8 heads, $d = 64$ and float32, a key vector for each pair in "
    "each head is a tensor of 8 GiB. The largest tensor of the dense form has 1/4 GiB, and that of "
    "the form that looks up is no larger than the scores, 1/8 GiB.",
    source=f"{SHAW}, section 3.3 (there $O(h n^2 d)$ to $O(n^2 d)$, by sharing between heads)",
)
def only_two_forms_hold_a_vector_per_pair(g):
    q, k, v, a_k, a_v = meta_inputs(4, 8, n=1024, d=64, max_distance=16)
    gib = {
        "a vector for each pair and head": (count(scores_by_pair, q, k, a_k), 8),
        "dense": (count(relative_attention_dense, q, k, v, a_k, a_v), 1 / 4),
        "gather": (count(relative_attention_gather, q, k, v, a_k, a_v), 1 / 8),
    }
    return Measured(
        {
            f"GiB, {name}": (4 * cost.largest / 2**30, exactly(expected))
            for name, (cost, expected) in gib.items()
        }
    )


def with_gradients(form: Callable[..., Tensor], tensors: list[Tensor]) -> None:
    """Call a form, and compute the gradients of its inputs."""
    out = form(*(x.requires_grad_() for x in tensors))
    out.backward(torch.empty_like(out))


@claim(
    "At a fixed maximum distance and without a mask, the largest tensor of the form in blocks of "
    "128 queries grows with $n$, not with $n^2$, also with gradients. Where $d$ and $2k + 1$ are "
    "at most 128, it has $128/n$ as many elements, from $n = 128$ on, as the largest tensor of "
    "attention without positions and of the form that looks up. Without gradients, its matrix "
    "products take as many operations as the latter's.",
    source="blocks of queries, computed again: Rabe & Staats (2021); the count is ours",
)
def blocks_hold_no_scores(g):
    plain, gather, operations = [], [], []
    for n in (128, 256, 512, 1024):
        tensors = meta_inputs(4, 8, n=n, d=64, max_distance=16)
        blocks = count(with_gradients, relative_attention, tensors).largest * n / 128
        plain.append(count(with_gradients, attention, tensors[:3]).largest / blocks)
        gather.append(count(with_gradients, relative_attention_gather, tensors).largest / blocks)
        forward = [
            count(f, *tensors).flops for f in (relative_attention_gather, relative_attention)
        ]
        operations.append(forward[1] / forward[0])
    return Measured(
        {
            "$128/n$ of plain attention's largest, to the blocks'": (plain, exactly(1)),
            "$128/n$ of gather's largest, to the blocks'": (gather, exactly(1)),
            "operations of the blocks, to gather's": (operations, exactly(1)),
        }
    )


@claim(
    "Without gradients, the matrix products of the form that looks up take $1 + (2k + 1)/n$ times "
    "the operations of attention without positions, so the tables add little where they are much "
    "shorter than the sequence. Those of the dense form take exactly twice as many, at any $k$.",
    source="per head, $2 n^2 d$ for $q \\cdot k$ and $2 n (2k + 1) d$ for $q \\cdot a$; the same "
    "again for the values",
)
def the_tables_cost_few_operations(g):
    rows = {}
    for n, max_distance in ((64, 16), (1024, 16), (1024, 64)):
        tensors = meta_inputs(8, n=n, d=64, max_distance=max_distance)
        plain = count(attention, *tensors[:3]).flops
        expected = exactly(1 + (2 * max_distance + 1) / n)
        gather = count(relative_attention_gather, *tensors).flops / plain
        dense = count(relative_attention_dense, *tensors).flops / plain
        rows[f"gather to plain, $n = {n}$, $k = {max_distance}$"] = gather, expected
    return Measured(rows | {"dense to plain": (dense, exactly(2))})


@claim(
    "The skew puts the product for the offset $j - i$ at row $i$, column $j$, for all $n^2$ "
    "pairs. The causal skew does so for the $n(n + 1)/2$ pairs with $j \\le i$, and leaves 0 "
    "elsewhere.",
    source="Huang et al. (2019), section 3.4.1, for earlier keys; Bello et al. (2019) for all",
)
def the_skew_looks_up_without_an_index(g):
    n = 7
    x = normal(g, 2, n, 2 * n - 1)
    position = torch.arange(n, device=g.device)
    index = position - position[:, None] + n - 1
    expected = x.gather(-1, index.expand(2, n, n))
    full, causal = skew(x), causal_skew(x[..., :n])
    return Measured(
        {
            "skew: numbers in a wrong place": ((full != expected).sum().item(), exactly(0)),
            "causal skew: the same": ((causal != expected.tril()).sum().item(), exactly(0)),
            "pairs where the two differ": ((causal != full)[0].sum().item(), exactly(21)),
        }
    )


def family(
    g: torch.Generator, d: int, max_distance: int = 2
) -> dict[str, Callable[[Tensor, Tensor], Tensor]]:
    """The scores of queries and keys at positions from 0 on, by method; parameters are random.

    `max_distance` is that of Shaw's table; ALiBi's slope is 1/2.
    """
    table = normal(g, 2 * max_distance + 1, d)
    w = normal(g, d, d)
    (b, c) = normal(g, 2, d)
    bias = normal(g, 32)

    def xl(q: Tensor, k: Tensor) -> Tensor:
        offsets = sinusoidal_relative(len(q), d, q.device).to(q) @ w.to(q).mT
        return ((q + b) @ k.mT + skew((q + c) @ offsets.mT)) / d**0.5

    def shaw(q: Tensor, k: Tensor) -> Tensor:
        by_offset = (q @ table.to(q).mT).gather(-1, relative_index(len(q), max_distance, q.device))
        return (q @ k.mT + by_offset) / d**0.5

    def rotate(x: Tensor) -> Tensor:
        return rope(x, torch.arange(len(x), device=x.device))

    return {
        "Shaw": shaw,
        "Transformer-XL": xl,
        "T5": lambda q, k: q @ k.mT + bias.to(q)[t5_buckets(len(q), device=q.device)],
        "ALiBi": lambda q, k: q @ k.mT / d**0.5 + alibi_bias(8, len(q), q.device, dtype=q.dtype)[0],
        "RoPE": lambda q, k: rotate(q) @ rotate(k).mT / d**0.5,
    }


@claim(
    "Six random tokens that attend only to each other get the same outputs wherever they stand in "
    "a sequence of 20, in each member of the family. With sinusoids added to the tokens they do "
    "not.",
    source=f"{SHAW}, Dai et al. (2019), Raffel et al. (2020), Press et al. (2022), "
    "Su et al. (2021)",
)
def the_family_sees_offsets_alone(g):
    d, errors = 8, {}
    x, position = normal(g, 6, d).double(), torch.arange(20, device=g.device)
    add = SinusoidalEncoding(d)
    encodings_and_scores = {name: (lambda x: x, scores) for name, scores in family(g, d).items()}
    for name, (encode, scores) in (
        encodings_and_scores | {"sinusoids": (add, lambda q, k: q @ k.mT)}
    ).items():
        outputs = []
        for start in (0, 3, 14):
            is_inside = (position >= start) & (position < start + 6)
            y = normal(g, 20, d).double()
            y[is_inside] = x
            w = masked_softmax(scores(encode(y), encode(y)), is_inside & is_inside[:, None])
            outputs.append((w @ y)[is_inside])
        errors[name] = max(max_abs_diff(outputs[0], output) for output in outputs[1:])
    sinusoid_error = errors.pop("sinusoids")
    return Measured(
        {f"outputs apart, {name}": (error, ROUNDING) for name, error in errors.items()}
        | {"outputs apart, sinusoids added": (sinusoid_error, above(0.1))}
    )


@claim(
    "Rotated by RoPE, a query at position $p$ and a key at position $p + 3$ have the same dot "
    "product for every $p$ from 0 to 1000, though not the dot product that they have at the same "
    "position. Both keep their norms.",
    source="Su et al. (2021), eq. 16 and 34",
)
def rope_turns_and_keeps_lengths(g):
    q, k = (normal(g, 1, 32).double().expand(1001, 32) for _ in "qk")
    p = torch.arange(1001, device=g.device)
    query, key = rope(q, p), rope(k, p + 3)
    products = (query * key).sum(-1)
    unturned = (products[0] - (q * k).sum(-1)[0]).abs().item()
    return Measured(
        {
            "dot products apart": (max_abs_diff(products, products[:1]), at_most(1e-9, "rounding")),
            "norms changed by": (max_abs_diff(query.norm(dim=-1), q.norm(dim=-1)), ROUNDING),
            "offset 3 against offset 0": (unturned, above(1e-3)),
        }
    )


def faded(g: torch.Generator, offset: int, base: float = 10000.0) -> tuple[float, float]:
    """RoPE's scores at an offset, divided by those of a vector with itself at offset 0.

    The mean for a key equal to its query, and the root mean square for an independent key.
    """
    q, k = (normal(g, 4096, 1, 64).double() for _ in "qk")
    position = torch.tensor([offset], device=g.device)
    equal_scores, independent_scores = ((q * rope(x, position, base)).sum(-1) / 64 for x in (q, k))
    return equal_scores.mean().item(), independent_scores.square().mean().sqrt().item()


@claim(
    "With RoPE at $d = 64$, the mean score of random keys that equal their queries fades with the "
    "distance, though not evenly: at 1,024 it is 0.26 of that at 0 with the base 10,000, and 0.53 "
    "with the base 500,000. The scores of keys that are independent of their queries have about "
    "the same root mean square at 1,024 as at 0, with either base.",
    source="Su et al. (2021), section 3.4.3 (decay); Barbero et al. (2025) (not for every key)",
)
def rope_fades_for_keys_like_the_query(g):
    bases = (1e4, 5e5)
    small, large = (faded(g, 1024, base)[0] for base in bases)
    ratios = [faded(g, 1024, base)[1] / faded(g, 0, base)[1] for base in bases]
    return Measured(
        {
            "key = query, base 10,000": (small, about(0.26, 0.02)),
            "key = query, base 500,000": (large, about(0.53, 0.02)),
            "independent keys, at 1,024 to at 0": (ratios, about(1, 0.1)),
        }
    )


def scores_backwards(q: Tensor, k: Tensor, n: int, **options: float) -> Tensor:
    """RoPE's score of a query with a key that stands 0, 1, ..., n - 1 positions before it."""
    return rope(q.expand(n, -1), torch.arange(n, device=q.device), **options) @ k


# 4 times the context, at d = 64: position interpolation, NTK-aware scaling
EXTENSIONS = {"interpolation": {"scale": 4.0}, "NTK-aware": {"base": 1e4 * 4 ** (64 / 62)}}


@claim(
    "A RoPE head of width 64 whose keys are its query, rotated by one position, gives the token "
    "before over 0.99 of the weight, also among 1,024 tokens. With position interpolation by 4, "
    "and no training, the token four before gets the most, and the token before less than 0.01. "
    "NTK-aware scaling by 4 leaves it over 0.99, and slows the slowest pair as much.",
    source="the loss of the fastest pairs: Peng et al. (2024), section 3.1; the head is ours",
)
def interpolation_misses_the_token_before(g):
    q = 6 * torch.ones(1, 64, dtype=torch.float64, device=g.device)
    k = rope(q, torch.ones(1, dtype=torch.int64, device=g.device))[0]
    plain, slower, ntk = (
        (scores_backwards(q, k, 1024, **options) / len(k) ** 0.5).softmax(0)
        for options in ({}, *EXTENSIONS.values())
    )
    slowest = torch.cat([0 * k[:-2], k[-2:]])
    pairs = (scores_backwards(q, slowest, 1024, **options) for options in EXTENSIONS.values())
    return Measured(
        {
            "token before, as trained": (plain[1].item(), above(0.99)),
            "token before, interpolation": (slower[1].item(), below(0.01)),
            "offset with the most weight, interpolation": (slower.argmax().item(), exactly(4)),
            "token before, NTK-aware": (ntk[1].item(), above(0.99)),
            "slowest pair's scores apart": (max_abs_diff(*pairs), at_most(1e-9, "rounding")),
        }
    )


@claim(
    "Fit a query and a key of width 64 so that their score falls by 1/32 with each of 256 offsets. "
    "Beyond, the score of RoPE rises again: at some offset under 1,024 it is above $-2$, as it was "
    "at offset 64. With position interpolation by 4 it keeps falling, from $-2$ at offset 256 to "
    "$-8$ at the end.",
    source="Chen et al. (2023), section 2.2, with another fit",
)
def a_score_beyond_training_comes_back(g):
    q, offsets = torch.ones(1, 64, device=g.device).double(), torch.arange(256, device=g.device)
    k = torch.linalg.pinv(rope(q.expand(256, -1), offsets), rtol=1e-3) @ (-offsets.to(q) / 32)
    plain, slower = (
        scores_backwards(q, k, 1024, **options) for options in ({}, EXTENSIONS["interpolation"])
    )
    error = max_abs_diff(plain[:256], -offsets / 32)
    return Measured(
        {
            "fit: off a fall of 1/32 by": (error, at_most(0.01)),
            "largest score from 256 on": (plain[256:].max().item(), above(-2)),
            "the same, interpolated": (slower[256:].max().item(), about(-2, 0.01)),
            "interpolated, at 1,023": (slower[-1].item(), about(-8, 0.05)),
        }
    )
