"""Exercise shift_matrix: the matrix that moves every sinusoid by the same offset."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over the offsets: make all matrices at once"

exercise = Exercise.read(
    __name__,
    generic_hints={"loops_over_a_batch": LOOP},
    without={
        "loops": "it goes over rows, and the longer offsets have no more of them",
        "viewed": "no offsets of several axes lie by columns",
    },
)
exercise.valid(variants.worked(exercise))


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


@exercise.valid
def by_diagonals(offset, d):
    even = torch.arange(0, d, 2, dtype=offset.dtype, device=offset.device)
    angles = offset[..., None] * 10000 ** (-even / d)
    sines = torch.stack([angles.sin(), 0 * angles], dim=-1).flatten(-2)[..., :-1]
    above = torch.diag_embed(sines, offset=1)
    return torch.diag_embed(angles.cos().repeat_interleave(2, dim=-1)) + above - above.mT


variants.right(exercise,
    # rows and columns compared
    "cosines, sines = (x.repeat_interleave(2, dim=-1)[..., None] for x in (cosine, sine))\n"
    "place = torch.arange(d, device=offset.device)\n"
    "sign = 1 - 2 * (place % 2)\n"
    "itself, partner = place[:, None] == place, place[:, None] == place + sign\n"
    "return cosines * itself + sign[:, None] * sines * partner",
    "turned = offset.new_zeros(*offset.shape, d, d)\n"
    "for i, (cos, sin) in enumerate(zip(cosine.unbind(-1), sine.unbind(-1))):\n"
    "    turned[..., 2 * i, 2 * i] = turned[..., 2 * i + 1, 2 * i + 1] = cos\n"
    "    turned[..., 2 * i, 2 * i + 1], turned[..., 2 * i + 1, 2 * i] = sin, -sin\n"
    "return turned",
    # blocks beside each other, times the identity
    "blocks = torch.stack([cosine, sine, -sine, cosine], dim=-1).unflatten(-1, (2, 2))\n"
    "eye = torch.eye(d // 2, dtype=offset.dtype, device=offset.device)\n"
    'return torch.einsum("pq,...pij->...piqj", eye, blocks).flatten(-2).flatten(-3, -2)',
    "turn = offset.new_zeros(d, d)\n"
    "turn[even, even + 1], turn[even + 1, even] = rates, -rates\n"
    "return torch.linalg.matrix_exp(offset[..., None, None] * turn)",
)  # fmt: skip

SINGLE = (
    "your code works for a single offset only: offset may have any shape, and each number in it "
    "needs a matrix"
)
variants.wrong(exercise, {
    "your matrix shifts the wrong way: it should take p(t) to p(t + offset). Look at the signs of "
    "the sines":
        "matrix[..., even, even + 1] = -sine\nmatrix[..., even + 1, even] = sine",
    "both sines have the same sign: give a minus to only one, as cos(a + b) shows if you expand "
    "it": [
        "matrix[..., even + 1, even] = sine", "matrix[..., even, even + 1] = -sine"],
    "sqrt(1 - sin²) is never negative, but a cosine may be: take the cosine of the angle":
        "cosine, sine = (1 - angles.sin() ** 2).clamp(min=0).sqrt(), angles.sin()",
    "a cosine has a minus: only one of the two sines should have one":
        "matrix[..., even + 1, even + 1] = -cosine\nmatrix[..., even + 1, even] = sine",
    "sine and cosine are swapped: an offset of 0 should give the identity, with cos(0) = 1 on the "
    "diagonal":
        "cosine, sine = angles.sin(), angles.cos()",
    "your matrix expects all sines first, and then all cosines: they should alternate":
        "place = torch.arange(d).reshape(-1, 2).T.flatten()\n"
        "return matrix[..., place, :][..., place]",
    "the entries beside the diagonal are missing: the cosine of a sum needs the other column of "
    "the pair, too":
        "matrix[..., even, even + 1] = 0\nmatrix[..., even + 1, even] = 0",
    "every pair turns as fast as the first: give each pair a frequency of its own":
        "angles = offset[..., None] * rates[0].expand_as(rates)",
    "the exponent is doubled: arange(0, d, 2) already gives 2i": ("/ d)", "* 2 / d)"),
    "the exponent is halved: for pair i it should be 2i / d, not i / d": ("/ d)", "/ (2 * d))"),
    "the exponent has lost its minus sign: the frequencies should fall from 1 to nearly 1/10000":
        "rates = 10000 ** (even.to(offset.dtype) / d)",
    "the base is 1000: it should be 10000": ("10000", "1000"),
    "the frequencies are in the wrong order: the first pair should turn fastest":
        "angles = offset[..., None] * rates.flip(0)",
    "the cosines on the diagonal are in the wrong columns: both columns of a pair should have the "
    "same frequency": (
        "matrix[..., even, even] = matrix[..., even + 1, even + 1] = cosine",
        "matrix = torch.diag_embed(torch.cat([cosine, cosine], dim=-1))"),
    "each column has a frequency of its own: both columns of a pair should share one":
        "rates = 10000 ** (-torch.arange(d, dtype=offset.dtype, device=offset.device) / d)\n"
        "cosine, sine = angles[..., 0::2].cos(), angles[..., 0::2].sin()\n"
        "matrix[..., even + 1, even + 1] = angles[..., 1::2].cos()\n"
        "matrix[..., even + 1, even] = -angles[..., 1::2].sin()",
    "every entry beside the diagonal holds a sine: between one pair and the next there should be a "
    "0":
        "matrix[..., even[:-1] + 1, even[1:]] = sine[..., :-1]\n"
        "matrix[..., even[1:], even[:-1] + 1] = -sine[..., :-1]\n"
        "return matrix",
    "the first offset is used for all matrices: give each offset a matrix of its own":
        "angles = offset.flatten()[0].expand_as(offset)[..., None] * rates",
    "your matrix shifts by 1 whatever the offset is: an angle should be the offset times a "
    "frequency":
        "angles = torch.ones_like(offset)[..., None] * rates",
    "a negative offset shifts forward: an offset has a sign, so don't take its absolute value":
        "angles = offset.abs()[..., None] * rates",
    "you round the offset: take it as it is, because it need not be a whole number": [
        "angles = offset.trunc()[..., None] * rates", "angles = offset.round()[..., None] * rates"],
    "you return only the blocks: put them on the diagonal of one (d, d) matrix":
        "return torch.stack([cosine, sine, -sine, cosine], dim=-1).unflatten(-1, (2, 2))",
    SINGLE: [
        "pairs = zip(cosine, sine, strict=True)\n"
        "blocks = [torch.stack([c, s, -s, c]).reshape(2, 2) for c, s in pairs]\n"
        "return torch.block_diag(*blocks)",
        "pairs = [((offset * rate).cos(), (offset * rate).sin()) for rate in rates]\n"
        "blocks = [torch.stack([torch.stack([c, s]), torch.stack([-s, c])]) for c, s in pairs]\n"
        "return torch.block_diag(*blocks)",
        ("new_zeros(*offset.shape, d, d)", "new_zeros(d, d)"),
        ("offset[..., None] * rates", "offset * rates", "new_zeros(*offset.shape, d, d)",
         "new_zeros(d, d)"),
        *(f"turn = offset.new_zeros(d, d)\nfor i, rate in {walk}:\n"
          "    c, s = (offset * rate).cos(), (offset * rate).sin()\n"
          f"    {block}\nreturn turn"
          for walk in ("zip(range(0, d, 2), rates)", "zip(even, rates)")
          for block in (
              "turn[i, i], turn[i, i + 1], turn[i + 1, i], turn[i + 1, i + 1] = c, s, -s, c",
              "turn[i : i + 2, i : i + 2] = torch.tensor([[c, s], [-s, c]])",
              "turn[i : i + 2, i : i + 2] = torch.stack([c, s, -s, c]).reshape(2, 2)"))],
    LOOP: "rows = [one for one in matrix.reshape(-1, d, d)]\n"
        "return torch.stack(rows).reshape(*offset.shape, d, d)",
    messages.CHANGES: "offset *= 1 + 1e-12\neven = torch.arange(0, d, 2, device=offset.device)",
})  # fmt: skip
# the axes of what comes back are those of the angles
variants.wrong(exercise, {
    "you merge the axes of offset: keep all of them, in front of (d, d)": (
        "offset[..., None]", "offset.flatten()[..., None]"),
    "each offset is multiplied by only one frequency: multiply it by all of them, along a new "
    "axis": (
        "offset[..., None]", "offset"),
    "your code expects a row of offsets: offset may have no axis at all, or several": (
        "offset[..., None]", "offset[:, None]"),
    SINGLE: ("offset[..., None]", "offset.new_tensor([offset.item()])"),
}, of=by_diagonals)  # fmt: skip
