"""The claims of the chapter relative."""

from collections.abc import Callable

import torch
from torch import Tensor

from attncourse.claims import Measured, claim
from attncourse.claims.dot_product import normal
from attncourse.cost import count, time_ratio
from attncourse.dot_product import attention, masked_softmax
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


def inputs(g: torch.Generator, n: int, d: int, max_distance: int) -> list[Tensor]:
    """q, k, v and the two tables, in float64."""
    shapes = [(n, d)] * 3 + [(2 * max_distance + 1, d)] * 2
    return [normal(g, *shape).double() for shape in shapes]


def max_abs_diff(x: Tensor, y: Tensor) -> float:
    """The largest difference between two tensors."""
    return (x - y).abs().max().item()


@claim(
    "The loops, the dense form, the form that looks up, and the one in blocks give the same "
    "output, and the same gradients of q, k, v and both tables, under a mask with a row that "
    "allows no key: all four for 9 tokens, and all but the loops for 300, which are three blocks.",
    source=f"{SHAW}, eq. 3-5",
)
def all_forms_are_one(g):
    looking_up = {"gather": relative_attention_gather, "blocks": relative_attention}
    differ, empty = {}, []
    # the loops are too slow for several blocks; there, the dense form stands for them
    for n, by_pair in ((9, relative_attention_loops), (300, relative_attention_dense)):
        parts, mask, weight = inputs(g, n, 4, 3), normal(g, n, n) > 0, normal(g, n, 4).double()
        mask[2] = False
        forms = {"by pair": by_pair, "dense": relative_attention_dense} | looking_up
        results = {}
        for name, form in forms.items():
            leaves = [x.clone().requires_grad_() for x in parts]
            out = form(*leaves, mask=mask)
            results[name] = [out.detach(), *torch.autograd.grad((out * weight).sum(), leaves)]
        want = results.pop("by pair")
        empty.append(want[0][2].abs().max().item())
        for name, found in results.items():
            differ[name] = max(differ.get(name, 0), *map(max_abs_diff, want, found))
    return Measured(
        {f"{name}, off by at most": off for name, off in differ.items()},
        "rounding, at most 1e-12, for the output and five gradients",
        max(differ.values()) <= 1e-12 and max(empty) == 0,
    )


@claim(
    "A table of 2k + 1 rows serves every length. Of n² pairs, (n - k)(n - k + 1)/2 share the "
    "first row and as many the last: at k = 16, over half of all pairs at n = 100, and over 0.96 "
    "at 1000.",
    source=f"{SHAW}, section 3.2 (the clipping); the shares are counted",
)
def the_end_rows_serve_most_pairs(g):
    max_distance, shares, as_said = 16, {}, True
    for n in (100, 1000):
        rows = relative_index(n, max_distance, g.device)
        first, last = ((rows == row).sum().item() for row in (0, 2 * max_distance))
        shares[n] = (first + last) / n**2
        as_said &= first == last == (n - max_distance) * (n - max_distance + 1) // 2
        as_said &= rows.unique().tolist() == list(range(2 * max_distance + 1))
    return Measured(
        {f"share of the two end rows, n = {n}": share for n, share in shares.items()},
        "over 0.5, over 0.96; the counts exactly as stated",
        as_said and shares[100] > 0.5 and shares[1000] > 0.96,
    )


@claim(
    "Swap two keys, with their values, that lie k or more before a query: its output stays. Swap "
    "two of which one is nearer, and its output changes.",
    source=f"{SHAW}, section 3.2",
)
def order_beyond_max_distance_is_lost(g):
    q, k, v, a_k, a_v = inputs(g, 12, 8, 3)
    changes = {}
    # the query is token 11 and max_distance is 3: token 8 is the nearest without a row of its own
    for name, (i, j) in {"at or beyond": (1, 8), "within": (8, 9)}.items():
        order = list(range(12))
        order[i], order[j] = j, i
        out, swapped = (
            relative_attention(q[11:], k[o], v[o], a_k, a_v) for o in (list(range(12)), order)
        )
        changes[name] = max_abs_diff(out, swapped)
    return Measured(
        {f"change by a swap {name} max_distance": change for name, change in changes.items()},
        "rounding; over 0.001",
        changes["at or beyond"] <= 1e-12 and changes["within"] > 1e-3,
    )


@claim(
    "A window of 6 tokens that attend only to each other gets the same outputs wherever it stands "
    "in a sequence of 20. With a vector for each absolute position it does not.",
    source=f"{SHAW}, section 3.2: what is represented is the distance",
)
def a_window_may_stand_anywhere(g):
    x, a_k, a_v = normal(g, 6, 8).double(), *inputs(g, 1, 8, 4)[3:]
    places, position = normal(g, 20, 8).double(), torch.arange(20, device=g.device)
    relative, absolute = [], []
    for start in (0, 3, 14):
        inside = (position >= start) & (position < start + 6)
        y = normal(g, 20, 8).double()
        y[inside], mask = x, inside & inside[:, None]
        relative.append(relative_attention(y, y, y, a_k, a_v, mask)[inside])
        y = y + places
        absolute.append(attention(y, y, y, mask)[inside])
    off = [max(max_abs_diff(one[0], other) for other in one[1:]) for one in (relative, absolute)]
    return Measured(
        {"outputs apart, relative": off[0], "absolute": off[1]},
        "rounding; over 0.1",
        off[0] <= 1e-12 and off[1] > 0.1,
    )


@claim(
    "The keys' table decides where to look: if every query has a component that is 1, where the "
    "keys have 0, then one large entry there in the row of offset -1 makes every query but the "
    "first give the token before it over 0.999 of its weight, whatever their other components "
    "are. The values' table alone leaves every weight as it is without positions.",
    source=f"{SHAW}, eq. 3 and 4",
)
def a_keys_table_can_point_to_the_token_before(g):
    q, k, _, a_k, a_v = inputs(g, 10, 8, 2)
    q[:, 0], k[:, 0], a_k[:] = 1, 0, 0
    a_k[1, 0] = 100
    tokens = torch.eye(10, dtype=q.dtype, device=g.device)
    before = relative_attention(q, k, tokens, a_k, None).diagonal(-1).min().item()
    # the values' vectors go to columns of their own, so that the first ten hold the weights
    wide, a_v = torch.cat([tokens, 0 * q], -1), torch.cat([a_v.new_zeros(5, 10), a_v], -1)
    out, weights = relative_attention(q, k, wide, None, a_v), attention(q, k, tokens)
    moved, added = max_abs_diff(out[:, :10], weights), max_abs_diff(out[:, 10:], 0 * q)
    return Measured(
        {"least weight": before, "weights moved by the values' table": moved, "added": added},
        "over 0.999; rounding; over 0.1",
        before > 0.999 and moved <= 1e-12 and added > 0.1,
    )


@claim(
    "Of the keys' table, only the differences between its rows count: add one vector c to every "
    "row, and nothing changes. Add it to every row of the values' table, and the output of every "
    "query that may attend somewhere moves by c; that of one that may not stays 0.",
    source="the softmax sees only differences of scores, and weights sum to 1, or all are 0",
)
def only_differences_of_rows_count(g):
    q, k, v, a_k, a_v = inputs(g, 10, 8, 3)
    c, mask = normal(g, 8).double(), torch.ones(10, 10, dtype=torch.bool, device=g.device)
    mask[4] = False
    out = relative_attention(q, k, v, a_k, a_v, mask)
    moved = out + c * mask.any(-1, keepdim=True)
    by_key = max_abs_diff(out, relative_attention(q, k, v, a_k + c, a_v, mask))
    by_value = max_abs_diff(moved, relative_attention(q, k, v, a_k, a_v + c, mask))
    one = max_abs_diff(
        out, relative_attention(q, k, v, torch.cat([a_k[:1] + c, a_k[1:]]), a_v, mask)
    )
    return Measured(
        {"keys' rows, all": by_key, "values' rows, all": by_value, "one row of the keys": one},
        "rounding, rounding, over 0.001",
        max(by_key, by_value) <= 1e-12 and one > 1e-3,
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
    "With 4 sequences of 1024 tokens, 8 heads, d = 64 and float32: a key vector for each pair in "
    "each head is a tensor of 8 GiB, the dense form's largest has 1/4 GiB, and that of the form "
    "that looks up is no larger than the scores, 1/8 GiB.",
    source=f"{SHAW}, section 3.3 (there O(h n² d) to O(n² d), by sharing between heads)",
)
def only_two_forms_hold_a_vector_per_pair(g):
    q, k, v, a_k, a_v = meta_inputs(4, 8, n=1024, d=64, max_distance=16)
    elements = {
        "a vector per pair and head": count(scores_by_pair, q, k, a_k).largest,
        "dense": count(relative_attention_dense, q, k, v, a_k, a_v).largest,
        "gather": count(relative_attention_gather, q, k, v, a_k, a_v).largest,
    }
    return Measured(
        {f"GiB, {name}": 4 * largest / 2**30 for name, largest in elements.items()},
        "4 bytes times b h n² d, n² d and b h n² elements: exactly 8, 1/4, 1/8",
        list(elements.values()) == [2**31, 2**26, 2**25],
    )


def with_gradients(form: Callable[..., Tensor], parts: list[Tensor]) -> None:
    """A call, and the gradients of all that went in."""
    out = form(*(x.requires_grad_() for x in parts))
    out.backward(torch.empty_like(out))


@claim(
    "At a fixed max_distance, the largest tensor of the form in blocks of 128 queries grows with "
    "n, not with n², gradients included: with 2k + 1 and d at most 128, it has 128/n as many "
    "elements as the largest of attention without positions, written out, and of the form that "
    "looks up. Without gradients, its matrix products take the same operations as those of the "
    "latter.",
    source="blocks and recomputation: Dao et al. (2022), section 3.1; the count is ours",
)
def blocks_hold_no_scores(g):
    ratios, as_said = {}, True
    for n in (256, 512, 1024):
        parts = meta_inputs(4, 8, n=n, d=64, max_distance=16)
        forward = [count(f, *parts).flops for f in (relative_attention_gather, relative_attention)]
        plain = count(with_gradients, attention, parts[:3]).largest
        gather = count(with_gradients, relative_attention_gather, parts).largest
        blocks = count(with_gradients, relative_attention, parts).largest
        ratios[f"plain / blocks, n = {n}"] = plain / blocks
        as_said &= plain == gather and gather * 128 == blocks * n and forward[0] == forward[1]
    return Measured(ratios, "exactly n/128: 2, 4, 8; the same operations", as_said)


@claim(
    "Without gradients, the matrix products of the form that looks up take 1 + (2k + 1)/n times "
    "the operations of attention without positions: the relative part is small where the table is "
    "shorter than the sequence. Those of the dense form take exactly twice as many, at any k.",
    source="in a head, 2 n² d for q·k, 2 n (2k + 1) d for q·a; the same again for the values",
)
def the_tables_cost_few_operations(g):
    ratios, as_said = {}, True
    for n, max_distance in ((64, 16), (1024, 16), (1024, 64)):
        q, k, v, a_k, a_v = meta_inputs(8, n=n, d=64, max_distance=max_distance)
        plain = count(attention, q, k, v).flops
        gather = count(relative_attention_gather, q, k, v, a_k, a_v).flops / plain
        dense = count(relative_attention_dense, q, k, v, a_k, a_v).flops / plain
        ratios[f"gather / plain, n = {n}, k = {max_distance}"] = gather
        as_said &= gather == 1 + (2 * max_distance + 1) / n and dense == 2
    return Measured(
        ratios | {"dense / plain, each": dense},
        "exactly 1 + (2k + 1)/n; exactly 2",
        as_said,
    )


@claim(
    "On one thread of a CPU, with 8 heads, 256 tokens, d = 64 and k = 16, the dense form takes "
    "more than 1.5 times as long as the form that looks up.",
    source="our own measurement",
)
def dense_is_slower(g):
    parts = [normal(g, *shape).cpu() for shape in [(8, 256, 64)] * 3 + [(33, 64)] * 2]
    ratio = time_ratio(
        lambda: relative_attention_dense(*parts), lambda: relative_attention_gather(*parts)
    )
    return Measured({"dense / gather": ratio}, "over 1.5", ratio > 1.5)


@claim(
    "The skew puts q·r for the offset j - i at row i, column j, for all n² pairs; the causal skew "
    "does so for the n(n + 1)/2 pairs with j ≤ i and leaves 0 elsewhere. Both only move numbers.",
    source="Huang et al. (2019), section 3.4.1, for the causal one; the other is ours after it",
)
def the_skew_looks_up_without_an_index(g):
    n = 7
    x = normal(g, 2, n, 2 * n - 1)
    position = torch.arange(n, device=g.device)
    index = position - position[:, None] + n - 1
    looked_up = x.gather(-1, index.expand(2, n, n))
    both, causal = skew(x), causal_skew(x[..., :n])
    wrong = (both != looked_up).sum().item() + (causal != looked_up.tril()).sum().item()
    later = (causal != both)[0].sum().item()
    return Measured(
        {"numbers in a wrong place": wrong, "pairs where the two skews differ": later},
        f"exactly 0; n(n - 1)/2 = {n * (n - 1) // 2}",
        wrong == 0 and later == n * (n - 1) // 2,
    )


def family(g: torch.Generator, n: int, d: int) -> dict[str, Tensor]:
    """What each member makes of n tokens with the same content: scores that only positions tell."""
    q, k = (normal(g, 1, d).double().expand(n, d) for _ in "qk")
    rows = relative_index(n, n, g.device)
    bias = normal(g, 32).double()
    return {
        "Shaw": (q @ (normal(g, 5, d).double()).mT).gather(-1, relative_index(n, 2, g.device)),
        "sinusoidal": skew(q @ sinusoidal_relative(n, d, g.device).to(q).mT),
        "T5": bias[t5_buckets(n, device=g.device)],
        "ALiBi": alibi_bias(1, n, g.device)[0].to(q),
        "RoPE": rope(q, rows[0] - n) @ rope(k, rows[0] - n).mT,
    }


@claim(
    "Give 12 tokens the same content, so that only their positions differ. In each member of the "
    "family the score of i and j is that of i + 1 and j + 1; with sinusoids added to the "
    "embeddings, and random maps to queries and keys, it is not.",
    source="Shaw et al. (2018), Dai et al. (2019), Raffel et al. (2020), Press et al. (2022), "
    "Su et al. (2021)",
)
def the_family_sees_offsets_alone(g):
    n, d = 12, 16
    off = {
        name: max_abs_diff(scores[1:, 1:], scores[:-1, :-1])
        for name, scores in family(g, n, d).items()
    }
    # rows n - 1 on hold the sinusoids of the positions from 0 on
    x = normal(g, 1, d).double() + sinusoidal_relative(n, d, g.device)[n - 1 :]
    w = normal(g, d, d).double()
    absolute = max_abs_diff((x @ w @ x.mT)[1:, 1:], (x @ w @ x.mT)[:-1, :-1])
    return Measured(
        {f"apart, {name}": by for name, by in (off | {"added sinusoids": absolute}).items()},
        "rounding in float32, at most 0.001; over 0.1",
        max(off.values()) <= 1e-3 and absolute > 0.1,
    )


@claim(
    "Turned by RoPE, a query at position p and a key at position p + 3 have the same dot product "
    "for p from 0 to 1000, and are as long as before.",
    source="Su et al. (2021), eq. 16 and 34",
)
def rope_turns_and_keeps_lengths(g):
    q, k = (normal(g, 1, 32).double().expand(1001, 32) for _ in "qk")
    p = torch.arange(1001, device=g.device)
    turned, key = rope(q, p), rope(k, p + 3)
    products = (turned * key).sum(-1)
    longer = max_abs_diff(turned.norm(dim=-1), q.norm(dim=-1))
    unturned = (products[0] - (q * k).sum(-1)[0]).abs().item()
    return Measured(
        {
            "dot products apart": (products.max() - products.min()).item(),
            "lengths changed by": longer,
            "offset 3 against offset 0": unturned,
        },
        "rounding, rounding, over 0.001",
        (products.max() - products.min()).item() <= 1e-9 and longer <= 1e-12 and unturned > 1e-3,
    )


@claim(
    "ALiBi at any length is Shaw's formula with one number per offset in place of a vector: with a "
    "column of ones beside the query, 0 beside the key and -slope times the distance in the keys' "
    "table, each times the root by which it is then divided, it gives the same output.",
    source="Press et al. (2022), section 3, there with a causal mask; the rewriting is ours",
)
def alibi_is_a_table(g):
    n, d = 10, 8
    q, k, v = inputs(g, n, d, 0)[:3]
    bias = alibi_bias(8, n, g.device)[2].to(q)
    direct = masked_softmax(q @ k.mT / d**0.5 + bias) @ v
    offset = torch.arange(1 - n, n, device=g.device)
    slope = -bias[0, 1]
    a_k = torch.zeros(2 * n - 1, d + 1, dtype=q.dtype, device=g.device)
    a_k[:, d] = -slope * offset.abs() * (d + 1) ** 0.5
    # the scores are divided by the root of the width, which has grown by one
    wide_q = torch.cat([q * ((d + 1) / d) ** 0.5, q.new_ones(n, 1)], -1)
    wide_k = torch.cat([k, k.new_zeros(n, 1)], -1)
    by_table = relative_attention(wide_q, wide_k, v, a_k, None)
    return Measured(
        {"outputs apart": max_abs_diff(direct, by_table)},
        "rounding, at most 1e-6",
        max_abs_diff(direct, by_table) <= 1e-6,
    )
