"""Exercise sinusoids_at: the sinusoids of positions that need not be whole numbers."""

import math

import torch

from judge import variants
from judge.exercise import Case, Exercise

SINGLE = "you compute in float32: make the frequencies in the dtype of the positions"
DOUBLE = (
    "the result is always float64: give rates the dtype of positions, even if you keep them from "
    "an earlier call"
)
exercise = Exercise.read(
    __name__,
    generic_hints={"always_float64": DOUBLE, "float32_inside": SINGLE},
    without={"loops": "it goes over rows, and the longer positions have no more of them"},
)
exercise.valid(variants.worked(exercise))


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


COLUMN = "column = torch.arange(d, dtype=positions.dtype, device=positions.device)\n"
variants.right(exercise,
    "z = torch.polar(torch.ones_like(angles), angles)\n"
    "columns = torch.stack([z.imag, z.real], dim=-1).flatten(-2)",
    # a cosine is a sine moved
    f"{COLUMN}rates = 10000 ** (-(column - column % 2) / d)\n"
    "columns = (angles + column % 2 * math.pi / 2).sin()",
    f"{COLUMN}rates = torch.pow(10000.0, -2 * (column // 2) / d)\n"
    'angles = torch.einsum("...n,d->...nd", positions, rates)\n'
    "columns = torch.where(column % 2 == 0, angles.sin(), angles.cos())",
)  # fmt: skip

ODD = "an odd d goes wrong: the last column should be a sine, with no cosine after it"
variants.wrong(exercise, {
    "sine and cosine are swapped: even columns, beginning with column 0, should hold sines": (
        "[angles.sin(), angles.cos()]", "[angles.cos(), angles.sin()]"),
    "all sines come first, then all cosines: they should alternate, column by column":
        "columns = torch.cat([angles.sin(), angles.cos()], dim=-1)",
    "all cosines come first, then all sines: begin with a sine, and alternate":
        "columns = torch.cat([angles.cos(), angles.sin()], dim=-1)",
    "the exponent is doubled: arange(0, d, 2) already gives 2i":
        "rates = 10000 ** (-2 * even / d)",
    "the exponent is halved: for pair i it should be 2i / d, not i / d":
        "rates = 10000 ** (-even / 2 / d)",
    "the two columns of a pair have different frequencies: columns 2i and 2i + 1 should share "
    "one": (
        "0, d, 2", "d + d % 2",
        "angles.sin(), angles.cos()", "angles[..., 0::2].sin(), angles[..., 1::2].cos()"),
    "the base is 1000: it should be 10000": "rates = 1000 ** (-even / d)",
    "the exponent has lost its minus sign: the frequencies should fall from 1 to nearly 1/10000":
        "rates = 10000 ** (even / d)",
    "the exponents run up to 1: they should be 2i / d, so that the last one is just below 1":
        "rates = 10000 ** (-even / max((d - 1) // 2 * 2, 1))",
    "for an odd d the exponent is divided by the wrong width: divide 2i by d itself": [
        "rates = 10000 ** (-even / (d + d % 2))", "rates = 10000 ** (-even / max(d // 2 * 2, 1))"],
    "the exponent is divided by a fixed width: divide 2i by the d that is given":
        "rates = 10000 ** (-even / 512)",
    "the exponent is divided by d - 1: divide 2i by d itself":
        "rates = 10000 ** (-even / max(d - 1, 1))",
    "you take a logarithm to base 10: exp goes with the natural logarithm, math.log":
        "rates = torch.exp(-math.log10(10000) * even / d)",
    ODD: [
        "return columns", "return columns[..., : d // 2 * 2]",
        "return columns[..., :d] * (torch.arange(d, device=columns.device) < d // 2 * 2)"],
    "you ignore the positions: use them, because they need not be 0, 1, 2 and so on":
        "count = torch.ones_like(positions).cumsum(-1) - 1\n"
        "angles = (count + 0 * positions)[..., None] * rates",
    "you round the positions: take them as they are, because they need not be whole numbers": [
        "angles = positions.round()[..., None] * rates",
        "angles = positions.long()[..., None] * rates"],
    "a negative position gets the row of the positive one: keep its sign, because sin(-t) "
    "= -sin(t)":
        "angles = positions.abs()[..., None] * rates",
    "you take the positions modulo 2 pi, which is a full turn only for the first pair: take them "
    "as they are":
        "angles = (positions % (2 * math.pi))[..., None] * rates",
    "you divide the positions by n: take them as they are":
        "angles = positions[..., None] / positions.shape[-1] * rates",
    "every position is one too large: at position 0, every angle should be 0":
        "angles = (positions[..., None] + 1) * rates",
    "you multiply the angles by 2 pi: take them as they are":
        "angles = 2 * math.pi * positions[..., None] * rates",
    "your code expects a fixed number of axes: positions may have any leading axes, or none": [
        "angles = positions[:, :, None] * rates",
        "angles = positions.reshape(-1, positions.shape[-1])[0][..., None] * rates",
        "angles = torch.outer(positions, rates)"],
    "the new axis comes second: put it last, after any leading axes":
        "angles = positions[:, None] * rates",
    SINGLE: [
        ("dtype=positions.dtype, ", ""),
        "rates = torch.exp(even.float() * (-math.log(10000) / d))"],
    "you loop over the positions: one product gives all angles":
        "return torch.stack([row[..., :d] for row in columns.unbind(-2)], dim=-2)",
    DOUBLE: "even = torch.arange(0, d, 2, dtype=torch.float64)",
})  # fmt: skip
variants.wrong(exercise, {ODD: ("[..., : d // 2]", "")}, of=written_into_columns)
