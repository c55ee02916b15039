"""Exercise newton_inverse: the inverse of a matrix by products alone (Nystromformer)."""

import torch

from attncourse.checks.around import FLOATING, add_to
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="newton_inverse",
    chapter="efficient",
    title="An inverse from products alone",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "The step is one line with three brackets, each a multiple of the identity less a product. "
        "The start is the transpose, divided by two numbers that each matrix has for itself.",
        "The largest sum of absolute values over a column is a.abs().sum(-2).amax(-1), one number "
        "for each matrix; that over a row exchanges the axes. Give the number two axes of size 1 "
        "before you divide. The product A Y stands in all three brackets, so make it once a step.",
        "With ay = a @ y a step is y = y @ (13 * i - ay @ (15 * i - ay @ (7 * i - ay))) / 4, where "
        "i = torch.eye(n, dtype=a.dtype, device=a.device)",
    ),
)


@exercise.reference
def by_hand(a, steps):
    n = a.shape[-1]
    identity, found = torch.eye(n, dtype=a.dtype), []
    for matrix in a.reshape(-1, n, n):
        columns = torch.stack([matrix[:, j].abs().sum() for j in range(n)])
        rows = torch.stack([matrix[i].abs().sum() for i in range(n)])
        y = matrix.T / (columns.max() * rows.max())
        for _ in range(steps):
            p = matrix @ y
            y = y @ (13 * identity - 15 * p + 7 * p @ p - p @ p @ p) / 4
        found.append(y)
    return torch.stack(found).reshape(a.shape)


@exercise.cases
def cases(draw):
    n = draw.integer(4, 5)

    def drawn(*batch, n=n):
        # far from singular, no two sums alike, the matrices of a batch of different sizes
        matrices = torch.eye(n, dtype=torch.float64) + 0.3 * draw.normal(*batch, n, n)
        return matrices * (1 + draw.normal(*batch, 1, 1).abs())

    a = drawn(2)
    yield Case(f"a batch of 2, n={n}, steps=3", (a, 3), longer=(drawn(12, n=12), 3))
    yield Case(f"no batch, n={n}, steps=2", (a[0], 2))
    yield Case("two leading axes, n=3, steps=8", (drawn(2, 3, n=3), 8))
    yield Case(f"n={n}, steps=1", (a, 1))
    yield Case(f"n={n}, steps=0", (a, 0))
    yield Case(f"numbers a thousand times larger, n={n}, steps=3", (1000 * a, 3))
    yield Case(f"numbers ten thousand times smaller, n={n}, steps=3", (1e-4 * a, 3))
    # so far from the identity that six steps do not lead to the inverse
    small = torch.logspace(0, -2, n, dtype=torch.float64)[:, None] * a
    yield Case(f"rows of very different sizes, n={n}, steps=8", (small, 8))
    yield Case("n=1, steps=2", (drawn(2, n=1), 2))


def norms(a, axis):
    """The largest sum of absolute values along that axis."""
    return a.abs().sum(axis, keepdim=True).amax((-2, -1), keepdim=True)


def third_order(a, y):
    identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    p = a @ y
    return y @ (13 * identity - p @ (15 * identity - p @ (7 * identity - p))) / 4


def iterated(a, steps, *, start=None, step=third_order):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    y = a.mT / (norms(a, -2) * norms(a, -1)) if start is None else start
    for _ in range(steps):
        y = step(a, y)
    return y


@exercise.valid
def step_by_step(a, steps):
    return iterated(a, steps)


@exercise.valid
def norms_of_torch(a, steps):
    first, last = (torch.linalg.matrix_norm(a, one) for one in (1, torch.inf))
    return iterated(a, steps, start=a.mT / (first * last)[..., None, None])


@exercise.valid
def multiplied_from_the_left(a, steps):
    # every y is the transpose times powers of a and its transpose: the order does not matter
    def step(a, y):
        identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
        p = y @ a
        return (13 * identity - p @ (15 * identity - p @ (7 * identity - p))) @ y / 4

    return iterated(a, steps, step=step)


@exercise.valid
def multiplied_out(a, steps):
    def step(a, y):
        p = torch.einsum("...ij,...jk->...ik", a, y)
        return 3.25 * y - 3.75 * y @ p + 1.75 * y @ p @ p - 0.25 * y @ p @ p @ p

    return iterated(a, steps, step=step)


@exercise.mutant("the norms are those of the whole batch: each matrix has its own")
def norms_of_the_whole_batch(a, steps):
    return iterated(a, steps, start=a.mT / (norms(a, -2).max() * norms(a, -1).max()))


@exercise.mutant("the sums are taken with their signs: add up absolute values")
def sums_with_signs(a, steps):
    most = [a.sum(axis, keepdim=True).amax((-2, -1), keepdim=True) for axis in (-2, -1)]
    return iterated(a, steps, start=a.mT / (most[0] * most[1]))


@exercise.mutant("one norm serves for both: take that of the columns and that of the rows")
def columns_twice(a, steps):
    return iterated(a, steps, start=a.mT / norms(a, -2) ** 2)


@exercise.mutant("one norm serves for both: take that of the columns and that of the rows")
def rows_twice(a, steps):
    return iterated(a, steps, start=a.mT / norms(a, -1) ** 2)


@exercise.mutant(
    "each entry is divided by the sums of its own row and column: take the largest sums"
)
def sums_of_each_row_and_column(a, steps):
    rows, columns = (a.abs().sum(axis, keepdim=True) for axis in (-1, -2))
    return iterated(a, steps, start=a.mT / (rows * columns))


@exercise.mutant("the norms are added: divide by their product")
def norms_added(a, steps):
    return iterated(a, steps, start=a.mT / (norms(a, -2) + norms(a, -1)))


@exercise.mutant("the start is divided by one norm only: divide by both")
def columns_only(a, steps):
    return iterated(a, steps, start=a.mT / norms(a, -2))


@exercise.mutant("this is the norm of Frobenius: take the largest column and the largest row")
def norm_of_frobenius(a, steps):
    start = a.mT / a.square().sum((-2, -1), keepdim=True)
    return iterated(a, steps, start=start)


@exercise.mutant("the start is not divided: its size must be that of an inverse")
def start_undivided(a, steps):
    return iterated(a, steps, start=a.mT + 0)


@exercise.mutant("the start is not transposed: it is the transpose that resembles the inverse")
def start_not_transposed(a, steps):
    return iterated(a, steps, start=a / (norms(a, -2) * norms(a, -1)))


@exercise.mutant("Y stands on the wrong side: it comes before the brackets, A Y stands in them")
def multiplied_on_the_wrong_side(a, steps):
    def step(a, y):
        identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
        p = a @ y
        return (13 * identity - p @ (15 * identity - p @ (7 * identity - p))) @ y / 4

    return iterated(a, steps, step=step)


@exercise.mutant("the quarter is missing: the brackets make four times a step")
def without_the_quarter(a, steps):
    return iterated(a, steps, step=lambda a, y: 4 * third_order(a, y))


@exercise.mutant("this step is Newton's, 2 I - A Y: the one asked for has three brackets")
def second_order(a, steps):
    return iterated(a, steps, step=lambda a, y: 2 * y - y @ a @ y)


@exercise.mutant("the brackets are not nested: A Y stands before each of the inner two")
def brackets_side_by_side(a, steps):
    def step(a, y):
        identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
        p = a @ y
        return y @ (13 * identity - p - (15 * identity - p - (7 * identity - p))) / 4

    return iterated(a, steps, step=step)


@exercise.mutant(
    "a number less a matrix takes it from every entry: write a multiple of the identity"
)
def numbers_for_the_identity(a, steps):
    def step(a, y):
        p = a @ y
        return y @ (13 - p @ (15 - p @ (7 - p))) / 4

    return iterated(a, steps, step=step)


@exercise.mutant("A Y is that of the start in every step: Y changes, so make it anew")
def product_made_before_the_loop(a, steps):
    identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    p = a @ iterated(a, 0)
    bracket = 13 * identity - p @ (15 * identity - p @ (7 * identity - p))
    return iterated(a, steps, step=lambda a, y: y @ bracket / 4)


@exercise.mutant("the entries are multiplied one by one: these are products of matrices, @")
def entry_by_entry(a, steps):
    def step(a, y):
        identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
        p = a * y
        return y * (13 * identity - p * (15 * identity - p * (7 * identity - p))) / 4

    return iterated(a, steps, step=step)


@exercise.mutant("it takes one step too few")
def one_step_too_few(a, steps):
    return iterated(a, max(0, steps - 1))


@exercise.mutant("it takes one step too many")
def one_step_too_many(a, steps):
    return iterated(a, steps + 1)


@exercise.mutant("the number of steps is fixed: it is an argument")
def always_six_steps(a, steps):
    return iterated(a, 6)


@exercise.mutant("this is the inverse itself, where the steps lead: take as many as asked, no more")
def the_inverse_itself(a, steps):
    return torch.linalg.inv(a)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(a, steps):
    return iterated(a, steps, start=a.permute(0, 2, 1) / (norms(a, -2) * norms(a, -1)))


@exercise.mutant("it loops over the matrices: a product takes all of them at once")
def loop_over_the_matrices(a, steps):
    found = [iterated(one, steps) for one in a.reshape(-1, *a.shape[-2:])]
    return torch.stack(found).reshape(a.shape)


@exercise.mutant("no gradient flows through the start: nothing may be detached")
def start_detached(a, steps):
    return iterated(a, steps, start=(a.mT / (norms(a, -2) * norms(a, -1))).detach())


@exercise.mutant("the input changes: divide a copy, not a itself")
def divided_in_place(a, steps):
    size = (norms(a, -2) * norms(a, -1)).sqrt()
    a /= size
    return iterated(a, steps, start=a.mT / 1) / size


add_to(exercise, iterated, *FLOATING)
