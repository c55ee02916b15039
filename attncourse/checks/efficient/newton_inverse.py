"""Exercise newton_inverse: the pseudoinverse of a matrix by products alone, as Newton finds it."""

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
        "Y has the shape of the transpose of A, from the start on. Which shape has A Y, then, and "
        "how large is the identity?",
        "The sum of a matrix's squares is a.square().sum((-2, -1), keepdim=True): one number for "
        "each matrix, with two axes of size 1, so that the transpose can be divided by it. In a "
        "loop, Y is replaced by a product of itself and the bracket, which is n x n.",
        "y = y @ (2 * identity - a @ y) is a step, where n is a.shape[-2] and identity is "
        "torch.eye(n, dtype=a.dtype, device=a.device)",
    ),
    usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)


@exercise.reference
def by_hand(a, steps):
    n, m = a.shape[-2:]
    identity, found = torch.eye(n, dtype=a.dtype), []
    for matrix in a.reshape(-1, n, m):
        y = matrix.T / sum(row @ row for row in matrix)
        for _ in range(steps):
            y = y @ (2 * identity - matrix @ y)
        found.append(y)
    return torch.stack(found).reshape(*a.shape[:-2], m, n)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 3, 5)

    def drawn(*batch, n=n, m=m):
        # of full rank, and the matrices of a batch of different sizes
        matrices = torch.eye(n, m, dtype=torch.float64) + 0.3 * draw.normal(*batch, n, m)
        return matrices * (1 + draw.normal(*batch, 1, 1).abs())

    a = drawn(2)
    yield Case(f"a batch of 2, n={n}, m={m}, steps=3", (a, 3), longer=(drawn(12, n=12, m=9), 3))
    yield Case(f"no batch, n={m}, m={n}, steps=2", (a[0].mT, 2))
    yield Case("two leading axes, n=4, m=3, steps=6", (drawn(2, 3, n=4, m=3), 6))
    yield Case(f"n=m={n}, steps=4", (drawn(2, m=n), 4))
    yield Case(f"n={n}, m={m}, steps=1", (a, 1))
    yield Case(f"n={n}, m={m}, steps=0", (a, 0))
    yield Case(f"numbers a thousand times larger, n={n}, m={m}, steps=3", (1000 * a, 3))
    yield Case(f"numbers a hundred times smaller, n={n}, m={m}, steps=3", (1e-2 * a, 3))
    # so far from the identity that nine steps do not lead to the inverse
    small = torch.logspace(0, -2, n, dtype=torch.float64)[:, None] * drawn(2, m=n)
    yield Case(f"rows of very different sizes, n=m={n}, steps=9", (small, 9))
    yield Case("n=1, m=2, steps=2", (drawn(2, n=1, m=2), 2))
    yield Case("n=2, m=1, steps=2", (drawn(2, n=2, m=1), 2))


@exercise.valid
def plain(a, steps):
    identity = torch.eye(a.shape[-2], dtype=a.dtype, device=a.device)
    size = a.square().sum((-2, -1), keepdim=True)
    y = a.mT / size
    for _ in range(steps):
        y = y @ (2 * identity - a @ y)
    return y


SIZE, START, STEP = "a.square().sum((-2, -1), keepdim=True)", "a.mT / size", (
    "y @ (2 * identity - a @ y)")  # fmt: skip
AT, TURNS = "a.shape[-2]", "range(steps)"
variants.right(
    exercise, plain,
    (SIZE, "torch.linalg.matrix_norm(a, keepdim=True) ** 2"),
    # the trace of A^T A
    (SIZE, "(a.mT @ a).diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]",
     STEP, "2 * y - y @ a @ y"),
    # every y is the transpose times powers of a and its transpose: the side does not matter
    (AT, "a.shape[-1]", STEP, "(2 * identity - y @ a) @ y"),
    (SIZE, "(a * a).flatten(-2).sum(-1)[..., None, None]",
     STEP, 'y + y @ (identity - torch.einsum("...ij,...jk->...ik", a, y))'),
)  # fmt: skip
BRACKETS = "(13 * identity - a @ y @ (15 * identity - a @ y @ (7 * identity - a @ y)))"
variants.wrong(exercise, plain, {
    "the squares are added up over the whole batch: each matrix has its own sum": (
        SIZE, "a.square().sum()"),
    "this is the norm, and the start is divided by its square: leave the root out": (
        SIZE, "torch.linalg.matrix_norm(a, keepdim=True)"),
    "these are the chapter's two norms: here it is the sum of all squares": (
        SIZE, "(a.abs().sum(-2).amax(-1) * a.abs().sum(-1).amax(-1))[..., None, None]"),
    "each row or column is divided by a sum of its own: add up the squares of the whole matrix": [
        (START, "(a / a.square().sum(-1, keepdim=True)).mT"),
        (START, "(a / a.square().sum(-2, keepdim=True)).mT")],
    "this is the mean of the squares: add them up": (".sum(", ".mean("),
    "absolute values are added up: square each entry first": [
        (SIZE, "a.abs().sum((-2, -1), keepdim=True)"),
        (SIZE, "a.abs().sum((-2, -1), keepdim=True) ** 2")],
    "the entries are added up before they are squared: square each of them": (
        SIZE, "a.sum((-2, -1), keepdim=True) ** 2"),
    "this is the largest singular value: take the sum of all squares": (
        SIZE, "torch.linalg.matrix_norm(a, 2, keepdim=True) ** 2"),
    "the largest square is taken: add all of them up": (
        SIZE, "a.square().amax((-2, -1), keepdim=True)"),
    "the start is not divided: its size must be that of an inverse": (START, "a.mT + 0"),
    "the start is not transposed: it is the transpose that resembles the inverse": ("a.mT", "a"),
    "Y stands on the wrong side: with A Y in the bracket it comes before it": (
        STEP, "(2 * identity - a @ y) @ y"),
    "the identity is too large or too small: A Y has as many rows as A": (AT, "a.shape[-1]"),
    "the identity is taken once: the step has two of it": [
        ("2 * identity", "identity"), (STEP, "y - y @ a @ y")],
    "the product is added: it is taken away from twice the identity": [
        ("identity - a", "identity + a"), (STEP, "2 * y + y @ a @ y")],
    "this step is the chapter's, with three brackets: the one asked for has one": (
        STEP, f"y @ {BRACKETS} / 4"),
    "this step is of the third order: the one asked for is Y (2 I - A Y)": (
        STEP, "y @ (3 * identity - 3 * a @ y + a @ y @ a @ y)"),
    "this is the step alone: the old Y is in the bracket's 2 already": [
        (STEP, f"y + {STEP}"), (STEP, f"({STEP}) / 2")],
    "a number less a matrix takes it from every entry: write a multiple of the identity": (
        "2 * identity", "2"),
    "A Y is that of the start in every step: Y changes, so make it anew": (
        "    for _", "    p = a @ y\n    for _", "- a @ y", "- p"),
    "the entries are multiplied one by one: these are products of matrices, @": [
        (every("@"), "*"), ("a @ y", "a * y"), ("y @ (", "y * (")],
    "it takes one step too few": (TURNS, "range(steps - 1)"),
    "it takes a step where `steps` is 0: the start alone is asked for": (
        TURNS, "range(max(1, steps))"),
    "it takes one step too many": (TURNS, "range(steps + 1)"),
    "the number of steps is fixed: it is an argument": [
        (TURNS, f"range({count})") for count in (3, 6, 10)],
    "it never takes more than six steps: take as many as are asked for": (
        TURNS, "range(min(steps, 6))"),
    "this is the inverse itself, where the steps lead: take as many as asked, no more": (
        "return y", "return torch.linalg.pinv(a)"),
    "torch.linalg.inv takes square matrices, and gives where the steps lead: take the steps": (
        "return y", "return torch.linalg.inv(a)"),
    hints.BATCH: ("a.mT", "a.permute(0, 2, 1)"),
    LOOP: (
        f"= {STEP}", f"= torch.stack([*({STEP}).reshape(-1, *y.shape[-2:])]).reshape(y.shape)\n"
                     "        y = torch.stack([one for one in y.flatten(0, -2)]).reshape(y.shape)"),
    "no gradient flows through the start: nothing may be detached": (START, f"({START}).detach()"),
    "no gradient flows through the sum: it depends on a, so detach nothing": (
        SIZE, f"{SIZE}.detach()"),
    hints.CHANGES: ("    identity =", "    a.mul_(2)\n    identity =", "return y", "return 2 * y"),
})  # fmt: skip
