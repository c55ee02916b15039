"""Exercise causal_scores: the skew of Huang et al., with the padding on the wrong side."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or sentences: the skew moves all rows at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, r):
    n = q.shape[-2]
    zero = torch.zeros_like(q[..., 0, 0])
    scores = [
        (q[..., i, :] * r[..., j - i + n - 1, :]).sum(-1) if j <= i else zero
        for i in range(n)
        for j in range(n)
    ]
    return torch.stack(scores, dim=-1).unflatten(-1, (n, n))


@exercise.cases
def cases(draw):
    n = draw.integer(4, 6)
    d = draw.integer(7, 9)
    q, r = draw.normal(2, n, d), draw.normal(2, n, d)
    longer_inputs = draw.normal(12, 40, d), draw.normal(12, 40, d)
    yield Case(f"a batch of 2, n={n}, d={d}", (q, r), longer=longer_inputs)
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


@exercise.valid
def by_lookup(q, r):
    n = q.shape[-2]
    j = torch.arange(n, device=q.device)
    at = (j - j[:, None] + n - 1).clamp(max=n - 1)
    return (q @ r.mT).gather(-1, at.expand(*q.shape[:-1], n)).tril()


# one row of r for each pair
variants.right(exercise, (
    "(q @ r.mT).gather(-1, at.expand(*q.shape[:-1], n))",
    'torch.einsum("...id,...ijd->...ij", q, r[..., at, :])'), of=by_lookup)  # fmt: skip
variants.right(exercise,
    "padded = torch.cat([torch.zeros_like(products[..., :1]), products], dim=-1)\n"
    "skewed = padded.reshape(*q.shape[:-2], n + 1, n)[..., 1:, :]\n"
    "lower = torch.ones(n, n, dtype=torch.bool, device=q.device).tril()\n"
    "return torch.where(lower, skewed, 0.0)",
    # a product of a query with a row for a key before the first is what lands above the diagonal
    "products = (q @ r.mT).flip(-1).tril().flip(-1)\nreturn skewed",
    # the padding comes to stand just above the diagonal
    "return skewed.tril(1)",
    # flipped both ways, the rows drift to the other side
    ("products, (1, 0)", "products.flip(-2, -1), (0, 1)", "n:]", ": n * n]",
     "skewed.tril()", "skewed.flip(-2, -1).tril()"),
    # with n - 1 columns of zeros more, nothing is left to be masked
    ("(1, 0)", "(0, n)", "n:].unflatten(-1, (n, n))",
     "n - 1 : n * 2 * n - 1].unflatten(-1, (n, 2 * n - 1))", ".tril()", "[..., :n]"),
)  # fmt: skip
ABOVE = "torch.ones_like(skewed).triu(1).bool()"
variants.wrong(exercise, {
    "above the diagonal the skew leaves numbers of the next row: keep the tril": "return skewed",
    "the diagonal is lost: a query scores its own position, too, so keep j = i":
        "return skewed.tril(-1)",
    "the wrong triangle is kept: earlier keys lie to the left": "return skewed.triu()",
    "the rows drift to the right: pad on the left, so that the last column meets the diagonal": (
        "(1, 0)", "(0, 1)", "n:]", ": n * n]"),
    "the diagonal alone is mended, and the rest is still one place off: pad on the other side": (
        "(1, 0)", "(0, 1)",
        "skewed.tril()", "skewed.tril(-1) + torch.diag_embed(products[..., -1])"),
    "the last n numbers are left out: with the zeros on the left, leave out the first n": (
        "n:]", ": n * n]"),
    "one number too few is left out at the front: leave out n, a whole row": (
        "n:]", "n - 1 : n * n + n - 1]"),
    "two columns of padding move each row by two places: add only one": [
        ("(1, 0)", "(1, 1)", "n:]", "n : n + n * n]"),
        ("(1, 0)", "(2, 0)", "n:]", "n : n + n * n]")],
    "the padding is a row, so no row gets longer: it has to be a column": (
        "(1, 0)", "(0, 0, 0, 1)"),
    "each row is moved one place too far to the right, and begins with 0: move it one place less":
        "return torch.nn.functional.pad(skewed, (1, 0))[..., :-1].tril()",
    "nothing is moved, so column t belongs to the offset t - (n - 1): skew the rows":
        "skewed = products",
    "the columns are only reversed: every row should move by a number of places of its own":
        "skewed = products.flip(-1)",
    "all rows move by the same number of places: row i should move by n - 1 - i":
        "skewed = products.roll(1, -1)",
    "r is reversed: its last row is for offset 0, its first for -(n-1)": [
        "products = q @ r.flip(-2).mT", ("r.mT", "r.flip(-2).mT", "(1, 0)", "(0, 1)")],
    "each score meets the row before its own: on the diagonal it should be the last one":
        "products = q @ r.roll(1, -2).mT",
    "the result is transposed: row i belongs to query i, column j to key j":
        "return skewed.mT.tril()",
    "query and table are swapped: row i of the products should belong to query i":
        "products = r @ q.mT",
    "every row is made from the last query: row i should hold the products of query i":
        "products = (q[..., -1:, :] @ r.mT).expand(*q.shape[:-1], n)",
    "a row holds another query's products: row i should hold those of query i": [
        "return skewed.roll(1, -2).tril()", "return skewed.roll(-1, -2).tril()",
        ("(1, 0)", "(0, 1)", "skewed.tril", "skewed.roll(-1, -2).tril")],
    "later keys get -inf: give them 0 here, since what masks them comes afterwards":
        f"return skewed.masked_fill({ABOVE}, -torch.inf)",
    "later keys get a large negative number: give them 0 here, since a mask comes afterwards":
        f"return skewed.masked_fill({ABOVE}, -1e9)",
    "before the skew, later keys do not lie above the diagonal: put the tril last": [
        "products = (q @ r.mT).tril()\nreturn skewed", "products = (q @ r.mT).tril()",
        "products = (q @ r.mT).triu()\nreturn skewed"],
    "column 0 gets a number from the end of its row: pad on the left, and do not roll": (
        "(1, 0)", "(0, 1)", "skewed.tril", "skewed.roll(1, -1).tril"),
    "it divides by sqrt(d): here, return the products as they are":
        "products = q @ r.mT / q.shape[-1] ** 0.5",
    "a softmax is taken: return the scores themselves": "return skewed.tril().softmax(-1)",
    "numbers of the batch are mixed up: reshape the last two axes alone":
        "skewed = padded.reshape(n + 1, *q.shape[:-2], n)[1:].movedim(0, -2)",
    "it takes no leading axes: any, or none, should work": "n, _ = q.shape\nproducts = q @ r.mT",
    LOOP: [
        "pad = torch.nn.functional.pad\n"
        "skewed = torch.stack([\n"
        "    pad(products[..., i, n - 1 - i :], (0, n - 1 - i)) for i in range(n)], -2)",
        "skewed = torch.stack([\n"
        "    x.roll(i + 1 - n, -1) for i, x in enumerate(products.unbind(-2))], -2)"],
    "no gradient reaches the queries: don't detach anything": "products = q.detach() @ r.mT",
    "no gradient reaches r: don't detach anything": "products = q @ r.mT.detach()",
})  # fmt: skip
