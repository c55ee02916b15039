"""Exercise sum_by_offset: what the bias of each offset gets as its gradient."""

import torch
from torch.nn.functional import pad

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions, offsets or sentences: one index_add serves all pairs"
exercise = Exercise.read(__name__, usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP})


@exercise.reference
def by_hand(x):
    n = x.shape[-1]
    sums = [torch.diagonal(x, offset, -2, -1).sum(-1) for offset in range(1 - n, n)]
    return torch.stack(sums, dim=-1)


@exercise.cases
def cases(draw):
    n = draw.integer(4, 6)
    x, long = draw.normal(2, n, n), draw.normal(12, 40, 40)
    yield Case(f"a batch of 2, n={n}", (x,), longer=(long,))
    yield Case(f"one matrix without a batch, n={n}", (x[0],))
    yield Case("two leading axes (batch, heads), n=7", (draw.normal(2, 3, 7, 7),))
    yield Case("two leading axes of size n=4", (draw.normal(4, 4, 4, 4),))
    yield Case("n=2", (draw.normal(3, 2, 2),))
    yield Case("n=1", (x[:, :1, :1],))
    yield Case("numbers 1000 times larger", (1000 * x,))
    huge = x.clone()
    huge[:, 1, 1] = 1e30
    yield Case("a huge number on the diagonal", (huge,))


@exercise.valid
def plain(x):
    n = x.shape[-1]
    j = torch.arange(n, device=x.device)
    places = j - j[:, None] + n - 1
    sums = x.new_zeros(*x.shape[:-2], 2 * n - 1)
    return sums.index_add(-1, places.flatten(), x.flatten(-2))


@exercise.valid
def cut_anew(x):
    # with rows one number longer, each row of x starts one place further to the left
    n = x.shape[-1]
    flat = pad(pad(x, (n - 1, 0)).flatten(-2), (0, n))
    return flat.unflatten(-1, (n, 2 * n))[..., :-1].sum(-2)


PLACES, SUMS = "j - j[:, None] + n - 1", "sums.index_add(-1, places.flatten(), x.flatten(-2))"
SHORT = ("2 * n - 1)", "n)")
variants.right(exercise,
    (SUMS, "sums.movedim(-1, 0).index_put((places,), x.movedim((-2, -1), (0, 1)), True)"
     ".movedim(0, -1)"),
    # a sum of windows
    (PLACES, "torch.arange(2 * n - 1, device=x.device) + j[:, None]",
     SUMS, "pad(x, (n - 1, n - 1)).gather(-1, places.expand(*x.shape[:-1], -1)).sum(dim=-2)"),
    (SUMS, "sums.scatter_add(-1, places.expand_as(x).flatten(start_dim=-2), x.flatten(-2))"),
    (SUMS, 'torch.einsum("...ij,ijp->...p", x, torch.eye(2 * n - 1).to(x)[places])'),
    # the diagonals turned over
    (PLACES, "j + j[:, None]", "x.flatten", "x.flip(-2).flatten"),
)  # fmt: skip
variants.right(exercise,
    ("(n - 1, 0)", "(0, n - 1)", "(0, n))", "(n, 0))", ":-1].sum(-2)", "1:].sum(-2)"), of=cut_anew,
)  # fmt: skip
variants.wrong(exercise, {
    "the offset is taken the other way round: it is key minus query, column minus row": (
        "j - j[:, None]", "j[:, None] - j"),
    "row plus column is the same along the wrong diagonals: take column minus row; when you recut, "
    "make rows one number longer, not shorter": (PLACES, "j + j[:, None]"),
    "this is the mean of each diagonal: add up": (
        SUMS, f"{SUMS} / {SUMS.replace('x.', '(x * 0 + 1).')}"),
    "n = 1 gives 0: n - 2 numbers are padded there, and a negative padding cuts some off": (
        SUMS, f"{SUMS} * (n > 1)"),
    "offset 0 is added twice: the main diagonal belongs to one half only": (
        "x.flatten(-2)", "(x + x * torch.eye(n).to(x)).flatten(-2)"),
    "each sum is divided by n: add up": (SUMS, f"{SUMS} / n"),
    "in a running sum a huge number swallows those after it: add up each offset by itself": [
        (SUMS, f"{SUMS}.cumsum(-1).diff(prepend=sums[..., :1])"),
        (SUMS, f"{SUMS}.flip(-1).cumsum(-1).diff(prepend=sums[..., :1]).flip(-1)")],
    "pairs of one offset overwrite each other: what goes to one place adds up": [
        ("index_add", "index_copy"), (f"return {SUMS}", "sums[..., places] = x\n    return sums")],
    "the result begins with offset 0: it begins with -(n-1), and 0 is in the middle": [
        (SUMS, f"{SUMS}.roll(n, -1)"), (PLACES, "(j - j[:, None]) % (2 * n - 1)")],
    "each sum stands one place too far to the right: offset -(n-1) has place 0": (
        SUMS, f"{SUMS}.roll(1, -1)"),
    "each sum stands one place too far to the left: offset 0 has place n - 1": (
        SUMS, f"{SUMS}.roll(-1, -1)"),
    "places run from 0 to 2n - 2: offset 0 has place n - 1, not n": (PLACES, "j - j[:, None] + n"),
    "left and right are added together: offsets have a sign, and 2n - 1 values": [
        (PLACES, "(j - j[:, None]).abs() + n - 1"), (PLACES, "(j - j[:, None]).abs()", *SHORT)],
    "offsets n apart are added together: there are 2n - 1 sums, not n": (
        PLACES, "(j - j[:, None]) % n", *SHORT),
    "only offsets up to 0 are kept: later keys have sums, too": (SUMS, f"{SUMS}[..., :n]"),
    "only offsets up to 0 are summed: later keys count, too": ("x.flatten", "x.tril().flatten"),
    "the columns are added up: an offset is a diagonal, not a column": (SUMS, "x.sum(-2)"),
    "it uses the size of the first axis: leading axes come before the two of length n": (
        "x.shape[-1]", "len(x)"),
    "the leading axes are added up: each matrix has sums of its own": [
        (SUMS, f"{SUMS}.reshape(-1, 2 * n - 1).sum(0)"),
        (SUMS, "places.expand_as(x).flatten().bincount(x.flatten(), 2 * n - 1).to(x.dtype)")],
    "it takes no leading axes: any, or none, should work": ("n = x.shape[-1]", "n, _ = x.shape"),
    "torch.zeros gives float32: make them of the dtype of x": (
        "x.new_zeros(*x.shape[:-2], 2 * n - 1)",
        "torch.zeros(*x.shape[:-2], 2 * n - 1, device=x.device)"),
    LOOP: [
        (SUMS, "torch.stack([x.diagonal(i, -2, -1).sum(-1) for i in range(1 - n, n)], dim=-1)"),
        (SUMS, "sum(pad(x[..., i, :], (n - 1 - i, i)) for i in range(n))")],
})  # fmt: skip
variants.wrong(exercise, {
    "the zeros stand on the wrong side: pad n - 1 of them on the left of each row": (
        "(n - 1, 0)", "(0, n - 1)"),
    "cut to the width they had, the rows do not move: the new rows are one longer": (
        "pad(pad(x, (n - 1, 0)).flatten(-2), (0, n))", "pad(x, (n - 1, 1)).flatten(-2)"),
}, of=cut_anew)  # fmt: skip
