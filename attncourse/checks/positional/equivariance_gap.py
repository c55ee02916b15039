"""Exercise equivariance_gap: how far a layer is from not knowing the order of its tokens."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="equivariance_gap",
    chapter="positional",
    title="Does the layer know the order?",
    kind="measure",
    difficulty=2,
    minutes=15,
    points=10,
    hints=(
        "If the layer does not know the order, its output for the permuted tokens is its output "
        "for the tokens, permuted in the same way. Measure the difference, and say how large it "
        "is beside the output itself.",
        "Row i of `permuted_out` belongs to token order[i], so pick the rows of `out` in that "
        "order, along the last axis but one. The Frobenius norm is the root of the sum of squares "
        "over the last two axes: one for the difference, one for `out`, and their ratio.",
        "out[..., order, :] has its rows permuted, and x.square().sum(dim=(-2, -1)).sqrt() is a "
        "Frobenius norm",
    ),
    # where the gap is 0 a norm has no gradient
    differentiable=False,
)


@exercise.reference
def by_hand(out, permuted_out, order):
    *batch, n, d = out.shape
    gaps = []
    for one, other in zip(out.reshape(-1, n, d), permuted_out.reshape(-1, n, d), strict=True):
        apart = sum((other[i] - one[order[i]]).square().sum() for i in range(n))
        gaps.append((apart / one.square().sum()).sqrt())
    return torch.stack(gaps).reshape(batch)


def no_involution(draw, n):
    """A permutation that is not its own inverse."""
    order = torch.randperm(n, generator=draw.generator)
    while order.equal(order.argsort()):
        order = torch.randperm(n, generator=draw.generator)
    return order


@exercise.cases
def cases(draw):
    n = draw.integer(5, 6)
    d = n + draw.integer(1, 2)
    order = no_involution(draw, n)
    # norms that differ by more than chance, between outputs and from token to token
    sizes = torch.arange(1, n + 1, dtype=torch.float64)[:, None]
    out, other = draw.normal(2, n, d) * sizes, 3 * draw.normal(2, n, d)
    long = draw.normal(2, 16 * n, d), draw.normal(2, 16 * n, d), no_involution(draw, 16 * n)
    yield Case(f"two outputs that differ, n={n}, d={d}", (out, other, order), longer=long)
    yield Case(f"no batch, n={n}, d={d}", (out[0], other[0], order))
    heads = draw.normal(2, 3, n, d), draw.normal(2, 3, n, d), order
    yield Case(f"two leading axes, n={n}, d={d}", heads)
    yield Case("a layer that does not know the order", (out, out[:, order], order))
    yield Case("a layer whose outputs never move", (out, out, order))
    moved = 1.01 * out[:, order]
    yield Case("a layer that is off by a hundredth", (out, moved, order))
    almost = (1 + 1e-5) * out[:, order]
    yield Case("a layer that is off by a hundred thousandth", (out, almost, order))
    yield Case("outputs that are ten times as large", (out, 10 * other, order))
    yield Case("outputs a million times smaller", (1e-6 * out, 1e-6 * other, order))
    # a square of these is too large for float32
    yield Case("outputs around 1e25", (1e25 * out, 1e25 * other, order))
    yield Case("tokens that stay in their places", (out, other, torch.arange(n)))
    yield Case(
        "one token of width 1", (out[:, :1, :1], other[:, :1, :1], torch.zeros_like(order[:1]))
    )


def norm(x, dims=(-2, -1)):
    return x.square().sum(dims).sqrt()


def gap(out, permuted_out, order, *, want=None, size=norm, beside=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    want = out[..., order, :] if want is None else want
    return size(permuted_out - want) / size(out if beside is None else beside)


@exercise.valid
def ratio_of_norms(out, permuted_out, order):
    return gap(out, permuted_out, order)


@exercise.valid
def by_matrix_norm(out, permuted_out, order):
    want = out.index_select(-2, order)
    return torch.linalg.matrix_norm(want - permuted_out) / torch.linalg.matrix_norm(out)


@exercise.valid
def flattened(out, permuted_out, order):
    apart = (permuted_out - out[..., order, :]).flatten(-2).norm(dim=-1)
    return apart / out.flatten(-2).norm(dim=-1)


@exercise.valid
def put_back_instead(out, permuted_out, order):
    back = torch.empty_like(permuted_out)
    back[..., order, :] = permuted_out
    return gap(out, back, order, want=out)


@exercise.valid
def put_back_by_the_inverse(out, permuted_out, order):
    return gap(out, permuted_out[..., order.argsort(), :], order, want=out)


@exercise.valid
def by_a_permutation_matrix(out, permuted_out, order):
    matrix = torch.eye(len(order), dtype=out.dtype, device=out.device)[order]
    return gap(out, permuted_out, order, want=matrix @ out)


@exercise.valid
def root_of_the_ratio_of_means(out, permuted_out, order):
    apart = permuted_out - out[..., order, :]
    return (apart.square().mean((-2, -1)) / out.square().mean((-2, -1))) ** 0.5


@exercise.valid
def a_tiny_epsilon(out, permuted_out, order):
    return norm(permuted_out - out[..., order, :]) / (norm(out) + 1e-14)


INVERSE = "the permutation is the inverse one: row i of the permuted output belongs to order[i]"


@exercise.mutant(INVERSE)
def inverse_permutation(out, permuted_out, order):
    return gap(out, permuted_out, order, want=out[..., order.argsort(), :])


@exercise.mutant(INVERSE)
def permuted_once_more(out, permuted_out, order):
    return gap(out, permuted_out[..., order, :], order, want=out)


UNPERMUTED = "permute f(x), and it alone: compare f(x[order]), as it is given, with f(x)[order]"


@exercise.mutant(UNPERMUTED)
def not_permuted(out, permuted_out, order):
    return gap(out, permuted_out, order, want=out)


@exercise.mutant(UNPERMUTED)
def both_permuted(out, permuted_out, order):
    return gap(out, permuted_out[..., order, :], order)


WIDTH = "the width is permuted: the tokens lie on the last axis but one"


@exercise.mutant(WIDTH)
def last_axis_picked(out, permuted_out, order):
    return gap(out, permuted_out, order, want=out[..., order])


@exercise.mutant(WIDTH)
def width_permuted(out, permuted_out, order):
    want = torch.cat([out[..., order], out[..., len(order) :]], dim=-1)
    return gap(out, permuted_out, order, want=want)


@exercise.mutant("the first axis is permuted: the tokens lie on the last axis but one")
def first_axis_permuted(out, permuted_out, order):
    return gap(out, permuted_out, order, want=out[order])


@exercise.mutant("it needs one batch axis: any leading axes, or none, should work")
def second_axis_permuted(out, permuted_out, order):
    return gap(out, permuted_out, order, want=out[:, order])


@exercise.mutant("it needs one batch axis: any leading axes, or none, should work")
def norms_over_axes_from_the_front(out, permuted_out, order):
    return gap(out, permuted_out, order, size=lambda x: norm(x, (1, 2)))


@exercise.mutant("the gap is not relative: divide by the norm of f(x)")
def not_relative(out, permuted_out, order):
    return norm(permuted_out - out[..., order, :])


@exercise.mutant("it is divided by the norm of f(x[order]): divide by that of f(x)")
def beside_the_other_output(out, permuted_out, order):
    return gap(out, permuted_out, order, beside=permuted_out)


@exercise.mutant("it is divided by the sum of both norms: divide by that of f(x)")
def beside_both_outputs(out, permuted_out, order):
    return norm(permuted_out - out[..., order, :]) / (norm(out) + norm(permuted_out))


@exercise.mutant("the root is missing: a norm is the root of the sum of squares")
def squared(out, permuted_out, order):
    return gap(out, permuted_out, order) ** 2


@exercise.mutant("the norms are subtracted: take the norm of the difference")
def difference_of_norms(out, permuted_out, order):
    return (norm(permuted_out) - norm(out[..., order, :])).abs() / norm(out)


@exercise.mutant("the differences are summed without squares: the norm is that of Frobenius")
def sum_of_absolute_differences(out, permuted_out, order):
    return gap(out, permuted_out, order, size=lambda x: x.abs().sum((-2, -1)))


@exercise.mutant("only the largest difference counts: in the norm of Frobenius all of them do")
def largest_difference(out, permuted_out, order):
    return gap(out, permuted_out, order, size=lambda x: x.abs().amax((-2, -1)))


@exercise.mutant("this is the spectral norm, the largest singular value: ord='fro' takes all")
def spectral_norm(out, permuted_out, order):
    return gap(out, permuted_out, order, size=lambda x: torch.linalg.matrix_norm(x, 2))


PER_TOKEN = "each token has its own gap: one number for each sequence is asked for"


@exercise.mutant(PER_TOKEN)
def norms_over_the_width(out, permuted_out, order):
    return gap(out, permuted_out, order, size=lambda x: norm(x, -1))


@exercise.mutant(PER_TOKEN)
def one_gap_for_each_token(out, permuted_out, order):
    return norm(permuted_out - out[..., order, :], -1) / norm(out[..., order, :], -1)


@exercise.mutant("the gaps of the tokens are averaged: sum all squares, then take one ratio")
def mean_over_the_tokens(out, permuted_out, order):
    want = out[..., order, :]
    return (norm(permuted_out - want, -1) / norm(want, -1)).mean(-1)


@exercise.mutant("the norms of the tokens are added up: sum all squares, then take one root")
def sum_of_the_norms_of_the_tokens(out, permuted_out, order):
    return gap(out, permuted_out, order, size=lambda x: norm(x, -1).sum(-1))


@exercise.mutant("the difference is averaged and the norm of f(x) is not: treat both alike")
def mean_beside_a_sum(out, permuted_out, order):
    apart = permuted_out - out[..., order, :]
    return apart.square().mean((-2, -1)).sqrt() / norm(out)


@exercise.mutant("the whole batch makes one number: each sequence has a gap of its own")
def one_number_for_the_batch(out, permuted_out, order):
    return gap(out, permuted_out, order, size=torch.linalg.vector_norm)


@exercise.mutant("it is averaged over the batch: each sequence has a gap of its own")
def mean_over_the_batch(out, permuted_out, order):
    return gap(out, permuted_out, order).mean()


@exercise.mutant("axes of size 1 are left over: one number for each sequence is asked for")
def axes_kept(out, permuted_out, order):
    return gap(out, permuted_out, order)[..., None, None]


EPSILON = "the epsilon is large enough to show where the outputs are small"


@exercise.mutant(EPSILON)
def epsilon_of_a_hundred_millionth(out, permuted_out, order):
    return norm(permuted_out - out[..., order, :]) / (norm(out) + 1e-8)


UNDER = "an epsilon under the root makes a gap where there is none: leave it out"


@exercise.mutant(UNDER)
def epsilon_under_one_root(out, permuted_out, order):
    apart = (permuted_out - out[..., order, :]).square().sum((-2, -1))
    return (apart + 1e-12).sqrt() / norm(out)


@exercise.mutant(UNDER)
def epsilon_under_both_roots(out, permuted_out, order):
    return gap(out, permuted_out, order, size=lambda x: (x.square().sum((-2, -1)) + 1e-8).sqrt())


@exercise.mutant("a small gap is set to 0: return it as it is")
def small_gaps_to_zero(out, permuted_out, order):
    size = gap(out, permuted_out, order)
    return torch.where(size < 1e-3, 0, size)


CAPPED = "the gap is cut off at the top: return it as it is"


@exercise.mutant(CAPPED)
def one_at_most(out, permuted_out, order):
    return gap(out, permuted_out, order).clamp(max=1)


@exercise.mutant(CAPPED)
def two_at_most(out, permuted_out, order):
    return gap(out, permuted_out, order).clamp(max=2)


@exercise.mutant(EPSILON)
def a_large_epsilon(out, permuted_out, order):
    return norm(permuted_out - out[..., order, :]) / (norm(out) + 1e-6)


@exercise.mutant("it says whether there is a gap: say how large it is")
def yes_or_no(out, permuted_out, order):
    return gap(out, permuted_out, order) > 1e-6


@exercise.mutant("it gives a plain number: return a tensor, one number for each sequence")
def plain_numbers(out, permuted_out, order):
    return gap(out, permuted_out, order).tolist()


@exercise.mutant("it loops over the tokens: an index permutes all of them at once")
def loop_over_tokens(out, permuted_out, order):
    total = 0
    pairs = zip(permuted_out.unbind(-2), out[..., order, :].unbind(-2), strict=True)
    for got, want in pairs:
        total = total + (got - want).square().sum(-1)
    return total.sqrt() / norm(out)


@exercise.mutant("an input changes: subtract into a new tensor")
def subtracted_in_place(out, permuted_out, order):
    permuted_out -= out[..., order, :]
    return norm(permuted_out) / norm(out)


@exercise.mutant("you compute in float32: stay in the dtype of the outputs")
def float32_inside(out, permuted_out, order):
    return gap(out.float(), permuted_out.float(), order).to(out.dtype)


@exercise.mutant("the result is always float32: keep the dtype of the outputs")
def always_float32(out, permuted_out, order):
    return gap(out.float(), permuted_out.float(), order)


@exercise.mutant("the result is always float64: keep the dtype of the outputs")
def always_float64(out, permuted_out, order):
    return gap(out.double(), permuted_out.double(), order)


@exercise.mutant("a new tensor is made on the CPU: give it the device of the outputs")
def matrix_on_the_cpu(out, permuted_out, order):
    matrix = order[:, None] == torch.arange(len(order))
    return gap(out, permuted_out, order, want=matrix.to(out.dtype) @ out)
