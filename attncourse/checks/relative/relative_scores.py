"""Exercise relative_scores: scores with relative keys, and no key for each pair."""

import torch

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.relative.shared.rows import CLIP, add_to, offsets, rows, sentence_by_sentence

exercise = Exercise(
    name="relative_scores",
    chapter="relative",
    title="Relative scores without a key for each pair",
    kind="build",
    difficulty=2,
    minutes=25,
    points=15,
    hints=(
        "Multiply out: q (k + a) = q k + q a. The first term is a product you know. The second "
        "takes only 2 reach + 1 different values in each row, however long the sequence is.",
        "q @ a_k.mT has shape (..., n, 2 reach + 1): every query with every row of the table. From "
        "each of its rows, pick for key j the number at row(i, j). gather picks along an axis, and "
        "wants an index with as many axes as what it picks from.",
        "(q @ a_k.mT).gather(-1, index.expand(*q.shape[:-1], n)) is the second term, when index is "
        "the (n, n) table of rows; the division comes after the sum.",
    ),
)


@exercise.reference
def by_hand(q, k, a_k):
    n, d = q.shape[-2:]
    reach = (len(a_k) - 1) // 2
    scores = [
        (q[..., i, :] * (k[..., j, :] + a_k[max(-reach, min(reach, j - i)) + reach])).sum(-1)
        for i in range(n)
        for j in range(n)
    ]
    return torch.stack(scores, dim=-1).reshape(*q.shape[:-1], n) / d**0.5


@exercise.cases
def cases(draw):
    reach = draw.integer(2, 3)
    n = 2 * reach + 3
    # widths for which no wrong scale of those below is another wrong one, or the right one
    d = draw.integer(10, 12)
    q, k, a_k = draw.normal(2, n, d), draw.normal(2, n, d), draw.normal(2 * reach + 1, d)
    long = draw.normal(12, 40, d), draw.normal(12, 40, d), a_k
    sizes = f"n={n}, d={d}, reach={reach}"
    yield Case(f"a batch of 2, {sizes}", (q, k, a_k), longer=long)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], a_k))
    heads = draw.normal(2, 3, 8, 5), draw.normal(2, 3, 8, 5), draw.normal(7, 5)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("a reach of 0, so a table of one row", (q, k, a_k[:1]))
    yield Case("a reach of 1", (q, k, a_k[:3]))
    large = draw.normal(2 * n + 5, d)
    yield Case(f"a reach of {n + 2}, beyond every offset", (q, k, large))
    yield Case("one query and one key", (q[:, :1], k[:, :1], a_k))
    yield Case("queries 60 times larger", (60 * q, k, a_k))
    wide = draw.normal(2, 24, 96), draw.normal(2, 24, 96), draw.normal(5, 96)
    yield Case("a batch of 2, n=24, d=96, reach=2", wide, max_elements=24 * 24 * 96 - 1)


def looked_up(q, at):
    """What a table that is already multiplied with the queries, (..., n, rows), says of a pair."""
    return q.gather(-1, at.expand(*q.shape[:-1], at.shape[-1]))


def square(q, a_k):
    return rows(q.shape[-2], q.shape[-2], len(a_k) // 2, q.device)


def scored(q, k, a_k, *, at=None, scale=None, content=None, relative=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    content = q @ k.mT if content is None else content
    if relative is None:
        relative = looked_up(q @ a_k.mT, square(q, a_k) if at is None else at)
    return (content + relative) / (q.shape[-1] ** 0.5 if scale is None else scale)


@exercise.valid
def by_gather(q, k, a_k):
    return scored(q, k, a_k)


@exercise.valid
def by_take_along_dim(q, k, a_k):
    q = q / q.size(-1) ** 0.5
    reach = (a_k.size(0) - 1) // 2
    j = torch.arange(k.size(-2), device=k.device)
    index = (j - j.unsqueeze(1) + reach).clamp(0, 2 * reach)
    index = index.view(*[1] * (q.dim() - 2), *index.shape)
    logits = torch.einsum("...id,rd->...ir", q, a_k)
    return torch.einsum("...id,...jd->...ij", q, k) + torch.take_along_dim(logits, index, dim=-1)


@exercise.valid
def by_one_hot(q, k, a_k):
    which = torch.nn.functional.one_hot(square(q, a_k), len(a_k)).to(q.dtype)
    return scored(q, k, a_k, relative=torch.einsum("...ir,ijr->...ij", q @ a_k.mT, which))


@exercise.valid
def row_of_the_table_by_row(q, k, a_k):
    # a loop over the table is none over the positions
    at = square(q, a_k)
    terms = [(q @ row)[..., None] * (at == r) for r, row in enumerate(a_k)]
    return scored(q, k, a_k, relative=sum(terms))


@exercise.valid
def products_of_every_query_and_row(q, k, a_k):
    # (..., n, 2 reach + 1, d) numbers
    products = (q[..., None, :] * a_k).sum(-1)
    return scored(q, k, a_k, relative=looked_up(products, square(q, a_k)))


@exercise.valid
def advanced_index(q, k, a_k):
    i = torch.arange(q.shape[-2], device=q.device)[:, None]
    return scored(q, k, a_k, relative=(q @ a_k.mT)[..., i, square(q, a_k)])


@exercise.valid
def skewed(q, k, a_k):
    # the table stretched to all 2n - 1 offsets, then every row moved one place further
    n, reach = q.shape[-2], len(a_k) // 2
    every = torch.arange(1 - n, n, device=q.device).clamp(-reach, reach) + reach
    padded = torch.nn.functional.pad(q @ a_k[every].mT, (0, 1))
    flat = padded.flatten(-2)[..., n - 1 : -1]
    flat = torch.nn.functional.pad(flat, (0, n * (2 * n - 1) - flat.shape[-1]))
    return scored(q, k, a_k, relative=flat.unflatten(-1, (n, 2 * n - 1))[..., :n])


def with_rows(way):
    def answered(q, k, a_k):
        n = q.shape[-2]
        return scored(q, k, a_k, at=way(n, n, len(a_k) // 2, q.device))

    return answered


add_to(exercise, with_rows)


@exercise.mutant("the scores are not scaled: divide by sqrt(d)")
def unscaled(q, k, a_k):
    return scored(q, k, a_k, scale=1)


@exercise.mutant("the scores are divided by d, not by its square root")
def scaled_by_d(q, k, a_k):
    return scored(q, k, a_k, scale=q.shape[-1])


@exercise.mutant("the scale comes from the length: it is the square root of the width")
def scaled_by_the_length(q, k, a_k):
    return scored(q, k, a_k, scale=q.shape[-2] ** 0.5)


@exercise.mutant("the scale comes from the table's length: it is the square root of the width")
def scaled_by_the_table(q, k, a_k):
    return scored(q, k, a_k, scale=len(a_k) ** 0.5)


@exercise.mutant("the scale is a fixed number: it follows the width")
def hard_coded_scale(q, k, a_k):
    return scored(q, k, a_k, scale=8)


@exercise.mutant("the relative term is not scaled: the division is of the whole sum")
def relative_term_unscaled(q, k, a_k):
    return scored(q * q.shape[-1] ** 0.5, k, a_k, content=q @ k.mT)


@exercise.mutant("only the relative term is scaled: the division is of the whole sum")
def content_unscaled(q, k, a_k):
    return scored(q, k, a_k, content=q @ k.mT * q.shape[-1] ** 0.5)


@exercise.mutant("the relative term is scaled twice: divide the sum, once")
def relative_term_scaled_twice(q, k, a_k):
    return scored(q, k, a_k / q.shape[-1] ** 0.5)


@exercise.mutant("the relative term is missing: every key gets the row of its offset added")
def content_only(q, k, a_k):
    return scored(q, k, a_k, relative=0 * a_k.sum())


@exercise.mutant("the content is missing: the query also meets the key itself")
def relative_term_only(q, k, a_k):
    return scored(q, k, a_k, content=0 * k.sum())


@exercise.mutant("the relative term meets the keys: it is the query that meets the table")
def keys_meet_the_table(q, k, a_k):
    # (q + a) k: of a pair's key, the column of its query
    return scored(q, k, a_k, relative=looked_up(k @ a_k.mT, square(q, a_k).mT).mT)


@exercise.mutant("the relative term meets the keys: it is the query that meets the table")
def rows_of_keys_meet_the_table(q, k, a_k):
    return scored(q, k, a_k, relative=looked_up(k @ a_k.mT, square(q, a_k)))


@exercise.mutant("query and key are exchanged: row i is the query, column j the key")
def queries_for_keys(q, k, a_k):
    return scored(k, q, a_k)


@exercise.mutant("the result is transposed: row i is the query, column j the key")
def transposed(q, k, a_k):
    return scored(q, k, a_k).mT


@exercise.mutant("a row's numbers are added up without the query: take the dot product of the two")
def same_for_every_query(q, k, a_k):
    return scored(q, k, a_k, relative=a_k.sum(-1)[square(q, a_k)])


@exercise.mutant("the relative term is subtracted: the row is added to the key")
def subtracted(q, k, a_k):
    return scored(q, k, -a_k)


@exercise.mutant("the reach is a fixed number: a table of 2 reach + 1 rows tells it")
def reach_of_the_example(q, k, a_k):
    n = q.shape[-2]
    at = offsets(n, n, q.device).clamp(-1, 1) + 1
    return scored(q, k, a_k, at=at.clamp(max=len(a_k) - 1))


@exercise.mutant("reach is not the number of rows: a table of 2 reach + 1 rows goes reach each way")
def reach_is_the_number_of_rows(q, k, a_k):
    n, reach = q.shape[-2], len(a_k)
    return scored(q, k, a_k, at=offsets(n, n, q.device).clamp(-reach, reach) + reach)


@exercise.mutant(CLIP)
def reach_one_too_large(q, k, a_k):
    n, reach = q.shape[-2], len(a_k) // 2 + 1
    return scored(q, k, a_k, at=rows(n, n, reach, q.device))


@exercise.mutant("the reach is one too small: a table of 2 reach + 1 rows goes reach each way")
def reach_one_too_small(q, k, a_k):
    n, reach = q.shape[-2], len(a_k) // 2 - 1
    return scored(q, k, a_k, at=rows(n, n, reach, q.device))


@exercise.mutant("gather wants as many axes: expand the (n, n) index to the leading axes of q")
def index_not_expanded(q, k, a_k):
    return scored(q, k, a_k, relative=(q @ a_k.mT).gather(-1, square(q, a_k)))


@exercise.mutant("keys beyond the reach get no relative term: they share the first or last row")
def far_keys_left_out(q, k, a_k):
    n, reach = q.shape[-2], len(a_k) // 2
    near = offsets(n, n, q.device).abs() <= reach
    return scored(q, k, a_k, relative=looked_up(q @ a_k.mT, square(q, a_k)) * near)


@exercise.mutant("later keys are masked: no mask is asked for, so a query sees all keys")
def causal(q, k, a_k):
    later = offsets(q.shape[-2], q.shape[-2], q.device) > 0
    return scored(q, k, a_k).masked_fill(later, -torch.inf)


@exercise.mutant("a softmax is taken: the scores themselves are asked for")
def softmax_taken(q, k, a_k):
    return scored(q, k, a_k).softmax(-1)


TOO_LARGE = "a_k[rows] holds n x n x d numbers: multiply with the table first, look up afterwards"


@exercise.mutant(TOO_LARGE)
def key_for_each_pair(q, k, a_k):
    keys = k[..., None, :, :] + a_k[square(q, a_k)]
    return (q[..., :, None, :] * keys).sum(-1) / q.shape[-1] ** 0.5


@exercise.mutant(TOO_LARGE)
def dense_table(q, k, a_k):
    return scored(q, k, a_k, relative=torch.einsum("...id,ijd->...ij", q, a_k[square(q, a_k)]))


@exercise.mutant(TOO_LARGE)
def dense_table_by_matmul(q, k, a_k):
    table = a_k[square(q, a_k)]
    return scored(q, k, a_k, relative=(q[..., None, :] @ table.mT).squeeze(-2))


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, a_k):
    _, _, d = q.shape
    return scored(q, k, a_k, scale=d**0.5)


@exercise.mutant("it takes no leading axes: any, or none, should work")
def batch_axis_forgotten(q, k, a_k):
    _, d = q.shape
    return scored(q, k, a_k, scale=d**0.5)


LOOP = "it loops over positions or sentences: one product and one lookup serve all pairs"

exercise.mutant(LOOP)(sentence_by_sentence(scored, matrices=2))


@exercise.mutant(LOOP)
def loop_over_queries(q, k, a_k):
    at = square(q, a_k)
    found = [scored(q[..., i, None, :], k, a_k, at=at[i, None]) for i in range(q.shape[-2])]
    return torch.cat(found, dim=-2)


@exercise.mutant(LOOP)
def loop_over_offsets(q, k, a_k):
    n, reach = q.shape[-2], len(a_k) // 2
    offset = offsets(n, n, q.device)
    relative = 0
    for far in range(1 - n, n):
        row = a_k[max(-reach, min(reach, far)) + reach]
        relative = relative + (q @ row)[..., None] * (offset == far)
    return scored(q, k, a_k, relative=relative)


@exercise.mutant("no gradient reaches the table: nothing may be detached")
def table_detached(q, k, a_k):
    return scored(q, k, a_k.detach())


@exercise.mutant("the relative term sends no gradient to the queries: nothing may be detached")
def queries_detached(q, k, a_k):
    return scored(q, k, a_k, relative=looked_up(q.detach() @ a_k.mT, square(q, a_k)))


@exercise.mutant("the input changes: scale a copy, not q itself")
def scaled_in_place(q, k, a_k):
    q /= q.shape[-1] ** 0.5
    return scored(q, k, a_k, scale=1)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(q, k, a_k):
    return scored(q.float(), k.float(), a_k.float())


@exercise.mutant("the result is always float64: keep the dtype of the inputs")
def always_float64(q, k, a_k):
    return scored(q.double(), k.double(), a_k.double())


@exercise.mutant("you compute in float32: stay in the dtype of the inputs")
def float32_inside(q, k, a_k):
    return scored(q.float(), k.float(), a_k.float()).to(q.dtype)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def added_on_the_cpu(q, k, a_k):
    return scored(q, k, a_k) + torch.zeros(q.shape[-2], dtype=q.dtype, device="cpu")
