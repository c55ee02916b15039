"""Exercise rope_halves: rotary positions that pair the two halves of the columns."""

import math

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="rope_halves",
    chapter="relative",
    title="The other layout of a rotation",
    kind="extend",
    difficulty=2,
    minutes=25,
    points=15,
    hints=(
        "A pair of numbers is a point in the plane, and the position turns it. Only the partner "
        "changes here: column c goes with column c + d/2, not with its neighbour.",
        "The angles are (..., n, d/2): positions as a column times a row of frequencies. With the "
        "left half a and the right half b, both (..., n, d/2), the result is a cos - b sin beside "
        "a sin + b cos.",
        "a, b = x.chunk(2, dim=-1), the frequencies are 10000 ** (-2 * c / d) with c = "
        "torch.arange(d // 2, device=x.device, dtype=x.dtype); casting afterwards is too late. "
        "positions[..., None] * frequencies are the angles.",
    ),
)


@exercise.reference
def by_hand(x, positions):
    d = x.shape[-1]
    columns: list = [None] * d
    for c in range(d // 2):
        angle = positions.to(x.dtype) * 10000 ** (-2 * c / d)
        a, b = x[..., c], x[..., c + d // 2]
        columns[c] = a * angle.cos() - b * angle.sin()
        columns[c + d // 2] = a * angle.sin() + b * angle.cos()
    return torch.stack(columns, dim=-1)


@exercise.cases
def cases(draw):
    n, d = draw.integer(4, 7), 2 * draw.integer(4, 6)
    x, long = draw.normal(2, n, d), draw.normal(12, 40, d)
    count = torch.arange(n)
    yield Case(f"a batch of 2, n={n}, d={d}", (x, count), longer=(long, torch.arange(40)))
    yield Case(f"one matrix without a batch, n={n}, d={d}", (x[0], count))
    yield Case("two leading axes (batch, heads)", (draw.normal(2, 3, 5, 6), torch.arange(5)))
    start = draw.integer(3, 30)
    yield Case(f"a chunk that begins at position {start}", (x, count + start))
    yield Case("positions in any order", (x, torch.randperm(30, generator=draw.generator)[:n]))
    apart = torch.stack([count, 3 + 2 * count])
    yield Case("positions of their own for each sentence", (x, apart))
    heads = draw.normal(2, 3, n, d), apart[:, None]
    yield Case("positions of shape (batch, 1, n) for all heads", heads)
    yield Case("positions above 10000", (x, 10000 + 371 * count))
    yield Case("negative positions, from the right to the left", (x, -1 - 3 * count))
    yield Case("d=2", (x[..., :2], count + 1))
    yield Case("one token at position 0", (x[:, :1], count[:1]))
    yield Case("one token at position 5", (x[:, :1], count[:1] + 5))


def frequencies(x, *, exponent=2.0, base=10000.0, dtype=None):
    d = x.shape[-1]
    columns = torch.arange(d // 2, dtype=dtype or x.dtype, device=x.device)
    return base ** (-exponent * columns / d)


def rotated(x, positions, *, angles=None, sign=1, swap=False):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    if angles is None:
        angles = positions[..., None] * frequencies(x)
    cos, sin = angles.cos(), sign * angles.sin()
    if swap:
        cos, sin = sin, cos
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


@exercise.valid
def two_halves(x, positions):
    return rotated(x, positions)


@exercise.valid
def by_rotate_half(x, positions):
    d = x.size(-1)
    inverse = 1.0 / 10000 ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d)
    angles = torch.einsum("...n,c->...nc", positions.to(x.dtype), inverse)
    twice = torch.cat((angles, angles), dim=-1)
    turned = torch.cat((-x[..., d // 2 :], x[..., : d // 2]), dim=-1)
    return x * twice.cos() + turned * twice.sin()


@exercise.valid
def by_complex_numbers(x, positions):
    a, b = x.unflatten(-1, (2, -1)).unbind(-2)
    angles = positions.unsqueeze(-1) * frequencies(x)
    turned = torch.complex(a, b) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


@exercise.valid
def by_rotation_matrices(x, positions):
    angles = positions[..., None] * torch.exp(
        torch.arange(x.shape[-1] // 2, device=x.device, dtype=x.dtype)
        * (-2 * torch.log(torch.tensor(10000.0, dtype=x.dtype, device=x.device)) / x.shape[-1])
    )
    cos, sin = angles.cos(), angles.sin()
    matrix = torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])])
    return torch.einsum("ab...c,...bc->...ac", matrix, x.unflatten(-1, (2, -1))).flatten(-2)


@exercise.valid
def sorted_into_neighbours(x, positions):
    # to the interleaved layout and back
    pairs = x.unflatten(-1, (2, -1)).mT
    angles = (positions[..., None] * frequencies(x))[..., None]
    turned = pairs * angles.cos() + torch.stack([-pairs[..., 1], pairs[..., 0]], -1) * angles.sin()
    return turned.mT.flatten(-2)


@exercise.valid
def column_by_column(x, positions):
    # a loop over the columns is none over the positions
    half = x.shape[-1] // 2
    left, right = [], []
    for c in range(half):
        angle = positions / 10000 ** torch.tensor(c / half, dtype=x.dtype, device=x.device)
        left.append(x[..., c] * angle.cos() - x[..., c + half] * angle.sin())
        right.append(x[..., c] * angle.sin() + x[..., c + half] * angle.cos())
    return torch.stack(left + right, dim=-1)


@exercise.valid
def each_position_once(x, positions):
    once, place = positions.unique(return_inverse=True)
    return rotated(x, positions, angles=(once[:, None] * frequencies(x))[place])


@exercise.mutant("these are pairs of neighbours: here column c goes with column c + d/2")
def interleaved(x, positions):
    angles = positions[..., None] * frequencies(x)
    a, b = x[..., 0::2], x[..., 1::2]
    turned = [a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()]
    return torch.stack(turned, dim=-1).flatten(-2)


@exercise.mutant("neighbours go in and halves come out: a pair comes back where it was")
def neighbours_to_halves(x, positions):
    return rotated(torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1), positions)


@exercise.mutant("halves go in and neighbours come out: a pair comes back where it was")
def halves_to_neighbours(x, positions):
    return rotated(x, positions).unflatten(-1, (2, -1)).mT.flatten(-2)


@exercise.mutant("the two layouts are mixed: both columns of a pair need the same angle")
def angles_repeated_side_by_side(x, positions):
    angles = (positions[..., None] * frequencies(x)).repeat_interleave(2, dim=-1)
    a, b = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-b, a], dim=-1) * angles.sin()


@exercise.mutant("it turns the wrong way: the left half is a cos - b sin")
def turned_backwards(x, positions):
    return rotated(x, positions, sign=-1)


@exercise.mutant("cos and sin are swapped: at position 0 nothing turns")
def cosine_and_sine_swapped(x, positions):
    return rotated(x, positions, swap=True)


NO_ROTATION = "this is no rotation, which has one minus: a cos - b sin, and a sin + b cos"


def with_signs(x, positions, left, right):
    angles = positions[..., None] * frequencies(x)
    (a, b), (cos, sin) = x.chunk(2, dim=-1), (angles.cos(), angles.sin())
    return torch.cat([a * cos + left * b * sin, right * a * sin + b * cos], dim=-1)


@exercise.mutant(NO_ROTATION)
def without_a_minus(x, positions):
    return with_signs(x, positions, 1, 1)


@exercise.mutant(NO_ROTATION)
def minus_in_both_halves(x, positions):
    return with_signs(x, positions, -1, -1)


@exercise.mutant("the new left half is used for the right one: work both out from x")
def half_updated_too_early(x, positions):
    angles = positions[..., None] * frequencies(x)
    a, b = x.chunk(2, dim=-1)
    a = a * angles.cos() - b * angles.sin()
    return torch.cat([a, a * angles.sin() + b * angles.cos()], dim=-1)


@exercise.mutant("every pair turns at the same speed: pair i has the frequency 10000^(-2i/d)")
def one_frequency(x, positions):
    return rotated(x, positions, angles=positions[..., None] * torch.ones_like(frequencies(x)))


def with_frequencies(x, positions, **how):
    return rotated(x, positions, angles=positions[..., None] * frequencies(x, **how))


EXPONENT = "the exponent is wrong: pair i, from 0 to d/2 - 1, has the frequency 10000^(-2i/d)"


@exercise.mutant(EXPONENT)
def exponent_doubled(x, positions):
    return with_frequencies(x, positions, exponent=4.0)


@exercise.mutant(EXPONENT)
def exponent_halved(x, positions):
    return with_frequencies(x, positions, exponent=1.0)


@exercise.mutant("the exponent has the wrong sign: frequencies fall from 1 towards 1/10000")
def exponent_positive(x, positions):
    return with_frequencies(x, positions, exponent=-2.0)


@exercise.mutant("pairs count from 0: the first one turns by 1 a position")
def pairs_from_one(x, positions):
    slower = 10000.0 ** (-2 / x.shape[-1])
    return rotated(x, positions, angles=positions[..., None] * frequencies(x) * slower)


@exercise.mutant(EXPONENT)
def exponent_over_one_pair_less(x, positions):
    half = x.shape[-1] // 2
    return with_frequencies(x, positions, exponent=half / max(half - 1, 1) * 2)


@exercise.mutant("the base is 10000, not 100000")
def base_of_a_hundred_thousand(x, positions):
    return with_frequencies(x, positions, base=100000.0)


@exercise.mutant("the frequencies are the wrong way round: the first pair turns fastest")
def slow_pairs_first(x, positions):
    return rotated(x, positions, angles=positions[..., None] * frequencies(x).flip(-1))


@exercise.mutant("the positions are not looked at: a chunk may begin anywhere")
def counted_from_zero(x, positions):
    return rotated(x, torch.arange(x.shape[-2], device=x.device))


@exercise.mutant("only the first position is looked at: they may lie anywhere")
def counted_from_the_first(x, positions):
    count = torch.arange(x.shape[-2], device=x.device)
    return rotated(x, positions[..., :1] + count)


NEGATIVE = "positions may be negative: those turn the other way"


@exercise.mutant(NEGATIVE)
def sign_of_the_positions_lost(x, positions):
    return rotated(x, positions.abs())


@exercise.mutant(NEGATIVE)
def negative_positions_cut(x, positions):
    return rotated(x, positions.clamp(min=0))


@exercise.mutant("the positions are sorted: they stay beside their rows")
def sorted_positions(x, positions):
    return rotated(x, positions.sort(-1).values)


@exercise.mutant("positions count from 1 here: at position 0 nothing turns")
def one_position_ahead(x, positions):
    return rotated(x, positions + 1)


@exercise.mutant("positions may have leading axes: the new axis, for the pairs, is the last")
def one_line_of_positions(x, positions):
    return rotated(x, positions, angles=positions[:, None] * frequencies(x))


@exercise.mutant("all sentences get the positions of the first: each may have its own")
def positions_of_the_first_sentence(x, positions):
    return rotated(x, positions.reshape(-1, positions.shape[-1])[0])


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(x, positions):
    _, _, d = x.shape
    return rotated(x, positions, angles=positions[..., None] * frequencies(x[..., :d]))


@exercise.mutant("a table of a fixed size runs out: work out the angles for the positions at hand")
def table_of_a_fixed_size(x, positions):
    table = torch.arange(512, device=x.device)[:, None] * frequencies(x)
    return rotated(x, positions, angles=table[positions])


LOOP = "it loops over positions or sentences: one product makes all the angles"


@exercise.mutant(LOOP)
def loop_over_sentences(x, positions):
    flat, each = x.reshape(-1, *x.shape[-2:]), positions.expand(x.shape[:-1])
    pairs = zip(flat, each.reshape(-1, x.shape[-2]), strict=True)
    return torch.stack([rotated(*pair) for pair in pairs]).reshape(x.shape)


@exercise.mutant(LOOP)
def loop_over_positions(x, positions):
    found = [
        rotated(x[..., i, :], positions[..., i], angles=positions[..., i, None] * frequencies(x))
        for i in range(x.shape[-2])
    ]
    return torch.stack(found, dim=-2)


@exercise.mutant("no gradient flows back to x: nothing may be detached")
def detached(x, positions):
    return rotated(x.detach(), positions)


@exercise.mutant("the input changes: work on a new tensor, not on x itself")
def changed_in_place(x, positions):
    x *= 1 + 1e-9
    return rotated(x, positions)


FLOAT32 = "it computes in float32, as torch.arange divided does: give arange the dtype of x"


@exercise.mutant(FLOAT32)
def angles_in_float32(x, positions):
    angles = positions[..., None].float() * frequencies(x).float()
    return rotated(x, positions, angles=angles.to(x.dtype))


@exercise.mutant(FLOAT32)
def frequencies_in_float32(x, positions):
    return with_frequencies(x, positions, dtype=torch.float32)


@exercise.mutant(FLOAT32)
def inverse_frequencies_in_float32(x, positions):
    d = x.shape[-1]
    speeds = 1 / 10000 ** (torch.arange(0, d, 2, device=x.device) / d)
    return rotated(x, positions, angles=positions[..., None] * speeds)


@exercise.mutant(FLOAT32)
def frequencies_cast_too_late(x, positions):
    d = x.shape[-1]
    speeds = (10000 ** (-2 * torch.arange(d // 2, device=x.device) / d)).to(x.dtype)
    return rotated(x, positions, angles=positions[..., None] * speeds)


@exercise.mutant(FLOAT32)
def inverse_frequencies_cast_too_late(x, positions):
    d = x.shape[-1]
    speeds = (1 / 10000 ** (torch.arange(0, d, 2, device=x.device) / d)).to(x.dtype)
    return rotated(x, positions, angles=positions[..., None] * speeds)


@exercise.mutant(FLOAT32)
def exponential_in_float32(x, positions):
    d = x.shape[-1]
    speeds = torch.exp(torch.arange(0, d, 2, device=x.device) * (-math.log(10000.0) / d))
    return rotated(x, positions, angles=positions[..., None] * speeds)


@exercise.mutant("the result is always float32: keep the dtype of x")
def always_float32(x, positions):
    return rotated(x, positions).float()


@exercise.mutant("the result is always float64: keep the dtype of x")
def always_float64(x, positions):
    return rotated(x.double(), positions)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def frequencies_on_the_cpu(x, positions):
    columns = torch.arange(x.shape[-1] // 2, dtype=x.dtype, device="cpu")
    return rotated(
        x, positions, angles=positions[..., None] * 10000 ** (-2 * columns / x.shape[-1])
    )
