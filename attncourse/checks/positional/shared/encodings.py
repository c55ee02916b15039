"""The encodings that a learner's test meets: right ones and, made of the first, wrong ones."""

import torch


def plain(n, d):
    positions = torch.arange(0, n, dtype=torch.float64)
    rates = 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = positions[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d]


def written_into_columns(n, d):
    table = torch.zeros(n, d)
    angles = torch.arange(n)[:, None] * torch.exp(torch.arange(0, d, 2) * (-9.210340371976184 / d))
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)[:, : d // 2]
    return table


def number_by_number(n, d):
    from math import cos, exp, log, sin

    rates = [exp(-log(10000) * (column - column % 2) / d) for column in range(d)]
    waves = [cos if column % 2 else sin for column in range(d)]
    rows = [[wave(t * rate) for wave, rate in zip(waves, rates, strict=True)] for t in range(n)]
    return torch.tensor(rows, dtype=torch.float64)


def to_three_digits(n, d):
    column = torch.arange(d)
    angles = torch.arange(n)[:, None] * 10000.0 ** (-(column - column % 2) / d)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos()).round(decimals=3)


RIGHT = {
    "a right encoding": plain,
    "a right encoding, in float32": written_into_columns,
    "a right encoding, number by number": number_by_number,
    "a right encoding, off by less than 0.001": to_three_digits,
}
PAIR = "[angles.sin(), angles.cos()]"
JOIN = "torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)"
RATES = "10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)"
FROM_ZERO = "torch.arange(0, n, dtype=torch.float64)"
CUT = "[:, :d]"
ANGLES = "angles = positions[:, None] * rates"
# what each wrong encoding does, and the edits that make it of the plain one
WRONG = {
    "exchanges sine and cosine": [(PAIR, "[angles.cos(), angles.sin()]")],
    "has sines in both columns": [(PAIR, "[angles.sin(), angles.sin()]")],
    "puts the sines first, then the cosines": [
        (JOIN, "torch.cat([angles.sin(), angles.cos()], dim=-1)"),
    ],
    "doubles the exponent": [("/ d)", "* 2 / d)")],
    "halves the exponent": [("/ d)", "/ (2 * d))")],
    "has rising frequencies": [("(-torch", "(torch")],
    "has the base 1000": [("10000 **", "1000 **")],
    "has the base 100000": [("10000 **", "100000 **")],
    "has one frequency for all pairs": [(RATES, "torch.ones((d + 1) // 2, dtype=torch.float64)")],
    "has the lowest frequency first": [(ANGLES, "angles = positions[:, None] * rates.flip(0)")],
    "divides the exponent by d - 2": [("/ d)", "/ max(d - 2, 1))")],
    "divides the exponent by a fixed 8": [("/ d)", "/ 8)")],
    "is right for an even width only": [("/ d)", "/ (d + d % 2))")],
    "has a column too many for an odd width": [(CUT, "")],
    "has zeros in the last column of an odd width": [
        (
            f"return {JOIN}{CUT}",
            f"return torch.nn.functional.pad({JOIN}[:, : d // 2 * 2], (0, d % 2))",
        ),
    ],
    "cannot do an odd width": [(f"{JOIN}{CUT}", f"{JOIN}.view(n, d)")],
    "counts from 1": [(FROM_ZERO, "torch.arange(1, n + 1, dtype=torch.float64)")],
    "counts backwards": [(FROM_ZERO, "torch.arange(n - 1, -1, -1, dtype=torch.float64)")],
    "begins again after 64 positions": [("[:, None] * rates", "[:, None] % 64 * rates")],
    "has no more than 64 rows": [(FROM_ZERO, "torch.arange(min(n, 64), dtype=torch.float64)")],
    "has no more than 96 rows": [(FROM_ZERO, "torch.arange(min(n, 96), dtype=torch.float64)")],
    "has a row 0 of zeros": [(CUT, "[:, :d] * (positions > 0)[:, None]")],
    "gives positions 40 to 50 the same row": [(ANGLES, f"positions[40:51] = 40\n    {ANGLES}")],
    "has a wrong frequency in the third pair": [(ANGLES, f"rates[2:3] *= 2\n    {ANGLES}")],
    "has a row that is not a number": [(FROM_ZERO, f"{FROM_ZERO} / (torch.arange(n) != 33)")],
    "loses an axis of size 1": [(CUT, "[:, :d].squeeze()")],
    "rounds to one digit": [(CUT, "[:, :d].round(decimals=1)")],
    "transposes its result": [(CUT, "[:, :d].T")],
    "has a batch axis": [(CUT, "[:, :d][None]")],
    "is scaled by the root of the width": [(CUT, "[:, :d] * d**0.5")],
    "gives half precision": [(CUT, "[:, :d].half()")],
    "is too large by a hundredth": [(CUT, "[:, :d] + 0.01")],
}


# what a test needs at least: more rows than 96, one row, an odd width and an even one
SIZES = ((100, 6), (5, 7), (1, 3))


def close(got, want):
    """The same shape and numbers to 0.001; no half precision."""
    assert got.shape == want.shape and got.dtype in (torch.float32, torch.float64)
    assert torch.allclose(got.double(), want.double(), rtol=0, atol=1e-3)


def formula(n, d, *, base=10000.0, double=1.0, first=0, swap=False, alternate=True):
    """Sinusoids once more, with the places where a wrong one departs as arguments."""
    column, pairs = torch.arange(d), (d + 1) // 2
    pair, second = (column // 2, column % 2) if alternate else (column % pairs, column // pairs)
    rates = base ** (-double * 2 * pair.double() / d)
    angles = torch.arange(first, n + first)[:, None] * rates
    return torch.where((second == 1) != swap, angles.cos(), angles.sin())


def examine(encode, *, sizes=SIZES, want=formula, agree=close):
    """The right test, with the places where a bad one departs from it as arguments."""
    for n, d in sizes:
        agree(encode(n, d), want(n, d))
