"""Exercise newton_inverse: the inverse of a matrix by products alone (Nystromformer)."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the matrices: a product takes all of them at once"
exercise = Exercise(
    name="newton_inverse",
    chapter="efficient",
    title="An inverse from products alone",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    aims=("choose-approximation",),
    hints=(
        "The step is one line with three brackets, each of which is a multiple of the "
        "identity minus a product. The start is the transpose, divided by two numbers that "
        "belong to each matrix.",
        "The largest sum of absolute values down a column is a.abs().sum(-2).amax(-1), one number "
        "for each matrix; for a row, exchange the axes. Give the number two axes of size 1 before "
        "you divide. The product A Y is in all three brackets, so compute it once per step.",
        "With ay = a @ y a step is y = y @ (13 * i - ay @ (15 * i - ay @ (7 * i - ay))) / 4, "
        "where i = torch.eye(n, dtype=a.dtype, device=a.device)",
    ),
    usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)


@exercise.reference
def by_hand(a, steps):
    n = a.shape[-1]
    identity, found = torch.eye(n, dtype=a.dtype), []
    for matrix in a.reshape(-1, n, n):
        y = matrix.T / (matrix.abs().sum(0).max() * matrix.abs().sum(1).max())
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
    yield Case("two leading axes, n=3, steps=6", (drawn(2, 3, n=3), 6))
    yield Case(f"n={n}, steps=1", (a, 1))
    yield Case(f"n={n}, steps=0", (a, 0))
    yield Case(f"numbers a thousand times larger, n={n}, steps=3", (1000 * a, 3))
    yield Case(f"numbers a hundred times smaller, n={n}, steps=3", (1e-2 * a, 3))
    # so far from the identity that six steps do not lead to the inverse
    small = torch.logspace(0, -2, n, dtype=torch.float64)[:, None] * a
    yield Case(f"rows of very different sizes, n={n}, steps=8", (small, 8))
    yield Case("n=1, steps=2", (drawn(2, n=1), 2))


@exercise.valid
def plain(a, steps):
    identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    columns = a.abs().sum(-2, keepdim=True).amax(-1, keepdim=True)
    rows = a.abs().sum(-1, keepdim=True).amax(-2, keepdim=True)
    y = a.mT / (columns * rows)
    for _ in range(steps):
        p = a @ y
        y = y @ (13 * identity - p @ (15 * identity - p @ (7 * identity - p))) / 4
    return y


COLUMNS = "a.abs().sum(-2, keepdim=True).amax(-1, keepdim=True)"
ROWS = "a.abs().sum(-1, keepdim=True).amax(-2, keepdim=True)"
BOTH, START = "columns * rows", "a.mT / (columns * rows)"
BRACKETS = "(13 * identity - p @ (15 * identity - p @ (7 * identity - p)))"
variants.right(
    exercise, plain,
    (COLUMNS, "torch.linalg.matrix_norm(a, 1, keepdim=True)",
     ROWS, "torch.linalg.matrix_norm(a, torch.inf, keepdim=True)"),
    # every y is the transpose times powers of a and its transpose: the order does not matter
    ("a @ y", "y @ a", f"y @ {BRACKETS}", f"{BRACKETS} @ y"),
    ("a @ y", 'torch.einsum("...ij,...jk->...ik", a, y)',
     f"y @ {BRACKETS} / 4", "3.25 * y - 3.75 * y @ p + 1.75 * y @ p @ p - 0.25 * y @ p @ p @ p"),
)  # fmt: skip
variants.wrong(exercise, plain, {
    "the norms are those of the whole batch: each matrix has its own": (
        BOTH, "columns.max() * rows.max()"),
    "the sums are taken with their signs: add up absolute values": (every("a.abs()"), "a"),
    "one norm serves for both: take that of the columns and that of the rows": [
        (BOTH, "columns**2"), (BOTH, "rows**2")],
    "each entry is divided by the sums of its own row and column: take the largest sums": (
        ".amax(-1, keepdim=True)", "", ".amax(-2, keepdim=True)", ""),
    "the norms are added: divide by their product": (BOTH, "columns + rows"),
    "the start is divided by one norm only: divide by both": (BOTH, "columns"),
    "this is the norm of Frobenius: take the largest column and the largest row": (
        BOTH, "a.square().sum((-2, -1), keepdim=True)"),
    "this is the largest singular value: take the largest sums of a column and of a row": (
        BOTH, "torch.linalg.matrix_norm(a, 2, keepdim=True) ** 2"),
    "the largest entry is taken: it is sums of entries, down a column and along a row": (
        BOTH, "a.abs().amax((-2, -1), keepdim=True) ** 2"),
    "the start is not divided: its size must be that of an inverse": (START, "a.mT + 0"),
    "the start is not transposed: it is the transpose that resembles the inverse": ("a.mT", "a"),
    "Y stands on the wrong side: it comes before the brackets, A Y stands in them": [
        (f"y @ {BRACKETS}", f"{BRACKETS} @ y"), ("a @ y", "y @ a")],
    "the quarter is missing: the brackets make four times a step": (" / 4", ""),
    "this step is Newton's, 2 I - A Y: the one asked for has three brackets": (
        f"y @ {BRACKETS} / 4", "2 * y - y @ a @ y"),
    "13 and 15 have changed places: 13 stands outside, then 15, then 7": (
        "(13 * identity - p @ (15", "(15 * identity - p @ (13"),
    "the brackets are not nested: A Y stands before each of the inner two": (every("p @ ("), "("),
    "a number less a matrix takes it from every entry: write a multiple of the identity": (
        every(" * identity"), ""),
    "A Y is that of the start in every step: Y changes, so make it anew": (
        "    for _ in range(steps):\n        p = a @ y",
        "    p = a @ y\n    for _ in range(steps):"),
    "the entries are multiplied one by one: these are products of matrices, @": [
        (every("@"), "*"), ("a @ y", "a * y"), (f"y @ {BRACKETS}", f"y * {BRACKETS}"),
        (BRACKETS, BRACKETS.replace("@", "*")), ("p @ (15", "p * (15"), ("p @ (7", "p * (7"),
        (BRACKETS, "(13 * identity - 15 * p + 7 * p**2 - p**3)")],
    "it takes one step too few": ("range(steps)", "range(steps - 1)"),
    "it takes a step where `steps` is 0: the start alone is asked for": (
        "range(steps)", "range(max(1, steps))"),
    "it takes one step too many": ("range(steps)", "range(steps + 1)"),
    "the number of steps is fixed: it is an argument": ("range(steps)", "range(6)"),
    "it never takes more than six steps: take as many as are asked for": (
        "range(steps)", "range(min(steps, 6))"),
    "this is the inverse itself, where the steps lead: take as many as asked, no more": (
        "return y", "return torch.linalg.inv(a)"),
    hints.BATCH: ("a.mT", "a.permute(0, 2, 1)"),
    LOOP: (
        "= a @ y", "= torch.stack([*(a @ y).reshape(-1, *a.shape[-2:])]).reshape(a.shape)\n"
                   "        p = torch.stack([one for one in p.flatten(0, -2)]).reshape(a.shape)"),
    "no gradient flows through the start: nothing may be detached": (START, f"({START}).detach()"),
    "no gradient flows through the norms: they depend on a, so detach nothing": (
        BOTH, f"({BOTH}).detach()"),
    hints.CHANGES: ("    identity =", "    a.mul_(2)\n    identity =", "return y", "return 2 * y"),
})  # fmt: skip
