"""Exercise newton_inverse: the pseudoinverse of a matrix by products alone, as Newton finds it."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the matrices: take all of them at once in a product"
# a norm may be taken
FACTORISATIONS = (
    "svd", "svd_lowrank", "eigh", "eig", "qr", "lu", "lu_factor", "cholesky", "cholesky_inverse",
    "pinv", "pinverse", "inv", "inv_ex", "inverse", "solve", "solve_ex", "solve_triangular",
    "lstsq",
)  # fmt: skip
exercise = Exercise.read(
    __name__, forbidden=FACTORISATIONS, generic_hints={"loops_over_a_batch": LOOP}
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(a, steps):
    n, m = a.shape[-2:]
    identity, inverses = torch.eye(n, dtype=a.dtype), []
    for matrix in a.reshape(-1, n, m):
        y = matrix.T / sum(row @ row for row in matrix)
        for _ in range(steps):
            y = y @ (2 * identity - matrix @ y)
        inverses.append(y)
    return torch.stack(inverses).reshape(*a.shape[:-2], m, n)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 3, 5)

    def draw_matrices(*batch, n=n, m=m):
        # of full rank, and the matrices of a batch of different sizes
        matrices = torch.eye(n, m, dtype=torch.float64) + 0.3 * draw.normal(*batch, n, m)
        return matrices * (1 + draw.normal(*batch, 1, 1).abs())

    a = draw_matrices(2)
    # no more matrices, so that a loop over them shows in a larger batch alone, and others here
    yield Case(
        f"a batch of 2, n={n}, m={m}, steps=3", (a, 3), longer=(draw_matrices(2, n=12, m=18), 3)
    )
    yield Case(f"no batch, n={m}, m={n}, steps=2", (a[0].mT, 2))
    yield Case("two leading axes, n=4, m=3, steps=6", (draw_matrices(2, 3, n=4, m=3), 6))
    yield Case(f"n=m={n}, steps=4", (draw_matrices(2, m=n), 4))
    yield Case(f"n={n}, m={m}, steps=1", (a, 1))
    yield Case(f"n={n}, m={m}, steps=0", (a, 0))
    yield Case(f"numbers a thousand times larger, n={n}, m={m}, steps=3", (1000 * a, 3))
    small = 1e-10 * a
    yield Case(f"numbers around 1e-10, n={n}, m={m}, steps=3", (small, 3), gradient=False)
    # so far from the identity that twelve steps do not lead to the inverse
    uneven = torch.logspace(0, -3, n, dtype=torch.float64)[:, None] * draw_matrices(2, m=n)
    yield Case(f"rows of very different sizes, n=m={n}, steps=12", (uneven, 12))
    # all singular values alike: 0.75 ** 64 is left after six steps, and 1e-16 after seven
    orthogonal = torch.linalg.qr(draw.normal(2, 4, 4))[0]
    for size in (1e5, 1e-3):
        name = f"rows of length {size:g} at right angles, n=m=4, steps=7"
        yield Case(name, (size * orthogonal, 7), gradient=False)
    yield Case("n=1, m=2, steps=2", (draw_matrices(2, n=1, m=2), 2))
    yield Case("n=2, m=1, steps=2", (draw_matrices(2, n=2, m=1), 2))


STEP, OF_ROWS = "y @ (2 * identity - a @ y)", "a.shape[-2]"
STEPS, TAKEN = "range(steps)", f"        y = {STEP}\n"
variants.right(
    exercise,
    "squares = torch.linalg.matrix_norm(a, keepdim=True) ** 2",
    # the trace of A^T A
    ("a.square().sum(dim=(-2, -1), keepdim=True)",
     "(a.mT @ a).diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]",
     STEP, "2 * y - y @ a @ y"),
    # every y is the transpose times powers of a and its transpose: the side does not matter
    (OF_ROWS, "a.shape[-1]", STEP, "(2 * identity - y @ a) @ y"),
    ("a.square().sum(dim=(-2, -1), keepdim=True)", "(a * a).flatten(-2).sum(-1)[..., None, None]",
     STEP, 'y + y @ (identity - torch.einsum("...ij,...jk->...ik", a, y))'),
)  # fmt: skip
BRACKETS = "(13 * identity - a @ y @ (15 * identity - a @ y @ (7 * identity - a @ y)))"
variants.wrong(exercise, {
    "the squares are added up over the whole batch: give each matrix its own sum":
        "squares = a.square().sum()",
    "the start is divided by the norm: divide it by the norm's square, without the root":
        "squares = torch.linalg.matrix_norm(a, keepdim=True)",
    "the sums have lost their last two axes: keep them, with size 1, so that each divides its own "
    "matrix": "squares = a.square().sum(dim=(-2, -1))",
    "an epsilon is added to the sum, which may be smaller still: leave it out, as no matrix is all "
    "zeros": [
        f"y = a.mT / (squares + {epsilon})" for epsilon in (1e-5, 1e-6, 1e-8, 1e-10, 1e-12)],
    "the sum is kept from being small: let that of a small matrix be small": [
        f"y = a.mT / squares.clamp(min={least})"
        for least in (1e-4, 1e-6, 1e-8, 1e-12, "torch.finfo(a.dtype).eps")],
    "these are the chapter's two norms: take the sum of all squares instead":
        "columns, rows = a.abs().sum(-2).amax(-1), a.abs().sum(-1).amax(-1)\n"
        "squares = (columns * rows)[..., None, None]",
    "each row or column is divided by a sum of its own: add up the squares of the whole matrix": [
        "y = (a / a.square().sum(-1, keepdim=True)).mT",
        "y = (a / a.square().sum(-2, keepdim=True)).mT"],
    "this is the mean of the squares: add them up": (".sum(", ".mean("),
    "absolute values are added up: square each entry first": [
        "squares = a.abs().sum((-2, -1), keepdim=True)",
        "squares = a.abs().sum((-2, -1), keepdim=True) ** 2"],
    "the entries are added up before they are squared: square each of them":
        "squares = a.sum((-2, -1), keepdim=True) ** 2",
    "this is the largest singular value: take the sum of all squares":
        "squares = torch.linalg.matrix_norm(a, 2, keepdim=True) ** 2",
    "the largest square is taken: add all of them up":
        "squares = a.square().amax((-2, -1), keepdim=True)",
    "the start is not divided: divide it, because its size must be that of an inverse":
        "y = a.mT + 0",
    "the start is not transposed: take the transpose, which resembles the inverse":
        "y = a / squares",
    "the start is reshaped: transpose it, so that rows and columns change places":
        "y = a.reshape(*a.shape[:-2], *a.shape[:-3:-1]) / squares",
    "Y stands on the wrong side: put it before the bracket, because the bracket holds A Y": (
        STEP, "(2 * identity - a @ y) @ y"),
    "the bracket has Y A: with Y before it, it should have A Y": [
        (STEP, "y @ (2 * identity - y @ a)"),
        (STEP, "y @ (2 * identity - y @ a)", OF_ROWS, "a.shape[-1]")],
    "the bracket has got lost: let Y multiply all that it holds": [
        (STEP, "y @ (2 * identity) - a @ y"), (STEP, "2 * y - a @ y")],
    "the bracket is multiplied by the first Y: multiply it by the latest one": [
        ("    for", "    first = y\n    for", STEP, "first @ (2 * identity - a @ y)"),
        ("    for", "    first = y\n    for", STEP, "y + first @ (identity - a @ y)")],
    "the steps are taken with another A, scaled: divide only the start": [
        "a = a / squares\ny = a.mT", "a = a / squares.sqrt()\ny = a.mT"],
    "the identity is too large or too small: give it as many rows as A Y has, which are those of A":
        (OF_ROWS, "a.shape[-1]"),
    "the identity is taken once: take it twice": [
        ("2 * identity", "identity"), (STEP, "y - y @ a @ y")],
    "the product is added: take it away from twice the identity": [
        ("identity - a", "identity + a"), (STEP, "2 * y + y @ a @ y")],
    "this step is the chapter's, with three brackets: take the one with a single bracket": (
        STEP, f"y @ {BRACKETS} / 4"),
    "this step is of the third order: take Y (2 I - A Y)": (
        STEP, "y @ (3 * identity - 3 * a @ y + a @ y @ a @ y)"),
    "the old Y is added to the step, or the step halved: return the step alone, which has the old "
    "Y in its bracket's 2": [
        (STEP, f"y + {STEP}"), (STEP, f"({STEP}) / 2")],
    "a number less a matrix takes each entry from that number: write a multiple of the identity": (
        "2 * identity", "2"),
    "A Y is that of the start in every step: Y changes, so make it anew": (
        "    for", "    product = a @ y\n    for", "- a @ y", "- product"),
    "the entries are multiplied one by one: take products of matrices, @": [
        (every("@"), "*"), ("a @ y", "a * y"), ("y @ (", "y * (")],
    "it takes one step too few: take `steps` of them": (STEPS, "range(steps - 1)"),
    "it takes a step where `steps` is 0: return the start alone": (
        STEPS, "range(max(1, steps))"),
    "it takes one step too many: take `steps` of them, no more": (STEPS, "range(steps + 1)"),
    "the number of steps is fixed: take it from the argument": [
        (STEPS, f"range({count})") for count in (3, 6, 10)],
    "it never takes more than so many steps: take as many as are asked for": [
        (STEPS, f"range(min(steps, {limit}))") for limit in (6, 10)],
    "it stops before all steps are taken: take as many as are asked for, however little changes": [
        *((TAKEN, f"        if (identity - a @ y).{size} < {left}:\n            break\n{TAKEN}")
          for left in (1e-2, 1e-3, 1e-6) for size in ("abs().max()", "norm()")),
        *((TAKEN, f"        old, y = y, {STEP}\n"
           f"        if torch.allclose(y, old, rtol=0, atol={change}):\n            {end}\n")
          for change in (1e-3, 1e-4, 1e-6) for end in ("break", "return old"))],
    "it returns within the loop, after one step: return below it": [
        ("    return y", "        return y"), (f"y = {STEP}", f"return {STEP}")],
    "this is the inverse itself, where the steps lead: take as many as asked, no more":
        "return torch.linalg.pinv(a)",
    messages.BATCH: "y = a.permute(0, 2, 1) / squares",
    LOOP: (
        TAKEN, f"{TAKEN}        each = [+one for one in y.reshape(-1, *y.shape[-2:])]\n"
               "        y = torch.stack(each).reshape(y.shape)\n"),
    messages.LOOPS: [
        (STEP, "torch.cat([row @ (2 * identity - a @ y) for row in y.split(1, dim=-2)], dim=-2)"),
        "squares = sum(x.square().sum(-1) for x in a.unbind(-1))[..., None, None]"],
    "no gradient flows through the start: don't detach anything": "y = (a.mT / squares).detach()",
    "no gradient flows through the sum: it depends on a, so detach nothing":
        "squares = a.square().sum((-2, -1), keepdim=True).detach()",
    "no gradient flows through a part of the bracket: detach neither A nor Y, for both depend "
    "on a": [
        ("- a @ y", "- a @ y.detach()"), ("- a @ y", "- a.detach() @ y"),
        ("- a @ y", "- (a @ y).detach()")],
    "the gradient ends at the last step: let it flow through all of them": [
        (STEP, "y.detach() @ (2 * identity - a @ y.detach())"),
        (f"_ in {STEPS}:\n{TAKEN}", f"left in reversed({STEPS}):\n"
         f"        with torch.set_grad_enabled(not left):\n    {TAKEN}")],
    messages.CHANGES: (
        "    identity =", "    a.mul_(2)\n    identity =", "return y", "return 2 * y"),
})  # fmt: skip
