"""Exercise sum_by_offset: what the bias of each offset gets as its gradient."""

import torch
from torch.nn.functional import pad

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.relative.shared.rows import offsets, sentence_by_sentence

exercise = Exercise(
    name="sum_by_offset",
    chapter="relative",
    title="One sum for each offset",
    kind="extend",
    difficulty=2,
    minutes=25,
    points=15,
    hints=(
        "Offset j - i has the place j - i + n - 1 of the result. Every pair (i, j) of the input "
        "knows its place; several share one, and what goes to one place adds up.",
        "Write the places as one (n, n) matrix of integers. With both matrices flattened to n * n, "
        "index_add on zeros of length 2n - 1 is all there is to do. (Or pad each row on "
        "the right to 2n - 1 columns, put n zeros in front of everything, and cut into rows of 2n: "
        "after the first column, each column is one offset.)",
        "x.new_zeros(*x.shape[:-2], 2 * n - 1).index_add(-1, places.flatten(), x.flatten(-2))",
    ),
)


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


def places(x):
    n = x.shape[-1]
    return offsets(n, n, x.device) + n - 1


def summed(x, at=None, size=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    n = x.shape[-1]
    at = places(x) if at is None else at
    zeros = x.new_zeros(*x.shape[:-2], 2 * n - 1 if size is None else size)
    return zeros.index_add(-1, at.flatten(), x.flatten(-2))


def cut_anew(x, padding):
    """With rows one number longer, each row of x starts one place further to the left."""
    n = x.shape[-1]
    flat = pad(pad(x, padding).flatten(-2), (0, n))
    return flat.unflatten(-1, (n, 2 * n))[..., :-1].sum(-2)


@exercise.valid
def by_index_add(x):
    return summed(x)


@exercise.valid
def by_scatter_add(x):
    n = x.size(-1)
    j = torch.arange(n, device=x.device)
    where = (j - j.unsqueeze(-1) + (n - 1)).expand_as(x).flatten(start_dim=-2)
    return x.new_zeros((*x.shape[:-2], 2 * n - 1)).scatter_add(-1, where, x.flatten(-2))


@exercise.valid
def padded_and_cut_anew(x):
    return cut_anew(x, (x.shape[-1] - 1, 0))


@exercise.valid
def zeros_in_front_and_cut_anew(x):
    n = x.shape[-1]
    flat = pad(pad(x, (0, n - 1)).flatten(-2), (n, 0))
    return flat.unflatten(-1, (n, 2 * n)).sum(-2)[..., 1:]


@exercise.valid
def by_one_hot(x):
    which = torch.nn.functional.one_hot(places(x), 2 * x.shape[-1] - 1).to(x.dtype)
    return torch.einsum("...ij,ijp->...p", x, which)


@exercise.valid
def flipped_antidiagonals(x):
    n = x.shape[-1]
    j = torch.arange(n, device=x.device)
    return summed(x.flip(-2), j + j[:, None])


@exercise.valid
def by_put_with_accumulation(x):
    n = x.shape[-1]
    sums = x.new_zeros(2 * n - 1, *x.shape[:-2])
    return sums.index_put((places(x),), x.movedim((-2, -1), (0, 1)), accumulate=True).movedim(0, -1)


@exercise.valid
def as_a_sum_of_windows(x):
    n = x.shape[-1]
    wide = pad(x, (n - 1, n - 1))
    i = torch.arange(n, device=x.device)
    columns = torch.arange(2 * n - 1, device=x.device) + i[:, None]
    return wide.gather(-1, columns.expand(*x.shape[:-1], -1)).sum(dim=-2)


@exercise.mutant("the offset is taken the other way round: it is key minus query, column minus row")
def query_minus_key(x):
    return summed(x.mT)


@exercise.mutant(
    "row plus column is the same along the wrong diagonals: take column minus row; when you recut, "
    "make rows one number longer, not shorter"
)
def antidiagonals(x):
    j = torch.arange(x.shape[-1], device=x.device)
    return summed(x, j + j[:, None])


@exercise.mutant("this is the mean of each diagonal: add up")
def averaged(x):
    return summed(x) / summed(torch.ones_like(x))


@exercise.mutant("each sum is divided by n: add up")
def divided_by_n(x):
    return summed(x) / x.shape[-1]


@exercise.mutant("pairs of one offset overwrite each other: what goes to one place adds up")
def overwritten(x):
    zeros = x.new_zeros(*x.shape[:-2], 2 * x.shape[-1] - 1)
    return zeros.index_copy(-1, places(x).flatten(), x.flatten(-2))


@exercise.mutant("pairs of one offset overwrite each other: what goes to one place adds up")
def written_to_an_index(x):
    sums = x.new_zeros(*x.shape[:-2], 2 * x.shape[-1] - 1)
    sums[..., places(x)] = x
    return sums


@exercise.mutant("the result begins with offset 0: it begins with -(n-1), and 0 is in the middle")
def negative_offsets_at_the_end(x):
    return summed(x).roll(x.shape[-1], -1)


@exercise.mutant("the result begins with offset 0: it begins with -(n-1), and 0 is in the middle")
def counted_from_the_end(x):
    # what an index below 0 does
    n = x.shape[-1]
    return summed(x, (places(x) - n + 1) % (2 * n - 1))


@exercise.mutant("each sum stands one place too far to the right: offset -(n-1) has place 0")
def one_place_too_far(x):
    return summed(x).roll(1, -1)


@exercise.mutant("each sum stands one place too far to the left: offset 0 has place n - 1")
def one_place_short(x):
    return summed(x).roll(-1, -1)


@exercise.mutant("places run from 0 to 2n - 2: offset 0 has place n - 1, not n")
def places_from_one(x):
    return summed(x, places(x) + 1)


@exercise.mutant("left and right are added together: offsets have a sign, and 2n - 1 values")
def without_a_sign(x):
    n = x.shape[-1]
    return summed(x, (places(x) - n + 1).abs() + n - 1)


@exercise.mutant("left and right are added together: offsets have a sign, and 2n - 1 values")
def distances_only(x):
    n = x.shape[-1]
    return summed(x, (places(x) - n + 1).abs(), n)


@exercise.mutant("offsets n apart are added together: there are 2n - 1 sums, not n")
def circular(x):
    n = x.shape[-1]
    return summed(x, (places(x) + 1) % n, n)


@exercise.mutant("only offsets up to 0 are kept: later keys have sums, too")
def earlier_keys_only(x):
    return summed(x)[..., : x.shape[-1]]


@exercise.mutant("only offsets up to 0 are summed: later keys count, too")
def causal(x):
    return summed(x.tril())


@exercise.mutant("the columns are added up: an offset is a diagonal, not a column")
def column_sums(x):
    return x.sum(-2)


@exercise.mutant("the zeros stand on the wrong side: pad n - 1 of them on the left of each row")
def padded_on_the_right(x):
    return cut_anew(x, (0, x.shape[-1] - 1))


@exercise.mutant("cut to the width they had, the rows do not move: the new rows are one longer")
def cut_to_the_same_width(x):
    n = x.shape[-1]
    flat = pad(x, (n - 1, 1)).flatten(-2)
    return flat.unflatten(-1, (n, 2 * n))[..., :-1].sum(-2)


@exercise.mutant("it uses the size of the first axis: leading axes come before the two of length n")
def length_of_the_first_axis(x):
    n = len(x)
    j = torch.arange(n, device=x.device)
    return summed(x, j - j[:, None] + n - 1, 2 * n - 1)


@exercise.mutant("the leading axes are added up: each matrix has sums of its own")
def batch_summed(x):
    return summed(x.reshape(-1, *x.shape[-2:]).sum(0))


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(x):
    _, n, _ = x.shape
    return summed(x, size=2 * n - 1)


@exercise.mutant("it takes no leading axes: any, or none, should work")
def batch_axis_forgotten(x):
    n, _ = x.shape
    return summed(x, size=2 * n - 1)


@exercise.mutant("torch.zeros gives float32: make them of the dtype of x")
def zeros_of_the_default_dtype(x):
    zeros = torch.zeros(*x.shape[:-2], 2 * x.shape[-1] - 1, device=x.device)
    return zeros.index_add(-1, places(x).flatten(), x.flatten(-2))


LOOP = "it loops over positions, offsets or sentences: one index_add serves all pairs"

exercise.mutant(LOOP)(sentence_by_sentence(summed))


@exercise.mutant(LOOP)
def loop_over_offsets(x):
    n = x.shape[-1]
    sums = [x.diagonal(offset, -2, -1).sum(-1) for offset in range(1 - n, n)]
    return torch.stack(sums, dim=-1)


@exercise.mutant(LOOP)
def loop_over_queries(x):
    n = x.shape[-1]
    return sum(pad(x[..., i, :], (n - 1 - i, i)) for i in range(n))


@exercise.mutant("no gradient flows back: nothing may be detached")
def detached(x):
    return summed(x.detach())


@exercise.mutant("the input changes: work on a new tensor, not on x itself")
def changed_in_place(x):
    x *= 1 + 1e-9
    return summed(x)


@exercise.mutant("the result is always float32: keep the dtype of x")
def always_float32(x):
    return summed(x.float())


@exercise.mutant("the result is always float64: keep the dtype of x")
def always_float64(x):
    return summed(x.double())


@exercise.mutant("you compute in float32: stay in the dtype of x")
def float32_inside(x):
    return summed(x.float()).to(x.dtype)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def zeros_on_the_cpu(x):
    zeros = torch.zeros(2 * x.shape[-1] - 1, dtype=x.dtype, device="cpu")
    return summed(x) + zeros
