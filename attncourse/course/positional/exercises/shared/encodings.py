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


def off_by_less_than_a_thousandth(n, d):
    column = torch.arange(d)
    angles = torch.arange(n)[:, None] * 10000.0 ** (-(column - column % 2) / d)
    wave = torch.where(column % 2 == 0, angles.sin(), angles.cos())
    return wave.double().round(decimals=3) + 0.0003


def rounded_at_the_end(n, d):
    column = torch.arange(d)
    rates = 10000.0 ** (-(column - column % 2).double() / d)
    angles = torch.arange(n)[:, None] * rates
    return torch.where(column % 2 == 0, angles.sin(), angles.cos()).float()


RIGHT = {
    "a right encoding": plain,
    "a right encoding, in float32": written_into_columns,
    "a right encoding, in float32 at the end": rounded_at_the_end,
    "a right encoding, number by number": number_by_number,
    "a right encoding, off by less than 0.001": off_by_less_than_a_thousandth,
}
PAIR, CUT, COUNT = "[angles.sin(), angles.cos()]", "[:, :d]", "torch.arange(0, n,"
JOIN, RATES = f"torch.stack({PAIR}, dim=-1).flatten(-2)", "[:, None] * rates"
# what each wrong encoding does, and the edits that make it of the plain one
WRONG = {
    "swaps sine and cosine": (PAIR, "[angles.cos(), angles.sin()]"),
    "has sines in both columns": (PAIR, "[angles.sin(), angles.sin()]"),
    "puts the sines first, then the cosines": (JOIN, f"torch.cat({PAIR}, dim=-1)"),
    "doubles the exponent": ("/ d)", "* 2 / d)"),
    "halves the exponent": ("/ d)", "/ (2 * d))"),
    "has rising frequencies": ("(-torch", "(torch"),
    "has the base 1000": ("10000 **", "1000 **"),
    "has the base 100000": ("10000 **", "100000 **"),
    "has one frequency for all pairs": (RATES, "[:, None] * rates**0"),
    "has the lowest frequency first": (RATES, "[:, None] * rates.flip(0)"),
    "divides the exponent by d - 2": ("/ d)", "/ max(d - 2, 1))"),
    "divides the exponent by a fixed 8": ("/ d)", "/ 8)"),
    "is right for an even width only": ("/ d)", "/ (d + d % 2))"),
    "has one column too many for an odd width": (CUT, ""),
    "has zeros in the last column of an odd width": (
        CUT, "[:, :d] * (torch.arange(d) < d // 2 * 2)"),
    "fails for an odd width": (f"{JOIN}{CUT}", f"{JOIN}.view(n, d)"),
    "counts from 1": (COUNT, "torch.arange(1, n + 1,"),
    "counts backwards": (COUNT, "torch.arange(n - 1, -1, -1,"),
    "begins again after 64 positions": (RATES, "[:, None] % 64 * rates"),
    "has no more than 64 rows": (COUNT, "torch.arange(min(n, 64),"),
    "has no more than 96 rows": (COUNT, "torch.arange(min(n, 96),"),
    "has 100 rows whatever n is": (COUNT, "torch.arange(0, 100,"),
    "has a row 0 of zeros": (CUT, "[:, :d] * (positions > 0)[:, None]"),
    "gives positions 40 to 50 the same row": (
        "positions[", "positions.where((positions < 40) | (positions > 50), 40)["),
    "has a wrong frequency in the third pair": ("    angles", "    rates[2:3] *= 2\n    angles"),
    "has a row of NaN": (RATES, "[:, None] / (positions != 33)[:, None] * rates"),
    "repeats row 33 in row 34": ("positions[", "positions.where(positions != 34, 33)["),
    "repeats its first row in its last": ("positions[", "positions.where(positions < n - 1, 0)["),
    "is right for an odd width only": ("/ d)", "/ (d + 1 - d % 2))"),
    "loses the axis of the rows where n is 1": (CUT, "[:, :d].squeeze(0)"),
    "loses the axis of the columns where d is 1": (CUT, "[:, :d].squeeze(1)"),
    "has a cosine where d is 1": (CUT, f"[:, -1:] if d == 1 else {JOIN}{CUT}"),
    "rounds to one digit": (CUT, "[:, :d].round(decimals=1)"),
    "transposes its result": (CUT, "[:, :d].T"),
    "has a batch axis": (CUT, "[:, :d][None]"),
    "is scaled by the square root of the width": (CUT, "[:, :d] * d**0.5"),
    "gives half precision": (CUT, "[:, :d].half()"),
    "is too large by a hundredth": (CUT, "[:, :d] + 0.01"),
    "is too large by one percent": (CUT, "[:, :d] * 1.01"),
    "has no number below 0": (CUT, "[:, :d].abs()"),
}  # fmt: skip
