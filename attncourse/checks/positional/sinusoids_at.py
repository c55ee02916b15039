"""Exercise sinusoids_at: the sinusoids of positions that need not be whole numbers."""

import math
from functools import lru_cache

import torch

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.positional.shared.waves import exponents, halves, interleaved, swapped, waves

exercise = Exercise(
    name="sinusoids_at",
    chapter="positional",
    title="Waves at any position",
    kind="build",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Two columns make a pair, a sine and a cosine of the same angle. The angle is the position "
        "times the frequency of the pair, and only the frequencies depend on d.",
        "The numbers 2i are torch.arange(0, d, 2), one for each pair; divide them by d, and the "
        "frequencies are 10000 to the power of minus that. A new last axis on the positions gives "
        "all angles (..., n, pairs). Stack sines and cosines along a new last axis, flatten the "
        "last two axes, and an odd d leaves one column too many at the end.",
        "torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :d], and the arange "
        "gets dtype=positions.dtype and device=positions.device",
    ),
)


@exercise.reference
def by_hand(positions, d):
    columns = []
    for column in range(d):
        angle = positions * 10000 ** (-(column - column % 2) / d)
        columns.append(angle.cos() if column % 2 else angle.sin())
    return torch.stack(columns, dim=-1)


@exercise.cases
def cases(draw):
    n, d = 2 * draw.integer(1, 2) + 1, 2 * draw.integer(3, 4)
    positions = 10 * draw.normal(2, n)
    longer = (10 * draw.normal(2, 16 * n), d)
    yield Case(f"a batch of 2, n={n}, d={d}", (positions, d), longer=longer)
    yield Case(f"positions without a batch, n={n}, d={d}", (positions[0], d))
    yield Case(f"two leading axes, n={n}, d={d}", (10 * draw.normal(3, 2, n), d))
    yield Case(f"an odd width, n={n}, d={d + 1}", (positions, d + 1))
    yield Case("d=1", (positions, 1))
    yield Case("d=2", (positions, 2))
    count = torch.arange(n, dtype=positions.dtype)
    yield Case(f"positions 0 to {n - 1}, d={d}", (count, d))
    yield Case(f"positions in the thousands, d={d}", (1000 * positions, d))
    yield Case(f"one position, d={d}", (positions[:, :1], d))


@exercise.valid
def stacked_and_flattened(positions, d):
    return waves(positions, d)


@exercise.valid
def written_into_columns(positions, d):
    angles = positions[..., None] * torch.exp(-math.log(10000) * exponents(positions, d))
    out = positions.new_empty(*positions.shape, d)
    out[..., 0::2] = angles.sin()
    out[..., 1::2] = angles[..., : d // 2].cos()
    return out


@exercise.valid
def a_cosine_is_a_sine_moved(positions, d):
    column = torch.arange(d, dtype=positions.dtype, device=positions.device)
    rates = 10000 ** (-(column - column % 2) / d)
    return (positions[..., None] * rates + column % 2 * math.pi / 2).sin()


@exercise.valid
def chosen_by_where(positions, d):
    column = torch.arange(d, device=positions.device)
    rates = torch.pow(10000.0, -2 * (column // 2).to(positions.dtype) / d)
    angles = torch.einsum("...n,d->...nd", positions, rates)
    return torch.where(column % 2 == 0, torch.sin(angles), torch.cos(angles))


@exercise.valid
def column_by_column(positions, d):
    pairs = [(positions * 10000 ** (-i / d)).unsqueeze(-1) for i in range(0, d, 2)]
    return torch.cat([x for a in pairs for x in (a.sin(), a.cos())][:d], dim=-1)


@exercise.valid
def by_complex_numbers(positions, d):
    angles = positions[..., None] / 10000 ** exponents(positions, d)
    turned = torch.polar(torch.ones_like(angles), angles)
    return torch.stack([turned.imag, turned.real], dim=-1).reshape(*positions.shape, -1)[..., :d]


@exercise.mutant("sine and cosine are exchanged: even columns, the first one too, hold sines")
def sine_and_cosine_swapped(positions, d):
    return waves(positions, d, join=swapped)


@exercise.mutant("all sines come first, then all cosines: they should alternate, column by column")
def sines_then_cosines(positions, d):
    return waves(positions, d, join=halves)


@exercise.mutant("all cosines come first, then all sines: a sine begins, and they alternate")
def cosines_then_sines(positions, d):
    return waves(positions, d, join=lambda sines, cosines: halves(cosines, sines))


@exercise.mutant("the exponent is doubled: arange(0, d, 2) already counts 2i")
def exponent_doubled(positions, d):
    return waves(positions, d, powers=2 * exponents(positions, d))


@exercise.mutant("the exponent is halved: for pair i it is 2i / d, not i / d")
def exponent_halved(positions, d):
    return waves(positions, d, powers=exponents(positions, d) / 2)


@exercise.mutant(
    "sine and cosine of a pair have different frequencies: columns 2i and 2i + 1 share one"
)
def a_frequency_for_each_column(positions, d):
    column = torch.arange(d, dtype=positions.dtype, device=positions.device)
    angles = positions[..., None] * 10000 ** (-column / d)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


@exercise.mutant("the base is 1000: it is 10000")
def base_of_a_thousand(positions, d):
    return waves(positions, d, base=1000.0)


@exercise.mutant("the exponent has lost its minus: frequencies fall from 1 to nearly 1/10000")
def exponent_positive(positions, d):
    return waves(positions, d, base=1 / 10000.0)


@exercise.mutant("the exponents run up to 1: they are 2i / d, so the last one is just below 1")
def exponents_up_to_one(positions, d):
    pairs = torch.arange((d + 1) // 2, dtype=positions.dtype, device=positions.device)
    return waves(positions, d, powers=pairs / max(len(pairs) - 1, 1))


@exercise.mutant("for an odd d the exponent is divided by the wrong width: divide 2i by d itself")
def divided_by_an_even_width(positions, d):
    even = torch.arange(0, d, 2, dtype=positions.dtype, device=positions.device)
    return waves(positions, d, powers=even / (d + d % 2))


@exercise.mutant("for an odd d the exponent is divided by the wrong width: divide 2i by d itself")
def divided_by_half_the_width(positions, d):
    pairs = torch.arange((d + 1) // 2, dtype=positions.dtype, device=positions.device)
    return waves(positions, d, powers=pairs / max(d // 2, 1))


@exercise.mutant("the exponent is divided by a fixed width: divide 2i by the d that is given")
def divided_by_a_fixed_width(positions, d):
    return waves(positions, d, powers=exponents(positions, d) * d / 512)


@exercise.mutant("the exponent is divided by d - 1: divide 2i by d itself")
def divided_by_one_less(positions, d):
    return waves(positions, d, powers=exponents(positions, d) * d / max(d - 1, 1))


@exercise.mutant("this logarithm has the base 10: exp goes with the natural one, math.log")
def logarithm_to_the_base_ten(positions, d):
    return waves(positions, d, base=math.exp(4))


ODD = "an odd d goes wrong: there is one cosine less than there are sines, and a sine ends the row"


@exercise.mutant(ODD)
def odd_width_crashes(positions, d):
    angles = positions[..., None] * 10000 ** -exponents(positions, d)
    out = positions.new_zeros(*positions.shape, d)
    out[..., 0::2] = angles.sin()
    out[..., 1::2] = angles.cos()
    return out


@exercise.mutant(ODD)
def odd_width_one_column_too_many(positions, d):
    return waves(positions, d + d % 2, powers=exponents(positions, d))


@exercise.mutant(ODD)
def odd_width_one_column_too_few(positions, d):
    return waves(positions, d - d % 2, powers=exponents(positions, d)[: d // 2])


@exercise.mutant(ODD)
def odd_width_ends_with_zeros(positions, d):
    column = torch.arange(d, device=positions.device)
    return waves(positions, d).masked_fill((column == d - 1) & (d % 2 == 1), 0.0)


@exercise.mutant("the positions are not used: they need not be 0, 1, 2, ...")
def counted_anew(positions, d):
    count = torch.arange(positions.shape[-1], dtype=positions.dtype, device=positions.device)
    return waves(count + 0 * positions, d)


@exercise.mutant("the positions are rounded: a position may lie between two whole numbers")
def rounded_positions(positions, d):
    return waves(positions.round(), d)


@exercise.mutant("the positions are rounded: a position may lie between two whole numbers")
def positions_cut_to_integers(positions, d):
    return waves(positions.long().to(positions.dtype), d)


@exercise.mutant("the positions are divided by n: the formula takes them as they are")
def divided_by_n(positions, d):
    return waves(positions / positions.shape[-1], d)


@exercise.mutant("every position is one too large: position 0 has the angle 0 everywhere")
def counted_from_one(positions, d):
    return waves(positions + 1, d)


@exercise.mutant("the angles are multiplied by 2 pi: the formula takes them as they are")
def in_full_turns(positions, d):
    return waves(2 * math.pi * positions, d)


NO_BATCH = "it wants one fixed number of axes: positions may have any leading axes, or none"


@exercise.mutant(NO_BATCH)
def outer_product_of_two_vectors(positions, d):
    angles = torch.outer(positions, 10000 ** -exponents(positions, d))
    return interleaved(angles.sin(), angles.cos())[..., :d]


@exercise.mutant("the new axis is the second one: put it last, behind any leading axes")
def new_axis_from_the_front(positions, d):
    angles = positions[:, None] * 10000 ** -exponents(positions, d)
    return interleaved(angles.sin(), angles.cos())[..., :d]


@exercise.mutant(NO_BATCH)
def batch_axis_assumed(positions, d):
    angles = positions[:, :, None] * 10000 ** -exponents(positions, d)
    return interleaved(angles.sin(), angles.cos())[..., :d]


@exercise.mutant(NO_BATCH)
def only_the_first_of_the_batch(positions, d):
    return waves(positions.reshape(-1, positions.shape[-1])[0], d)


@exercise.mutant("it loops over the positions: one product gives all angles")
def loop_over_positions(positions, d):
    rows = []
    for position in positions.unbind(-1):
        rows.append(waves(position, d))
    return torch.stack(rows, dim=-2)


@exercise.mutant("no gradient reaches the positions: detach nothing, and make no tensor of numbers")
def positions_detached(positions, d):
    return waves(positions.detach(), d)


@exercise.mutant("the input changes: multiply a copy, not positions itself")
def scaled_in_place(positions, d):
    positions *= 1 + 1e-12
    return waves(positions, d)


@exercise.mutant("you compute in float32: make the frequencies in the dtype of the positions")
def float32_inside(positions, d):
    return waves(positions.float(), d).to(positions.dtype)


@exercise.mutant("you compute in float32: make the frequencies in the dtype of the positions")
def frequencies_in_float32(positions, d):
    return waves(positions, d, powers=exponents(positions.float(), d))


@exercise.mutant("you compute in float32: make the frequencies in the dtype of the positions")
def exponential_in_float32(positions, d):
    rates = torch.exp(torch.arange(0, d, 2, device=positions.device) * (-math.log(10000) / d))
    angles = positions[..., None] * rates
    return interleaved(angles.sin(), angles.cos())[..., :d]


@exercise.mutant("the result is always float32: keep the dtype of the positions")
def always_float32(positions, d):
    return waves(positions.float(), d)


DOUBLE = (
    "the result is always float64: rates, even kept from an earlier call, follow positions' dtype"
)


@exercise.mutant(DOUBLE)
def always_float64(positions, d):
    return waves(positions.double(), d)


@lru_cache
def kept(d):
    return torch.arange(0, d, 2, dtype=torch.float64) / d


@exercise.mutant(DOUBLE)
def rates_kept_from_an_earlier_call(positions, d):
    return waves(positions, d, powers=kept(d))


@exercise.mutant("a new tensor is made on the CPU: give it the device of the positions")
def frequencies_on_the_cpu(positions, d):
    return waves(positions, d, powers=torch.arange(0, d, 2, dtype=positions.dtype) / d)
