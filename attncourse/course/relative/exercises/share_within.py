"""Exercise share_within: how much of the attention goes to keys at most that far away."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or sentences: compare all distances at once"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
    without={"ties": "rounded to halves, a row of weights would not sum to 1"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(weights, reach):
    n = weights.shape[-1]
    shares = []
    for matrix in weights.reshape(-1, n, n):
        within = [
            sum(row[j] for j in range(n) if abs(j - i) <= reach)
            for i, row in enumerate(matrix)
            if row.any()
        ]
        shares.append(sum(within, start=weights.new_zeros(())) / max(len(within), 1))
    return torch.stack(shares).reshape(weights.shape[:-2])


@exercise.cases
def cases(draw):
    reach = draw.integer(1, 2)
    n = 2 * reach + draw.integer(4, 5)
    weights, longer_weights = draw.normal(2, n, n).softmax(-1), draw.normal(12, 40, 40).softmax(-1)
    sizes = f"n={n}, reach={reach}"
    yield Case(f"a batch of 2, {sizes}", (weights, reach), longer=(longer_weights, reach))
    yield Case(f"one matrix without a batch, {sizes}", (weights[0], reach))
    yield Case("two leading axes, n=8, reach=2", (draw.normal(2, 3, 8, 8).softmax(-1), 2))
    yield Case(f"n={n}, reach=0", (weights, 0))
    yield Case(f"n={n}, reach={n - 1}, all keys", (weights, n - 1))
    yield Case(f"n={n}, reach={n + 3}, more than all", (weights, n + 3))
    masked = draw.normal(2, n, n).masked_fill(~draw.mask(2, n, n), -torch.inf).softmax(-1)
    yield Case(f"keys that the mask hides, {sizes}", (masked, reach))
    causal = draw.normal(2, n, n).masked_fill(~torch.ones(n, n).tril().bool(), -torch.inf)
    yield Case(f"later keys hidden, {sizes}", (causal.softmax(-1), reach))
    weights_with_empty_rows = weights.clone()
    weights_with_empty_rows[0, 1:3] = 0
    weights_with_empty_rows[1, n - 1] = 0
    yield Case(f"queries that may attend nowhere, {sizes}", (weights_with_empty_rows, reach))
    far_weights = weights.clone()
    # the first query looks at the last key alone, the second nowhere
    far_weights[:, 0], far_weights[:, 1] = torch.eye(n, dtype=far_weights.dtype)[-1], 0
    yield Case(f"a query that attends far away only, {sizes}", (far_weights, reach))
    empty_sentence = weights.clone()
    empty_sentence[1] = 0
    yield Case(f"a sentence in which no query attends, {sizes}", (empty_sentence, reach))
    for about, other_reach in (("reach=0", 0), (f"reach={n - 1}, all keys", n - 1)):
        yield Case(
            f"queries that may attend nowhere, {about}", (weights_with_empty_rows, other_reach)
        )
    yield Case(f"no query attends, reach={n + 3}, more than all", (empty_sentence, n + 3))
    single_key = torch.tensor([[[1.0]], [[0.0]]], dtype=weights.dtype)
    yield Case("one query and one key, or it may attend nowhere", (single_key, reach))
    scores = draw.normal(2, n, n)
    scores[..., 0] = -torch.inf
    yield Case(f"a key that no query attends to, {sizes}", (scores.softmax(-1), reach))
    uniform = torch.full((200, 200), 1 / 200, dtype=torch.float64)
    yield Case("uniform weights over 200 positions, reach=5", (uniform, 5))
    yield Case("one query and one key", (torch.ones_like(weights[:, :1, :1]), reach))


SHARE = "inside / attending.clamp(min=1)"
variants.right(exercise,
    # every row that attends sums to 1
    "near = (j - j[:, None]).abs() < reach + 1\n"
    "inside = torch.where(near, weights, 0.0).sum((-2, -1))\n"
    "attending = weights.sum((-2, -1))\n"
    "return inside / torch.where(attending > 0, attending, 1.0)",
    "inside = weights.tril(reach).triu(-reach).sum((-2, -1))\n"
    "attending = (weights != 0).any(dim=-1).sum(-1)\n"
    "return torch.nan_to_num(inside / attending, nan=0.0)",
    "shares = (weights * near).sum(-1)\n"
    "return shares.masked_fill(~weights.any(-1), torch.nan).nanmean(-1).nan_to_num(0.0)",
    # a loop over the reach is none over the positions
    "far = min(reach, weights.shape[-1] - 1)\n"
    "inside = sum(weights.diagonal(o, -2, -1).sum(-1) for o in range(-far, far + 1))\n"
    "attending = weights.amax(-1).gt(0).sum(-1)",
    "inside = (weights * ~near).sum((-2, -1))\n"
    "attending = weights.sum(-1).round().sum(-1)\n"
    "return (attending - inside) / attending.clamp(min=1)",
)  # fmt: skip


def count_if(rows, leave_out=False):
    """The steps in which other rows attend; the weights of the rest may count nowhere."""
    inside = f"inside = (weights * near * ({rows})[..., None]).sum((-2, -1))\n" if leave_out else ""
    return f"{inside}attending = ({rows}).sum(-1)"


OWN = "weights.diagonal(0, -2, -1) > 0"
variants.wrong(exercise, {
    "a row counts only where all its weights are above 0: one of them should be enough":
        count_if("weights.all(-1)"),
    "the keys at distance reach are left out: they should count, too": ("<= reach", "< reach"),
    "one key too many counts on either side: the distance should be at most reach": (
        "<= reach", "<= reach + 1"),
    "later keys are left out: reach should go to the left and to the right":
        "near = ((j - j[:, None]).abs() <= reach) & (j <= j[:, None])",
    "earlier keys are left out: reach should go to the left and to the right":
        "near = ((j - j[:, None]).abs() <= reach) & (j >= j[:, None])",
    "one side is not bounded: take the absolute value of the offset": [
        "near = j - j[:, None] <= reach", "near = j[:, None] - j <= reach"],
    "reach is taken for the whole width: it should go that far to each side":
        "near = 2 * (j - j[:, None]).abs() <= reach",
    "the query itself is left out: it should count, since it lies within any reach":
        "near = ((j - j[:, None]).abs() <= reach) & (j != j[:, None])",
    "this is the share outside the reach: take that within it": ("<= reach", "> reach"),
    "only keys at exactly that distance count: take all up to it": ("<= reach", "== reach"),
    "pairs are counted, whatever their weight: add up their weights":
        "inside = (near * (weights > 0).to(weights.dtype)).sum((-2, -1))\n"
        f"return {SHARE} / weights.shape[-1]",
    "this is the sum over the queries: take the mean": "return inside",
    "this is the mean over pairs: add up over the keys, then average over queries":
        f"return {SHARE} / weights.shape[-1]",
    "this is the mean of the weights inside: add up over the keys of a query":
        "return inside / near.sum()",
    "there is one number for each query: take their mean": "return (weights * near).sum(-1)",
    "queries that attend nowhere count as 0: leave them out of the mean":
        "return inside / weights.shape[-1]",
    "keys that get weight are counted: count the queries, any over the last axis":
        count_if("weights.any(-2)"),
    "a row of small weights is taken for empty: a small weight counts, too, so ask for > 0": [
        count_if("(weights > 0.05).any(-1)"), count_if("(weights > 0.01).any(-1)", leave_out=True)],
    "a sum of floats is seldom exactly 1: a query attends if any weight is above 0": [
        count_if("weights.sum(-1) == 1"), count_if("weights.sum(-1) == 1", leave_out=True)],
    "a query that may not attend to itself is left out: it attends if any weight is above 0": [
        count_if(OWN), count_if(OWN, leave_out=True)],
    "a query that may not attend to the first key is left out: it attends if any weight is above 0":
        count_if("weights[..., 0] > 0"),
    "the share is divided by the number of keys within the reach: add the weights up, no more": (
        "weights * near", "weights * near / near.sum(-1, keepdim=True)"),
    "a query that attends only far away is left out of the mean: it should count, with a share of "
    "0":
        count_if("(weights * near).any(-1)"),
    "where no query attends it gives NaN: there it should give 0": "return inside / attending",
    "where no query attends it gives 1: there it should give 0":
        f"return torch.where(attending > 0, {SHARE}, 1.0)",
    "a reach of 0 is made a special case: leave rows of zeros out of the mean there, too":
        f"return {SHARE} if reach else weights.diagonal(0, -2, -1).mean(-1)",
    "a reach that takes in all keys always gives 1: where no query attends, it should give 0":
        "some = reach < weights.shape[-1] - 1\n"
        f"return {SHARE} if some else weights.new_ones(weights.shape[:-2])",
    "one query alone always gives 1: where its row is all zeros, it should give 0":
        f"return {SHARE} if len(j) > 1 else weights.new_ones(weights.shape[:-2])",
    "all sentences and heads are merged: give each a share of its own": [
        "return inside.sum() / attending.sum().clamp(min=1)", f"return ({SHARE}).mean()"],
    "the attending queries of the whole batch are counted: divide each matrix by its own": [
        "attending = weights.any(dim=-1).sum()",
        "attending = weights.any(dim=-1).reshape(-1, weights.shape[-1]).any(0).sum()"],
    "you take a softmax again: these are weights already": (
        "weights * near", "weights.softmax(-1) * near"),
    "the largest weight inside is taken: add all of them up":
        "inside = (weights * near).amax(-1).sum(-1)",
    "the epsilon is large enough to show: make the divisor at least 1 instead": [
        f"return inside / (weights.sum((-2, -1)) + {epsilon})" for epsilon in ("1e-5", "1e-6")],
    "it takes no leading axes: any, or none, should work": (
        "    j =", "    _n, _ = weights.shape\n    j ="),
    LOOP: [
        "rows = [(x * near).sum() for x in weights.reshape(-1, *near.shape)]\n"
        "inside = torch.stack(rows).reshape(*weights.shape[:-2])",
        "n = weights.shape[-1]\n"
        "inside = sum(\n"
        "    weights[..., i, max(0, i - reach) : i + reach + 1].sum(-1) for i in range(n))"],
    messages.CHANGES: ("weights * near", "weights.mul_(near)"),
    "it gives a plain number: return a tensor, one number for each matrix":
        f"return ({SHARE}).tolist()",
})  # fmt: skip
