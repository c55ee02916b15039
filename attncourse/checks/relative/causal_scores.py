"""Exercise causal_scores: the skew of Huang et al., with the padding on the wrong side."""

import torch
from torch.nn.functional import pad

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.relative.shared.rows import offsets, sentence_by_sentence

exercise = Exercise(
    name="causal_scores",
    chapter="relative",
    title="A skew that shears the wrong way",
    kind="debug",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "Let every query be 1 and row t of r be t, both of width 1: then each score says which row "
        "it was made with. Print it for n = 3, after each step, beside what you want.",
        "Before the skew, the row for offset 0 stands in the last column of every row. It has to "
        "move to the diagonal: by n - 1 - i places to the left in row i. Padding makes each row "
        "one longer, so that cut to length n they drift. On which side do the padded numbers fall "
        "above the diagonal?",
        "pad(products, (left, right)) takes the number of columns for each side; with the one on "
        "the other side, the rest of the code is right.",
    ),
)


@exercise.stub
def causal_scores(q, r):
    n = q.shape[-2]
    products = q @ r.mT
    padded = torch.nn.functional.pad(products, (0, 1))
    skewed = padded.flatten(-2)[..., n:].unflatten(-1, (n, n))
    return skewed.tril()


@exercise.reference
def by_hand(q, r):
    n = q.shape[-2]
    nothing = torch.zeros_like(q[..., 0, 0])
    scores = [
        (q[..., i, :] * r[..., j - i + n - 1, :]).sum(-1) if j <= i else nothing
        for i in range(n)
        for j in range(n)
    ]
    return torch.stack(scores, dim=-1).unflatten(-1, (n, n))


@exercise.cases
def cases(draw):
    n = draw.integer(4, 6)
    d = draw.integer(7, 9)
    q, r = draw.normal(2, n, d), draw.normal(2, n, d)
    long = draw.normal(12, 40, d), draw.normal(12, 40, d)
    yield Case(f"a batch of 2, n={n}, d={d}", (q, r), longer=long)
    yield Case(f"two matrices without a batch, n={n}, d={d}", (q[0], r[0]))
    heads = draw.normal(2, 3, 7, 5), draw.normal(2, 3, 7, 5)
    yield Case("two leading axes (batch, heads), n=7", heads)
    yield Case(
        "two leading axes, q and r of the size of n",
        (draw.normal(4, 4, 4, 4), draw.normal(4, 4, 4, 4)),
    )
    ones = torch.ones_like(q[0, :, :1])
    yield Case("queries of 1, row t of r is t + 1", (ones, ones.cumsum(0)))
    yield Case("two positions", (q[:, :2], r[:, :2]))
    yield Case("one position", (q[:, :1], r[:, :1]))
    yield Case("queries 1000 times larger", (1000 * q, r))


def skew(products, *, padding=(1, 0), left_out=None):
    """One column more, cut into rows of n once more; without the first n numbers of it all."""
    n = products.shape[-1]
    left_out = n if left_out is None else left_out
    flat = pad(products, padding).flatten(-2)[..., left_out:]
    return flat[..., : n * n].unflatten(-1, (n, n))


def scored(q, r, **where):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    return skew(q @ r.mT, **where).tril()


@exercise.valid
def padded_on_the_left(q, r):
    return scored(q, r)


@exercise.valid
def reshaped_without_the_first_row(q, r):
    n = q.shape[-2]
    products = torch.einsum("...id,...td->...it", q, r)
    zeros = products.new_zeros(*products.shape[:-1], 1)
    rows = torch.cat([zeros, products], dim=-1).reshape(*products.shape[:-2], n + 1, n)[..., 1:, :]
    return torch.where(torch.ones(n, n, dtype=torch.bool, device=q.device).tril(), rows, 0.0)


@exercise.valid
def gathered(q, r):
    n = q.shape[-2]
    at = offsets(n, n, q.device) + n - 1
    products = q @ r.mT
    return products.gather(-1, at.clamp(max=n - 1).expand(products.shape)).tril()


@exercise.valid
def masked_before_the_skew(q, r):
    # a product of a query with a row for a key before the first is what lands above the diagonal
    n = q.shape[-2]
    j = torch.arange(n, device=q.device)
    allowed = j + j[:, None] >= n - 1
    return skew((q @ r.mT) * allowed)


@exercise.valid
def zeros_kept_above_the_diagonal(q, r):
    # the padding comes to stand just above the diagonal
    return skew(q @ r.mT).tril(1)


@exercise.valid
def turned_round_twice(q, r):
    # flipped both ways, the rows drift to the other side
    n = q.shape[-2]
    flipped = pad((q @ r.mT).flip(-2, -1), (0, 1)).flatten(-2)[..., : n * n]
    return flipped.unflatten(-1, (n, n)).flip(-2, -1).tril()


@exercise.valid
def rows_of_2n_numbers(q, r):
    # with n - 1 columns of zeros more, nothing is left to be masked
    n = q.shape[-2]
    flat = pad(q @ r.mT, (0, n)).flatten(-2)[..., n - 1 : n - 1 + n * (2 * n - 1)]
    return flat.unflatten(-1, (n, 2 * n - 1))[..., :n]


@exercise.valid
def one_row_of_r_for_each_pair(q, r):
    n = q.shape[-2]
    at = (offsets(n, n, q.device) + n - 1).clamp(max=n - 1)
    return torch.einsum("...id,...ijd->...ij", q, r[..., at, :]).tril()


ABOVE = "above the diagonal the skew leaves numbers of the next row: keep the tril"


@exercise.mutant(ABOVE)
def above_the_diagonal_kept(q, r):
    return skew(q @ r.mT)


@exercise.mutant("the diagonal is lost: a query scores its own position, too, so keep j = i")
def diagonal_lost(q, r):
    return skew(q @ r.mT).tril(-1)


@exercise.mutant("the wrong triangle is kept: earlier keys lie to the left")
def upper_triangle(q, r):
    return skew(q @ r.mT).triu()


@exercise.mutant(
    "the rows drift to the right: pad on the left, so that the last column meets the diagonal"
)
def last_row_left_out(q, r):
    return scored(q, r, padding=(0, 1), left_out=0)


@exercise.mutant("with the zeros on the left, the first n numbers are the ones to leave out")
def padded_left_and_last_row_left_out(q, r):
    return scored(q, r, left_out=0)


@exercise.mutant("n numbers are left out at the front, a whole row: here it is one too few")
def one_too_few_left_out(q, r):
    return scored(q, r, left_out=q.shape[-2] - 1)


@exercise.mutant("two columns of padding move each row by two places: one is enough")
def padded_on_both_sides(q, r):
    return scored(q, r, padding=(1, 1))


@exercise.mutant("two columns of padding move each row by two places: one is enough")
def padded_twice_on_the_left(q, r):
    return scored(q, r, padding=(2, 0))


@exercise.mutant("the padding is a row, so no row gets longer: it has to be a column")
def row_of_padding_below(q, r):
    return scored(q, r, padding=(0, 0, 0, 1))


@exercise.mutant("nothing is moved: without the skew, column t belongs to the offset t - (n - 1)")
def not_skewed(q, r):
    return (q @ r.mT).tril()


@exercise.mutant("the columns are only turned round: every row must move by places of its own")
def columns_turned_round(q, r):
    return (q @ r.mT).flip(-1).tril()


@exercise.mutant("all rows move by the same number of places: row i moves by n - 1 - i")
def rolled(q, r):
    return (q @ r.mT).roll(1, -1).tril()


@exercise.mutant("r is turned round: its last row is for offset 0, its first for -(n-1)")
def rows_from_the_other_end(q, r):
    return scored(q, r.flip(-2))


@exercise.mutant("each score meets the row before its own: on the diagonal it is the last one")
def rows_shifted(q, r):
    return scored(q, r.roll(1, -2))


@exercise.mutant("the result is transposed: row i belongs to query i, column j to key j")
def transposed_after_the_skew(q, r):
    return skew(q @ r.mT).mT.tril()


@exercise.mutant("query and table are exchanged: row i of the products belongs to query i")
def products_transposed(q, r):
    return scored(r, q)


@exercise.mutant("later keys get -inf: here they get 0, what masks them comes afterwards")
def filled_with_infinity(q, r):
    above = offsets(q.shape[-2], q.shape[-2], q.device) > 0
    return skew(q @ r.mT).masked_fill(above, -torch.inf)


@exercise.mutant("later keys get a large negative number: here they get 0, a mask comes afterwards")
def filled_with_a_large_number(q, r):
    above = offsets(q.shape[-2], q.shape[-2], q.device) > 0
    return skew(q @ r.mT).masked_fill(above, -1e9)


TOO_EARLY = "before the skew, later keys do not lie above the diagonal: the tril comes last"


@exercise.mutant(TOO_EARLY)
def tril_before_the_skew(q, r):
    return skew((q @ r.mT).tril())


@exercise.mutant(TOO_EARLY)
def tril_before_and_after(q, r):
    return skew((q @ r.mT).tril()).tril()


@exercise.mutant(TOO_EARLY)
def triu_before_the_skew(q, r):
    return skew((q @ r.mT).triu())


@exercise.mutant("column 0 gets a number from the end of its row: pad on the left, and do not roll")
def rolled_after_the_skew(q, r):
    return skew(q @ r.mT, padding=(0, 1)).roll(1, -1).tril()


@exercise.mutant("it divides by sqrt(d): here the products are asked for as they are")
def scaled(q, r):
    return scored(q, r) / q.shape[-1] ** 0.5


@exercise.mutant("a softmax is taken: the scores themselves are asked for")
def softmax_taken(q, r):
    return scored(q, r).softmax(-1)


def across_the_batch(q, r):
    n = q.shape[-2]
    products = pad(q @ r.mT, (1, 0))
    return products.reshape(n + 1, *q.shape[:-2], n)[1:].movedim(0, -2).tril()


@exercise.mutant("numbers of the batch are mixed up: reshape the last two axes alone")
def reshaped_across_the_batch(q, r):
    return across_the_batch(q, r)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, r):
    batch, n, _ = q.shape
    return pad(q @ r.mT, (1, 0)).reshape(batch, n + 1, n)[:, 1:].tril()


@exercise.mutant("it takes no leading axes: any, or none, should work")
def batch_axis_forgotten(q, r):
    n, _ = q.shape
    return pad(q @ r.mT, (1, 0)).reshape(n + 1, n)[1:].tril()


LOOP = "it loops over positions or sentences: the skew moves all rows at once"

exercise.mutant(LOOP)(sentence_by_sentence(scored, matrices=2))


@exercise.mutant(LOOP)
def loop_over_queries(q, r):
    n = q.shape[-2]
    products = q @ r.mT
    moved = [pad(products[..., i, n - 1 - i :], (0, n - 1 - i)) for i in range(n)]
    return torch.stack(moved, dim=-2)


@exercise.mutant(LOOP)
def loop_with_roll(q, r):
    n = q.shape[-2]
    rows = (q @ r.mT).unbind(-2)
    return torch.stack([row.roll(i + 1 - n, -1) for i, row in enumerate(rows)], -2).tril()


@exercise.mutant("no gradient reaches the queries: nothing may be detached")
def queries_detached(q, r):
    return scored(q.detach(), r)


@exercise.mutant("no gradient reaches r: nothing may be detached")
def table_detached(q, r):
    return scored(q, r.detach())


@exercise.mutant("the input changes: work on a new tensor, not on q itself")
def changed_in_place(q, r):
    q *= 1 + 1e-9
    return scored(q, r)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(q, r):
    return scored(q.float(), r.float())


@exercise.mutant("the result is always float64: keep the dtype of the inputs")
def always_float64(q, r):
    return scored(q.double(), r.double())


@exercise.mutant("you compute in float32: stay in the dtype of the inputs")
def float32_inside(q, r):
    return scored(q.float(), r.float()).to(q.dtype)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def zeros_on_the_cpu(q, r):
    products = q @ r.mT
    zeros = torch.zeros(*products.shape[:-1], 1, dtype=q.dtype, device="cpu")
    n = products.shape[-1]
    return torch.cat([zeros, products], -1).flatten(-2)[..., n:].unflatten(-1, (n, n)).tril()
