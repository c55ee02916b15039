"""Exercise relative_values: the value term of relative attention, from one sum for each row."""

import torch

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.relative.shared.rows import add_to, offsets, rows, sentence_by_sentence

exercise = Exercise(
    name="relative_values",
    chapter="relative",
    title="The values' half of the table",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "All pairs that share a row of the table are multiplied with the same vector. So first add "
        "up the weights of each row of the table, query by query, and multiply afterwards.",
        "The sums are (..., n, 2 reach + 1) numbers: where you would gather to read from a table, "
        "you scatter_add to write into one. Start from zeros, with the index expanded to the shape "
        "of the weights. The product with a_v comes last.",
        "weights.new_zeros(*weights.shape[:-1], len(a_v)).scatter_add(-1, index, weights) holds "
        "the sums.",
    ),
)


@exercise.reference
def by_hand(weights, a_v):
    n, reach = weights.shape[-1], (len(a_v) - 1) // 2
    out = [
        sum(
            weights[..., i, j, None] * a_v[max(-reach, min(reach, j - i)) + reach] for j in range(n)
        )
        for i in range(n)
    ]
    return torch.stack(out, dim=-2)


@exercise.cases
def cases(draw):
    reach = draw.integer(2, 3)
    n, d = 2 * reach + 3, draw.integer(10, 12)
    weights, a_v = draw.normal(2, n, n).softmax(-1), draw.normal(2 * reach + 1, d)
    long = draw.normal(12, 40, 40).softmax(-1), a_v
    sizes = f"n={n}, d={d}, reach={reach}"
    yield Case(f"a batch of 2, {sizes}", (weights, a_v), longer=long)
    yield Case(f"one matrix without a batch, {sizes}", (weights[0], a_v))
    heads = draw.normal(2, 3, 8, 8).softmax(-1), draw.normal(7, 5)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("a reach of 0, so a table of one row", (weights, a_v[:1]))
    yield Case("a reach of 1", (weights, a_v[:3]))
    yield Case(f"a reach of {n + 2}, beyond every offset", (weights, draw.normal(2 * n + 5, d)))
    nowhere = weights.clone()
    nowhere[1, 0] = 0
    yield Case("a query that may attend nowhere", (nowhere, a_v))
    yield Case("weights of any sign and size", (draw.normal(2, n, n), a_v))
    yield Case("one query and one key", (torch.ones_like(weights[:, :1, :1]), a_v))
    wide = draw.normal(2, 24, 24).softmax(-1), draw.normal(5, 96)
    yield Case("a batch of 2, n=24, d=96, reach=2", wide, max_elements=24 * 24 * 96 - 1)


def square(weights, a_v):
    n = weights.shape[-1]
    return rows(n, n, len(a_v) // 2, weights.device)


def summed(weights, size, at):
    """The weights of each row of the table, added up."""
    zeros = weights.new_zeros(*weights.shape[:-1], size)
    return zeros.scatter_add(-1, at.expand(weights.shape), weights)


def valued(weights, a_v, *, at=None):
    """The right answer, with the place where a wrong one departs from it as an argument."""
    return summed(weights, len(a_v), square(weights, a_v) if at is None else at) @ a_v


@exercise.valid
def by_scatter_add(weights, a_v):
    return valued(weights, a_v)


@exercise.valid
def by_one_hot(weights, a_v):
    which = torch.nn.functional.one_hot(square(weights, a_v), len(a_v)).to(weights.dtype)
    return torch.einsum("...ij,ijr->...ir", weights, which) @ a_v


@exercise.valid
def row_of_the_table_by_row(weights, a_v):
    # a loop over the table is none over the positions
    at = square(weights, a_v)
    return sum((weights * (at == r)).sum(-1, keepdim=True) * row for r, row in enumerate(a_v))


@exercise.valid
def products_of_every_sum_and_row(weights, a_v):
    # (..., n, 2 reach + 1, d) numbers
    return (summed(weights, len(a_v), square(weights, a_v))[..., None] * a_v).sum(-2)


@exercise.valid
def one_sum_for_each_row(weights, a_v):
    at = square(weights, a_v)
    sums = [weights.masked_fill(at != r, 0.0).sum(dim=-1) for r in range(a_v.size(0))]
    return torch.einsum("...r,rd->...d", torch.stack(sums, dim=-1), a_v)


@exercise.valid
def column_of_the_table_by_column(weights, a_v):
    # n x n numbers at a time, however wide the table is
    at = square(weights, a_v)
    return torch.stack([(weights * column[at]).sum(-1) for column in a_v.unbind(-1)], dim=-1)


@exercise.valid
def by_index_add(weights, a_v):
    n = weights.shape[-1]
    place = square(weights, a_v) + len(a_v) * torch.arange(n, device=weights.device)[:, None]
    sums = weights.new_zeros(*weights.shape[:-2], n * len(a_v))
    sums = sums.index_add(-1, place.flatten(), weights.flatten(-2))
    return sums.unflatten(-1, (n, len(a_v))).matmul(a_v)


def with_rows(way):
    def answered(weights, a_v):
        n = weights.shape[-1]
        return valued(weights, a_v, at=way(n, n, len(a_v) // 2, weights.device))

    return answered


add_to(exercise, with_rows)


OVERWRITTEN = "keys that share a row overwrite each other: their weights add up"


@exercise.mutant(OVERWRITTEN)
def by_scatter(weights, a_v):
    zeros = weights.new_zeros(*weights.shape[:-1], len(a_v))
    at = square(weights, a_v).expand(weights.shape)
    # of several writes to one place, the last counts: the first key from the right
    return zeros.scatter(-1, at, weights) @ a_v


@exercise.mutant("keys that share a row are averaged: their weights add up")
def averaged(weights, a_v):
    at = square(weights, a_v)
    count = summed(torch.ones_like(weights), len(a_v), at).clamp(min=1)
    return summed(weights, len(a_v), at) / count @ a_v


def reduced(weights, a_v, how):
    zeros = weights.new_zeros(*weights.shape[:-1], len(a_v))
    return zeros.scatter_reduce(-1, square(weights, a_v).expand(weights.shape), weights, how) @ a_v


@exercise.mutant("keys that share a row are averaged: their weights add up")
def averaged_with_the_zeros(weights, a_v):
    return reduced(weights, a_v, "mean")


@exercise.mutant("of the keys that share a row the largest weight is kept: their weights add up")
def largest_of_a_row(weights, a_v):
    return reduced(weights, a_v, "amax")


EXPAND = "scatter_add fills no axis of the index: expand it to the shape of the weights"


def index_as_it_is(weights, a_v, at):
    zeros = weights.new_zeros(*weights.shape[:-1], len(a_v))
    return zeros.scatter_add(-1, at, weights) @ a_v


@exercise.mutant(EXPAND)
def index_not_expanded(weights, a_v):
    return index_as_it_is(weights, a_v, square(weights, a_v))


@exercise.mutant(EXPAND)
def index_with_axes_of_one(weights, a_v):
    at = square(weights, a_v)
    return index_as_it_is(weights, a_v, at[(None,) * (weights.dim() - 2)])


@exercise.mutant(EXPAND)
def index_with_one_axis_more(weights, a_v):
    return index_as_it_is(weights, a_v, square(weights, a_v)[None])


@exercise.mutant("reach is not the number of rows: a table of 2 reach + 1 rows goes reach each way")
def reach_is_the_number_of_rows(weights, a_v):
    n, reach = weights.shape[-2], len(a_v)
    return valued(weights, a_v, at=offsets(n, n, weights.device).clamp(-reach, reach) + reach)


@exercise.mutant("keys beyond the reach are left out: they share the first or the last row")
def far_keys_left_out(weights, a_v):
    near = offsets(*weights.shape[-2:], weights.device).abs() <= len(a_v) // 2
    return valued(weights * near, a_v)


@exercise.mutant(
    "the sum runs over the queries: row i of the weights holds what query i attends to"
)
def sum_over_the_queries(weights, a_v):
    at = square(weights, a_v)
    return summed(weights.mT, len(a_v), at.mT) @ a_v


@exercise.mutant("the weights are transposed: row i of them belongs to query i")
def weights_transposed(weights, a_v):
    return valued(weights.mT, a_v)


@exercise.mutant("a softmax is taken once more: these are weights already")
def softmax_again(weights, a_v):
    return valued(weights.softmax(-1), a_v)


@exercise.mutant("the rows are normalised once more: take the weights as they are")
def normalised_again(weights, a_v):
    total = weights.sum(-1, keepdim=True)
    return valued(weights / torch.where(total.abs() > 1e-9, total, 1.0), a_v)


@exercise.mutant("it divides by sqrt(d): that is for scores, values are not scaled")
def divided_by_root_d(weights, a_v):
    return valued(weights, a_v) / a_v.shape[-1] ** 0.5


@exercise.mutant("the mean is taken over the keys: the weights are the mean already, so add up")
def mean_over_the_keys(weights, a_v):
    return valued(weights, a_v) / weights.shape[-1]


@exercise.mutant("these are the sums for each row of the table: multiply them with the table")
def sums_only(weights, a_v):
    return summed(weights, len(a_v), square(weights, a_v))


@exercise.mutant("the reach is a fixed number: a table of 2 reach + 1 rows tells it")
def reach_of_the_example(weights, a_v):
    n = weights.shape[-1]
    at = offsets(n, n, weights.device).clamp(-1, 1) + 1
    return valued(weights, a_v, at=at.clamp(max=len(a_v) - 1))


@exercise.mutant("later keys are left out: no mask is asked for, each weight counts")
def causal(weights, a_v):
    return valued(weights.tril(), a_v)


@exercise.mutant("all queries are added up: there is a row of output for each query")
def summed_over_the_queries(weights, a_v):
    return valued(weights, a_v).sum(-2)


TOO_LARGE = "a_v[rows] holds n x n x d numbers: add up the weights of each row of the table first"


@exercise.mutant(TOO_LARGE)
def dense_table(weights, a_v):
    return torch.einsum("...ij,ijd->...id", weights, a_v[square(weights, a_v)])


@exercise.mutant(TOO_LARGE)
def value_for_each_pair(weights, a_v):
    return (weights[..., None] * a_v[square(weights, a_v)]).sum(-2)


@exercise.mutant(TOO_LARGE)
def dense_table_by_matmul(weights, a_v):
    return (weights[..., None, :] @ a_v[square(weights, a_v)]).squeeze(-2)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(weights, a_v):
    _, n, _ = weights.shape
    return valued(weights, a_v, at=square(weights, a_v)[:n])


@exercise.mutant("it takes no leading axes: any, or none, should work")
def batch_axis_forgotten(weights, a_v):
    n, _ = weights.shape
    return valued(weights, a_v, at=square(weights, a_v)[:n])


@exercise.mutant("torch.zeros gives float32: make them of the dtype of the weights")
def zeros_of_the_default_dtype(weights, a_v):
    zeros = torch.zeros(*weights.shape[:-1], len(a_v), device=weights.device)
    return zeros.scatter_add(-1, square(weights, a_v).expand(weights.shape), weights) @ a_v


LOOP = "it loops over positions or sentences: one scatter_add serves all pairs"

exercise.mutant(LOOP)(sentence_by_sentence(valued))


@exercise.mutant(LOOP)
def loop_over_queries(weights, a_v):
    at = square(weights, a_v)
    found = [valued(weights[..., i, None, :], a_v, at=at[i, None]) for i in range(len(at))]
    return torch.cat(found, dim=-2)


@exercise.mutant(LOOP)
def loop_over_keys(weights, a_v):
    at = square(weights, a_v)
    return sum(weights[..., j, None] * a_v[at[:, j]] for j in range(len(at)))


@exercise.mutant("no gradient reaches the table: nothing may be detached")
def table_detached(weights, a_v):
    return valued(weights, a_v.detach())


@exercise.mutant("no gradient reaches the weights: nothing may be detached")
def weights_detached(weights, a_v):
    return valued(weights.detach(), a_v)


@exercise.mutant("the input changes: work on a copy, not on the weights themselves")
def changed_in_place(weights, a_v):
    weights *= 1 + 1e-9
    return valued(weights, a_v)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(weights, a_v):
    return valued(weights.float(), a_v.float())


@exercise.mutant("the result is always float64: keep the dtype of the inputs")
def always_float64(weights, a_v):
    return valued(weights.double(), a_v.double())


@exercise.mutant("you compute in float32: stay in the dtype of the inputs")
def float32_inside(weights, a_v):
    return valued(weights.float(), a_v.float()).to(weights.dtype)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def index_on_the_cpu(weights, a_v):
    return valued(weights, a_v) + torch.zeros(len(a_v[0]), dtype=a_v.dtype, device="cpu")
