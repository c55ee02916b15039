"""Exercise shift_matrix: the matrix that moves every sinusoid by the same offset."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the offsets: all matrices can be made at once"

exercise = Exercise.read(
    __name__,
    usual_hints={"loops_over_a_batch": LOOP},
    without={
        "loops": "it goes over rows, and the longer offsets have no more of them",
        "viewed": "no offsets of several axes lie by columns",
    },
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
    # every second input lies by columns, on which torch's matrix_exp, one way to do it, fails:
    # those have no two axes
    yield Case(f"a (2, {count}) tensor of offsets, d={d}", (offset, d), longer=longer)
    yield Case(f"a single offset, d={d}", (offset[0, 0], d))
    yield Case("three axes of offsets, d=4", (draw.normal(2, 3, 2), 4))
    yield Case(f"{count} offsets, d={d}", (offset[0], d))
    yield Case(f"offsets five times larger, d={d}", (5 * offset, d))
    yield Case("d=2", (offset[0], 2))
    yield Case(f"offset 0, d={d}", (torch.zeros_like(offset[0, 0]), d))
    yield Case(f"offset 1, d={d}", (torch.ones_like(offset[0, 0]), d))


def blocks(a, b, c, e):
    """The matrix whose diagonal holds a block (a b; c e) for each pair."""
    pairs = a.shape[-1]
    out = a.new_zeros(*a.shape[:-1], 2 * pairs, 2 * pairs)
    even = torch.arange(0, 2 * pairs, 2, device=a.device)
    out[..., even, even], out[..., even, even + 1] = a, b
    out[..., even + 1, even], out[..., even + 1, even + 1] = c, e
    return out


def in_rows(a, b, c, e):
    """The blocks (a b; c e), side by side."""
    return torch.stack([torch.stack([a, b], -1), torch.stack([c, e], -1)], -2)


def placed(*corners):
    """What `blocks` does, by a product."""
    block = in_rows(*corners)
    eye = torch.eye(block.shape[-3], dtype=block.dtype, device=block.device)
    return torch.einsum("pq,...pij->...piqj", eye, block).flatten(-2).flatten(-3, -2)


def beside(sine):
    """Each number of a row above the diagonal, and with a minus below it."""
    above = torch.diag_embed(sine[..., :-1], offset=1)
    return above - above.mT


@exercise.valid
def plain(offset, d):
    even = torch.arange(0, d, 2, dtype=offset.dtype, device=offset.device)
    rates = 10000 ** -(even / d)
    angles = offset[..., None] * rates
    cosine, sine = angles.cos(), angles.sin()
    return blocks(cosine, sine, -sine, cosine)


BLOCKS = "blocks(cosine, sine, -sine, cosine)"
DIAGONAL = "torch.diag_embed(cosine.repeat_interleave(2, dim=-1))"
SINES = "beside(torch.stack([sine, 0 * sine], -1).flatten(-2))"
GENERATOR = "offset[..., None, None] * blocks(0 * rates, rates, -rates, 0)"
variants.right(exercise,
    # rows and columns compared
    (BLOCKS, "[x.repeat_interleave(2, -1)[..., None] for x in (cosine, sine)]\n"
     "    place = torch.arange(d, device=offset.device)\n"
     "    itself, partner = (place[:, None] == x for x in (place, place + 1 - 2 * (place % 2)))\n"
     "    sign = 1 - 2 * (place[:, None] % 2)\n"
     "    return both[0] * itself + sign * both[1] * partner", "return [", "both = ["),
    (f"return {BLOCKS}", "out = offset.new_zeros(*offset.shape, d, d)\n"
     "    for i, (cos, sin) in enumerate(zip(cosine.unbind(-1), sine.unbind(-1), strict=True)):\n"
     "        out[..., 2 * i, 2 * i] = out[..., 2 * i + 1, 2 * i + 1] = cos\n"
     "        out[..., 2 * i, 2 * i + 1], out[..., 2 * i + 1, 2 * i] = sin, -sin\n    return out"),
    ("blocks(", "placed("), (BLOCKS, f"{DIAGONAL} + {SINES}"),
    (BLOCKS, f"torch.linalg.matrix_exp({GENERATOR})"),
)  # fmt: skip

ANGLES = "offset[..., None] *"
variants.wrong(exercise, {
    "it shifts the wrong way: p(t) must become p(t + offset). Look at the sines' signs": (
        "sine, -sine,", "-sine, sine,"),
    "the sines have the same sign: expand cos(a + b) once more, one of them is minus": [
        ("-sine", "sine"), ("sine, -sine", "-sine, -sine")],
    "sqrt(1 - sin²) is never negative, and a cosine may be: take cos of the angle": (
        "angles.cos()", "(1 - angles.sin() ** 2).clamp(min=0).sqrt()"),
    "the minus is at the wrong cosine: only one of the two sines has a minus": (
        "-sine, cosine", "sine, -cosine"),
    "sine and cosine are exchanged: an offset of 0 must give the identity, with cos(0) = 1 on the "
    "diagonal": ("angles.cos(), angles.sin()", "angles.sin(), angles.cos()"),
    "this matrix is for sines in the first half and cosines in the second: here they alternate": (
        "-sine, cosine)", "-sine, cosine)[..., place, :][..., place]",
        "return", "place = torch.arange(d).reshape(-1, 2).T.flatten()\n    return"),
    "the off-diagonal is missing: the cosine of the sum needs the other column, too": (
        "sine, -sine", "0, 0"),
    "every pair turns as fast as the first: each has a frequency of its own": (
        "-(even", "(0 * even"),
    "the exponent is doubled: arange(0, d, 2) already counts 2i": ("even / d", "2 * even / d"),
    "the exponent is halved: for pair i it is 2i / d, not i / d": ("even / d", "even / (2 * d)"),
    "the exponent has lost its minus: frequencies fall from 1 to nearly 1/10000": (
        "-(even", "(even"),
    "the base is 1000: it is 10000": ("10000", "1000"),
    "the frequencies run in the wrong order: the first pair turns fastest": (
        "even / d", "even.flip(0) / d"),
    "frequencies meet the wrong columns: both columns of a pair have the same one": (
        BLOCKS, f"torch.diag_embed(torch.cat([cosine, cosine], -1)) + {SINES}"),
    "each column has a frequency of its own: both columns of a pair have the same one": (
        "(0, d, 2,", "(d,", BLOCKS, "blocks(cosine[..., ::2], sine[..., ::2], -sine[..., 1::2], "
        "cosine[..., 1::2])"),
    "sines stand beside the whole diagonal: between one pair and the next there is a 0": (
        BLOCKS, f"{DIAGONAL} + beside(sine.repeat_interleave(2, dim=-1))"),
    "the first offset is used for all: each has a matrix of its own": (
        ANGLES, "offset.flatten()[0].expand_as(offset)[..., None] *"),
    "the axes of offset are merged: all of them stand before (d, d)": (
        ANGLES, "offset.flatten()[..., None] *"),
    "this shifts by 1 whatever the offset is: the angle is offset times frequency": (
        ANGLES, "torch.ones_like(offset)[..., None] *"),
    "a shift back goes forth: an offset has a sign, so take no absolute value": (
        ANGLES, "offset.abs()[..., None] *"),
    "the offset is rounded to a whole number: it may lie between two": [
        (ANGLES, "offset.trunc()[..., None] *"), (ANGLES, "offset.round()[..., None] *")],
    "these are only the blocks: put them on the diagonal of one (d, d) matrix": (
        "blocks(", "in_rows("),
    "every offset needs its own matrix: the angles have an axis more than the offsets": (
        ANGLES, "offset *"),
    "it takes a single offset only: a tensor of offsets gives as many matrices": [
        (BLOCKS, "torch.block_diag(*(torch.stack([c, s, -s, c]).reshape(2, 2) "
         "for c, s in zip(cosine, sine, strict=True)))"),
        (ANGLES, "offset.new_tensor([offset.item()]) *")],
    "it expects a row of offsets: one has no axis, and a tensor of them may have several": (
        ANGLES, "offset[:, None] *"),
    LOOP: (
        BLOCKS,
        f"torch.stack([one for one in {BLOCKS}.reshape(-1, d, d)]).reshape(*offset.shape, d, d)"),
    hints.CHANGES: ("    even", "    offset *= 1 + 1e-12\n    even"),
})  # fmt: skip
