"""Exercise shift_matrix: the matrix that moves every sinusoid by the same offset."""

import torch

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.positional.shared.waves import exponents

exercise = Exercise(
    name="shift_matrix",
    chapter="positional",
    title="A shift is one matrix",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=20,
    hints=(
        "The chapter's equation of the rotation gives the block of one pair. Where does the block "
        "of pair i stand in the d x d matrix, and what stands everywhere else?",
        "The big matrix has one such block for each pair on its diagonal, and zeros elsewhere. "
        "Repeat each cosine of w s for both columns of its pair: that is the diagonal. The sines "
        "stand beside it, one above at even columns with a plus, one below with a minus.",
        "Start from offset.new_zeros(*offset.shape, d, d), take even = torch.arange(0, d, 2), and "
        "write out[..., even, even] and out[..., even + 1, even + 1] = cosine, "
        "out[..., even, even + 1] = sine, out[..., even + 1, even] = -sine.",
    ),
)


@exercise.reference
def by_hand(offset, d):
    rows = []
    for row in range(d):
        angle = offset * 10000 ** (-(row - row % 2) / d)
        columns = [torch.zeros_like(offset)] * d
        columns[row] = angle.cos()
        columns[row + 1 - 2 * (row % 2)] = -angle.sin() if row % 2 else angle.sin()
        rows.append(torch.stack(columns, dim=-1))
    return torch.stack(rows, dim=-2)


@exercise.cases
def cases(draw):
    count, d = 3 + 2 * draw.integer(0, 1), 2 * draw.integer(3, 4)
    offset = 5 * draw.normal(2, count)
    longer = (5 * draw.normal(2, 16 * count), d)
    yield Case(f"a (2, {count}) tensor of offsets, d={d}", (offset, d), longer=longer)
    yield Case(f"a single offset, d={d}", (offset[0, 0], d))
    yield Case(f"{count} offsets, d={d}", (offset[0], d))
    yield Case("three axes of offsets, d=4", (draw.normal(2, 3, 2), 4))
    yield Case("d=2", (offset[0], 2))
    yield Case(f"offset 0, d={d}", (torch.zeros_like(offset[0, 0]), d))
    yield Case(f"offset 1, d={d}", (torch.ones_like(offset[0, 0]), d))
    yield Case(f"offsets in the hundreds, d={d}", (100 * offset, d))


def turned(offset, d, *, powers=None, base=10000.0):
    """Cosine and sine of each pair's angle, on a last axis of d / 2."""
    powers = exponents(offset, d) if powers is None else powers
    angles = offset[..., None] * base**-powers
    return angles.cos(), angles.sin()


def blocks(a, b, c, e):
    """The matrix whose diagonal holds a block (a b; c e) for each pair."""
    pairs = a.shape[-1]
    out = a.new_zeros(*a.shape[:-1], 2 * pairs, 2 * pairs)
    even = torch.arange(0, 2 * pairs, 2, device=a.device)
    out[..., even, even], out[..., even, even + 1] = a, b
    out[..., even + 1, even], out[..., even + 1, even + 1] = c, e
    return out


def shift(offset, d, **parts):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    cosine, sine = turned(offset, d, **parts)
    return blocks(cosine, sine, -sine, cosine)


@exercise.valid
def written_into_zeros(offset, d):
    return shift(offset, d)


@exercise.valid
def exponential_of_the_generator(offset, d):
    rates = blocks(*(0 * exponents(offset, d) + sign for sign in (0.0, 1.0, -1.0, 0.0)))
    rates = rates * (10000 ** -exponents(offset, d)).repeat_interleave(2)[:, None]
    return torch.linalg.matrix_exp(offset[..., None, None] * rates)


@exercise.valid
def three_diagonals(offset, d):
    cosine, sine = turned(offset, d)
    beside = torch.stack([sine, torch.zeros_like(sine)], dim=-1).flatten(-2)[..., :-1]
    diagonal = torch.diag_embed(cosine.repeat_interleave(2, dim=-1))
    return diagonal + torch.diag_embed(beside, offset=1) - torch.diag_embed(beside, offset=-1)


@exercise.valid
def axes_of_pairs(offset, d):
    cosine, sine = turned(offset, d)
    block = torch.stack([torch.stack([cosine, sine], -1), torch.stack([-sine, cosine], -1)], -2)
    eye = torch.eye(d // 2, dtype=offset.dtype, device=offset.device)
    return torch.einsum("pq,...pij->...piqj", eye, block).reshape(*offset.shape, d, d)


@exercise.valid
def compared_rows_and_columns(offset, d):
    place = torch.arange(d, device=offset.device)
    rates = 10000 ** (-(place - place % 2).to(offset.dtype) / d)
    angles = (offset[..., None] * rates)[..., None]
    sign = 1 - 2 * (place[:, None] % 2)
    partner = place[:, None] == place + 1 - 2 * (place % 2)
    return angles.cos() * (place[:, None] == place) + sign * angles.sin() * partner


@exercise.valid
def block_by_block(offset, d):
    out = torch.zeros(*offset.shape, d, d, dtype=offset.dtype, device=offset.device)
    for i in range(0, d, 2):
        angle = offset / 10000 ** (i / d)
        out[..., i, i] = out[..., i + 1, i + 1] = torch.cos(angle)
        out[..., i, i + 1] = torch.sin(angle)
        out[..., i + 1, i] = -torch.sin(angle)
    return out


@exercise.mutant(
    "it shifts the wrong way: p(t) must become p(t + offset). Look at the sines' signs"
)
def shifted_back(offset, d):
    return shift(-offset, d)


SIGNS = "the sines have the same sign: expand cos(a + b) once more, one of them is minus"


@exercise.mutant(SIGNS)
def both_sines_positive(offset, d):
    cosine, sine = turned(offset, d)
    return blocks(cosine, sine, sine, cosine)


@exercise.mutant(SIGNS)
def both_sines_negative(offset, d):
    cosine, sine = turned(offset, d)
    return blocks(cosine, -sine, -sine, cosine)


@exercise.mutant("the minus is at the wrong cosine: only one of the two sines has a minus")
def a_reflection(offset, d):
    cosine, sine = turned(offset, d)
    return blocks(cosine, sine, sine, -cosine)


@exercise.mutant(
    "sine and cosine are exchanged: an offset of 0 must give the identity, with cos(0) = 1 on the "
    "diagonal"
)
def sine_and_cosine_exchanged(offset, d):
    cosine, sine = turned(offset, d)
    return blocks(sine, cosine, -cosine, sine)


@exercise.mutant(
    "this matrix is for sines in the first half and cosines in the second: here they alternate"
)
def for_two_halves(offset, d):
    cosine, sine = (torch.diag_embed(x) for x in turned(offset, d))
    return torch.cat([torch.cat([cosine, sine], -1), torch.cat([-sine, cosine], -1)], -2)


@exercise.mutant("the off-diagonal is missing: the cosine of the sum needs the other column, too")
def diagonal_only(offset, d):
    cosine, sine = turned(offset, d)
    return blocks(cosine, 0 * sine, 0 * sine, cosine)


@exercise.mutant("every pair turns as fast as the first: each has a frequency of its own")
def one_frequency_for_all(offset, d):
    return shift(offset, d, powers=0 * exponents(offset, d))


@exercise.mutant("the exponent is doubled: arange(0, d, 2) already counts 2i")
def exponent_doubled(offset, d):
    return shift(offset, d, powers=2 * exponents(offset, d))


@exercise.mutant("the exponent is halved: for pair i it is 2i / d, not i / d")
def exponent_halved(offset, d):
    return shift(offset, d, powers=exponents(offset, d) / 2)


@exercise.mutant("the exponent has lost its minus: frequencies fall from 1 to nearly 1/10000")
def exponent_positive(offset, d):
    return shift(offset, d, base=1 / 10000.0)


@exercise.mutant("the base is 1000: it is 10000")
def base_of_a_thousand(offset, d):
    return shift(offset, d, base=1000.0)


@exercise.mutant("the frequencies run in the wrong order: the first pair turns fastest")
def frequencies_reversed(offset, d):
    return shift(offset, d, powers=exponents(offset, d).flip(0))


@exercise.mutant("frequencies meet the wrong columns: both columns of a pair have the same one")
def frequencies_tiled(offset, d):
    cosine, sine = turned(offset, d)
    cosine = cosine.repeat(*[1] * offset.dim(), 2)
    beside = torch.stack([sine, torch.zeros_like(sine)], dim=-1).flatten(-2)[..., :-1]
    sides = torch.diag_embed(beside, offset=1) - torch.diag_embed(beside, offset=-1)
    return torch.diag_embed(cosine) + sides


@exercise.mutant("each column has a frequency of its own: both columns of a pair have the same one")
def a_frequency_for_each_column(offset, d):
    column = torch.arange(d, dtype=offset.dtype, device=offset.device)
    angles = offset[..., None] * 10000 ** (-column / d)
    first, second = angles[..., 0::2], angles[..., 1::2]
    return blocks(first.cos(), first.sin(), -second.sin(), second.cos())


@exercise.mutant(
    "sines stand beside the whole diagonal: between one pair and the next there is a 0"
)
def sines_between_the_pairs(offset, d):
    cosine, sine = (x.repeat_interleave(2, dim=-1) for x in turned(offset, d))
    beside = torch.diag_embed(sine[..., :-1], offset=1)
    return torch.diag_embed(cosine) + beside - beside.mT


@exercise.mutant("the first offset is used for all: each has a matrix of its own")
def first_offset_for_all(offset, d):
    return shift(offset.flatten()[0], d).expand(*offset.shape, d, d)


@exercise.mutant("the axes of offset are made one: all of them stand before (d, d)")
def axes_of_offset_flattened(offset, d):
    return shift(offset.flatten(), d)


@exercise.mutant("this shifts by 1 whatever the offset is: the angle is offset times frequency")
def always_one_step(offset, d):
    return shift(torch.ones_like(offset), d)


@exercise.mutant("these are only the blocks: put them on the diagonal of one (d, d) matrix")
def blocks_in_a_row(offset, d):
    cosine, sine = turned(offset, d)
    return torch.stack([torch.stack([cosine, sine], -1), torch.stack([-sine, cosine], -1)], -2)


@exercise.mutant("every offset needs its own matrix: the angles have an axis more than the offsets")
def angles_without_their_axis(offset, d):
    angles = offset * 10000 ** -exponents(offset, d)
    return blocks(angles.cos(), angles.sin(), -angles.sin(), angles.cos())


ONE_ONLY = "it takes a single offset only: a tensor of offsets gives as many matrices"


@exercise.mutant(ONE_ONLY)
def block_diag_of_one_offset(offset, d):
    cosine, sine = turned(offset, d)
    pairs = zip(cosine.unbind(), sine.unbind(), strict=True)
    return torch.block_diag(*(torch.stack([c, s, -s, c]).reshape(2, 2) for c, s in pairs))


@exercise.mutant(ONE_ONLY)
def offset_made_a_number(offset, d):
    return shift(torch.tensor(offset.item(), dtype=offset.dtype, device=offset.device), d)


@exercise.mutant(
    "it wants a row of offsets: one has no axis, and a tensor of them may have several"
)
def one_axis_assumed(offset, d):
    angles = offset[:, None] * 10000 ** -exponents(offset, d)
    return blocks(angles.cos(), angles.sin(), -angles.sin(), angles.cos())


@exercise.mutant("it loops over the offsets: all matrices can be made at once")
def loop_over_offsets(offset, d):
    matrices = []
    for one in offset.flatten():
        matrices.append(shift(one, d))
    return torch.stack(matrices).reshape(*offset.shape, d, d)


@exercise.mutant("no gradient reaches the offset: detach nothing, and make no tensor of numbers")
def offset_detached(offset, d):
    return shift(offset.detach(), d)


@exercise.mutant("the input changes: multiply a copy, not offset itself")
def scaled_in_place(offset, d):
    offset *= 1 + 1e-12
    return shift(offset, d)


@exercise.mutant("you compute in float32: stay in the dtype of the offset")
def float32_inside(offset, d):
    return shift(offset.float(), d).to(offset.dtype)


@exercise.mutant("the result is always float32: keep the dtype of the offset")
def always_float32(offset, d):
    return shift(offset.float(), d)


@exercise.mutant("the result is always float64: keep the dtype of the offset")
def always_float64(offset, d):
    return shift(offset.double(), d)


@exercise.mutant("a new tensor is made on the CPU: give it the device of the offset")
def frequencies_on_the_cpu(offset, d):
    return shift(offset, d, powers=torch.arange(0, d, 2, dtype=offset.dtype) / d)
