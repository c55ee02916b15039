"""Exercise cached_attention: decoding with a cache, under a mask aligned at the wrong corner."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import row_by_row
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over the new tokens: build one mask for all of them"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    mask = torch.tensor([[j <= m - n + i for j in range(m)] for i in range(n)])
    scores = torch.stack([(row[..., None, :] * k).sum(-1) for row in q.unbind(-2)], dim=-2)
    return row_by_row(scores / q.shape[-1] ** 0.5, mask) @ v


@exercise.cases
def cases(draw):
    n = draw.integer(2, 4)
    # a cache of more than n + 1 positions, and m of more than 7: no other diagonal fits by chance
    m = 2 * n + draw.integer(4, 6)
    d_k, d_v = [size for size in draw.sizes(4, 2, 8) if size not in (n, m)][:2]
    q, k, v = draw.normal(2, n, d_k), draw.normal(2, m, d_k), draw.normal(2, m, d_v)
    longer_inputs = tuple(x.repeat(1, 8, 1) for x in (q, k, v))
    sizes = f"{n} new tokens, {m} positions, d_k={d_k}, d_v={d_v}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=longer_inputs)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    heads = draw.normal(2, 3, 2, 5), draw.normal(2, 3, 6, 5), draw.normal(2, 3, 6, 4)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case(f"one new token, {m} positions", (q[:, :1], k, v))
    yield Case(f"no cache yet, {m} new tokens", (draw.normal(2, m, d_k), k, v))
    yield Case("the very first token", (q[:, :1], k[:, :1], v[:, :1]))
    large = 1e12 * q, 1e13 * k, v
    yield Case(f"scores 10^25 times larger, {sizes}", large, gradient=False)
    # a fill that is not small enough outweighs the cache, and so does a score left to the softmax
    signs = q.new_full((m, 1), -1.0)
    signs[-1] = 1
    opposite = 1e25 * (1 + q.abs()), signs * (1 + k.abs()), v
    about = "scores below -10^25, and above 10^25 at the last position"
    yield Case(about, opposite, gradient=False)
    one_token = draw.normal(1, 2), draw.normal(2100, 2), draw.normal(2100, 1)
    yield Case("one new token, 2100 positions", one_token, gradient=False)
    # too many digits for float32; a gradient would lose some in float64, too
    shifted_keys = torch.cat([k[..., :1] + 1e5, k[..., 1:]], dim=-1)
    yield Case(
        "100000 added to the first number of every key", (q, shifted_keys, v), gradient=False
    )


variants.right(exercise,
    # the queries filled up
    "mask = torch.ones(m, m, dtype=torch.bool, device=q.device).tril()\n"
    "scores = torch.nn.functional.pad(q, (0, 0, m - n, 0)) @ k.mT / q.shape[-1] ** 0.5\n"
    "out = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ v\n"
    "return out[..., m - n :, :]",
    # the cache and the new tokens apart
    "future = torch.full((n, n), -torch.inf, dtype=q.dtype, device=q.device).triu(1)\n"
    "new = scores[..., m - n :] + future\n"
    "return torch.cat([scores[..., : m - n], new], dim=-1).softmax(dim=-1) @ v",
    "key = torch.arange(m, device=k.device)\nmask = key <= key[m - n :, None]\n"
    "return scores.masked_fill(~mask, -1e30).softmax(dim=-1) @ v",
    "future = torch.full((m, m), -torch.inf, dtype=q.dtype, device=q.device).triu(1)[-n:]\n"
    "return torch.softmax(scores + future, dim=-1) @ v",
    "mask = torch.ones(n, m, device=q.device).triu().flip(0, 1).bool()",
    "parts = scores.where(mask, torch.finfo(q.dtype).min).softmax(dim=-1) * mask\n"
    "return parts / parts.sum(-1, keepdim=True) @ v",
)  # fmt: skip
variants.wrong(exercise, {
    "a query does not see itself: it should see its own position as well": (
        "tril(m - n)", "tril(m - n - 1)"),
    "a query sees one position ahead: it should see only the keys up to its own position": (
        "tril(m - n)", "tril(m - n + 1)"),
    "the diagonal moves in the wrong direction: remember that the new tokens come after the "
    "cache": [
        ("tril(m - n)", "tril(n - m)"),
        ("tril(m - n)", "tril(n - m)", "softmax(dim=-1)", "softmax(dim=-1).nan_to_num()")],
    "the diagonal is in the wrong place: how many positions come before the new tokens?": [
        ("tril(m - n)", f"tril({diagonal})") for diagonal in ("n", "n - 1", "n + 1", "m // 2")],
    "the diagonal is right only for the example: it should move with the length of the cache": (
        "tril(m - n)", "tril(3)"),
    "several new tokens get the mask of an empty cache: the same rule should work for any number "
    "of them": (
        "tril(m - n)", "tril(m - 1 if n == 1 else 0)"),
    "you count the axes of n and m from the front: count them from the end, with shape[-2]": [
        ("tril(m - n)", "tril(k.shape[1] - q.shape[1])"),
        ("tril(m - n)", "tril(k.shape[0] - q.shape[0])")],
    "all new tokens see the same keys: each token should see one key more than the token before "
    "it": (
        "tril(m - n)", "tril(m - n)[:1]"),
    "the flipped mask shows the last keys instead of the first: don't flip it, but move its "
    "diagonal":
        ("tril(m - n)", "tril().flip(-1)"),
    "with a cache, nothing is masked: a new token should not see the new tokens after it": [
        ("tril(m - n)", "tril(m)"), ("tril(m - n)", "tril(0 if n == m else m)"),
        "return scores.softmax(dim=-1) @ v"],
    "each query sees only the new tokens: it should see the cache as well": (
        "tril(m - n)", "tril(m - n) & (torch.arange(m, device=q.device) >= m - n)"),
    "each query sees only the cache: it should also see the new tokens up to itself":
        "return scores[..., : m - n].softmax(dim=-1) @ v[..., : m - n, :]",
    "the new tokens do not see each other: each should also see the new tokens before it":
        "key = torch.arange(m, device=k.device)\n"
        "mask = (key < m - n) | (key == key[m - n :, None])",
    "a query sees only the n most recent keys: it should see all keys up to its own position": (
        "tril(m - n)", "tril(m - n).triu(m - 2 * n + 1)"),
    "the order is reversed: a query should see earlier keys, not later ones": [
        ("tril", "triu"), ("tril(m - n)", "triu()")],
    "the mask is upside down: True means that the query may attend to the key": [
        ("~mask", "mask"), "return (scores - 1e9 * mask).softmax(dim=-1) @ v"],
    "the mask comes after the softmax, so the rows no longer sum to 1: mask the scores before it":
        "return (scores.softmax(dim=-1) * mask) @ v",
    "a masked score of 0 still gets weight, since exp(0) = 1: set masked scores to -inf": (
        "-torch.inf", "0.0"),
    "an allowed score may be lower than your fill value: fill with -inf instead": [
        ("-torch.inf", fill) for fill in ("-10.0", "-1e4", "-1e9")],
    "the mask is cut from a table of fixed size, and m may be larger: build the mask from n and m":
        "table = torch.ones(2048, 2048, dtype=torch.bool, device=q.device).tril()\n"
        "mask = table[m - n : m, :m]",
    "you cut off large scores: leave them as they are, because softmax prevents overflow by itself":
        "scores = (q @ k.mT).clamp(-1e6, 1e6) / q.shape[-1] ** 0.5",
    "a masked key with a large score leaves no weight for the others: mask the scores before the "
    "softmax":
        "parts = scores.softmax(dim=-1) * mask\n"
        "return parts / parts.sum(-1, keepdim=True).clamp(min=1e-9) @ v",
    "you subtract the largest score of the whole tensor: subtract the largest score that each "
    "query may see":
        "parts = (scores - scores.max()).exp() * mask\n"
        "return parts / parts.sum(-1, keepdim=True) @ v",
    "the scores are no longer scaled: divide them by sqrt(d_k), as the given code does":
        "scores = q @ k.mT",
    "you divide the scores by d_k: divide them by its square root instead":
        "scores = q @ k.mT / q.shape[-1]",
    "the scale now comes from the width of the values: it was right before, so leave it as it was":
        "scores = q @ k.mT / v.shape[-1] ** 0.5",
    "the softmax runs over the queries: run it over the keys, so that each row sums to 1": (
        "dim=-1", "dim=-2"),
    "exp overflows for high scores and leads to 0 / 0 for low ones: first subtract the largest "
    "score of each row":
        "parts = scores.exp() * mask\nreturn parts / parts.sum(-1, keepdim=True) @ v",
    "you return only the last token's output: return one for each new token": (
        "dim=-1)", "dim=-1)[..., -1:, :]"),
    messages.CHANGES: ("q @ k.mT", "q.mul_(2) @ k.mT / 2"),
    LOOP:
        "mask = torch.stack([torch.arange(m, device=q.device) <= m - n + i for i in range(n)])",
    "no gradient reaches the cache: don't detach anything": (
        "k.mT", "k.detach().mT", "@ v", "@ v.detach()"),
})  # fmt: skip
