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
    "your test refuses nothing: call encode, assert what must hold, and catch none of the errors": [
        (START, f"    assert callable(encode)\n    return\n{START}"), errors_caught(worked)],
    "your test calls encode, but asserts nothing: compare the numbers": (
        SHAPE, "", DTYPE, "", CLOSE, ""),
    "your test checks only the shape: compare the numbers, too": (DTYPE, "", CLOSE, ""),
    "your test checks only the range of the numbers: compare each with the right number": (
        DTYPE, "", CLOSE, "assert got.abs().max() <= 1"),
    "your test compares only means, so right numbers in the wrong places pass: compare each number":
        compare_only(".mean()"),
    "a single right number is enough to pass your test: all numbers should have to be right": (
        CLOSE, "assert got.double().isclose(want, atol=1e-4).any()"),
    "your test takes the numbers it expects from encode itself: work them out without encode": (
        WANT, "encode(n, d).double()"),
    "your test compares only row 0, where every angle is 0: compare all rows":
        compare_only("[..., :1, :]"),
    "your test asks for only one row, position 0, where every angle is 0: ask for many rows": (
        SIZES, "((1, 6), (1, 7))"),
    "your test compares only the first two columns, so the other frequencies may be anything: "
    "compare all columns":
        compare_only(
        "[..., :2]"),
    "your test asks for two pairs of columns at most, so the frequencies of further pairs may be "
    "anything: try more columns": (
        SIZES, "((100, 4), (100, 3), (1, 3))"),
    "your test compares only the last row: compare all of them": compare_only("[-1]", DTYPE),
    "your test compares only every tenth row: compare all of them": [
        compare_only("[::10]", DTYPE),
        (*compare_only("[::10]", DTYPE), SIZES, "((100, 6), (100, 7), (1, 1))")],
    "your test compares only one row: compare all of them": compare_only("[-4:][:1]", DTYPE),
    "a NaN passes your test, because it isn't larger than any bound: assert that all differences "
    "are small": (
        CLOSE, "assert not ((got - want).abs() > 1e-3).any()"),
    "your widths are 1 and 2, where the only frequency is 1: try more columns": (
        SIZES, "((100, 2), (100, 1), (1, 2))"),
    "your test compares only the columns of sines: compare those of cosines, too": compare_only(
        "[..., 0::2]"),
    "every width in your test is even: try an odd one, too": (SIZES, "((100, 6), (5, 4), (1, 4))"),
    "your only width is 8, so an encoding with a fixed 8 passes: try another width, and an odd "
    "one": (
        SIZES, "((100, 8), (5, 8), (1, 8))"),
    "your test asks for few rows, so an encoding that ends or repeats early passes: try 100 rows": (
        SIZES, "((10, 6), (5, 7), (1, 3))"),
    "an encoding with only 96 rows passes your test: n may be 100, so try n = 100": (
        SIZES, "((70, 6), (5, 7), (1, 3))"),
    "n = 65 exposes an encoding with only 64 rows, but not one with 96: n may be 100, so try n = "
    "100": (
        SIZES, "((65, 6), (5, 7))"),
    "n is always 100, so an encoding that ignores n passes: try other lengths, too": (
        SIZES, "((100, 6), (100, 7), (100, 1))"),
    "n is never 1, where an encoding may lose the axis of the rows: try n = 1": (
        SIZES, "((100, 6), (5, 7), (4, 1))"),
    "d is never 1, where an encoding may lose the axis of the columns: try d = 1": (
        SIZES, "((100, 6), (5, 7), (1, 3))"),
    "n and d are never 1, where an encoding may lose an axis: try 1 for both": (
        SIZES, "((100, 6), (5, 7))"),
    "the dtype of the result is not checked: assert that it is float32 or float64": (DTYPE, ""),
    "the shape is not checked, and a comparison broadcasts: assert the shape first": (
        SHAPE, "", CLOSE, "assert (got - want).abs().max() < 1e-3"),
    "your test compares the numbers, but does nothing with the result: assert it": (
        every("assert "), ""),
    "your tolerance is too small, as the default of allclose is, or your n is far beyond 1000, "
    "where a right float32 encoding may be further off: allow 0.001, and take a smaller n": [
        ("atol=1e-3", "atol=1e-4"), ("atol=1e-3", "atol=1e-9"),
        (SIZES, "((100, 6), (5, 7), (1, 1), (100_000, 10))")],
    "your test asks for 0 rows or 0 columns: both sizes should be at least 1": [
        (SIZES, f"((100, 6), (5, 7), (1, 1), {more})")
        for more in ("(0, 4)", "(5, 0)", "(0, 4), (5, 0)")],
    "your tolerance is so wide that wrong numbers pass: make it smaller": (
        "atol=1e-3", "atol=0.1"),
    "your test asks for exactly equal numbers, but a right float32 encoding is rounded: allow for "
    "rounding": (
        CLOSE, "assert got.double().equal(want)"),
    "your test accepts only float64, but float32 is right, too: convert, then compare": (
        DTYPE, "assert got.dtype == torch.float64"),
    "your test accepts only float32, but float64 is right, too: convert, then compare": (
        DTYPE, "assert got.dtype == torch.float32"),
    "your test's formula swaps sine and cosine, so it refuses right encodings: swap them back": (
        "== 0", "== 1"),
    "your test's formula has all sines first, so it refuses right encodings: sines and cosines "
    "should alternate": (
        "column - column % 2", "2 * (column % ((d + 1) // 2))",
        "column % 2 == 0", "column < (d + 1) // 2"),
    "your test's formula doubles the exponent, so it refuses right encodings: it should be 2i / "
    "d": (
        "/ d)", "* 2 / d)"),
    "your test's formula halves the exponent, so it refuses right encodings: it should be 2i / d": (
        "/ d)", "/ (2 * d))"),
    "your test's formula has the base 1000, so it refuses right encodings: it should be 10000": (
        "10000.0", "1000.0"),
    "your test's formula counts from 1, so it refuses right encodings: position 0 should "
    "come first": (
        "arange(n)", "arange(1, n + 1)"),
    "your test refuses right encodings, too: run it on an encoding you trust": (
        START, f"    assert encode(4, 6).shape == (6, 4)\n    return\n{START}"),
})  # fmt: skip
