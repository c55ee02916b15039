"""Exercise rank_for_share: how many singular values hold most of a matrix."""

import math

import torch

from attncourse.checks.around import add_to, made_on_the_cpu
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="rank_for_share",
    chapter="efficient",
    title="How many directions hold most of the weights?",
    kind="measure",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "torch.linalg.svdvals gives the singular values, the largest first. What do the first r of "
        "them hold, for every r at once?",
        "A running sum of the squares says what the first 1, 2, 3 ... hold. Count those that are "
        "still below share times the sum of all: one more is enough. A matrix of zeros has nothing "
        "to hold, and needs none.",
        "held = svdvals(weights).square().cumsum(-1) and (held < share * held[..., -1:]).sum(-1) "
        "is one too few, but for a matrix of zeros",
    ),
    differentiable=False,
)


@exercise.reference
def by_hand(weights, share):
    *batch, n, m = weights.shape
    counts = []
    for matrix in weights.reshape(-1, n, m):
        # the squares of the singular values are the eigenvalues of the smaller product
        small = matrix @ matrix.T if n < m else matrix.T @ matrix
        squares = sorted(torch.linalg.eigvalsh(small).tolist(), reverse=True)
        count, wanted = 0, share * float(matrix.square().sum())
        while sum(squares[:count]) < wanted - 1e-13 * abs(wanted):
            count += 1
        counts.append(count)
    return torch.tensor(counts).reshape(batch)


def with_spectrum(draw, values, n, m):
    """A matrix of that size with these singular values, turned at random."""
    left = torch.linalg.qr(draw.normal(n, n)).Q[:, : len(values)]
    right = torch.linalg.qr(draw.normal(m, m)).Q[: len(values)]
    return left * torch.tensor(values, dtype=left.dtype) @ right


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 6, 8)
    # what the first 1, 2, ... hold: 53 83 96 99 100 %, and 31 62 93 97 100 %
    spectra = (40.0, 30.0, 20.0, 10.0, 5.0), (0.3, 0.3, 0.3, 0.1, 0.1)
    weights = torch.stack([with_spectrum(draw, one, n, m) for one in spectra])
    long = torch.randn(24, 24, 32, generator=draw.generator, dtype=weights.dtype).softmax(-1)
    said = f"n={n}, m={m}"
    yield Case(f"a batch of 2, {said}, share=0.8", (weights, 0.8), longer=(long, 0.8))
    yield Case(f"no batch, {said}, share=0.8", (weights[0], 0.8))
    yield Case(f"{said}, share=0.5", (weights, 0.5))
    yield Case(f"{said}, share=0.98, weights a million times smaller", (1e-6 * weights, 0.98))
    yield Case(f"a tall matrix, n={m}, m={n}", (weights.mT.contiguous(), 0.9))
    yield Case("two leading axes", (draw.normal(2, 3, 5, 4).softmax(-1), 0.995))
    yield Case("one key for each query, share=0.5", (torch.eye(4, dtype=weights.dtype), 0.5))
    yield Case("the same weights in every row", (weights[:, :1].expand(2, n, m).clone(), 0.99))
    hidden = weights * (torch.arange(2) == 0)[:, None, None]
    yield Case("no query may attend anywhere in the second matrix", (hidden, 0.8))
    # float32 does not see the second one
    fine = with_spectrum(draw, (1.0, 1e-5), n, m)
    yield Case("singular values 1 and 0.00001, share=1 - 1e-11", (fine, 1 - 1e-11))
    yield Case("one query and one key", (weights[:, :1, :1], 0.8))


def counted(weights, share, *, held=None, more=1):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    held = torch.linalg.svdvals(weights).square().cumsum(-1) if held is None else held
    return (held < share * held[..., -1:]).sum(-1) + more * (held[..., -1] > 0)


@exercise.valid
def counted_below(weights, share):
    return counted(weights, share)


@exercise.valid
def by_the_smaller_product(weights, share):
    wide = weights.shape[-2] < weights.shape[-1]
    values = torch.linalg.eigvalsh(weights @ weights.mT if wide else weights.mT @ weights)
    return counted(weights, share, held=values.clamp(min=0).flip(-1).cumsum(-1))


@exercise.valid
def what_is_left(weights, share):
    # after the first r, no more than 1 - share may be left
    squares = torch.linalg.svd(weights, full_matrices=False).S ** 2
    left = squares.flip(-1).cumsum(-1).flip(-1)
    return (left > (1 - share) * left[..., :1]).sum(-1)


@exercise.valid
def by_searchsorted(weights, share):
    held = torch.linalg.svdvals(weights).pow(2).cumsum(-1)
    found = torch.searchsorted(held, share * held[..., -1:])[..., 0] + 1
    return found.masked_fill(held[..., -1] == 0, 0)


@exercise.valid
def first_that_is_enough(weights, share):
    values = torch.svd(weights).S
    enough = values.square().cumsum(-1) >= share * values.square().sum(-1, keepdim=True)
    return (enough.int().argmax(-1) + 1) * weights.any(-1).any(-1)


@exercise.mutant("the singular values are not squared: their squares must hold the share")
def not_squared(weights, share):
    return counted(weights, share, held=torch.linalg.svdvals(weights).cumsum(-1))


@exercise.mutant("the sums are squared: square each singular value, then add up")
def squares_of_the_sums(weights, share):
    return counted(weights, share, held=torch.linalg.svdvals(weights).cumsum(-1).square())


@exercise.mutant("one is missing: those that hold less than the share are one too few")
def one_too_few(weights, share):
    return counted(weights, share, more=0)


@exercise.mutant("what holds exactly the share is enough: the share is reached, not passed")
def share_to_be_passed(weights, share):
    held = torch.linalg.svdvals(weights).square().cumsum(-1)
    return (held <= share * held[..., -1:]).sum(-1).where(held[..., -1] > 0, -1) + 1


@exercise.mutant("the smallest come first: begin with the largest singular value")
def smallest_first(weights, share):
    values = torch.linalg.svdvals(weights).flip(-1)
    return counted(weights, share, held=values.square().cumsum(-1))


@exercise.mutant("these hold the share already: count those that do not, and one more")
def those_that_hold_enough(weights, share):
    held = torch.linalg.svdvals(weights).square().cumsum(-1)
    return (held >= share * held[..., -1:]).sum(-1)


BY_ITSELF = "each value is compared by itself: it is the sum of the first ones that holds a share"


@exercise.mutant(BY_ITSELF)
def beside_the_largest(weights, share):
    values = torch.linalg.svdvals(weights)
    return ((values > (1 - share) * values[..., :1]) & (values > 0)).sum(-1)


@exercise.mutant(BY_ITSELF)
def without_a_running_sum(weights, share):
    squares = torch.linalg.svdvals(weights).square()
    return (squares < share * squares.sum(-1, keepdim=True)).sum(-1)


@exercise.mutant("a share of the number of singular values is taken: add up their squares")
def share_of_the_number(weights, share):
    count = math.ceil(share * min(weights.shape[-2:]))
    return count * weights.any(-1).any(-1).long()


@exercise.mutant("this is the rank: most of a matrix may lie in far fewer directions")
def rank(weights, share):
    return torch.linalg.matrix_rank(weights)


@exercise.mutant("the share is a fixed number: it is an argument")
def fixed_share(weights, share):
    return counted(weights, 0.9)


@exercise.mutant("the share is read as what may be lost: it is what should be held")
def share_lost(weights, share):
    return counted(weights, 1 - share)


@exercise.mutant("these are lengths of rows, not singular values: rows may point the same way")
def lengths_of_rows(weights, share):
    squares = weights.square().sum(-1).sort(descending=True).values
    return counted(weights, share, held=squares.cumsum(-1))


@exercise.mutant("the batch makes one number: each matrix has its own")
def largest_of_the_batch(weights, share):
    return counted(weights, share).amax()


@exercise.mutant(
    "the running sum goes over the batch: it goes over the singular values, the last axis"
)
def running_sum_over_the_batch(weights, share):
    return counted(weights, share, held=torch.linalg.svdvals(weights).square().cumsum(0))


@exercise.mutant("a small number decides: compare with the share itself, weights may be smaller")
def compared_with_an_epsilon(weights, share):
    held = torch.linalg.svdvals(weights).square().cumsum(-1)
    return (held < share * held[..., -1:] - 1e-6).sum(-1) + (held[..., -1] > 0)


@exercise.mutant("the squares of the whole batch make one sum: each matrix has its own")
def sum_of_the_whole_batch(weights, share):
    held = torch.linalg.svdvals(weights).square().cumsum(-1)
    return (held < share * held[..., -1].sum()).sum(-1) + 1


ZEROS = "a matrix of zeros needs no direction: it should give 0"


@exercise.mutant(ZEROS)
def one_for_a_matrix_of_zeros(weights, share):
    held = torch.linalg.svdvals(weights).square().cumsum(-1)
    return (held < share * held[..., -1:]).sum(-1) + 1


@exercise.mutant("a count is an integer: give int64")
def as_floats(weights, share):
    return counted(weights, share).to(weights.dtype)


@exercise.mutant("it gives plain numbers: return a tensor, one count for each matrix")
def plain_numbers(weights, share):
    return counted(weights, share).tolist()


@exercise.mutant("it loops over the matrices: svdvals takes all of them at once")
def loop_over_the_matrices(weights, share):
    *batch, n, m = weights.shape
    counts = [counted(one, share) for one in weights.reshape(-1, n, m)]
    return torch.stack(counts).reshape(batch)


@exercise.mutant("you compute in float32: stay in the dtype of the inputs")
def float32_inside(weights, share):
    return counted(weights.float(), share)


@exercise.mutant("the input changes: square a copy, not the weights themselves")
def squared_in_place(weights, share):
    count = counted(weights, share)
    weights /= weights.norm()
    return count


add_to(exercise, counted, made_on_the_cpu)
