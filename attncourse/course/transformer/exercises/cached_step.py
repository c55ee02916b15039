"""Exercise cached_step: new tokens, their positions, and the keys and values kept so far."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import row_by_row
from attncourse.dot_product import attention
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the new tokens: take one mask and one product for all of them"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
worked = variants.worked(exercise)
# the right answer that is edited: the page's attention has its own words for shapes that do not fit
exercise.valid(variants.made(
    worked,
    "q = x @ w_q.T\n"
    "scores = q @ keys.mT / q.shape[-1] ** 0.5\n"
    "weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)\n"
    "return weights @ values, keys, values",
))  # fmt: skip
exercise.valid(worked)


@exercise.reference
def token_by_token(x, keys, values, positions, w_q, w_k, w_v):
    rows = []
    for i in range(x.shape[-2]):
        token = x[..., i : i + 1, :] + positions[keys.shape[-2]]
        q, k, v = (token @ w.mT for w in (w_q, w_k, w_v))
        keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
        rows.append(row_by_row(q @ keys.mT / q.shape[-1] ** 0.5) @ values)
    return torch.cat(rows, dim=-2), keys, values


def draw_inputs(draw, *batch, n, m, d=6, d_k=5, d_v=3, rows=12):
    """n new tokens after m, the table of positions, and the three matrices."""
    cache = draw.normal(*batch, m, d_k), draw.normal(*batch, m, d_v)
    matrices = (draw.normal(width, d) / d**0.5 for width in (d_k, d_k, d_v))
    w_q, w_k, w_v = matrices
    table = draw.normal(rows, d)
    return draw.normal(*batch, n, d), *cache, table, w_q, w_k, w_v


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 2, 4)
    longer_inputs = draw_inputs(draw, 2, n=n + 32, m=m + 16, rows=64)
    yield Case(
        f"{n} tokens after {m}, a batch of 2", draw_inputs(draw, 2, n=n, m=m), longer=longer_inputs
    )
    yield Case(f"{n} tokens after {m}, no batch", draw_inputs(draw, n=n, m=m))
    yield Case("one token after 5", draw_inputs(draw, 2, n=1, m=5))
    yield Case("a prompt of 4 tokens, nothing before", draw_inputs(draw, 2, n=4, m=0))
    yield Case("the very first token", draw_inputs(draw, 2, n=1, m=0))
    yield Case("two leading axes, 2 tokens after 4", draw_inputs(draw, 2, 3, n=2, m=4))
    yield Case("3 tokens after 1", draw_inputs(draw, 2, n=3, m=1))
    yield Case("all widths alike", draw_inputs(draw, 2, n=3, m=4, d=4, d_k=4, d_v=4),
               gradient=False)  # fmt: skip
    short_table = draw_inputs(draw, 2, n=3, m=4, rows=7)
    yield Case("as many rows in the table as tokens", short_table, gradient=False)
    yield Case("4 texts, 4 tokens after 4", draw_inputs(draw, 4, n=4, m=4), gradient=False)
    # the first token may see itself alone, and its score is far below 0
    x, keys, values, table, w_q, _, w_v = draw_inputs(draw, 2, n=4, m=0)
    large = (x, keys, values, table, -1e25 * w_q, w_q, w_v)
    yield Case("scores 10^25 times larger", large, gradient=False)


@exercise.valid
def by_the_numbers_of_the_places(x, keys, values, positions, w_q, w_k, w_v):
    place = torch.arange(x.shape[-2], device=x.device) + keys.shape[-2]
    x = x + positions[place]
    all_keys = torch.cat([keys, torch.einsum("...nd,kd->...nk", x, w_k)], dim=-2)
    all_values = torch.cat([values, torch.einsum("...nd,vd->...nv", x, w_v)], dim=-2)
    mask = torch.arange(all_keys.shape[-2], device=x.device) <= place[:, None]
    return [attention(x @ w_q.T, all_keys, all_values, mask), all_keys, all_values]


KEYS, VALUES = "[keys, x @ w_k.T]", "[values, x @ w_v.T]"
variants.right(exercise,
    "x = x + positions.narrow(0, m, n)\n"
    "mask = torch.ones(m + n, m + n, device=x.device).tril()[m:].bool()\n"
    "weights = scores.where(mask, -1e30).softmax(-1)",
    # the table at once, since a product is linear
    ("x = x +", "more =", "q = x @ w_q.T", "q = x @ w_q.T + more @ w_q.T",
     KEYS, "[keys, (x + more) @ w_k.T]", VALUES, "[values, (x + more) @ w_v.T]"),
)  # fmt: skip
variants.wrong(exercise, {
    "the positions of every call start at 0: let them go on from what the cache holds":
        "x = x + positions[:n]",
    "all new tokens get one position: give each the next one": [
        "x = x + positions[m]", "x = x + positions[m + n - 1]"],
    "the positions are one too low: with m tokens kept, put the next at position m":
        "x = x + positions[range(m - 1, m + n - 1)]",
    "the positions are one too high: with m tokens kept, put the next at position m":
        "x = x + positions[[min(m + i + 1, len(positions) - 1) for i in range(n)]]",
    "the positions are those at the end of the table: let them go on from what the cache holds":
        "x = x + positions[-n:]",
    "the positions are missing: add them to x before it is projected": (
        " + positions[m : m + n]", ""),
    "the queries have no positions: make them of x and its positions, as the keys are":
        "q = (x - positions[m : m + n]) @ w_q.T",
    "the keys have no positions: make them of x and its positions, as the queries are": (
        KEYS, "[keys, (x - positions[m : m + n]) @ w_k.T]"),
    "the values have no positions: make them of x and its positions, as the keys are": (
        VALUES, "[values, (x - positions[m : m + n]) @ w_v.T]"),
    "the new keys and values come in front: put them after those that are kept": (
        KEYS, "[x @ w_k.T, keys]", VALUES, "[x @ w_v.T, values]"),
    "the new keys come in front: put them after those that are kept": (KEYS, "[x @ w_k.T, keys]"),
    "the new values come in front: put them after those that are kept": (
        VALUES, "[x @ w_v.T, values]"),
    "positions are added to what is kept, which has them already: add them to new tokens only": [
        ("[keys,", "[keys + positions[:m] @ w_k.T,"),
        ("[keys,", "[keys + positions[:m] @ w_k.T,",
         "[values,", "[values + positions[:m] @ w_v.T,")],
    "the values that were kept are lost: put them before the new ones": (
        "[values,", "[torch.zeros_like(values),"),
    "the keys that were kept are lost: put them before the new ones": (
        "[keys,", "[torch.zeros_like(keys),"),
    "the new tokens see only what is kept: each should also see itself, and the new ones before it":
        "weights = scores[..., :m].softmax(dim=-1)\n"
        "return weights @ values[..., :m, :], keys, values",
    "the new tokens see only the new ones: let all of them see what is kept": (
        "tril(m)", "tril(m) & (torch.arange(m + n, device=x.device) >= m)"),
    "the cache that comes back lacks the new tokens: return them, too, for the next call":
        "return weights @ values, keys[..., :m, :], values[..., :m, :]",
    "only the new keys and values come back: return all of them for the next call":
        "return weights @ values, keys[..., m:, :], values[..., m:, :]",
    "new tokens see later ones: let each see the keys up to its own":
        "weights = scores.softmax(dim=-1)",
    "the mask starts at the corner of the cache: move its diagonal by the tokens kept": (
        "tril(m)", "tril()"),
    "scores may be far from 0, and what is added to the later ones is not enough: fill with -inf": [
        "weights = scores.sub(1e4 * ~mask).softmax(dim=-1)",
        ("-torch.inf", "-1e4"), ("-torch.inf", "-1e9")],
    "the tokens kept move the mask's diagonal twice: move it by as many as there are": (
        "tril(m)", "tril(2 * m)"),
    "the tokens kept are counted twice: the first new token's position should be their number":
        "x = x + positions[m:][m : m + n]",
    "a new token does not see itself: allow its own key": (
        "tril(m)", "tril(m - 1)", "softmax(dim=-1)", "softmax(dim=-1).nan_to_num()"),
    "a new token sees one ahead: let it see up to its own key": ("tril(m)", "tril(m + 1)"),
    "a prompt of several tokens is not masked: let only a single token see everything": (
        "tril(m)", "tril(m) | (m == 0)"),
    "after a prompt several tokens are not masked: let each see the keys up to its own": (
        "tril(m)", "tril(m) | (m > 0)"),
    "the output of the last token alone comes back: return one for each new token":
        "return (weights @ values)[..., -1:, :], keys, values",
    "the results come in another order: return the output, the keys, the values":
        "return keys, values, weights @ values",
    "the keys are averaged: average the values":
        "return weights @ keys, keys, values",
    "the scores are not scaled: divide by the root of a key's width": "scores = q @ keys.mT",
    "the scale is taken from the width of x: take it from that of a key": (
        "/ q.shape[-1]", "/ x.shape[-1]"),
    "the scale is taken from the width of a value: take it from that of a key": (
        "/ q.shape[-1]", "/ values.shape[-1]"),
    "no gradient reaches the keys that are kept: don't detach anything": (
        "[keys,", "[keys.detach(),"),
    "no gradient reaches the values that are kept: don't detach anything": (
        "[values,", "[values.detach(),"),
    "no gradient reaches what is kept, the keys and the values: don't detach anything": (
        "[keys,", "[keys.detach(),", "[values,", "[values.detach(),"),
    "what comes back for the next step is detached: let gradients flow through it, too":
        "return weights @ values, keys.detach(), values.detach()",
    "the product is x @ w: a weight is stored as (out, in), so take x @ w.T": (
        "w_q.T", "w_q", "w_k.T", "w_k", "w_v.T", "w_v"),
    messages.CHANGES: ("x = x + positions", "x += positions"),
    LOOP: "q = torch.cat([x[..., i : i + 1, :] for i in range(n)], -2) @ w_q.T",
    messages.BATCH: (KEYS, '[keys, torch.einsum("bnd,kd->bnk", x, w_k)]'),
})  # fmt: skip
