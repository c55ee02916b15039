"""Exercise test_encoding: the learner's test meets right and wrong sinusoids, unnamed."""

import math
from functools import partial

import torch

from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations
from attncourse.checks.positional.shared.encodings import RIGHT, WRONG, close, examine, formula

exercise = Exercise(
    name="test_encoding",
    chapter="positional",
    title="A test that wrong sinusoids fail",
    kind="test",
    difficulty=2,
    minutes=25,
    points=20,
    hints=(
        "Think of what could be wrong, then of an n and a d for which it shows. In row 0 every "
        "angle is 0, and with two columns there is one frequency: neither shows much. An odd d, "
        "and more rows than somebody may have expected, each show something of their own.",
        "Write the sinusoids once more in the test, as slowly as you like, number by number. For "
        "several n and d, odd and even, compare: the shape first, then the dtype, then all "
        "numbers within the 0.001 that a right one may be off by. A NaN is not within it.",
        "for n, d in [(100, 8), (5, 7), (1, 3)]: and in it, want = torch.tensor([[(math.cos if "
        "j % 2 else math.sin)(t / 10000 ** ((j - j % 2) / d)) for j in range(d)] for t in range(n)"
        "]); "
        "assert got.shape == want.shape and got.dtype in (torch.float32, torch.float64); "
        "assert torch.allclose(got.double(), want.double(), atol=1e-3)",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    return implementations(draw, "encode", "an encoding", RIGHT, WRONG)


@exercise.reference
def column_by_column(encode):
    for n, d in ((1, 2), (3, 5), (98, 6)):
        got = encode(n, d)
        assert got.shape == (n, d) and got.dtype in (torch.float32, torch.float64)
        for column in range(d):
            wave, rate = (math.cos if column % 2 else math.sin), 10000 ** (-(column // 2) * 2 / d)
            want = torch.tensor([wave(t * rate) for t in range(n)], dtype=got.dtype)
            assert (got[:, column] - want).abs().max() < 1e-3


@exercise.valid
def against_the_formula(encode):
    examine(encode)


@exercise.valid
def on_other_sizes(encode):
    examine(encode, sizes=((1, 4), (200, 9), (3, 10), (7, 1)))


@exercise.valid
def against_single_numbers(encode):
    def waves(n, d):
        angles = [[t / 10000 ** (2 * (j // 2) / d) for j in range(d)] for t in range(n)]
        pairs = ([math.sin, math.cos] * d)[:d]
        rows = [[wave(a) for wave, a in zip(pairs, row, strict=True)] for row in angles]
        return torch.tensor(rows)

    examine(encode, want=waves)


@exercise.valid
def by_exceptions_of_its_own(encode):
    def agree(got, want):
        if got.shape != want.shape or got.dtype == torch.float16:
            raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
        if not (got - want).abs().max() < 1e-3:
            raise ValueError("the numbers differ")

    examine(encode, agree=agree)


@exercise.valid
def by_its_properties(encode):
    assert encode(1, 2).shape == (1, 2)
    for n, d in ((100, 8), (6, 9)):
        got = encode(n, d)
        assert got.shape == (n, d) and got.dtype != torch.float16
        sines, cosines = got.double()[:, 0::2], got.double()[:, 1::2]
        rates = 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        # row 1 has the frequencies themselves, and a pair of row t + 1 is that of row t, turned
        close(got[1, 0::2], rates.sin())
        close(got[0], (torch.arange(d) % 2).double())
        some = sines[:, : d // 2]
        turned = some[:-1] * rates[: d // 2].cos() + cosines[:-1] * rates[: d // 2].sin()
        assert (some[1:] - turned).abs().max() < 2e-3
        turned = cosines[:-1] * rates[: d // 2].cos() - some[:-1] * rates[: d // 2].sin()
        assert (cosines[1:] - turned).abs().max() < 2e-3
        close(sines[:, -1], (torch.arange(n) * rates[-1]).sin())


NOTHING_REFUSED = (
    "it refuses nothing: call encode, assert what must hold, and catch none of the errors"
)


@exercise.mutant(NOTHING_REFUSED)
def nothing_is_called(encode):
    assert callable(encode)


@exercise.mutant(NOTHING_REFUSED)
def errors_caught(encode):
    try:
        examine(encode)
    except Exception:
        pass


@exercise.mutant("it runs encode, but asserts nothing: compare the numbers")
def nothing_asserted(encode):
    examine(encode, agree=lambda got, want: None)


@exercise.mutant("it looks at the shape only: compare the numbers, too")
def only_the_shape(encode):
    def agree(got, want):
        assert got.shape == want.shape

    examine(encode, agree=agree)


@exercise.mutant("it looks at the numbers' range only: compare each with its own")
def only_the_range(encode):
    def agree(got, want):
        assert got.shape == want.shape and got.abs().max() <= 1

    examine(encode, agree=agree)


@exercise.mutant("it compares means only: right numbers in the wrong places pass")
def only_the_means(encode):
    examine(encode, agree=lambda got, want: close(got.mean(), want.mean()))


@exercise.mutant("one number that is right is enough for it: ask for all of them, not for any")
def any_for_all(encode):
    def agree(got, want):
        assert got.dtype != torch.float16 and got.shape == want.shape
        assert got.double().isclose(want, atol=1e-4).any()

    examine(encode, agree=agree)


@exercise.mutant("what it expects comes from encode itself: work it out without it")
def compared_with_itself(encode):
    examine(encode, want=encode)


@exercise.mutant("it looks at row 0 only, where every angle is 0: look at all rows")
def only_the_first_row(encode):
    examine(encode, agree=lambda got, want: close(got[..., :1, :], want[..., :1, :]))


@exercise.mutant("one position shows nothing: at position 0 every angle is 0. Ask for many rows")
def one_position(encode):
    examine(encode, sizes=((1, 6), (1, 7)))


@exercise.mutant("it looks at the first two columns only: the other frequencies may be anything")
def only_the_first_pair(encode):
    examine(encode, agree=lambda got, want: close(got[..., :2], want[..., :2]))


@exercise.mutant("it looks at the first two pairs only: the frequencies of others may be anything")
def widths_of_two_pairs(encode):
    examine(encode, sizes=((100, 4), (100, 3), (1, 3)))


@exercise.mutant("it looks at the last row only: look at all of them")
def only_the_last_row(encode):
    def agree(got, want):
        assert got.shape == want.shape
        close(got[-1], want[-1])

    examine(encode, agree=agree)


@exercise.mutant("it looks at one row only: look at all of them")
def one_row_far_away(encode):
    def agree(got, want):
        assert got.shape == want.shape
        close(got[-3:][:1], want[-3:][:1])

    examine(encode, agree=agree)


@exercise.mutant("a NaN passes: it is not larger than any bound. Ask for small differences of all")
def not_any_larger(encode):
    def agree(got, want):
        assert got.shape == want.shape and got.dtype != torch.float16
        assert not ((got - want).abs() > 1e-3).any()

    examine(encode, agree=agree)


@exercise.mutant("a width of 2 has one frequency, and it is 1: try more columns")
def a_width_of_two(encode):
    examine(encode, sizes=((100, 2), (100, 1), (1, 2)))


@exercise.mutant("it looks at the columns with sines only: look at those with cosines, too")
def only_the_sines(encode):
    examine(encode, agree=lambda got, want: close(got[..., 0::2], want[..., 0::2]))


@exercise.mutant("every width is even: try an odd one, too")
def always_an_even_width(encode):
    examine(encode, sizes=((100, 6), (5, 4), (1, 4)))


@exercise.mutant("the width is 8, where a fixed 8 is right: try another, and an odd one")
def a_width_of_eight(encode):
    examine(encode, sizes=((100, 8), (5, 8), (1, 8)))


@exercise.mutant("there are few rows: a table that ends or begins again goes unseen. Try 100")
def few_rows(encode):
    examine(encode, sizes=((10, 6), (5, 7), (1, 3)))


@exercise.mutant("a table of 96 rows goes unseen: n may be 100")
def seventy_rows(encode):
    examine(encode, sizes=((70, 6), (5, 7), (1, 3)))


@exercise.mutant("a table of 64 rows shows at n = 65, one of 96 does not: n may be 100")
def sixty_five_rows(encode):
    examine(encode, sizes=((65, 6), (5, 7)))


@exercise.mutant("one row goes unseen: an encoding may lose its axis where n is 1")
def never_one_row(encode):
    examine(encode, sizes=((100, 6), (5, 7)))


@exercise.mutant("the dtype of the result is not looked at: float32 or float64 is right")
def dtype_not_looked_at(encode):
    def agree(got, want):
        assert got.shape == want.shape
        assert torch.allclose(got.double(), want, atol=1e-3)

    examine(encode, agree=agree)


@exercise.mutant("the shape is not looked at, and comparing broadcasts: assert the shape first")
def broadcast(encode):
    def agree(got, want):
        assert got.dtype != torch.float16
        assert (got - want).abs().max() < 1e-3

    examine(encode, agree=agree)


@exercise.mutant("it compares, but what comes of it is printed or returned: assert it")
def compared_and_not_asserted(encode):
    examine(encode, agree=lambda got, want: torch.allclose(got.double(), want))


@exercise.mutant(
    "the tolerance is too narrow: to 0.001 is right, and allclose asks for more by itself"
)
def tolerance_too_narrow(encode):
    def agree(got, want):
        close(got, want)
        assert torch.allclose(got.double(), want, rtol=1e-5, atol=1e-4)

    examine(encode, agree=agree)


@exercise.mutant("the tolerance is too wide: wrong numbers pass, too")
def tolerance_too_wide(encode):
    def agree(got, want):
        assert got.dtype != torch.float16 and got.shape == want.shape
        assert torch.allclose(got.double(), want, atol=0.1)

    examine(encode, agree=agree)


@exercise.mutant("it asks for equal bits: float32 rounds, and that is right, too. Allow rounding")
def exact_equality(encode):
    def agree(got, want):
        assert got.double().equal(want)

    examine(encode, agree=agree)


@exercise.mutant("it expects float64, and float32 is right, too: convert, then compare")
def float64_expected(encode):
    def agree(got, want):
        torch.testing.assert_close(got, want, rtol=0, atol=1e-3)

    examine(encode, agree=agree)


@exercise.mutant("it expects float32, and float64 is right, too: convert, then compare")
def float32_expected(encode):
    def agree(got, want):
        torch.testing.assert_close(got, want.float(), rtol=0, atol=1e-3)

    examine(encode, agree=agree)


@exercise.mutant("its own formula exchanges sine and cosine, so it refuses what is right")
def formula_swapped(encode):
    examine(encode, want=partial(formula, swap=True))


@exercise.mutant("its own formula has all sines first, so it refuses what is right: they alternate")
def formula_in_halves(encode):
    examine(encode, want=partial(formula, alternate=False))


@exercise.mutant("its own formula doubles the exponent, so it refuses what is right: it is 2i / d")
def formula_with_the_exponent_doubled(encode):
    examine(encode, want=partial(formula, double=2.0))


@exercise.mutant("its own formula halves the exponent, so it refuses what is right: it is 2i / d")
def formula_with_the_exponent_halved(encode):
    examine(encode, want=partial(formula, double=0.5))


@exercise.mutant("its own formula has the base 1000, so it refuses what is right")
def formula_with_another_base(encode):
    examine(encode, want=partial(formula, base=1000.0))


@exercise.mutant("its own formula counts from 1, so it refuses what is right: position 0 is first")
def formula_from_one(encode):
    examine(encode, want=partial(formula, first=1))


@exercise.mutant("it refuses everything, the right ones too: run it on an encoding you trust")
def all_refused(encode):
    assert encode(4, 6).shape == (6, 4)
