"""Exercise induction_weight: how much a head looks at what came next, the last time."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over positions: compare all tokens with all tokens at once"
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
    yield Case("the last two tokens are equal", draw_weights(draw, 3, tokens=[5, 1, 2, 7, 7]))
    yield Case(
        "the first token never comes again", draw_weights(draw, 3, tokens=[7, 1, 2, 1, 3, 1, 2])
    )
    yield Case("the last token is new", draw_weights(draw, 3, tokens=[5, 1, 5, 1, 7]))
    yield Case("tokens of 0", draw_weights(draw, 3, tokens=[0, 3, 0, 0, 2, 0]))
    ahead = draw_weights(draw, 3, tokens=draw_text(draw, n, 3), causal=False)
    yield Case("a head that also looks ahead", ahead)
    weights, tokens = draw_weights(draw, 3, tokens=draw_text(draw, n, 3))
    # there, key 1 is asked for, and no other
    weights[:, 1] = torch.eye(n)[0]
    yield Case("a query with no weight on the key that counts", (weights, tokens))
    weights = torch.eye(n, dtype=weights.dtype).expand(2, n, n)
    yield Case("each query looks only at itself", (weights, tokens))
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
    "8 bits are too few for large tokens, so some different tokens become equal: compare the "
    "tokens as they are":
        "same = before.to(torch.uint8) == tokens.to(torch.uint8)[:, None]",
    "in float32, some different large tokens become equal: compare them as integers":
        "same = before.float() == tokens.float()[:, None]",
    "in a text where no token repeats, nothing flows back to the weights, so backward() fails: "
    "compute the 0 from the weights": (
        "    sums", "    if not match.any():\n"
        "        return weights.new_zeros(weights.shape[:-2])\n    sums"),
    "you take the weight on the earlier occurrence itself: take the weight on the key right after "
    "it": [
        "before = tokens\nmatch = same & (j < j[:, None])",
        "before = tokens\nmatch = same & (j >= 1) & (j < j[:, None])"],
    "you take the weights on the query itself and on earlier occurrences of its token: take the "
    "weights on the keys right after the earlier ones":
        "before = tokens\nmatch = same & (j <= j[:, None])",
    "you take the weight on the key before an earlier occurrence: take the weight on the key after "
    "it": [
        "before = tokens.roll(-1)",
        "before = tokens.roll(-1)\nmatch = same & (j < j[:, None])",
        "before = tokens.roll(-1)\nmatch = same & (j < j[:, None] - 1)"],
    "you take the weight on the key two places after an earlier occurrence: take the weight on the "
    "key right after it":
        "before = tokens.roll(2)\nmatch = same & (j >= 2) & (j <= j[:, None])",
    "key 0 is compared with the last token: leave key 0 out, because no token stands before it":
        "match = same & (j <= j[:, None])",
    "keys later than the query count as well: leave them out":
        "match = same & (j >= 1)",
    "you leave keys later than the query out of the sum, but not out of the number you divide by: "
    "use the same keys for both":
        "count = (same & (j >= 1)).any(dim=-1).sum().clamp(min=1)",
    "the query's own place is left out: count it where the same token stands right before "
    "the query":
        "match = same & (j >= 1) & (j < j[:, None])",
    "key 1 is left out: count it, because the first token may be the earlier occurrence":
        "match = same & (j >= 2) & (j <= j[:, None])",
    "only a query's last key after an earlier occurrence counts: take the sum over all such keys":
        "last = match & (j == (j * match).amax(-1, keepdim=True))\n"
        "sums = weights.masked_fill(~last, 0.0).sum(dim=-1)",
    "only a query's first key after an earlier occurrence counts: take the sum over all such keys":
        "first = match & (match.cumsum(dim=-1) == 1)\n"
        "sums = weights.masked_fill(~first, 0.0).sum(dim=-1)",
    "you take a query's largest weight on the keys after earlier occurrences: take the sum of "
    "these weights":
        "sums = weights.masked_fill(~match, 0.0).amax(dim=-1)",
    "you average a query's weights on the keys after earlier occurrences: take their sum":
        "keys = match.sum(dim=-1).clamp(min=1)\n"
        "sums = weights.masked_fill(~match, 0.0).sum(dim=-1) / keys",
    "you divide by the number of keys that count: divide by the number of queries that have such a "
    "key":
        "count = match.sum().clamp(min=1)",
    "you divide by the number of all queries: divide by the number of those whose token has "
    "occurred before":
        "count = len(tokens)",
    "you divide by one query too few: count every query whose token has occurred before, and "
    "divide by that number":
        "count = (match.any(dim=-1).sum() - 1).clamp(min=1)",
    "you divide by the number of different tokens: divide by the number of queries whose token has "
    "occurred before":
        "count = len(tokens.unique())",
    "you return sums over the queries: take the mean": "return sums.sum(dim=-1)",
    "you return a number for each query: take the mean over those whose token has occurred before":
        "return sums",
    "you average over the heads: return a number for each head":
        "return (sums.sum(dim=-1) / count).mean()",
    "in a text where no token repeats, you divide 0 by 0: the result should be 0": [
        "count = match.any(dim=-1).sum()", "return sums[..., match.any(dim=-1)].mean(dim=-1)"],
    "the numbers are right, but 0 / 0 has a NaN gradient even if you replace the result: never "
    "divide by 0": [
        "sums = (weights * match).sum(dim=-1)\ncount = match.any(dim=-1).sum()\n"
        f"return {result}" for result in (
            "(sums.sum(dim=-1) / count).nan_to_num(0.0)",
            "torch.where(count > 0, sums.sum(dim=-1) / count, 0.0)")],
    "you add a small number to the divisor: change the divisor only where no query counts": [
        f"count = match.any(dim=-1).sum() + {epsilon}" for epsilon in ("1e-6", "1e-5")],
    "the divisor is one too large: it should be the number of queries whose token has occurred "
    "before":
        "count = match.any(dim=-1).sum() + 1",
    "you count only queries that put weight on a key after an earlier occurrence: count every "
    "query whose token has occurred before":
        "count = (sums > 0).sum(dim=-1).clamp(min=1)",
    "rows and columns are swapped: rows should be queries, and columns keys": [
        "sums = weights.mT.masked_fill(~match, 0.0).sum(dim=-1)",
        "sums = weights.masked_fill(~match.T, 0.0).sum(dim=-1)"],
    "you compare tokens[j] with tokens[i - 1]: compare tokens[j - 1] with tokens[i]":
        "same = tokens == before[:, None]",
    "you compare the token before the query with the one before the key: compare the query's own "
    "token":
        "same = before == before[:, None]",
    "you look for keys that hold the query's next token: ask which token stood before the key":
        "same = tokens == tokens.roll(-1)[:, None]",
    "tokens of 0 are left out as if they were padding: count them like any others":
        "match = same & (j >= 1) & (j <= j[:, None]) & (tokens != 0)[:, None]",
    "you assume that the text repeats after a fixed number of places: look where each token "
    "occurred before":
        "match = (j == j[:, None] - len(tokens) // 2 + 1) & (j >= 1)",
    "you look only at the key with the most weight: take the sum of the weights":
        "best = weights.argmax(dim=-1, keepdim=True) == j\n"
        "sums = (best & match).to(weights).sum(dim=-1) + 0 * weights.sum(dim=-1)",
    "you apply a softmax to the weights: leave it out, because they come from a softmax already":
        "sums = weights.softmax(dim=-1).masked_fill(~match, 0.0).sum(dim=-1)",
    "you divide a query's weights on the keys after earlier occurrences by their sum: take the "
    "weights as they are":
        "on_them = weights.masked_fill(~match, 0.0).sum(dim=-1)\n"
        "sums = on_them / on_them.clamp(min=1e-9)",
    "you sum the weights on all other keys: sum those on the keys right after an "
    "earlier occurrence":
        "sums = weights.masked_fill(match, 0.0).sum(dim=-1)",
    "you return a list of numbers: return a tensor": "return (sums.sum(dim=-1) / count).tolist()",
    LOOP: [
        "rows = weights.masked_fill(~match, 0.0)\n"
        "sums = torch.stack([rows[..., i, :].sum(-1) for i in range(len(tokens))], dim=-1)",
        "same = torch.stack([before == token for token in tokens])"],
    messages.DEVICE: (", device=tokens.device", ""),
    messages.CHANGES: "weights.detach().masked_fill_(~match, 0.0)\n"
        "sums = weights.masked_fill(~match, 0.0).sum(dim=-1)",
    messages.BATCH: "sums = weights[:, :, :].masked_fill(~match, 0.0).sum(dim=-1)",
})  # fmt: skip
