"""Exercise rope_halves: rotary positions that pair the two halves of the columns."""

import math

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or sentences: one product makes all the angles"
exercise = Exercise.read(__name__, usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP})


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
    yield Case("positions from 40000 on", (x, count + 40000))
    yield Case("negative positions, from the right to the left", (x, -1 - 3 * count))
    yield Case("d=2", (x[..., :2], count + 1))
    yield Case("one token at position 0", (x[:, :1], count[:1]))
    yield Case("one token at position 5", (x[:, :1], count[:1] + 5))


@exercise.valid
def plain(x, positions):
    d = x.shape[-1]
    columns = torch.arange(d // 2, dtype=x.dtype, device=x.device)
    frequencies = 10000.0 ** (-2 * columns / d)
    angles = positions[..., None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    left = a * cos - b * sin
    right = a * sin + b * cos
    return torch.cat([left, right], dim=-1)


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


POSITIONS, SPEEDS = "positions[..., None]", "10000.0 ** (-2 * columns / d)"
ANGLES = f"{POSITIONS} * frequencies"
HALVES, RESULT = "x.chunk(2, dim=-1)", "torch.cat([left, right], dim=-1)"
LEFT, RIGHT = "a * cos - b * sin", "a * sin + b * cos"
NEIGHBOURS = "x[..., 0::2], x[..., 1::2]"
SIDE_BY_SIDE = "torch.stack([left, right], -1).flatten(-2)"
variants.right(exercise,
    (SPEEDS, "1.0 / 10000 ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d)",
     ANGLES, 'torch.einsum("...n,c->...nc", positions.to(x.dtype), frequencies)',
     RESULT, "x * torch.cat((cos, cos), -1) + torch.cat((-b, a), -1) * torch.cat((sin, sin), -1)"),
    (LEFT, "torch.complex(a, b) * torch.polar(torch.ones_like(angles), angles)",
     RIGHT, "None", RESULT, "torch.cat([left.real, left.imag], dim=-1)"),
    (SPEEDS, f"torch.exp(columns * (-2 * {math.log(10000)} / d))",
     LEFT, "torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])])", RIGHT, "None",
     RESULT, 'torch.einsum("ab...c,...bc->...ac", left, x.unflatten(-1, (2, -1))).flatten(-2)'),
    # to the interleaved layout and back
    (HALVES, "x.unflatten(-1, (2, -1)).mT.unbind(-1)",
     RESULT, "torch.stack([left, right], -1).mT.flatten(-2)"),
    # each position once
    ("    angles", "    once, place = positions.unique(return_inverse=True)\n    angles",
     ANGLES, "(once[:, None] * frequencies)[place]"),
)  # fmt: skip
TABLE = "(torch.arange({size}, device=x.device)[:, None] * frequencies)[positions]"
COUNT, OF_INTEGERS = "torch.arange(x.shape[-2], device=x.device)", (" dtype=x.dtype,", "")
variants.wrong(exercise, {
    "these are pairs of neighbours: here column c goes with column c + d/2": (
        HALVES, NEIGHBOURS, RESULT, SIDE_BY_SIDE),
    "neighbours go in and halves come out: a pair comes back where it was": (HALVES, NEIGHBOURS),
    "halves go in and neighbours come out: a pair comes back where it was": (RESULT, SIDE_BY_SIDE),
    "the two layouts are mixed: both columns of a pair need the same angle": (
        ANGLES, f"({ANGLES}).repeat_interleave(2, dim=-1)",
        LEFT, "x * cos", RIGHT, "torch.cat([-b, a], dim=-1) * sin", RESULT, "left + right"),
    "it turns the wrong way: the left half is a cos - b sin": (
        LEFT, "a * cos + b * sin", RIGHT, "b * cos - a * sin"),
    "cos and sin are swapped: at position 0 nothing turns": ("cos, sin =", "sin, cos ="),
    "this is no rotation, which has one minus: a cos - b sin, and a sin + b cos": [
        (LEFT, "a * cos + b * sin"), (RIGHT, "b * cos - a * sin")],
    "the new left half is used for the right one: work both out from x": ("left =", "left = a ="),
    "every pair turns at the same speed: pair i has the frequency 10000^(-2i/d)": (
        SPEEDS, "columns * 0 + 1"),
    "the exponent is wrong: pair i, from 0 to d/2 - 1, has the frequency 10000^(-2i/d)": [
        ("-2 *", "-4 *"), ("-2 *", "-1 *"), ("-2 * columns / d", "-columns / max(d // 2 - 1, 1)")],
    "the exponent has the wrong sign: frequencies fall from 1 towards 1/10000": ("-2 *", "2 *"),
    "pairs count from 0: the first one turns by 1 a position": ("2 * columns", "2 * (columns + 1)"),
    "the base is 10000, not 100000": ("10000", "100000"),
    "the frequencies are the wrong way round: the first pair turns fastest": (
        ANGLES, f"{ANGLES}.flip(-1)"),
    "the positions are not looked at: a chunk may begin anywhere": (POSITIONS, f"{COUNT}[:, None]"),
    "only the first position is looked at: they may lie anywhere": (
        POSITIONS, f"(positions[..., :1] + {COUNT})[..., None]"),
    "positions may be negative: those turn the other way": [
        (POSITIONS, f"{POSITIONS}.abs()"), (POSITIONS, f"{POSITIONS}.clamp(min=0)")],
    "the positions are sorted: they stay beside their rows": (
        POSITIONS, "positions.sort(-1).values[..., None]"),
    "positions count from 1 here: at position 0 nothing turns": (POSITIONS, f"({POSITIONS} + 1)"),
    "16 bits hold no position beyond 32767: keep the integers you are given": (
        POSITIONS, "positions.short()[..., None]"),
    "positions may have leading axes: the new axis, for the pairs, is the last": (
        POSITIONS, "positions[:, None]"),
    "positions may have leading axes, and outer takes none: multiply by a new last axis": (
        ANGLES, "torch.outer(positions.to(x.dtype), frequencies)"),
    "all sentences get the positions of the first: each may have its own": (
        POSITIONS, "positions.reshape(-1, positions.shape[-1])[0, :, None]"),
    "a table of a fixed size runs out: work out the angles for the positions at hand": [
        (ANGLES, TABLE.format(size=size)) for size in (512, 1000, 1024, 2048, 4096, 8192, 10000)],
    "a table from position 0 gives negative ones its last rows: work out the angles at hand": [
        (ANGLES, TABLE.format(size=size)) for size in (50000, 50001, 65536, 100000, 100001)],
    LOOP: (ANGLES, "torch.stack([p[..., None] * frequencies for p in positions.unbind(-1)], -2)"),
    "it computes in float32, as torch.arange divided does: give arange the dtype of x": [
        (ANGLES, f"({POSITIONS}.float() * frequencies.float()).to(x.dtype)"),
        ("dtype=x.dtype", "dtype=torch.float32"),
        (*OF_INTEGERS, SPEEDS, "1 / 10000 ** (2 * columns / d)"),
        (*OF_INTEGERS, SPEEDS, "(10000 ** (-2 * columns / d)).to(x.dtype)"),
        (*OF_INTEGERS, SPEEDS, "(1 / 10000 ** (2 * columns / d)).to(x.dtype)"),
        (*OF_INTEGERS, SPEEDS, "torch.exp(2 * columns * (-math.log(10000.0) / d))")],
})  # fmt: skip
