"""Exercise effective_keys: how many keys a query really looks at."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "you loop over positions: compute all rows at once"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": LOOP},
    without={"ties": "rounded to halves, a row of weights would not sum to 1"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(weights):
    counts = []
    for row in weights.reshape(-1, weights.shape[-1]):
        positive = row[row > 0]
        counts.append((-positive @ positive.log()).exp() * (len(positive) > 0))
    return torch.stack(counts).reshape(weights.shape[:-1])


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 7)
    scores = draw.normal(2, n, m)
    weights, longer_weights = scores.softmax(-1), draw.normal(2, 8 * n, 8 * m).softmax(-1)
    yield Case(f"a batch of 2, n={n}, m={m}", (weights,), longer=(longer_weights,))
    yield Case(f"one matrix without a batch, n={n}, m={m}", (weights[0],))
    # as many rows as it takes to tell float32 from float64 by its rounding
    yield Case("three leading axes", (draw.normal(8, 8, 8, 6).softmax(-1),))
    yield Case(f"uniform weights over {m} keys", (torch.full_like(weights, 1 / m),))
    yield Case("all weight on one key", (torch.eye(m, dtype=weights.dtype),))
    masked = scores.masked_fill(~draw.mask(2, n, m), -torch.inf).softmax(-1)
    yield Case("keys that the mask hides", (masked,))
    powers = 0.1 ** torch.arange(8, dtype=weights.dtype)
    yield Case("weights down to a ten-millionth", (powers[None] / powers.sum(),))
    yield Case("scores 60 times larger", ((60 * scores).softmax(-1),))
    weights_with_empty_row = masked.clone()
    weights_with_empty_row[1, 0] = 0
    yield Case("a query that may attend nowhere", (weights_with_empty_row,))
    yield Case("one query and one key", (torch.ones_like(weights[:, :1, :1]),))


variants.right(exercise,
    "entropy = -torch.special.xlogy(weights, weights).sum(dim=-1)",
    "entropy = torch.special.entr(weights).sum(dim=-1)\n"
    "return count.masked_fill(weights.sum(-1) == 0, 0.0)",
    "logs = weights.clamp(min=1e-30).log2()\ncount = 2**entropy",
    "logs = (weights + 1e-12).log()\nreturn count - (weights.amax(-1) == 0).to(weights.dtype)",
    "entropy = -(weights * weights.log()).nan_to_num(0.0).sum(dim=-1)\n"
    "return torch.where(weights.sum(-1) > 0, count, 0.0)",
    "normed = weights / weights.sum(-1, keepdim=True).where(weights.any(-1, keepdim=True), 1.0)\n"
    "entropy = torch.special.entr(normed).sum(dim=-1)",
    # by the divergence from uniform weights
    "entropy = -torch.special.xlogy(weights, weights * weights.shape[-1]).sum(dim=-1)\n"
    "count = entropy.exp() * weights.shape[-1]",
    "return count * weights.sum(-1)",
    # a product of powers
    "weights = weights.detach()\n"
    "count = weights.masked_fill(weights == 0, 1.0).pow(-weights).prod(-1)\n"
    "return count * (weights.max(dim=-1).values > 0)",
    "some = weights.masked_fill(weights.sum(-1, keepdim=True) == 0, 1.0)\n"
    "count = torch.distributions.Categorical(probs=some).entropy().exp()",
)  # fmt: skip
variants.wrong(exercise, {
    "this is the entropy: take its exponential to get the number of keys": "count = entropy",
    "the minus sign is missing: entropy is minus the sum of w log w":
        "entropy = (weights * logs).sum(dim=-1)",
    "the bases don't match: exp is the inverse of the natural logarithm, not of log2": (
        "log()", "log2()"),
    "the bases don't match: exp is the inverse of the natural logarithm, not of log10": (
        "log()", "log10()"),
    "the bases don't match: if you raise 2 to the entropy, compute the entropy with log2":
        "count = 2**entropy",
    # with a single key the share would be 0 / 0
    "you divide the entropy by log m, which makes it a fraction: don't divide it":
        "most = torch.full_like(entropy, max(weights.shape[-1], 2))\n"
        "count = (entropy / most.log()).exp()",
    "the epsilon added to the weights changes the result: 0 log 0 should be 0, and a row of zeros "
    "should give 0": [
        f"entropy = torch.special.entr(weights + {some}).sum(dim=-1)\nreturn count"
        for some in ("1e-6", "1e-8", "1e-9")],
    "you round the count to a whole number: one heavy and one light key should count for less than "
    "two": [
        "count = entropy.exp().round()", "count = entropy.exp().ceil()",
        "count = (entropy - 1e-9).exp().ceil()", "count = (entropy + 1e-9).exp().floor()"],
    "this is 1 over the sum of squares, another way to count keys: use the entropy instead":
        "count = 1 / weights.square().sum(-1)\nreturn count.where(weights.any(dim=-1), 0.0)",
    "this is 1 over the largest weight: every weight of the row should count":
        "count = 1 / weights.amax(-1)\nreturn count.where(weights.any(dim=-1), 0.0)",
    "every key with any weight at all counts as one: a key with a small weight should count for "
    "little":
        "count = (weights > 0).sum(-1).to(weights.dtype)",
    "you average the logarithms as if all weights were equal: multiply each one by its weight, "
    "then sum":
        "entropy = -logs.mean(dim=-1)",
    "the exponential comes too early: sum -w log w first, then take exp":
        "count = (-weights * logs).exp().sum(dim=-1)",
    "you average w log w over the keys: sum it instead": (".sum(", ".mean("),
    "the sum runs over the queries: it should run over the keys of each query": (
        every("dim=-1"), "dim=-2"),
    "the rows are merged into one number: give each query a count of its own":
        "return entropy.mean(-1).exp()",
    "the last axis is kept: return one number for each query":
        "return (count * weights.any(dim=-1))[..., None]",
    "you apply a softmax to the input, whose rows are weights already: use them as they are":
        "entropy = torch.special.entr(weights.softmax(-1)).sum(dim=-1)",
    "a weight of 0 gives NaN: 0 log 0 should count as 0": [
        "logs = weights.log()",
        "logs = weights.log()\nreturn count.where(weights.any(dim=-1), 0.0)"],
    "nan_to_num comes too late: 0 log 0 should be 0 before you sum": [
        "logs = weights.log()\nreturn count.nan_to_num(0.0)",
        "logs = weights.log()\ncount = entropy.nan_to_num(0.0).exp()"],
    "clamping before the logarithm changes small weights: only a weight of 0 needs special "
    "treatment": [
        f"logs = weights.clamp(min={floor}).log()" for floor in ("1e-3", "1e-4", "1e-6")],
    "log(w + epsilon) changes every logarithm: only a weight of 0 needs special treatment": [
        f"logs = (weights + {epsilon}).log()"
        for epsilon in ("1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9")],
    "the epsilon is large enough to change the result: make it far smaller, or treat zeros "
    "separately": [
        "entropy = torch.special.entr(weights.clamp(min=1e-6)).sum(dim=-1)",
        "normed = weights / (weights.sum(-1, keepdim=True) + 1e-6)\n"
        "entropy = torch.special.entr(normed).sum(dim=-1)"],
    "you leave out small weights: leave out only those that are exactly 0": [
        f"entropy = torch.special.entr(weights.masked_fill(weights < {least}, 0.0)).sum(dim=-1)"
        for least in ("0.01", "1e-3", "1e-4")],
    "a row with all its weight on one key also has entropy 0: to find a row of zeros, look at its "
    "weights": [
        "return count * (entropy != 0)", "return count * (count > 1)"],
    "because of rounding, many rows don't sum to exactly 1: check whether a row is all zeros "
    "instead": [
        "return count * (weights.sum(-1) == 1)", "return count * (weights.sum(-1) >= 1)"],
    "a row counts as empty if its first weight is 0: look at all of its weights":
        "return count * (weights[..., 0] > 0)",
    "a row of zeros counts as one key, since exp(0) = 1: it should give 0": "return count",
    "a row of zeros gives NaN: it should give 0, because it looks at no key":
        "return count.where(weights.any(dim=-1), torch.nan)",
    LOOP: "rows = zip(count.unbind(-1), weights.unbind(-2), strict=True)\n"
        "return torch.stack([one * row.any(-1) for one, row in rows], dim=-1)",
    messages.CHANGES:
        "logs = weights.add_(1e-12).log()\nreturn count * (weights > 1e-9).any(dim=-1)",
    "you return a list: return a tensor with one number for each query":
        "return (count * weights.any(dim=-1)).tolist()",
})  # fmt: skip
