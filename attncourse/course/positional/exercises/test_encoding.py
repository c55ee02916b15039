"""Exercise test_encoding: the learner's test meets right and wrong sinusoids, unnamed."""

import math

import torch

from attncourse.course.positional.exercises.shared.encodings import RIGHT, WRONG
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations
from judge.variants import every

exercise = Exercise.read(__name__, differentiable=False)
worked = exercise.valid(variants.worked(exercise))


@exercise.cases
def cases(draw):
    return implementations(draw, "encode", "an encoding", RIGHT, WRONG)


@exercise.reference
def column_by_column(encode):
    for n, d in ((1, 1), (3, 5), (98, 6)):
        got = encode(n, d)
        assert got.shape == (n, d) and got.dtype in (torch.float32, torch.float64)
        for column in range(d):
            wave, rate = (math.cos if column % 2 else math.sin), 10000 ** (-(column // 2) * 2 / d)
            want = torch.tensor([wave(t * rate) for t in range(n)], dtype=got.dtype)
            assert (got[:, column] - want).abs().max() < 1e-3


@exercise.valid
def by_its_properties(encode):
    assert encode(1, 1).shape == (1, 1) and abs(float(encode(1, 1))) < 1e-3
    for n, d in ((100, 8), (6, 9)):
        got = encode(n, d)
        assert got.shape == (n, d) and got.dtype != torch.float16
        sines, cosines = got.double()[:, 0::2], got.double()[:, 1::2]
        rates = 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        # row 1 has the frequencies themselves, and a pair of row t + 1 is that of row t, turned
        some, turn = sines[:, : d // 2], rates[: d // 2]
        for far in (
            sines[1] - rates.sin(),
            got[0] - torch.arange(d) % 2,
            sines[:, -1] - (torch.arange(n) * rates[-1]).sin(),
            (some[1:] - some[:-1] * turn.cos() - cosines[:-1] * turn.sin()) / 2,
            (cosines[1:] - cosines[:-1] * turn.cos() + some[:-1] * turn.sin()) / 2,
        ):
            assert far.abs().max() < 1e-3


START, SIZES, SHAPE = "    for n", "[(100, 6), (7, 9), (1, 1)]", "assert got.shape == want.shape"
DTYPE = "assert got.dtype in (torch.float32, torch.float64)"
CLOSE = "assert torch.allclose(got.double(), want, rtol=0, atol=1e-3)"
WANT = "torch.where(column % 2 == 0, angles.sin(), angles.cos())"
NUMBERS = (
    "torch.tensor([[(math.cos if j % 2 else math.sin)(t / 10000 ** (2 * (j // 2) / d)) "
    "for j in range(d)] for t in range(n)]).double()"
)
variants.right(exercise,
    (SIZES, "((1, 4), (200, 9), (3, 10), (7, 1))"), (WANT, NUMBERS),
    # exceptions of its own
    (SHAPE, "if got.shape != want.shape:\n            raise TypeError(f'got {got.shape}')",
     CLOSE, "if not (got - want).abs().max() < 1e-3:\n            raise ValueError('too far')"),
)  # fmt: skip


def compare_only(part, before=SHAPE):
    """The edit after which the test compares only this part."""
    return before, f"got, want = got{part}, want{part}\n        {before}"


variants.wrong(exercise, {
    "it refuses nothing: call encode, assert what must hold, and catch none of the errors": [
        (START, f"    assert callable(encode)\n    return\n{START}"), errors_caught(worked)],
    "it runs encode, but asserts nothing: compare the numbers": (SHAPE, "", DTYPE, "", CLOSE, ""),
    "it looks at the shape only: compare the numbers, too": (DTYPE, "", CLOSE, ""),
    "it looks at the numbers' range only: compare each with what it should be": (
        DTYPE, "", CLOSE, "assert got.abs().max() <= 1"),
    "it compares means only, so right numbers in the wrong places pass: compare each number":
        compare_only(".mean()"),
    "one right number is enough for it: ask for all of them, not for any": (
        CLOSE, "assert got.double().isclose(want, atol=1e-4).any()"),
    "what it expects comes from encode itself: work it out without it": (
        WANT, "encode(n, d).double()"),
    "it looks at row 0 only, where every angle is 0: look at all rows":
        compare_only("[..., :1, :]"),
    "it asks for one row only, that of position 0, where every angle is 0: ask for many rows": (
        SIZES, "((1, 6), (1, 7))"),
    "it looks at the first two columns only, so other frequencies may be anything: look at all of "
    "them": compare_only(
        "[..., :2]"),
    "it sees two pairs at most, so the frequencies of others may be anything: try more columns": (
        SIZES, "((100, 4), (100, 3), (1, 3))"),
    "it looks at the last row only: look at all of them": compare_only("[-1]", DTYPE),
    "it looks at every tenth row only: look at all of them": [
        compare_only("[::10]", DTYPE),
        (*compare_only("[::10]", DTYPE), SIZES, "((100, 6), (100, 7), (1, 1))")],
    "it looks at one row only: look at all of them": compare_only("[-4:][:1]", DTYPE),
    "a NaN passes, since it is not larger than any bound: assert that all differences are small": (
        CLOSE, "assert not ((got - want).abs() > 1e-3).any()"),
    "a width of 2 has one frequency, and it is 1: try more columns": (
        SIZES, "((100, 2), (100, 1), (1, 2))"),
    "it looks at the columns with sines only: look at those with cosines, too": compare_only(
        "[..., 0::2]"),
    "every width is even: try an odd one, too": (SIZES, "((100, 6), (5, 4), (1, 4))"),
    "the width is 8, where a fixed 8 is right: try another, and an odd one": (
        SIZES, "((100, 8), (5, 8), (1, 8))"),
    "there are few rows, so a table that ends or repeats goes unnoticed: try 100": (
        SIZES, "((10, 6), (5, 7), (1, 3))"),
    "a table of 96 rows goes unnoticed: n may be 100, so try that": (
        SIZES, "((70, 6), (5, 7), (1, 3))"),
    "a table of 64 rows shows at n = 65, one of 96 does not: n may be 100, so try that": (
        SIZES, "((65, 6), (5, 7))"),
    "n is always 100, so an encoding may ignore it: try other lengths, too": (
        SIZES, "((100, 6), (100, 7), (100, 1))"),
    "n is never 1, where an encoding may lose the axis of the rows: try that": (
        SIZES, "((100, 6), (5, 7), (4, 1))"),
    "d is never 1, where an encoding may lose the axis of the columns: try that": (
        SIZES, "((100, 6), (5, 7), (1, 3))"),
    "n and d are never 1, where an encoding may lose an axis: try both": (
        SIZES, "((100, 6), (5, 7))"),
    "the dtype of the result is not checked: assert that it is float32 or float64": (DTYPE, ""),
    "the shape is not checked, and a comparison broadcasts: assert the shape first": (
        SHAPE, "", CLOSE, "assert (got - want).abs().max() < 1e-3"),
    "it compares, but prints or returns the result: assert it": (every("assert "), ""),
    "the tolerance is too narrow, and that of allclose alone is too: allow 0.001; or n is "
    "far beyond 1000, where a right float32 encoding may be off by more": [
        ("atol=1e-3", "atol=1e-4"), ("atol=1e-3", "atol=1e-9"),
        (SIZES, "((100, 6), (5, 7), (1, 1), (100_000, 10))")],
    "it asks for no rows or no columns: sizes should be at least 1": [
        (SIZES, f"((100, 6), (5, 7), (1, 1), {more})")
        for more in ("(0, 4)", "(5, 0)", "(0, 4), (5, 0)")],
    "the tolerance is so wide that wrong numbers pass, too: make it smaller": (
        "atol=1e-3", "atol=0.1"),
    "it asks for equal bits, but float32 rounds, and that is right, too: allow for rounding": (
        CLOSE, "assert got.double().equal(want)"),
    "it expects float64, and float32 is right, too: convert, then compare": (
        DTYPE, "assert got.dtype == torch.float64"),
    "it expects float32, and float64 is right, too: convert, then compare": (
        DTYPE, "assert got.dtype == torch.float32"),
    "its own formula swaps sine and cosine, so it refuses what is right": ("== 0", "== 1"),
    "its own formula has all sines first, so it refuses what is right: they should alternate": (
        "column - column % 2", "2 * (column % ((d + 1) // 2))",
        "column % 2 == 0", "column < (d + 1) // 2"),
    "its own formula doubles the exponent, so it refuses what is right: it should be 2i / d": (
        "/ d)", "* 2 / d)"),
    "its own formula halves the exponent, so it refuses what is right: it should be 2i / d": (
        "/ d)", "/ (2 * d))"),
    "its own formula has the base 1000, so it refuses what is right": ("10000.0", "1000.0"),
    "its own formula counts from 1, so it refuses what is right: position 0 should come first": (
        "arange(n)", "arange(1, n + 1)"),
    "it refuses the right ones, too: run it on an encoding you trust": (
        START, f"    assert encode(4, 6).shape == (6, 4)\n    return\n{START}"),
})  # fmt: skip
