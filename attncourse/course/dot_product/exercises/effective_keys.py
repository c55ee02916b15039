"""Exercise effective_keys: how many keys a query really looks at."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions: treat all rows at once"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    usual_hints={"loops": LOOP},
    without={"ties": "rounded to halves, a row of weights would not sum to 1"},
)


@exercise.reference
def by_hand(weights):
    counts = []
    for row in weights.reshape(-1, weights.shape[-1]):
        some = row[row > 0]
        counts.append((-some @ some.log()).exp() * (len(some) > 0))
    return torch.stack(counts).reshape(weights.shape[:-1])


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 7)
    scores = draw.normal(2, n, m)
    weights, long = scores.softmax(-1), draw.normal(2, 8 * n, 8 * m).softmax(-1)
    yield Case(f"a batch of 2, n={n}, m={m}", (weights,), longer=(long,))
    yield Case(f"one matrix without a batch, n={n}, m={m}", (weights[0],))
    # as many rows as it takes to tell float32 from float64 by its rounding
    yield Case("three leading axes", (draw.normal(8, 8, 8, 6).softmax(-1),))
    yield Case(f"uniform weights over {m} keys", (torch.full_like(weights, 1 / m),))
    yield Case("all weight on one key", (torch.eye(m, dtype=weights.dtype),))
    hidden = scores.masked_fill(~draw.mask(2, n, m), -torch.inf).softmax(-1)
    yield Case("keys that the mask hides", (hidden,))
    small = 0.1 ** torch.arange(8, dtype=weights.dtype)
    yield Case("weights down to a ten-millionth", (small[None] / small.sum(),))
    yield Case("scores 60 times larger", ((60 * scores).softmax(-1),))
    nowhere = hidden.clone()
    nowhere[1, 0] = 0
    yield Case("a query that may attend nowhere", (nowhere,))
    yield Case("one query and one key", (torch.ones_like(weights[:, :1, :1]),))


@exercise.valid
def plain(weights):
    terms = weights * torch.where(weights > 0, weights, 1.0).log()
    entropy = -terms.sum(-1)
    count = entropy.exp()
    return torch.where((weights > 0).any(-1), count, 0.0)


SAFE = "torch.where(weights > 0, weights, 1.0)"
TERMS, TERMS_OF = f"weights * {SAFE}.log()", "-torch.special.entr"
COUNT, ROWS = "entropy.exp()", "(weights > 0).any(-1)"
RESULT = f"torch.where({ROWS}, count, 0.0)"
START, SUM = "    terms =", "weights.sum(-1, keepdim=True)"
variants.right(exercise,
    (TERMS, "torch.special.xlogy(weights, weights)"),
    (TERMS, f"{TERMS_OF}(weights)", RESULT, "count.masked_fill(weights.sum(-1) == 0, 0.0)"),
    (TERMS, "weights * weights.clamp(min=1e-30).log2()", COUNT, "2**entropy", RESULT,
     "count * weights.any(-1)"),
    (SAFE, "(weights + 1e-12)", RESULT, "count - (weights.amax(-1) == 0).to(weights.dtype)"),
    (TERMS, "(weights * weights.log()).nan_to_num(0.0)", ROWS, "weights.sum(-1) > 0"),
    (START, f"    weights = weights / {SUM}.where(weights.any(-1, keepdim=True), 1.0)\n{START}"),
    # by the divergence from uniform weights
    (TERMS, "torch.special.xlogy(weights, weights * weights.shape[-1])", COUNT,
     "entropy.exp() * weights.shape[-1]"),
    (RESULT, "count * weights.sum(-1)"),
    # a product of powers
    (START, f"    weights = weights.detach()\n{START}",
     COUNT, "weights.masked_fill(weights == 0, 1.0).pow(-weights).prod(-1)",
     ROWS, "weights.max(dim=-1).values > 0"),
    (START, f"    some = weights.masked_fill({SUM} == 0, 1.0)\n{START}",
     COUNT, "torch.distributions.Categorical(probs=some).entropy().exp()"),
)  # fmt: skip
variants.wrong(exercise, {
    "this is the entropy: its exponential is the number of keys": (COUNT, "entropy"),
    "the minus sign is missing: entropy is minus the sum of w log w": ("-terms", "terms"),
    "two bases are mixed: exp belongs to the natural logarithm, not to log2": ("log()", "log2()"),
    "two bases are mixed: exp belongs to the natural logarithm, not to log10": ("log()", "log10()"),
    "two bases are mixed: 2 to the power of an entropy needs log2": (COUNT, "2**entropy"),
    # with a single key the share would be 0 / 0
    "the entropy is divided by log m: that gives a share from 0 to 1, not a number of keys": (
        COUNT, "(entropy / torch.full_like(entropy, max(weights.shape[-1], 2)).log()).exp()"),
    "what is added to the weights counts: 0 log 0 is 0, and a row of zeros has no key": [
        (START, f"    weights = weights + {some}\n{START}", RESULT, "count")
        for some in ("1e-6", "1e-8", "1e-9")],
    "the count is rounded to whole keys: one heavy and one light key count for less than two": [
        (COUNT, "entropy.exp().round()"), (COUNT, "entropy.exp().ceil()"),
        (COUNT, "(entropy - 1e-9).exp().ceil()"), (COUNT, "(entropy + 1e-9).exp().floor()")],
    "this is 1 over the sum of squares: it counts keys as well, but not by entropy": (
        COUNT, "1 / weights.square().sum(-1)"),
    "this is 1 over the largest weight: every weight of the row should count": (
        COUNT, "1 / weights.amax(-1)"),
    "keys with any weight at all are counted: a small weight should count little": (
        COUNT, "(weights > 0).sum(-1).to(weights.dtype)"),
    "all logarithms count alike: multiply each with its own weight, then add up": (
        "weights * torch", "torch", "terms.sum", "terms.mean"),
    "the exponential comes too early: add up -w log w first, then take exp": (
        ".sum(-1)", "", "exp()", "exp().sum(-1)"),
    "w log w is averaged over the keys: add it up": ("terms.sum", "terms.mean"),
    "the sum runs over the queries: a row holds the weights of one query over its keys": (
        "sum(-1)", "sum(-2)", "any(-1)", "any(-2)"),
    "the rows are merged into one number: each query has a count of its own": (
        COUNT, "entropy.mean(-1).exp()", RESULT, "count"),
    "the last axis is kept: one number for each query is asked for": (
        RESULT, f"{RESULT}[..., None]"),
    "a softmax is taken once more: these are weights already": (
        TERMS, f"{TERMS_OF}(weights.softmax(-1))"),
    "a weight of 0 gives NaN: 0 log 0 counts as 0": [
        (SAFE, "weights"), (SAFE, "weights", RESULT, f"count * {ROWS}")],
    "nan_to_num comes too late: 0 log 0 must count as 0 within the sum": [
        (SAFE, "weights", RESULT, "count.nan_to_num(0.0)"),
        (SAFE, "weights", COUNT, "entropy.nan_to_num(0.0).exp()")],
    "the logarithm has a floor, which small weights fall below: only a weight of 0 is left out": [
        (SAFE, f"weights.clamp(min={floor})") for floor in ("1e-3", "1e-4", "1e-6")],
    "the epsilon is large enough to show: make it far smaller, or ask where the weight is 0": [
        (SAFE, "(weights + 1e-3)"), (SAFE, "(weights + 1e-4)"), (SAFE, "(weights + 1e-6)"),
        (TERMS, f"{TERMS_OF}(weights.clamp(min=1e-6))"),
        (START, f"    weights = weights / ({SUM} + 1e-6)\n{START}")],
    "small weights are cut off: only a weight of exactly 0 is left out": [
        (TERMS, f"{TERMS_OF}(weights.masked_fill(weights < 0.01, 0.0))"),
        (TERMS, f"{TERMS_OF}(weights.masked_fill(weights < 1e-3, 0.0))"),
        (TERMS, f"{TERMS_OF}(weights.masked_fill(weights < 1e-4, 0.0))")],
    "one key also has entropy 0: ask whether the weights are zero": [
        (ROWS, "entropy != 0"), (ROWS, "count > 1")],
    "rounding keeps many rows from a sum of exactly 1: ask whether a row is all zeros": [
        (ROWS, "weights.sum(-1) == 1"), (ROWS, "weights.sum(-1) >= 1")],
    "a row is taken for empty although it has weight: look at all its weights, not at the first": (
        ROWS, "weights[..., 0] > 0"),
    "a row of zeros counts as one key, since exp(0) = 1: it should give 0": (RESULT, "count"),
    "a row of zeros gives NaN: it looks at no key and should give 0": (
        "count, 0.0", "count, torch.nan"),
    LOOP: (RESULT, "torch.stack([one * row.any(-1) for one, row in "
                   "zip(count.unbind(-1), weights.unbind(-2), strict=True)], dim=-1)"),
    hints.CHANGES: (SAFE, "weights.add_(1e-12)", ROWS, "(weights > 1e-9).any(-1)"),
    "it gives a list: return a tensor, one number for each query": (RESULT, f"{RESULT}.tolist()"),
})  # fmt: skip
