"""Exercise sinusoids_at: the sinusoids of positions that need not be whole numbers."""

import math

import torch

from judge import variants
from judge.exercise import Case, Exercise

SINGLE = "you compute in float32: make the frequencies in the dtype of the positions"
DOUBLE = (
    "the result is always float64: rates, even kept from an earlier call, follow positions' dtype"
)
exercise = Exercise.read(
    __name__,
    usual_hints={"always_float64": DOUBLE, "float32_inside": SINGLE},
    without={"loops": "it goes over rows, and the longer positions have no more of them"},
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
def plain(positions, d):
    even = torch.arange(0, d, 2, dtype=positions.dtype, device=positions.device)
    angles = positions[..., None] * 10000 ** -(even / d)
    pair = [angles.sin(), angles.cos()]
    columns = torch.stack(pair, -1).flatten(-2)
    return columns[..., :d]


@exercise.valid
def written_into_columns(positions, d):
    even = torch.arange(0, d, 2, dtype=positions.dtype, device=positions.device)
    angles = positions[..., None] * torch.exp(-math.log(10000) * even / d)
    out = positions.new_empty(*positions.shape, d)
    out[..., 0::2] = angles.sin()
    out[..., 1::2] = angles[..., : d // 2].cos()
    return out


@exercise.valid
def column_by_column(positions, d):
    pairs = [(positions * 10000 ** (-i / d)).unsqueeze(-1) for i in range(0, d, 2)]
    return torch.cat([x for a in pairs for x in (a.sin(), a.cos())][:d], dim=-1)


PAIR, JOIN, CUT = "[angles.sin(), angles.cos()]", "torch.stack(pair, -1).flatten(-2)", "[..., :d]"
PLACE, FOLLOWS = "positions[..., None]", "dtype=positions.dtype, device=positions.device"
COMPLEX = "torch.polar(torch.ones_like(angles), angles)"
variants.right(exercise,
    ("pair = " + PAIR, f"z = {COMPLEX}\n    pair = [z.imag, z.real]"),
    # a cosine is a sine moved
    ("(0, d, 2,", "(d,", "even / d", "(even - even % 2) / d",
     JOIN, "(angles + even % 2 * math.pi / 2).sin()"),
    ("(0, d, 2,", "(d,", "positions[..., None] * 10000 ** -(even / d)",
     'torch.einsum("...n,d->...nd", positions, torch.pow(10000.0, -2 * (even // 2) / d))',
     JOIN, "torch.where(even % 2 == 0, *pair)"),
)  # fmt: skip

ODD = "an odd d goes wrong: there is one cosine less than there are sines, and a sine ends the row"
variants.wrong(exercise, {
    "sine and cosine are exchanged: even columns, the first one too, hold sines": (
        PAIR, "[angles.cos(), angles.sin()]"),
    "all sines come first, then all cosines: they should alternate, column by column": (
        JOIN, "torch.cat(pair, -1)"),
    "all cosines come first, then all sines: a sine begins, and they alternate": (
        JOIN, "torch.cat(pair[::-1], -1)"),
    "the exponent is doubled: arange(0, d, 2) already counts 2i": ("even / d", "2 * even / d"),
    "the exponent is halved: for pair i it is 2i / d, not i / d": ("even / d", "even / (2 * d)"),
    "sine and cosine of a pair have different frequencies: columns 2i and 2i + 1 share one": (
        "(0, d, 2,", "(d + d % 2,", PAIR, "[angles[..., 0::2].sin(), angles[..., 1::2].cos()]"),
    "the base is 1000: it is 10000": ("10000", "1000"),
    "the exponent has lost its minus: frequencies fall from 1 to nearly 1/10000": (
        "-(even", "(even"),
    "the exponents run up to 1: they are 2i / d, so the last one is just below 1": (
        "even / d", "even / max((d - 1) // 2 * 2, 1)"),
    "for an odd d the exponent is divided by the wrong width: divide 2i by d itself": [
        ("even / d", "even / (d + d % 2)"), ("even / d", "even / max(d // 2 * 2, 1)")],
    "the exponent is divided by a fixed width: divide 2i by the d that is given": (
        "even / d", "even / 512"),
    "the exponent is divided by d - 1: divide 2i by d itself": ("even / d", "even / max(d - 1, 1)"),
    "this logarithm has the base 10: exp goes with the natural one, math.log": (
        "10000", "math.exp(4)"),
    ODD: [
        (CUT, ""), (CUT, "[..., : d // 2 * 2]"),
        (CUT, "[..., :d] * (torch.arange(d, device=columns.device) < d // 2 * 2)")],
    "the positions are not used: they need not be 0, 1, 2, ...": (
        PLACE, "(torch.ones_like(positions).cumsum(-1) - 1 + 0 * positions)[..., None]"),
    "the positions are rounded: a position may lie between two whole numbers": [
        (PLACE, "positions.round()[..., None]"), (PLACE, "positions.long()[..., None]")],
    "a negative position gets the row of the positive one: the sign counts, sin(-t) = -sin(t)": (
        PLACE, "positions.abs()[..., None]"),
    "the positions are taken modulo 2 pi: that is a turn of the first pair only, the others are "
    "slower": (PLACE, "(positions % (2 * math.pi))[..., None]"),
    "the positions are divided by n: the formula takes them as they are": (
        PLACE, "positions[..., None] / positions.shape[-1]"),
    "every position is one too large: position 0 has the angle 0 everywhere": (
        PLACE, "(positions[..., None] + 1)"),
    "the angles are multiplied by 2 pi: the formula takes them as they are": (
        PLACE, "2 * math.pi * positions[..., None]"),
    "it expects a fixed number of axes: positions may have any leading axes, or none": [
        (PLACE, "positions[:, :, None]"),
        (PLACE, "positions.reshape(-1, positions.shape[-1])[0][..., None]"),
        ("positions[..., None] * 10000 ** -(even / d)",
         "torch.outer(positions, 10000 ** -(even / d))")],
    "the new axis is the second one: put it last, behind any leading axes": (
        PLACE, "positions[:, None]"),
    SINGLE: [
        ("dtype=positions.dtype, ", ""),
        ("10000 ** -(even / d)", "torch.exp(even.float() * (-math.log(10000) / d))")],
    "it loops over the positions: one product gives all angles": (
        "return columns", "return torch.stack([row for row in columns.unbind(-2)], -2)"),
    DOUBLE: (FOLLOWS, "dtype=torch.float64"),
})  # fmt: skip
variants.wrong(exercise, {ODD: ("[..., : d // 2]", "")}, of=written_into_columns)
