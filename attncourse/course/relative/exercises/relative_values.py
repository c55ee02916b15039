"""Exercise relative_values: the value term of relative attention, from one sum for each row."""

import torch

from attncourse.course.relative.exercises.shared.rows import SHORT, WAYS
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or sentences: one scatter_add serves all pairs"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


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
    longer_inputs = draw.normal(12, 40, 40).softmax(-1), a_v
    sizes = f"n={n}, d={d}, reach={reach}"
    yield Case(f"a batch of 2, {sizes}", (weights, a_v), longer=longer_inputs)
    yield Case(f"one matrix without a batch, {sizes}", (weights[0], a_v))
    heads = draw.normal(2, 3, 8, 8).softmax(-1), draw.normal(7, 5)
    yield Case("two leading axes (batch, heads)", heads)
    any_weights, unit_vectors = draw.normal(2, n, n), torch.eye(2 * reach + 1).to(weights)
    yield Case("weights of any sign and size", (any_weights, a_v))
    yield Case("weights of any sign and size, a reach of 0", (any_weights, a_v[:1]))
    yield Case(
        "a weight of any sign and size, one query and one key", (any_weights[:, :1, :1], a_v)
    )
    yield Case("a reach of 0, so a table of one row", (weights, a_v[:1]))
    yield Case("a reach of 1", (weights, a_v[:3]))
    yield Case(f"a reach of {n + 2}, beyond every offset", (weights, draw.normal(2 * n + 5, d)))
    weights_with_empty_row = weights.clone()
    weights_with_empty_row[1, 0] = 0
    yield Case("a query that may attend nowhere", (weights_with_empty_row, a_v))
    yield Case("one query and one key", (torch.ones_like(weights[:, :1, :1]), a_v))
    huge_weight = any_weights.clone()
    huge_weight[:, 1, 1] = 1e30
    yield Case(
        "a huge weight on the diagonal, unit vectors for a table", (huge_weight, unit_vectors)
    )
    wide = draw.normal(2, 24, 24).softmax(-1), draw.normal(5, 96)
    yield Case("a batch of 2, n=24, d=96, reach=2", wide, max_elements=24 * 24 * 96 - 1)


SUMS = "zeros.scatter_add(-1, index, weights)"
variants.right(exercise,
    # a place for each query and row
    "place = rows + len(a_v) * j[:, None]\n"
    "zeros = weights.new_zeros(*weights.shape[:-2], n * len(a_v))\n"
    "sums = zeros.index_add(-1, place.flatten(), weights.flatten(-2)).unflatten(-1, (n, len(a_v)))",
    "units = torch.nn.functional.one_hot(rows, len(a_v)).to(weights.dtype)\n"
    'sums = torch.einsum("...ij,ijr->...ir", weights, units)',
    # a loop over the table is none over the positions
    "return sum((weights * (rows == r)).sum(-1, True) * row for r, row in enumerate(a_v))",
    "own = [weights.masked_fill(rows != r, 0.0).sum(-1) for r in range(a_v.size(0))]\n"
    "sums = torch.stack(own, dim=-1)",
    # (..., n, 2 reach + 1, d) numbers
    "return (sums[..., None] * a_v).sum(-2)",
    # n x n numbers at a time, however wide the table is
    "columns = [(weights * one[rows]).sum(-1) for one in a_v.unbind(-1)]\n"
    "return torch.stack(columns, dim=-1)",
)  # fmt: skip
variants.calling(
    exercise, "row_numbers", WAYS, instead="rows = row_numbers(n, n, reach, weights.device)"
)
variants.wrong(exercise, {
    # of several writes to one place, the last counts: the first key from the right
    "keys that share a row overwrite each other: add their weights up":
        "sums = zeros.scatter(-1, index, weights)",
    "keys that share a row are averaged: add their weights up": [
        "many = zeros.scatter_add(-1, index, torch.ones_like(weights)).clamp(min=1)\n"
        f"sums = {SUMS} / many",
        'sums = zeros.scatter_reduce(-1, index, weights, "mean")'],
    "of the keys that share a row the largest weight is kept: add their weights up":
        'sums = zeros.scatter_reduce(-1, index, weights, "amax")',
    "scatter_add adds no axis to the index: expand it to the shape of the weights": [
        "index = rows", "index = rows[(None,) * (weights.dim() - 2)]", "index = rows[None]"],
    "the number of rows is taken for reach: a table of 2 reach + 1 rows goes reach each way": (
        "len(a_v) // 2", "len(a_v)"),
    SHORT: ("len(a_v) // 2", "min(len(a_v) // 2, weights.shape[-1])"),
    "in a running sum a huge weight swallows those after it: add up each row of the table by "
    "itself": [
        f"sums = {SUMS}.cumsum(-1).diff(prepend=zeros[..., :1])",
        f"sums = {SUMS}.flip(-1).cumsum(-1).diff(prepend=zeros[..., :1]).flip(-1)"],
    "there is a sum for each of the 2n - 1 offsets, but a table has 2 reach + 1 rows: clip first": (
        "len(a_v) // 2", "weights.shape[-1] - 1", "len(a_v))", "2 * n - 1)"),
    "keys beyond the reach are left out: they should share the first or the last row":
        "near = (j - j[:, None]).abs() <= reach\n"
        "sums = zeros.scatter_add(-1, index, weights * near)",
    "the sum runs over the queries: sum over the keys, since row i of the weights is query i's":
        "index = rows.mT.expand(weights.shape)\nsums = zeros.scatter_add(-1, index, weights.mT)",
    "the weights are transposed: leave them, because row i belongs to query i":
        "sums = zeros.scatter_add(-1, index, weights.mT)",
    "you take a softmax again: these are weights already":
        "sums = zeros.scatter_add(-1, index, weights.softmax(-1))",
    "the rows are normalised again: take the weights as they are":
        "total = weights.sum(-1, True).where(weights.any(-1, True), 1)\n"
        "sums = zeros.scatter_add(-1, index, weights / total)",
    "a row of the table gets what the others leave of 1: weights need not sum to 1, so add up its "
    "own, too": [
        f"left = (1 - sums.sum(-1, True)) * (j.new_tensor(range(len(a_v))) == {one})\n"
        "return (sums + left) @ a_v" for one in ("0", "reach", "2 * reach")],
    "it divides by sqrt(d): that is for scores, so leave the values unscaled":
        "return sums @ a_v / a_v.shape[-1] ** 0.5",
    "the sum is divided by n: leave it as it is, since the weights say how much each key counts":
        "return sums @ a_v / n",
    "these are the sums for each row of the table: multiply them by the table": "return sums",
    "the reach is taken from the width of the table: it should be (rows - 1) / 2": [
        ("len(a_v) // 2", "min(a_v.shape) // 2"), ("len(a_v) // 2", "a_v.shape[1] // 2")],
    "the reach is a fixed number: take it from the table, which has 2 reach + 1 rows":
        "rows = ((j - j[:, None]).clamp(-1, 1) + 1).clamp(max=len(a_v) - 1)",
    "later keys are left out: no mask is asked for, so let each weight count":
        "sums = zeros.scatter_add(-1, index, weights.tril())",
    "all queries are added up: return a row for each query":
        "return (sums @ a_v).sum(-2)",
    "a_v[rows] holds n x n x d numbers: add up the weights of each row of the table first": [
        'return torch.einsum("...ij,ijd->...id", weights, a_v[rows])',
        "return (weights[..., None] * a_v[rows]).sum(-2)",
        "return (weights[..., None, :] @ a_v[rows]).squeeze(-2)"],
    "it takes no leading axes: any, or none, should work": (
        "n, reach = weights.shape[-1]", "(n, _), reach = weights.shape"),
    "torch.zeros gives float32: give the zeros the dtype of the weights":
        "zeros = torch.zeros(*weights.shape[:-1], len(a_v), device=weights.device)",
    messages.FLOAT32_INSIDE:
        "sums = zeros.float().scatter_add(-1, index, weights.float()).to(weights.dtype)",
    LOOP: "return sum(weights[..., j, None] * a_v[rows[:, j]] for j in range(n))",
    "no gradient reaches the table: don't detach anything": "return sums @ a_v.detach()",
    "no gradient reaches the weights: don't detach anything": "return sums.detach() @ a_v",
})  # fmt: skip
