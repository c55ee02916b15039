"""Exercise share_within: how much of the attention goes to keys at most that far away."""

import torch

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.relative.shared.rows import offsets, sentence_by_sentence

exercise = Exercise(
    name="share_within",
    chapter="relative",
    title="How much attention lies within the reach?",
    kind="measure",
    difficulty=1,
    minutes=15,
    points=10,
    hints=(
        "The weights of a query sum to 1. Keep those of keys at most `reach` away, on either side, "
        "add them up, and take the mean over the queries.",
        "Two position vectors, a row and a column, give all distances, and a comparison gives a "
        "mask. Sum what it keeps over both axes, and divide by the number of queries that attend "
        "at all. That number may be 0, and 0 / 0 is NaN.",
        "weights.any(dim=-1).sum(dim=-1) counts the queries that attend; clamp(min=1) makes it "
        "safe to divide by",
    ),
    # at a weight of 0 it is not said whether the query attends
    differentiable=False,
)


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
    weights, long = draw.normal(2, n, n).softmax(-1), draw.normal(12, 40, 40).softmax(-1)
    sizes = f"n={n}, reach={reach}"
    yield Case(f"a batch of 2, {sizes}", (weights, reach), longer=(long, reach))
    yield Case(f"one matrix without a batch, {sizes}", (weights[0], reach))
    yield Case("two leading axes, n=8, reach=2", (draw.normal(2, 3, 8, 8).softmax(-1), 2))
    yield Case(f"n={n}, reach=0", (weights, 0))
    yield Case(f"n={n}, reach={n - 1}, all keys", (weights, n - 1))
    yield Case(f"n={n}, reach={n + 3}, more than all", (weights, n + 3))
    hidden = draw.normal(2, n, n).masked_fill(~draw.mask(2, n, n), -torch.inf).softmax(-1)
    yield Case(f"keys that the mask hides, {sizes}", (hidden, reach))
    causal = draw.normal(2, n, n).masked_fill(~torch.ones(n, n).tril().bool(), -torch.inf)
    yield Case(f"later keys hidden, {sizes}", (causal.softmax(-1), reach))
    nowhere = weights.clone()
    nowhere[0, 1:3] = 0
    nowhere[1, n - 1] = 0
    yield Case(f"queries that may attend nowhere, {sizes}", (nowhere, reach))
    far = weights.clone()
    # the first query looks at the last key alone, the second nowhere
    far[:, 0], far[:, 1] = torch.eye(n, dtype=far.dtype)[-1], 0
    yield Case(f"a query that attends far away only, {sizes}", (far, reach))
    empty = weights.clone()
    empty[1] = 0
    yield Case(f"a sentence in which no query attends, {sizes}", (empty, reach))
    ignored = draw.normal(2, n, n)
    ignored[..., 0] = -torch.inf
    yield Case(f"a key that no query attends to, {sizes}", (ignored.softmax(-1), reach))
    uniform = torch.full((200, 200), 1 / 200, dtype=torch.float64)
    yield Case("uniform weights over 200 positions, reach=5", (uniform, 5))
    yield Case("one query and one key", (torch.ones_like(weights[:, :1, :1]), reach))


def distances(weights):
    n = weights.shape[-1]
    return offsets(n, n, weights.device).abs()


def shared(weights, reach, *, near=None, queries=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    near = distances(weights) <= reach if near is None else near
    queries = weights.any(-1).sum(-1) if queries is None else queries
    return (weights * near).sum((-2, -1)) / queries.clamp(min=1)


@exercise.valid
def divided_by_the_queries_that_attend(weights, reach):
    return shared(weights, reach)


@exercise.valid
def divided_by_all_weight(weights, reach):
    # every row that attends sums to 1
    j = torch.arange(weights.size(-1), device=weights.device)
    near = (j[:, None] - j[None, :]).abs() < reach + 1
    total = weights.sum(dim=(-2, -1))
    found = torch.where(near, weights, 0.0).sum(dim=(-2, -1))
    return found / torch.where(total > 0, total, torch.ones_like(total))


@exercise.valid
def band_of_two_triangles(weights, reach):
    band = weights.tril(reach).triu(-reach).sum(-1)
    attends = (weights != 0).any(dim=-1)
    mean = (band * attends).sum(-1) / attends.sum(-1)
    return torch.nan_to_num(mean, nan=0.0)


@exercise.valid
def nan_for_the_empty_rows(weights, reach):
    band = (weights * (distances(weights) <= reach)).sum(-1)
    return band.masked_fill(~weights.any(-1), torch.nan).nanmean(-1).nan_to_num(0.0)


@exercise.valid
def diagonal_by_diagonal(weights, reach):
    # a loop over the reach is none over the positions
    reach = min(reach, weights.shape[-1] - 1)
    diagonals = [weights.diagonal(o, -2, -1).sum(-1) for o in range(-reach, reach + 1)]
    count = weights.amax(-1).gt(0).sum(-1)
    return sum(diagonals) / count.clamp(min=1)


@exercise.valid
def what_lies_outside_taken_away(weights, reach):
    outside = (weights * (distances(weights) > reach)).sum((-2, -1))
    count = weights.sum(-1).round().sum(-1)
    return (count - outside) / count.clamp(min=1)


@exercise.mutant("the keys at distance reach are left out: they lie within it")
def strictly_within(weights, reach):
    return shared(weights, reach, near=distances(weights) < reach)


@exercise.mutant("one key too many counts on either side: the distance is at most reach")
def one_too_far(weights, reach):
    return shared(weights, reach, near=distances(weights) <= reach + 1)


@exercise.mutant("later keys are left out: reach goes to the left and to the right")
def earlier_keys_only(weights, reach):
    return shared(weights.tril(), reach)


@exercise.mutant("earlier keys are left out: reach goes to the left and to the right")
def later_keys_only(weights, reach):
    return shared(weights.triu(), reach)


ONE_SIDE = "one side is not bounded: take the absolute value of the offset"


@exercise.mutant(ONE_SIDE)
def left_side_unbounded(weights, reach):
    return shared(weights.tril(reach), weights.shape[-1])


@exercise.mutant(ONE_SIDE)
def right_side_unbounded(weights, reach):
    return shared(weights.triu(-reach), weights.shape[-1])


@exercise.mutant("reach is taken for the whole width: it goes that far to each side")
def window_of_reach_keys(weights, reach):
    return shared(weights, reach, near=2 * distances(weights) <= reach)


@exercise.mutant("the query itself is left out: it lies within any reach")
def own_position_left_out(weights, reach):
    near = (distances(weights) <= reach) & (distances(weights) > 0)
    return shared(weights, reach, near=near)


@exercise.mutant("this is the share outside the reach")
def share_outside(weights, reach):
    return shared(weights, reach, near=distances(weights) > reach)


@exercise.mutant("only keys at exactly that distance count: take all that are no further")
def exactly_at_the_reach(weights, reach):
    return shared(weights, reach, near=distances(weights) == reach)


@exercise.mutant("pairs are counted, whatever their weight: add up weights")
def pairs_counted(weights, reach):
    return shared((weights > 0).to(weights.dtype), reach) / weights.shape[-1]


@exercise.mutant("this is the sum over the queries: take the mean")
def sum_over_queries(weights, reach):
    return (weights * (distances(weights) <= reach)).sum((-2, -1))


@exercise.mutant("this is the mean over pairs: add up over the keys, then average over queries")
def mean_over_pairs(weights, reach):
    return shared(weights, reach) / weights.shape[-1]


@exercise.mutant("this is the mean of the weights inside: add up over the keys of a query")
def mean_inside(weights, reach):
    near = (distances(weights) <= reach).expand_as(weights)
    return (weights * near).sum((-2, -1)) / near.sum((-2, -1))


@exercise.mutant("there is one number for each query: take their mean")
def one_for_each_query(weights, reach):
    return (weights * (distances(weights) <= reach)).sum(-1)


EMPTY_ROWS = "queries that attend nowhere count as 0: leave them out of the mean"


@exercise.mutant(EMPTY_ROWS)
def empty_rows_counted(weights, reach):
    return (weights * (distances(weights) <= reach)).sum(-1).mean(-1)


@exercise.mutant("keys that get weight are counted: count the queries, any over the last axis")
def keys_counted(weights, reach):
    return shared(weights, reach, queries=weights.any(-2).sum(-1))


@exercise.mutant("a small weight is one, too: ask for > 0")
def small_weights_ignored(weights, reach):
    return shared(weights, reach, queries=(weights > 0.05).any(-1).sum(-1))


@exercise.mutant("a sum of floats is seldom exactly 1: a query attends if any weight is above 0")
def sum_of_exactly_one(weights, reach):
    return shared(weights, reach, queries=(weights.sum(-1) == 1).sum(-1))


@exercise.mutant("a query that attends far away only has the share 0: it belongs to the mean")
def far_rows_left_out(weights, reach):
    near = distances(weights) <= reach
    return shared(weights, reach, queries=(weights * near).any(-1).sum(-1))


@exercise.mutant("where no query attends it gives NaN: there it should give 0")
def nan_where_no_query_attends(weights, reach):
    found = (weights * (distances(weights) <= reach)).sum((-2, -1))
    return found / weights.any(-1).sum(-1)


@exercise.mutant("where no query attends it gives 1: there it should give 0")
def one_where_no_query_attends(weights, reach):
    return torch.where(weights.any(-1).any(-1), shared(weights, reach), 1.0)


@exercise.mutant("all sentences and heads are merged: each has a share of its own")
def batch_merged(weights, reach):
    found = (weights * (distances(weights) <= reach)).sum()
    return found / weights.any(-1).sum().clamp(min=1)


@exercise.mutant("all sentences and heads are merged: each has a share of its own")
def mean_over_the_batch(weights, reach):
    return shared(weights, reach).mean()


@exercise.mutant("a softmax is taken once more: these are weights already")
def softmax_again(weights, reach):
    return shared(weights.softmax(-1), reach, queries=weights.any(-1).sum(-1))


@exercise.mutant("the largest weight inside is taken: add them up")
def largest_inside(weights, reach):
    largest = (weights * (distances(weights) <= reach)).amax(-1).sum(-1)
    return largest / weights.any(-1).sum(-1).clamp(min=1)


EPSILON = "the epsilon is large enough to show: make the divisor at least 1 instead"


def with_epsilon(weights, reach, epsilon):
    found = (weights * (distances(weights) <= reach)).sum((-2, -1))
    return found / (weights.sum((-2, -1)) + epsilon)


@exercise.mutant(EPSILON)
def divided_with_an_epsilon(weights, reach):
    return with_epsilon(weights, reach, 1e-5)


@exercise.mutant(EPSILON)
def divided_with_a_small_epsilon(weights, reach):
    return with_epsilon(weights, reach, 1e-6)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(weights, reach):
    _, n, _ = weights.shape
    return shared(weights, min(reach, n))


@exercise.mutant("it takes no leading axes: any, or none, should work")
def batch_axis_forgotten(weights, reach):
    n, _ = weights.shape
    return shared(weights, min(reach, n))


LOOP = "it loops over positions or sentences: compare all distances at once"

exercise.mutant(LOOP)(sentence_by_sentence(shared))


@exercise.mutant(LOOP)
def loop_over_queries(weights, reach):
    n = weights.shape[-1]
    near = [weights[..., i, max(0, i - reach) : i + reach + 1].sum(-1) for i in range(n)]
    return sum(near) / weights.any(-1).sum(-1).clamp(min=1)


@exercise.mutant("it gives a plain number: return a tensor, one number for each matrix")
def plain_number(weights, reach):
    return shared(weights, reach).tolist()


@exercise.mutant("the input changes: work on a new tensor, not on the weights themselves")
def changed_in_place(weights, reach):
    queries = weights.any(-1).sum(-1)
    weights *= distances(weights) <= reach
    return shared(weights, reach, queries=queries)


@exercise.mutant("the result is always float32: keep the dtype of the weights")
def always_float32(weights, reach):
    return shared(weights.float(), reach)


@exercise.mutant("the result is always float64: keep the dtype of the weights")
def always_float64(weights, reach):
    return shared(weights.double(), reach)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def mask_on_the_cpu(weights, reach):
    j = torch.arange(weights.shape[-1], device="cpu")
    return shared(weights, reach, near=(j - j[:, None]).abs() <= reach)
