"""Exercise rope_halves: rotary positions that pair the two halves of the columns."""

import math

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or sentences: one product makes all the angles"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


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
    x, longer_x = draw.normal(2, n, d), draw.normal(12, 40, d)
    positions = torch.arange(n)
    yield Case(f"a batch of 2, n={n}, d={d}", (x, positions), longer=(longer_x, torch.arange(40)))
    yield Case(f"one matrix without a batch, n={n}, d={d}", (x[0], positions))
    yield Case("two leading axes (batch, heads)", (draw.normal(2, 3, 5, 6), torch.arange(5)))
    start = draw.integer(3, 30)
    yield Case(f"a chunk that begins at position {start}", (x, positions + start))
    yield Case("positions in any order", (x, torch.randperm(30, generator=draw.generator)[:n]))
    own_positions = torch.stack([positions, 3 + 2 * positions])
    yield Case("positions of their own for each sentence", (x, own_positions))
    heads = draw.normal(2, 3, n, d), own_positions[:, None]
    yield Case("positions of shape (batch, 1, n) for all heads", heads)
    yield Case("positions above 10000", (x, 10000 + 371 * positions))
    yield Case("positions from 40000 on", (x, positions + 40000))
    yield Case("negative positions, from the right to the left", (x, -1 - 3 * positions))
    yield Case("d=2", (x[..., :2], positions + 1))
    yield Case("one token at position 0", (x[:, :1], positions[:1]))
    yield Case("one token at position 5", (x[:, :1], positions[:1] + 5))


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


variants.right(exercise,
    "frequencies = 1.0 / 10000 ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d)\n"
    'angles = torch.einsum("...n,c->...nc", positions.to(x.dtype), frequencies)\n'
    "turned = torch.cat((-b, a), -1)\n"
    "return x * torch.cat((cos, cos), -1) + turned * torch.cat((sin, sin), -1)",
    "turned = torch.complex(a, b) * torch.polar(torch.ones_like(angles), angles)\n"
    "return torch.cat([turned.real, turned.imag], dim=-1)",
    "columns = torch.arange(d // 2, dtype=x.dtype, device=x.device)\n"
    f"frequencies = torch.exp(columns * (-2 * {math.log(10000)} / d))\n"
    "turn = torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])])\n"
    "halves = x.unflatten(-1, (2, -1))\n"
    'return torch.einsum("ab...c,...bc->...ac", turn, halves).flatten(-2)',
    # to the interleaved layout and back
    "a, b = x.unflatten(-1, (2, -1)).mT.unbind(-1)\n"
    "return torch.stack([left, right], -1).mT.flatten(-2)",
    # each position once
    "once, place = positions.unique(return_inverse=True)\n"
    "angles = (once[:, None] * frequencies)[place]",
)  # fmt: skip
NEIGHBOURS = "a, b = x[..., 0::2], x[..., 1::2]"
SIDE_BY_SIDE = "return torch.stack([left, right], -1).flatten(-2)"
COUNT = "count = torch.arange(x.shape[-2], device=x.device)"
variants.wrong(exercise, {
    "these are pairs of neighbours: here column c should go with column c + d/2":
        f"{NEIGHBOURS}\n{SIDE_BY_SIDE}",
    "neighbours go in and halves come out: put each pair back where it was": NEIGHBOURS,
    "halves go in and neighbours come out: put each pair back where it was": SIDE_BY_SIDE,
    "the two layouts are mixed: both columns of a pair need the same angle":
        "angles = (positions[..., None] * frequencies).repeat_interleave(2, dim=-1)\n"
        "left = x * cos\n"
        "right = torch.cat([-b, a], dim=-1) * sin\n"
        "return left + right",
    "it turns the wrong way: the left half should be a cos - b sin":
        "left = a * cos + b * sin\nright = b * cos - a * sin",
    "cos and sin are swapped: at position 0 nothing should turn": ("cos, sin =", "sin, cos ="),
    "this is no rotation: it should have one minus, a cos - b sin and a sin + b cos": [
        "left = a * cos + b * sin", "right = b * cos - a * sin"],
    "the new left half is used for the right one: work both out from x": ("left =", "left = a ="),
    "every pair turns at the same speed: pair i should have the frequency 10000^(-2i/d)":
        "frequencies = torch.ones(d // 2, dtype=x.dtype, device=x.device)",
    "the exponent is wrong: pair i, from 0 to d/2 - 1, should have the frequency 10000^(-2i/d)": [
        ("-2 *", "-4 *"), ("-2 *", "-1 *"), ("-2 *", "-1 *", "/ d)", "/ max(d // 2 - 1, 1))")],
    "the exponent has the wrong sign: frequencies should fall from 1 towards 1/10000": (
        "-2 *", "2 *"),
    "the pairs are counted from 1: the first should turn by 1 at each position": (
        "arange(d // 2,", "arange(1, d // 2 + 1,"),
    "the base is 100000: it should be 10000": ("10000", "100000"),
    "the frequencies are the wrong way round: the first pair should turn fastest":
        "angles = (positions[..., None] * frequencies).flip(-1)",
    "the positions are not used: use them, since a chunk may begin anywhere":
        f"{COUNT}\nangles = count[:, None] * frequencies",
    "only the first position is used: use each, since they may lie anywhere":
        f"{COUNT}\nangles = (positions[..., :1] + count)[..., None] * frequencies",
    "negative positions turn like positive ones, or not at all: they should turn the other way": [
        ("None]", "None].abs()"), ("None]", "None].clamp(min=0)")],
    "the positions are sorted: they should stay beside their rows": (
        "positions[", "positions.sort(-1).values["),
    "positions count from 1 here: at position 0 nothing should turn": (
        "positions[", "(positions + 1)["),
    "16 bits hold no position beyond 32767: keep the integers you are given": (
        "positions[", "positions.short()["),
    "the new axis, for the pairs, is the second: positions may have leading axes, so put it last": (
        "[..., None]", "[:, None]"),
    "positions may have leading axes, and outer takes none: multiply by a new last axis":
        "angles = torch.outer(positions.to(x.dtype), frequencies)",
    "all sentences get the positions of the first: use each one's own": (
        "[..., None]", ".reshape(-1, positions.shape[-1])[0, :, None]"),
    **{hint: [
        f"table = torch.arange({size}, device=x.device)[:, None] * frequencies\n"
        "angles = table[positions]" for size in sizes] for hint, sizes in {
        "a table of a fixed size runs out: work out the angles for the positions at hand":
            (512, 1000, 1024, 2048, 4096, 8192, 10000),
        "a table from position 0 gives negative ones its last rows: work out the angles at hand":
            (50000, 50001, 65536, 100000, 100001)}.items()},
    LOOP:
        "rows = [p[..., None] * frequencies for p in positions.unbind(-1)]\n"
        "angles = torch.stack(rows, -2)",
    "it computes in float32, as torch.arange divided does: give arange the dtype of x": [
        "angles = (positions[..., None].float() * frequencies.float()).to(x.dtype)",
        ("dtype=x.dtype", "dtype=torch.float32"),
        *(f"columns = torch.arange(d // 2, device=x.device)\nfrequencies = {speeds}" for speeds in (
            "1 / 10000 ** (2 * columns / d)",
            "(10000 ** (-2 * columns / d)).to(x.dtype)",
            "(1 / 10000 ** (2 * columns / d)).to(x.dtype)",
            "torch.exp(2 * columns * (-math.log(10000.0) / d))"))],
})  # fmt: skip
