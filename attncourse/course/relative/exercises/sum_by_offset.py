"""Exercise sum_by_offset: what the bias of each offset gets as its gradient."""

import torch
from torch.nn.functional import pad

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions, offsets or sentences: one index_add serves all pairs"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(x):
    n = x.shape[-1]
    sums = [torch.diagonal(x, offset, -2, -1).sum(-1) for offset in range(1 - n, n)]
    return torch.stack(sums, dim=-1)


@exercise.cases
def cases(draw):
    n = draw.integer(4, 6)
    x, longer_x = draw.normal(2, n, n), draw.normal(12, 40, 40)
    yield Case(f"a batch of 2, n={n}", (x,), longer=(longer_x,))
    yield Case(f"one matrix without a batch, n={n}", (x[0],))
    yield Case("two leading axes (batch, heads), n=7", (draw.normal(2, 3, 7, 7),))
    yield Case("two leading axes of size n=4", (draw.normal(4, 4, 4, 4),))
    yield Case("n=2", (draw.normal(3, 2, 2),))
    yield Case("n=1", (x[:, :1, :1],))
    yield Case("numbers 1000 times larger", (1000 * x,))
    huge_number = x.clone()
    huge_number[:, 1, 1] = 1e30
    yield Case("a huge number on the diagonal", (huge_number,))


@exercise.valid
def cut_anew(x):
    # with rows one number longer, each row of x starts one place further to the left
    n = x.shape[-1]
    flat = pad(pad(x, (n - 1, 0)).flatten(-2), (0, n))
    return flat.unflatten(-1, (n, 2 * n))[..., :-1].sum(-2)


variants.right(exercise,
    "pairs = x.movedim((-2, -1), (0, 1))\n"
    "return sums.movedim(-1, 0).index_put((places,), pairs, True).movedim(0, -1)",
    # a sum of windows
    "places = torch.arange(2 * n - 1, device=x.device) + j[:, None]\n"
    "return pad(x, (n - 1, n - 1)).gather(-1, places.expand(*x.shape[:-1], -1)).sum(dim=-2)",
    "return sums.scatter_add(-1, places.expand_as(x).flatten(start_dim=-2), x.flatten(-2))",
    "units = torch.eye(2 * n - 1).to(x)\n"
    'return torch.einsum("...ij,ijp->...p", x, units[places])',
    # the diagonals turned over
    ("j - j[:, None] + n - 1", "j + j[:, None]", "x.flatten", "x.flip(-2).flatten"),
)  # fmt: skip
variants.right(exercise,
    ("(n - 1, 0)", "(0, n - 1)", "(0, n))", "(n, 0))", ":-1].sum(-2)", "1:].sum(-2)"), of=cut_anew,
)  # fmt: skip
SUMS = "sums.index_add(-1, places.flatten(), x.flatten(-2))"
FEWER = "sums = x.new_zeros(*x.shape[:-2], n)"
variants.wrong(exercise, {
    "the offset is taken the other way round: it should be key minus query, column minus row": (
        "j - j[:, None]", "j[:, None] - j"),
    "row plus column is the same along the wrong diagonals: take column minus row; when you recut, "
    "make rows one number longer, not shorter": "places = j + j[:, None]",
    "this is the mean of each diagonal: add up":
        "ones = torch.ones_like(x)\n"
        f"return {SUMS} / sums.index_add(-1, places.flatten(), ones.flatten(-2))",
    "n = 1 loses its number: a padding of n - 2 is negative there, and cuts some off":
        f"return {SUMS} * (n > 1)",
    "offset 0 is added twice: the main diagonal belongs to one half only": (
        "x.flatten(-2)", "(x + x * torch.eye(n).to(x)).flatten(-2)"),
    "each sum is divided by n: add up": f"return {SUMS} / n",
    "in a running sum a huge number swallows those after it: add up each offset by itself": [
        f"return {SUMS}.cumsum(-1).diff(prepend=sums[..., :1])",
        f"return {SUMS}.flip(-1).cumsum(-1).diff(prepend=sums[..., :1]).flip(-1)"],
    "pairs of one offset overwrite each other: add up what goes to one place": [
        ("index_add", "index_copy"), "sums[..., places] = x\nreturn sums"],
    "the result begins with offset 0: it should begin with -(n-1), with 0 in the middle": [
        f"return {SUMS}.roll(n, -1)", "places = (j - j[:, None]) % (2 * n - 1)"],
    "each sum stands one place too far to the right: offset -(n-1) should have place 0":
        f"return {SUMS}.roll(1, -1)",
    "each sum stands one place too far to the left: offset 0 should have place n - 1":
        f"return {SUMS}.roll(-1, -1)",
    "places run from 1 to 2n - 1: offset 0 should have place n - 1, not n":
        "places = j - j[:, None] + n",
    "left and right are added together: keep the sign of an offset, which has 2n - 1 values": [
        "places = (j - j[:, None]).abs() + n - 1", f"places = (j - j[:, None]).abs()\n{FEWER}"],
    "offsets n apart are added together: there should be 2n - 1 sums, not n":
        f"places = (j - j[:, None]) % n\n{FEWER}",
    "only offsets up to 0 are kept: later keys should have sums, too": f"return {SUMS}[..., :n]",
    "only offsets up to 0 are summed: later keys should count, too": (
        "x.flatten", "x.tril().flatten"),
    "the columns are added up: an offset is a diagonal, not a column": "return x.sum(-2)",
    "it uses the size of the first axis: leading axes come before the two of length n": (
        "x.shape[-1]", "len(x)"),
    "the leading axes are added up: give each matrix sums of its own": [
        f"return {SUMS}.reshape(-1, 2 * n - 1).sum(0)",
        "places = (j - j[:, None] + n - 1).expand_as(x)\n"
        "return places.flatten().bincount(x.flatten(), 2 * n - 1).to(x.dtype)"],
    "it takes no leading axes: any, or none, should work": ("n = x.shape[-1]", "n, _ = x.shape"),
    "torch.zeros gives float32: give the zeros the dtype of x":
        "sums = torch.zeros(*x.shape[:-2], 2 * n - 1, device=x.device)",
    LOOP: [
        "diagonals = [x.diagonal(i, -2, -1).sum(-1) for i in range(1 - n, n)]\n"
        "return torch.stack(diagonals, dim=-1)",
        "return sum(pad(x[..., i, :], (n - 1 - i, i)) for i in range(n))"],
})  # fmt: skip
variants.wrong(exercise, {
    "the zeros stand on the wrong side: pad n - 1 of them on the left of each row": (
        "(n - 1, 0)", "(0, n - 1)"),
    "cut to the width they had, the rows do not move: make the new rows one longer":
        "flat = pad(x, (n - 1, 1)).flatten(-2)",
}, of=cut_anew)  # fmt: skip
