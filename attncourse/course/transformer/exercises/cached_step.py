"""Exercise cached_step: new tokens, their positions, and the keys and values kept so far."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import row_by_row
from attncourse.dot_product import attention
from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the new tokens: one mask and one product serve all of them"
exercise = Exercise.read(__name__, usual_hints={"loops": LOOP})


@exercise.reference
def token_by_token(x, keys, values, positions, w_q, w_k, w_v):
    rows = []
    for i in range(x.shape[-2]):
        token = x[..., i : i + 1, :] + positions[keys.shape[-2]]
        q, k, v = (token @ w.mT for w in (w_q, w_k, w_v))
        keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
        rows.append(row_by_row(q @ keys.mT / q.shape[-1] ** 0.5) @ values)
    return torch.cat(rows, dim=-2), keys, values


def drawn(draw, *batch, n, m, d=6, d_k=5, d_v=3, rows=12):
    """n new tokens after m, the table of positions, and the three matrices."""
    cache = draw.normal(*batch, m, d_k), draw.normal(*batch, m, d_v)
    matrices = (draw.normal(width, d) / d**0.5 for width in (d_k, d_k, d_v))
    w_q, w_k, w_v = matrices
    table = draw.normal(rows, d)
    return draw.normal(*batch, n, d), *cache, table, w_q, w_k, w_v


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 2, 4)
    long = drawn(draw, 2, n=n + 32, m=m + 16, rows=64)
    yield Case(f"{n} tokens after {m}, a batch of 2", drawn(draw, 2, n=n, m=m), longer=long)
    yield Case(f"{n} tokens after {m}, no batch", drawn(draw, n=n, m=m))
    yield Case("one token after 5", drawn(draw, 2, n=1, m=5))
    yield Case("a prompt of 4 tokens, nothing before", drawn(draw, 2, n=4, m=0))
    yield Case("the very first token", drawn(draw, 2, n=1, m=0))
    yield Case("two leading axes, 2 tokens after 4", drawn(draw, 2, 3, n=2, m=4))
    yield Case("3 tokens after 1", drawn(draw, 2, n=3, m=1))
    yield Case("all widths alike", drawn(draw, 2, n=3, m=4, d=4, d_k=4, d_v=4),
               gradient=False)  # fmt: skip
    few = drawn(draw, 2, n=3, m=4, rows=7)
    yield Case("as many rows in the table as tokens", few, gradient=False)
    yield Case("4 texts, 4 tokens after 4", drawn(draw, 4, n=4, m=4), gradient=False)
    # the first token may see itself alone, and its score is far below 0
    x, keys, values, table, w_q, _, w_v = drawn(draw, 2, n=4, m=0)
    large = (x, keys, values, table, -1e25 * w_q, w_q, w_v)
    yield Case("scores 10^25 times larger", large, gradient=False)


@exercise.valid
def plain(x, keys, values, positions, w_q, w_k, w_v):
    n, m = x.shape[-2], keys.shape[-2]
    x = x + positions[m : m + n]
    q = x @ w_q.mT
    keys = torch.cat([keys, x @ w_k.mT], dim=-2)
    values = torch.cat([values, x @ w_v.mT], dim=-2)
    mask = torch.ones(n, m + n, dtype=torch.bool, device=x.device).tril(m)
    scores = q @ keys.mT / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights @ values, keys, values


@exercise.valid
def by_the_numbers_of_the_places(x, keys, values, positions, w_q, w_k, w_v):
    place = torch.arange(x.shape[-2], device=x.device) + keys.shape[-2]
    x = x + positions[place]
    all_keys = torch.cat([keys, torch.einsum("...nd,kd->...nk", x, w_k)], dim=-2)
    all_values = torch.cat([values, torch.einsum("...nd,vd->...nv", x, w_v)], dim=-2)
    mask = torch.arange(all_keys.shape[-2], device=x.device) <= place[:, None]
    return [attention(x @ w_q.T, all_keys, all_values, mask), all_keys, all_values]


PLACED, MASK = "x = x + positions[m : m + n]", (
    "torch.ones(n, m + n, dtype=torch.bool, device=x.device).tril(m)")  # fmt: skip
KEYS, VALUES = "[keys, x @ w_k.mT]", "[values, x @ w_v.mT]"
SOFTMAX, RESULT = (
    ".masked_fill(~mask, -torch.inf).softmax(dim=-1)",
    "weights @ values, keys, values",
)
variants.right(exercise,
    (PLACED, "x = x + positions.narrow(0, m, n)", SOFTMAX, ".where(mask, -1e30).softmax(-1)",
     MASK, "torch.ones(m + n, m + n, device=x.device).tril()[m:].bool()"),
    # the table at once, since a product is linear
    (PLACED, "more = positions[m : m + n]", "q = x @ w_q.mT", "q = x @ w_q.mT + more @ w_q.mT",
     KEYS, "[keys, (x + more) @ w_k.mT]", VALUES, "[values, (x + more) @ w_v.mT]"),
)  # fmt: skip
variants.wrong(exercise, {
    "the positions of every call start at 0: they go on from what the cache holds": (
        PLACED, "x = x + positions[:n]"),
    "all new tokens get one position: each has the next one": [
        (PLACED, "x = x + positions[m]"), (PLACED, "x = x + positions[m + n - 1]")],
    "the positions are one too low: with m tokens kept, the next stands at position m": (
        PLACED, "x = x + positions[range(m - 1, m + n - 1)]"),
    "the positions are one too high: with m tokens kept, the next stands at position m": (
        PLACED, "x = x + positions[[min(m + i + 1, len(positions) - 1) for i in range(n)]]"),
    "the positions are those at the end of the table: they go on from what the cache holds": (
        PLACED, "x = x + positions[-n:]"),
    "the positions are missing: they are added to x before it is projected": (PLACED, "x = x + 0"),
    "the queries have no positions: they are made of x and its positions, as the keys are": (
        PLACED, f"q = x @ w_q.mT\n    {PLACED}", "    q = x @ w_q.mT\n    keys", "    keys"),
    "the keys have no positions: they are made of x and its positions, as the queries are": (
        KEYS, "[keys, (x - positions[m : m + n]) @ w_k.mT]"),
    "the values have no positions: they are made of x and its positions, as the keys are": (
        VALUES, "[values, (x - positions[m : m + n]) @ w_v.mT]"),
    "the new keys and values come in front: they come after those that are kept": (
        KEYS, "[x @ w_k.mT, keys]", VALUES, "[x @ w_v.mT, values]"),
    "the new keys come in front: they come after those that are kept": (KEYS, "[x @ w_k.mT, keys]"),
    "the new values come in front: they come after those that are kept": (
        VALUES, "[x @ w_v.mT, values]"),
    "positions are added to what is kept, which has them already: add them to new tokens only": [
        (KEYS, "[keys + positions[:m] @ w_k.mT, x @ w_k.mT]"),
        (KEYS, "[keys + positions[:m] @ w_k.mT, x @ w_k.mT]",
         VALUES, "[values + positions[:m] @ w_v.mT, x @ w_v.mT]")],
    "the values that are kept are lost: they come before the new ones": (
        VALUES, "[torch.zeros_like(values), x @ w_v.mT]"),
    "the keys that are kept are lost: they come before the new ones": (
        KEYS, "[torch.zeros_like(keys), x @ w_k.mT]"),
    "the new tokens see only what is kept: each sees itself, and the new ones before it": (
        SOFTMAX, f"[..., :m]{SOFTMAX}", "~mask", "~mask[:, :m]",
        "weights @ values", "(weights @ values[..., :m, :]).nan_to_num()"),
    "the new tokens see only the new ones: what is kept is there for all of them": (
        MASK, f"{MASK} & (torch.arange(m + n, device=x.device) >= m)"),
    "the cache that comes back lacks the new tokens: the next call needs them": (
        "    keys = ", "    old = keys, values\n    keys = ", RESULT, "weights @ values, *old"),
    "only the new keys and values come back: the next call needs all of them": (
        RESULT, "weights @ values, keys[..., m:, :], values[..., m:, :]"),
    "new tokens see later ones: each sees the keys up to its own": (MASK, f"{MASK} | True"),
    "the mask starts at the corner of the cache: its diagonal moves by the tokens kept": (
        "tril(m)", "tril()"),
    "scores may be far from 0, and what is added to the later ones is not enough: fill with -inf": [
        (SOFTMAX, ".sub(1e4 * ~mask).softmax(dim=-1)"),
        (SOFTMAX, ".masked_fill(~mask, -1e4).softmax(dim=-1)"),
        (SOFTMAX, ".masked_fill(~mask, -1e9).softmax(dim=-1)")],
    "the tokens kept move the mask's diagonal twice: it moves by as many as there are": (
        "tril(m)", "tril(2 * m)"),
    "the tokens kept are counted twice: the first new token's position is their number": (
        PLACED, "x = x + positions[m:][m : m + n]"),
    "a new token does not see itself: its own key is allowed": (
        "tril(m)", "tril(m - 1)", "softmax(dim=-1)", "softmax(dim=-1).nan_to_num()"),
    "a new token sees one ahead: it sees up to its own key": ("tril(m)", "tril(m + 1)"),
    "a prompt of several tokens is not masked: only a single token may see everything": (
        MASK, f"{MASK} | (m == 0)"),
    "after a prompt several tokens are not masked: each sees the keys up to its own": (
        MASK, f"{MASK} | (m > 0)"),
    "the output of the last token alone comes back: there is one for each new token": (
        "weights @ values", "(weights @ values)[..., -1:, :]"),
    "the order of the results is another: the output, the keys, the values": (
        RESULT, "keys, values, weights @ values"),
    "the keys are averaged: the output is a mean of the values": (
        "return weights @ values", "return weights @ keys"),
    "the scores are not scaled: divide by the root of a key's width": (
        " / q.shape[-1] ** 0.5", ""),
    "the scale is taken from the width of x: it is that of a key": (
        "/ q.shape[-1]", "/ x.shape[-1]"),
    "the scale is taken from the width of a value: it is that of a key": (
        "/ q.shape[-1]", "/ values.shape[-1]"),
    "no gradient reaches the keys that are kept: nothing may be detached": (
        KEYS, KEYS.replace("[keys", "[keys.detach()")),
    "no gradient reaches the values that are kept: nothing may be detached": (
        VALUES, VALUES.replace("[values", "[values.detach()")),
    "no gradient reaches what is kept, the keys and the values: nothing may be detached": (
        KEYS, KEYS.replace("[keys", "[keys.detach()"),
        VALUES, VALUES.replace("[values", "[values.detach()")),
    "what comes back for the next step is detached: gradients flow through it, too": (
        RESULT, "weights @ values, keys.detach(), values.detach()"),
    "the matrices are transposed: a weight is stored as (out, in), so x @ w.T": (
        "w_q.mT", "w_q", "w_k.mT", "w_k", "w_v.mT", "w_v"),
    hints.CHANGES: (PLACED, "x += positions[m : m + n]"),
    LOOP: (
        "    q = x", "    x = torch.cat([x[..., i : i + 1, :] for i in range(n)], -2)\n    q = x"),
    hints.BATCH: (KEYS, '[keys, torch.einsum("bnd,kd->bnk", x, w_k)]'),
})  # fmt: skip
