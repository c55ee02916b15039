"""Exercise induction_weight: how much a head looks at what came next, the last time."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions: compare all tokens with all tokens at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def query_by_query(weights, tokens):
    numbers, sums = tokens.tolist(), []
    for i, token in enumerate(numbers):
        keys = [j for j in range(1, i + 1) if numbers[j - 1] == token]
        if keys:
            sums.append(sum(weights[..., i, j] for j in keys))
    if not sums:
        # nothing flows, whatever the weights are
        return 0.0 * weights[..., 0, 0]
    return sum(sums) / len(sums)


def draw_weights(draw, *batch, tokens, causal=True):
    """Weights of heads over these tokens, whose keys are not all alike."""
    n = len(tokens)
    scores = 1.5 * draw.normal(*batch, n, n)
    if causal:
        scores = scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)
    return scores.softmax(-1), torch.tensor(tokens)


def draw_text(draw, n, kinds):
    """A text in which tokens repeat; the first two are alike, the third comes later again."""
    tokens = draw.integers(0, kinds - 1, n)
    tokens[1] = tokens[0]
    tokens[n // 2] = tokens[2] = (tokens[0] + 1) % kinds
    # one that comes once, so that there is a query without such a key
    tokens[n // 2 + 1] = kinds
    return tokens.tolist()


@exercise.cases
def cases(draw):
    n = draw.integer(8, 10)
    yield Case(f"3 heads, n={n}", draw_weights(draw, 3, tokens=draw_text(draw, n, 3)),
               longer=draw_weights(draw, 3, tokens=draw_text(draw, 64, 9)))  # fmt: skip
    yield Case(f"one head, n={n}", draw_weights(draw, tokens=draw_text(draw, n, 4)))
    yield Case(
        "two leading axes (blocks, heads)", draw_weights(draw, 2, 4, tokens=draw_text(draw, 7, 2))
    )
    yield Case("as many heads as tokens", draw_weights(draw, 6, tokens=draw_text(draw, 6, 2)))
    order = torch.randperm(6, generator=draw.generator).tolist()
    yield Case("a text that repeats its 6 tokens", draw_weights(draw, 2, tokens=order * 2))
    yield Case("a text that repeats its 3 tokens three times",
               draw_weights(draw, 2, tokens=order[:3] * 3))  # fmt: skip
    yield Case("the same token throughout", draw_weights(draw, 3, tokens=[4] * 5))
    yield Case("no token comes twice", draw_weights(draw, 3, tokens=order))
    yield Case(
        "the first token comes again at the end", draw_weights(draw, 3, tokens=[5, 1, 2, 3, 5])
    )
    yield Case("the last token came just before", draw_weights(draw, 3, tokens=[5, 1, 2, 7, 7]))
    yield Case(
        "the first token comes nowhere else", draw_weights(draw, 3, tokens=[7, 1, 2, 1, 3, 1, 2])
    )
    yield Case("the last token is new", draw_weights(draw, 3, tokens=[5, 1, 5, 1, 7]))
    yield Case("tokens of 0", draw_weights(draw, 3, tokens=[0, 3, 0, 0, 2, 0]))
    ahead = draw_weights(draw, 3, tokens=draw_text(draw, n, 3), causal=False)
    yield Case("a head that also looks ahead", ahead)
    weights, tokens = draw_weights(draw, 3, tokens=draw_text(draw, n, 3))
    # there, key 1 is asked for, and no other
    weights[:, 1] = torch.eye(n)[0]
    yield Case("a query without any weight on such a key", (weights, tokens))
    weights = torch.eye(n, dtype=weights.dtype).expand(2, n, n)
    yield Case("each query looks at itself alone", (weights, tokens))
    large = [1, 257, 1, 65537, 257, 16777217, 16777216, 1, 16777217]
    yield Case("tokens of up to 16 million", draw_weights(draw, 3, tokens=large))
    yield Case("two tokens, the same", draw_weights(draw, 3, tokens=[1, 1]))
    yield Case("one token", draw_weights(draw, 3, tokens=[1]))


@exercise.valid
def without_the_first_key(weights, tokens):
    same = (tokens[:-1] == tokens[:, None]).tril(-1)
    some = same.any(-1)
    sums = torch.einsum("...ij,ij->...i", weights[..., 1:], same.to(weights.dtype))
    return sums.sum(-1) / max(1, int(some.sum()))


@exercise.valid
def of_the_pairs(weights, tokens):
    query, key = torch.where(tokens[:, None] == tokens)
    earlier = key < query
    query, key = query[earlier], key[earlier] + 1
    return weights[..., query, key].sum(-1) / query.unique().numel() if len(query) else (
        weights[..., 0, 0] * 0)  # fmt: skip


variants.right(exercise,
    "before = torch.cat([tokens.new_full((1,), -1), tokens[:-1]])\nmatch = same.tril()",
    "match = torch.cat([same[:, :1] & (j[:, None] < 0), same[:, 1:]], dim=-1).tril()\n"
    "sums = (weights * match).sum(dim=-1)",
    "sums = torch.where(match, weights, 0.0).sum(dim=-1)\n"
    "queries = match.any(dim=-1)\n"
    "count = max(1, int(queries.sum()))\n"
    "return sums[..., queries].sum(dim=-1) / count",
    "count = (match.sum(dim=-1) > 0).sum().clamp(min=1)\nreturn (sums / count).sum(dim=-1)",
    "kinds = torch.nn.functional.one_hot(before.unique(return_inverse=True)[1]).float()\n"
    "same = (kinds @ kinds.T > 0.5)[(j + 1) % len(tokens)]",
)  # fmt: skip
variants.wrong(exercise, {
    "8 bits have no room for large tokens, so that some that differ become equal: compare the "
    "tokens as they are":
        "same = before.to(torch.uint8) == tokens.to(torch.uint8)[:, None]",
    "in float32, large tokens that differ become equal: compare whole numbers":
        "same = before.float() == tokens.float()[:, None]",
    "in a text in which no token comes again, nothing flows back to the weights, and backward() "
    "fails: compute the 0 from them": (
        "    sums", "    if not match.any():\n"
        "        return weights.new_zeros(weights.shape[:-2])\n    sums"),
    "this is the weight on the earlier occurrence itself: take the key after it": [
        "before = tokens\nmatch = same & (j < j[:, None])",
        "before = tokens\nmatch = same & (j >= 1) & (j < j[:, None])"],
    "a query counts as an earlier occurrence of its own token: take the keys after those that are "
    "earlier": "before = tokens\nmatch = same & (j <= j[:, None])",
    "this is the weight on what stood before an earlier occurrence: take the key after it": [
        "before = tokens.roll(-1)",
        "before = tokens.roll(-1)\nmatch = same & (j < j[:, None])",
        "before = tokens.roll(-1)\nmatch = same & (j < j[:, None] - 1)"],
    "this is the weight on the key two places after the earlier occurrence: take the one right "
    "after it":
        "before = tokens.roll(2)\nmatch = same & (j >= 2) & (j <= j[:, None])",
    "key 0 is compared with the last token: leave it out, as no token stands before it":
        "match = same & (j <= j[:, None])",
    "keys later than the query count as well: leave them out":
        "match = same & (j >= 1)",
    "the key after a query counts in the division, though not in the sum: take the same keys for "
    "both": "count = (same & (j >= 1)).any(dim=-1).sum().clamp(min=1)",
    "a query's own place is left out: where its token stood just before, that is such a key, too":
        "match = same & (j >= 1) & (j < j[:, None])",
    "key 1 is left out: count it, as the first token may be the earlier occurrence":
        "match = same & (j >= 2) & (j <= j[:, None])",
    "only the last such key of a query counts: take the sum over all of them":
        "last = match & (j == (j * match).amax(-1, keepdim=True))\n"
        "sums = weights.masked_fill(~last, 0.0).sum(dim=-1)",
    "only the first such key of a query counts: take the sum over all of them":
        "first = match & (match.cumsum(dim=-1) == 1)\n"
        "sums = weights.masked_fill(~first, 0.0).sum(dim=-1)",
    "the largest weight of a query on such keys is taken: take their sum":
        "sums = weights.masked_fill(~match, 0.0).amax(dim=-1)",
    "the mean over a query's keys is taken: take their sum":
        "keys = match.sum(dim=-1).clamp(min=1)\n"
        "sums = weights.masked_fill(~match, 0.0).sum(dim=-1) / keys",
    "it is divided by the number of such keys: divide by that of the queries that have one":
        "count = match.sum().clamp(min=1)",
    "it is divided by the number of all queries: divide by that of those that have such a key":
        "count = len(tokens)",
    "one query is left out of the division: divide by all that have such a key":
        "count = (match.any(dim=-1).sum() - 1).clamp(min=1)",
    "it is divided by how many different tokens there are: divide by the number of queries":
        "count = len(tokens.unique())",
    "these are sums over the queries: take the mean": "return sums.sum(dim=-1)",
    "there is a number for each query: take the mean of those that have such a key": "return sums",
    "the heads are averaged: return a number for each":
        "return (sums.sum(dim=-1) / count).mean()",
    "a text in which no token comes again divides 0 by 0: the result should be 0 then": [
        "count = match.any(dim=-1).sum()", "return sums[..., match.any(dim=-1)].mean(dim=-1)"],
    "the numbers are right, but 0 / 0 has a NaN gradient, even where it is replaced later: let no "
    "divisor be 0": [
        "sums = (weights * match).sum(dim=-1)\ncount = match.any(dim=-1).sum()\n"
        f"return {result}" for result in (
            "(sums.sum(dim=-1) / count).nan_to_num(0.0)",
            "torch.where(count > 0, sums.sum(dim=-1) / count, 0.0)")],
    "a small number is added to the divisor: change it only where there is no query": [
        f"count = match.any(dim=-1).sum() + {epsilon}" for epsilon in ("1e-6", "1e-5")],
    "the divisor is one too large: it should be the number of the queries":
        "count = match.any(dim=-1).sum() + 1",
    "only queries with weight on such keys are counted: count each that has such a key":
        "count = (sums > 0).sum(dim=-1).clamp(min=1)",
    "rows and columns are swapped: rows should be queries, and columns keys": [
        "sums = weights.mT.masked_fill(~match, 0.0).sum(dim=-1)",
        "sums = weights.masked_fill(~match.T, 0.0).sum(dim=-1)"],
    "tokens[j] is compared with tokens[i - 1]: compare tokens[j - 1] with tokens[i]":
        "same = tokens == before[:, None]",
    "both tokens are those before: compare the query's own token with that before the key":
        "same = before == before[:, None]",
    "it looks for keys that hold the query's next token: ask which token stood before the key":
        "same = tokens == tokens.roll(-1)[:, None]",
    "tokens of 0 are left out as if they were padding: count them like any other":
        "match = same & (j >= 1) & (j <= j[:, None]) & (tokens != 0)[:, None]",
    "a text is taken to repeat after a fixed number of places: ask where each token stood":
        "match = (j == j[:, None] - len(tokens) // 2 + 1) & (j >= 1)",
    "only the key with the most weight is looked at: take the sum of the weights":
        "best = weights.argmax(dim=-1, keepdim=True) == j\n"
        "sums = (best & match).to(weights).sum(dim=-1) + 0 * weights.sum(dim=-1)",
    "the weights are taken for scores: take no softmax, they are made of one already":
        "sums = weights.softmax(dim=-1).masked_fill(~match, 0.0).sum(dim=-1)",
    "the weights of a query are divided by their sum on such keys: take them as they are":
        "on_them = weights.masked_fill(~match, 0.0).sum(dim=-1)\n"
        "sums = on_them / on_them.clamp(min=1e-9)",
    "the weight on all other keys is summed: take that on the keys after an earlier occurrence":
        "sums = weights.masked_fill(match, 0.0).sum(dim=-1)",
    "it gives a list of numbers: return a tensor": "return (sums.sum(dim=-1) / count).tolist()",
    LOOP: [
        "rows = weights.masked_fill(~match, 0.0)\n"
        "sums = torch.stack([rows[..., i, :].sum(-1) for i in range(len(tokens))], dim=-1)",
        "same = torch.stack([before == token for token in tokens])"],
    messages.DEVICE: (", device=tokens.device", ""),
    messages.CHANGES: "weights.detach().masked_fill_(~match, 0.0)\n"
        "sums = weights.masked_fill(~match, 0.0).sum(dim=-1)",
    messages.BATCH: "sums = weights[:, :, :].masked_fill(~match, 0.0).sum(dim=-1)",
})  # fmt: skip
