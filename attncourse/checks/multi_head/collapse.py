"""Exercise collapse: how far the rows of a matrix are from all being alike."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="collapse",
    chapter="multi_head",
    title="How alike have the words become?",
    kind="measure",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "Among all matrices of equal rows, the one whose row is the mean of the rows is nearest. "
        "What remains of x once that is taken away?",
        "The mean over the tokens keeps its axis, so that it can be taken from every row. Compare "
        "two norms, each over the last two axes. Where x is all zeros, 0 / 0 is NaN: divide by "
        "something else there.",
        "x - x.mean(dim=-2, keepdim=True) is what remains; torch.linalg.matrix_norm is the norm "
        "that you need; a torch.where puts 1 in place of a norm of 0",
    ),
    # at equal rows and at zeros the norm has no gradient
    differentiable=False,
)


@exercise.reference
def matrix_by_matrix(x):
    far = []
    for one in x.reshape(-1, *x.shape[-2:]):
        mean = sum(one) / len(one)
        rest, whole = (sum(row @ row for row in rows) for rows in (one - mean, one))
        far.append((rest / whole) ** 0.5 if whole > 0 else whole)
    return torch.stack(far).reshape(x.shape[:-2])


@exercise.cases
def cases(draw):
    n, d = draw.sizes(2, 3, 7)
    x = draw.normal(2, n, d) + draw.normal(2, 1, d)
    yield Case(f"a batch of 2, n={n}, d={d}", (x,), longer=(draw.normal(32, 8 * n, d),))
    yield Case(f"one matrix without a batch, n={n}, d={d}", (x[0],))
    yield Case("four leading axes", (draw.normal(4, 5, 4, 5, 4, 3),))
    # of 7 rows no mean is exact, so a difference of squares is now above and now below 0
    alike = draw.normal(64, 1, d).expand(-1, 7, -1).contiguous()
    yield Case("64 matrices of 7 rows that are all alike", (alike,))
    yield Case("rows whose mean is zero", (x - x.mean(-2, keepdim=True),))
    yield Case("rows that nearly agree", (1 + x / 1000,))
    yield Case("numbers of a millionth", (x / 1e6,))
    # no float32 holds the squares
    yield Case("numbers 10^30 times larger", (1e30 * x,))
    yield Case("one matrix of zeros among others", (torch.cat([0 * x[:1], x]),))
    yield Case("one row", (x[:, :1],))
    yield Case("rows of one number", (x[..., :1],))


def norm(x):
    return torch.linalg.matrix_norm(x)


def ratio(x, *, rest=None, size=norm, whole=None, zeros=0.0):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    rest = x - x.mean(-2, keepdim=True) if rest is None else rest
    whole = size(x) if whole is None else whole
    empty = (x == 0).flatten(-2).all(-1)
    return (size(rest) / torch.where(empty, 1.0, whole)).masked_fill(empty, zeros)


@exercise.valid
def by_the_matrix_norm(x):
    return ratio(x)


@exercise.valid
def zeros_at_the_end(x):
    rest = torch.linalg.norm(x - x.mean(dim=-2, keepdim=True), dim=(-2, -1))
    return (rest / torch.linalg.norm(x, dim=(-2, -1))).nan_to_num(0.0)


@exercise.valid
def by_hand(x):
    rest = (x - x.mean(-2).unsqueeze(-2)).pow(2).sum((-2, -1)).sqrt()
    return rest / x.pow(2).sum((-2, -1)).sqrt().clamp(min=1e-30)


@exercise.valid
def by_the_variance(x):
    rest = x.var(dim=-2, correction=0).sum(-1)
    whole = x.square().mean(-2).sum(-1)
    return (rest / torch.where(whole > 0, whole, 1.0)).sqrt()


@exercise.valid
def by_a_projection(x):
    n = x.shape[-2]
    away = torch.eye(n, dtype=x.dtype, device=x.device) - 1 / n
    return ratio(x, rest=away @ x, size=lambda m: m.flatten(-2).norm(dim=-1))


@exercise.valid
def by_the_differences_of_pairs(x):
    pairs = (x.unsqueeze(-2) - x.unsqueeze(-3)).square().sum((-3, -2, -1))
    return ratio(x, rest=(pairs / (2 * x.shape[-2])).sqrt()[..., None, None])


@exercise.mutant("the root is missing: divide norms, not their squares")
def squared(x):
    return ratio(x, size=lambda m: norm(m).square())


@exercise.mutant("it is not divided by the norm of x: twice as large rows are as much alike")
def not_divided(x):
    return ratio(x, whole=torch.ones((), dtype=x.dtype, device=x.device))


@exercise.mutant("nothing is taken away from x: take away the mean row")
def nothing_taken_away(x):
    return ratio(x, rest=x)


@exercise.mutant("this is the part that all rows share: measure what is left without it")
def shared_part(x):
    return ratio(x, rest=x.mean(-2, keepdim=True).expand_as(x))


@exercise.mutant("it is 1 minus what is asked for: equal rows give 0")
def one_minus(x):
    return 1 - ratio(x, zeros=1.0)


@exercise.mutant("this is the mean of each row: the nearest equal rows are the mean over the rows")
def mean_of_each_row(x):
    return ratio(x, rest=x - x.mean(-1, keepdim=True))


@exercise.mutant("one mean of all numbers is taken away: each column has its own")
def mean_of_all_numbers(x):
    return ratio(x, rest=x - x.mean((-2, -1), keepdim=True))


@exercise.mutant("the mean runs over the first axis: the tokens are on the last but one")
def mean_over_the_first_axis(x):
    return ratio(x, rest=x - x.mean(0, keepdim=True))


@exercise.mutant("the axis of the mean is counted from the front: the tokens are last but one")
def mean_over_the_second_axis(x):
    return ratio(x, rest=x - x.mean(1, keepdim=True))


@exercise.mutant("the standard deviation is the root of a mean: here a sum of squares counts")
def deviation_of_the_columns(x):
    return ratio(x, rest=x.std(-2, keepdim=True))


@exercise.mutant("the first row is no nearest row: take the mean of the rows away")
def first_row_taken_away(x):
    return ratio(x, rest=x - x[..., :1, :])


@exercise.mutant("the median is no mean: the squares add up to least around the mean")
def median_taken_away(x):
    return ratio(x, rest=x - x.median(-2, keepdim=True).values)


@exercise.mutant("the rest is divided by its share, the mean: divide by the norm of x")
def divided_by_the_mean(x):
    shared = x.mean(-2, keepdim=True).expand_as(x)
    return ratio(x, whole=norm(shared))


@exercise.mutant("there is one number for everything: each matrix has its own")
def one_number_for_all(x):
    return (x - x.mean(-2, keepdim=True)).norm() / x.norm()


@exercise.mutant("this is a mean over the rows of ratios: take both norms over the whole matrix")
def mean_of_row_ratios(x):
    rest = (x - x.mean(-2, keepdim=True)).norm(dim=-1)
    whole = x.norm(dim=-1)
    return (rest / torch.where(whole > 0, whole, 1.0)).mean(-1)


@exercise.mutant("the norms are those of single rows: take them over the last two axes")
def norms_of_rows(x):
    whole = x.norm(dim=-1)
    return (x - x.mean(-2, keepdim=True)).norm(dim=-1) / torch.where(whole > 0, whole, 1.0)


OTHER_NORM = "this is another norm: Frobenius is the root of the sum of all squares"


@exercise.mutant(OTHER_NORM)
def spectral_norm(x):
    return ratio(x, size=lambda m: torch.linalg.svdvals(m)[..., 0])


@exercise.mutant(OTHER_NORM)
def nuclear_norm(x):
    return ratio(x, size=lambda m: torch.linalg.svdvals(m).sum(-1))


@exercise.mutant(OTHER_NORM)
def sum_of_absolute_numbers(x):
    return ratio(x, size=lambda m: m.abs().sum((-2, -1)))


@exercise.mutant(OTHER_NORM)
def largest_number(x):
    return ratio(x, size=lambda m: m.abs().amax((-2, -1)))


@exercise.mutant("the variance divides by n - 1: here the sum of squares counts, divide by n")
def unbiased_variance(x):
    rest = x.var(-2, correction=1).sum(-1) if x.shape[-2] > 1 else 0 * x[..., 0, 0]
    return (rest / torch.where((x != 0).any(-1).any(-1), x.square().mean(-2).sum(-1), 1.0)).sqrt()


@exercise.mutant("a matrix of zeros gives NaN: it should give 0")
def nan_for_zeros(x):
    return ratio(x, zeros=torch.nan)


@exercise.mutant("a matrix of zeros gives 1: its rows are all alike, so it should give 0")
def one_for_zeros(x):
    return ratio(x, zeros=1.0)


EPSILON = "the epsilon is large enough to show: make it far smaller, or ask where the norm is 0"


@exercise.mutant(EPSILON)
def epsilon_of_a_millionth(x):
    return norm(x - x.mean(-2, keepdim=True)) / (norm(x) + 1e-6)


@exercise.mutant(EPSILON)
def epsilon_far_smaller(x):
    return norm(x - x.mean(-2, keepdim=True)) / (norm(x) + 1e-10)


@exercise.mutant(EPSILON)
def floor_of_a_thousandth(x):
    return norm(x - x.mean(-2, keepdim=True)) / norm(x).clamp(min=1e-3)


@exercise.mutant(EPSILON)
def epsilon_under_the_root(x):
    rest, whole = (y.square().sum((-2, -1)) for y in (x - x.mean(-2, keepdim=True), x))
    return (rest / (whole + 1e-12)).sqrt()


@exercise.mutant(EPSILON)
def larger_epsilon_under_the_root(x):
    rest, whole = (y.square().sum((-2, -1)) for y in (x - x.mean(-2, keepdim=True), x))
    return (rest / (whole + 1e-8)).sqrt()


@exercise.mutant(
    "a difference of squares may round to less than 0, and its root is NaN: take the norm of what "
    "is left"
)
def difference_of_squares(x):
    whole = x.square().sum((-2, -1))
    shared = x.mean(-2).square().sum(-1) * x.shape[-2]
    return ((whole - shared) / torch.where(whole > 0, whole, 1.0)).sqrt()


@exercise.mutant("the last axes are kept: one number for each matrix is asked for")
def axes_kept(x):
    return ratio(x)[..., None, None]


@exercise.mutant("it gives a plain number or a list: return a tensor")
def plain_numbers(x):
    return ratio(x).tolist()


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(x):
    _batch, _n, _d = x.shape
    return ratio(x)


@exercise.mutant("it loops over the matrices: a norm over the last two axes takes all at once")
def loop_over_matrices(x):
    flat = x.reshape(-1, *x.shape[-2:])
    return torch.stack([ratio(one) for one in flat]).reshape(x.shape[:-2])


@exercise.mutant("the input changes: take the mean from a copy, not from x itself")
def changed_in_place(x):
    whole = norm(x)
    x -= x.mean(-2, keepdim=True)
    return norm(x) / torch.where(whole > 0, whole, 1.0)


@exercise.mutant("you compute in float32: stay in the dtype of x")
def float32_inside(x):
    return ratio(x.float()).to(x.dtype)


@exercise.mutant("the result is always float32: keep the dtype of x")
def always_float32(x):
    return ratio(x.float())


@exercise.mutant("the result is always float64: keep the dtype of x")
def always_float64(x):
    return ratio(x.double())


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(x):
    return ratio(x) + torch.zeros(x.shape[:-2], dtype=x.dtype, device="cpu")
