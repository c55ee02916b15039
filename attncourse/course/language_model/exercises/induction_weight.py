"""Exercise induction_weight: how much a head looks at what came next, the last time."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions: compare all tokens with all tokens at once"
exercise = Exercise.read(__name__, usual_hints={"loops": LOOP})


@exercise.reference
def query_by_query(weights, tokens):
    told, found = tokens.tolist(), []
    for i, token in enumerate(told):
        keys = [j for j in range(1, i + 1) if told[j - 1] == token]
        if keys:
            found.append(sum(weights[..., i, j] for j in keys))
    if not found:
        # nothing flows, whatever the weights are
        return 0.0 * weights[..., 0, 0]
    return sum(found) / len(found)


def drawn(draw, *batch, tokens, causal=True):
    """Weights of heads over these tokens, whose keys are not all alike."""
    n = len(tokens)
    scores = 1.5 * draw.normal(*batch, n, n)
    if causal:
        scores = scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)
    return scores.softmax(-1), torch.tensor(tokens)


def text(draw, n, kinds):
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
    yield Case(f"3 heads, n={n}", drawn(draw, 3, tokens=text(draw, n, 3)),
               longer=drawn(draw, 3, tokens=text(draw, 64, 9)))  # fmt: skip
    yield Case(f"one head, n={n}", drawn(draw, tokens=text(draw, n, 4)))
    yield Case("two leading axes (blocks, heads)", drawn(draw, 2, 4, tokens=text(draw, 7, 2)))
    yield Case("as many heads as tokens", drawn(draw, 6, tokens=text(draw, 6, 2)))
    twice = torch.randperm(6, generator=draw.generator).tolist()
    yield Case("a text that repeats its 6 tokens", drawn(draw, 2, tokens=twice * 2))
    yield Case("a text that repeats its 3 tokens three times",
               drawn(draw, 2, tokens=twice[:3] * 3))  # fmt: skip
    yield Case("the same token throughout", drawn(draw, 3, tokens=[4] * 5))
    yield Case("no token comes twice", drawn(draw, 3, tokens=twice))
    yield Case("the first token comes again at the end", drawn(draw, 3, tokens=[5, 1, 2, 3, 5]))
    yield Case("the last token came just before", drawn(draw, 3, tokens=[5, 1, 2, 7, 7]))
    yield Case("the first token comes nowhere else", drawn(draw, 3, tokens=[7, 1, 2, 1, 3, 1, 2]))
    yield Case("the last token is new", drawn(draw, 3, tokens=[5, 1, 5, 1, 7]))
    yield Case("tokens of 0", drawn(draw, 3, tokens=[0, 3, 0, 0, 2, 0]))
    ahead = drawn(draw, 3, tokens=text(draw, n, 3), causal=False)
    yield Case("a head that also looks ahead", ahead)
    weights, tokens = drawn(draw, 3, tokens=text(draw, n, 3))
    # there, key 1 is asked for, and no other
    weights[:, 1] = torch.eye(n)[0]
    yield Case("a query without any weight on such a key", (weights, tokens))
    weights = torch.eye(n, dtype=weights.dtype).expand(2, n, n)
    yield Case("each query looks at itself alone", (weights, tokens))
    large = [1, 257, 1, 65537, 257, 16777217, 16777216, 1, 16777217]
    yield Case("tokens of up to 16 million", drawn(draw, 3, tokens=large))
    yield Case("two tokens, the same", drawn(draw, 3, tokens=[1, 1]))
    yield Case("one token", drawn(draw, 3, tokens=[1]))


@exercise.valid
def plain(weights, tokens):
    n = len(tokens)
    j = torch.arange(n, device=tokens.device)
    before = tokens.roll(1)
    match = before == tokens[:, None]
    asked = match & (j >= 1) & (j <= j[:, None])
    on_them = weights.masked_fill(~asked, 0.0).sum(dim=-1)
    queries = asked.any(dim=-1)
    count = queries.sum().clamp(min=1)
    return on_them.sum(dim=-1) / count


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


MATCH, BEFORE = "before == tokens[:, None]", "tokens.roll(1)"
ASKED = "match & (j >= 1) & (j <= j[:, None])"
ON_THEM, QUERIES = "weights.masked_fill(~asked, 0.0).sum(dim=-1)", "asked.any(dim=-1)"
COUNT, RESULT = "queries.sum().clamp(min=1)", "on_them.sum(dim=-1) / count"
PADDED = "torch.cat([tokens.new_full((1,), -1), tokens[:-1]])"
# of several such keys of a query, the last one and the first
LAST = "asked & (j == (j * asked).amax(-1, keepdim=True))"
EARLIEST = "asked & (asked.long().cumsum(-1) == 1)"
variants.right(exercise,
    (BEFORE, PADDED, ASKED, "match.tril()"),
    (ASKED, "torch.cat([match[:, :1] & (j[:, None] < 0), match[:, 1:]], dim=-1).tril()",
     ON_THEM, "(weights * asked).sum(dim=-1)"),
    (ON_THEM, "torch.where(asked, weights, 0.0).sum(dim=-1)", COUNT, "max(1, int(queries.sum()))",
     RESULT, "on_them[..., queries].sum(dim=-1) / count"),
    (RESULT, "(on_them / count).sum(dim=-1)", QUERIES, "asked.sum(dim=-1) > 0"),
    (MATCH, "torch.nn.functional.one_hot(before.unique(return_inverse=True)[1]).float()\n"
     "    match = (match @ match.T > 0.5)[(j + 1) % n]"),
)  # fmt: skip
variants.wrong(exercise, {
    "8 bits have no room for large tokens, so that some that differ become equal": (
        MATCH, "before.to(torch.uint8) == tokens.to(torch.uint8)[:, None]"),
    "in float32, large tokens that differ become equal: compare whole numbers": (
        MATCH, "before.float() == tokens.float()[:, None]"),
    "in a text in which no token comes again, nothing flows back to the weights, and backward() "
    "fails: the 0 must come of them": (
        "    on_them", "    if not asked.any():\n"
        "        return weights.new_zeros(weights.shape[:-2])\n    on_them"),
    "this is the weight on the earlier occurrence itself: take the key after it": [
        (BEFORE, "tokens", ASKED, "match & (j < j[:, None])"),
        (BEFORE, "tokens", ASKED, "match & (j >= 1) & (j < j[:, None])")],
    "a query counts as an earlier occurrence of its own token: take the keys after those that are "
    "earlier": (BEFORE, "tokens", ASKED, "match & (j <= j[:, None])"),
    "this is the weight on what stood before an earlier occurrence: take the key after it": [
        (BEFORE, "tokens.roll(-1)"), (BEFORE, "tokens.roll(-1)", ASKED, "match & (j < j[:, None])"),
        (BEFORE, "tokens.roll(-1)", ASKED, "match & (j < j[:, None] - 1)")],
    "the key stands two places after the earlier occurrence: take the one right after it": (
        BEFORE, "tokens.roll(2)", ASKED, "match & (j >= 2) & (j <= j[:, None])"),
    "key 0 is compared with the last token: no token stands before it": (
        ASKED, "match & (j <= j[:, None])"),
    "keys later than the query count as well: no later key is one of those": (
        ASKED, "match & (j >= 1)"),
    "the key after a query is one of those in the division, though not in the sum: the same keys "
    "belong to both": (QUERIES, "(match & (j >= 1)).any(dim=-1)"),
    "a query may look at its own place: where its token stood just before, that is such a key": (
        ASKED, "match & (j >= 1) & (j < j[:, None])"),
    "key 1 is left out: the first token may be the earlier occurrence": (
        ASKED, "match & (j >= 2) & (j <= j[:, None])"),
    "only the last such key of a query counts: take the sum over all of them": (
        ON_THEM, f"weights.masked_fill(~({LAST}), 0.0).sum(dim=-1)"),
    "only the first such key of a query counts: take the sum over all of them": (
        ON_THEM, f"weights.masked_fill(~({EARLIEST}), 0.0).sum(dim=-1)"),
    "the largest weight of a query on such keys is taken: take their sum": (
        ON_THEM, "weights.masked_fill(~asked, 0.0).amax(dim=-1)"),
    "the mean over a query's keys is taken: take their sum": (
        ON_THEM, "(weights.masked_fill(~asked, 0.0).sum(dim=-1) / asked.sum(-1).clamp(min=1))"),
    "it is divided by the number of such keys: divide by that of the queries that have one": (
        COUNT, "asked.sum().clamp(min=1)"),
    "it is divided by the number of all queries: divide by that of those that have such a key": (
        COUNT, "n"),
    "one query is left out of the division: divide by all that have such a key": (
        COUNT, "(queries.sum() - 1).clamp(min=1)"),
    "it is divided by how many different tokens there are: divide by the number of queries": (
        COUNT, "tokens.unique().numel()"),
    "these are sums over the queries: take the mean": (RESULT, "on_them.sum(dim=-1)"),
    "there is a number for each query: take the mean of those that have such a key": (
        RESULT, "on_them"),
    "the heads are averaged: each has a number of its own": (
        RESULT, "(on_them.sum(dim=-1) / count).mean()"),
    "a text in which no token comes again divides 0 by 0: the result is 0 then": [
        (COUNT, "queries.sum()"), (RESULT, "on_them[..., queries].mean(dim=-1)")],
    "the numbers are right, but 0 / 0 has a NaN gradient, even where it is replaced later: let no "
    "divisor be 0": [
        (ON_THEM, "(weights * asked).sum(dim=-1)", COUNT, "queries.sum()", RESULT, result)
        for result in ("(on_them.sum(dim=-1) / count).nan_to_num(0.0)",
                       "torch.where(count > 0, on_them.sum(dim=-1) / count, 0.0)")],
    "a small number is added to the divisor: only where there is no query another is needed": [
        (COUNT, f"queries.sum() + {some}") for some in ("1e-6", "1e-5")],
    "the divisor is one too large: it is the number of the queries": (
        COUNT, "queries.sum() + 1"),
    "only queries with weight on such keys are counted: each that has such a key counts": (
        COUNT, "(on_them > 0).sum(dim=-1).clamp(min=1)"),
    "rows are queries, and columns are keys: here they have changed places": [
        (ON_THEM, "weights.mT.masked_fill(~asked, 0.0).sum(dim=-1)"),
        (ON_THEM, "weights.masked_fill(~asked.T, 0.0).sum(dim=-1)")],
    "the table is that of the keys before their queries: tokens[j - 1] is compared with tokens[i]":
        (MATCH, "tokens == before[:, None]"),
    "both tokens are those before: the query's own token is compared, with that before the key": (
        MATCH, "before == before[:, None]"),
    "keys are asked for whose token comes next in the text: ask which token stood before the key": (
        MATCH, "tokens == tokens.roll(-1)[:, None]"),
    "tokens of 0 are left out as if they were padding: they are tokens like any other": (
        ASKED, "match & (j >= 1) & (j <= j[:, None]) & (tokens != 0)[:, None]"),
    "a text is taken to repeat after a fixed number of places: ask where each token stood": (
        ASKED, "(j == j[:, None] - n // 2 + 1) & (j >= 1)"),
    "only the key with the most weight is looked at: take the sum of the weights": (
        ON_THEM, "(weights.argmax(-1, keepdim=True) == j).logical_and(asked).to(weights)"
        ".sum(dim=-1) + 0 * weights.sum(-1)"),
    "the weights are taken for scores: they are made of a softmax already": (
        ON_THEM, "weights.softmax(dim=-1).masked_fill(~asked, 0.0).sum(dim=-1)"),
    "the weights of a query are divided by their sum on such keys: take them as they are": (
        ON_THEM, "weights.masked_fill(~asked, 0.0).sum(dim=-1)\n"
        "    on_them = on_them / on_them.clamp(min=1e-9)"),
    "the weight on all other keys is summed: take that on the keys after an earlier occurrence": (
        ON_THEM, "weights.masked_fill(asked, 0.0).sum(dim=-1)"),
    "it gives a list of numbers: return a tensor": (
        RESULT, "(on_them.sum(dim=-1) / count).tolist()"),
    LOOP: [
        (ON_THEM, "torch.stack([\n        weights[..., i, :].masked_fill(~asked[i], 0.0).sum(-1) "
         "for i in range(n)], dim=-1)"),
        (MATCH, "torch.stack([before == token for token in tokens])")],
    hints.DEVICE: ("torch.arange(n, device=tokens.device)", "torch.arange(n)"),
    hints.CHANGES: (ON_THEM, "weights.detach().masked_fill_(~asked, 0.0).sum(dim=-1) * 0\\\n"
                    "        + weights.masked_fill(~asked, 0.0).sum(dim=-1)"),
    hints.BATCH: (ON_THEM, "torch.stack([*weights])[:, :, :].masked_fill(~asked, 0.0).sum(dim=-1)"),
})  # fmt: skip
