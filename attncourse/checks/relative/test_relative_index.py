"""Exercise test_relative_index: the learner's test meets right and wrong row tables, unnamed."""

from functools import partial

import torch

from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations
from attncourse.checks.relative.shared.indexes import RIGHT, SIZES, WRONG, equal, examine, formula

exercise = Exercise(
    name="test_relative_index",
    chapter="relative",
    title="A test that wrong row numbers fail",
    kind="test",
    difficulty=2,
    minutes=25,
    points=15,
    hints=(
        "Which n and reach show what? Where n is small beside reach nothing is clipped; where "
        "reach is 0, or n is 1, or reach is larger than n, other mistakes show.",
        "Work out each row number in the test itself: two loops over i and j, with min and max, "
        "need no cleverness, so they are easy to get right. Compare shape, dtype and all numbers, "
        "for several n and reach.",
        "for n, reach in [(1, 0), (9, 0), (9, 2), ...]: and in it "
        "assert got.shape == (n, n) and got.dtype == torch.int64, then "
        "assert got.tolist() == [[min(max(j - i, -reach), reach) + reach ...",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    wrong = {does: [edit] for does, edit in WRONG.items()}
    return implementations(draw, "relative_index", "an index", RIGHT, wrong)


@exercise.reference
def cell_by_cell(relative_index):
    for n, reach in SIZES:
        got = relative_index(n, reach)
        assert got.shape == (n, n) and got.dtype == torch.int64
        for i in range(n):
            for j in range(n):
                assert got[i, j] == max(-reach, min(reach, j - i)) + reach


@exercise.valid
def against_the_formula(relative_index):
    examine(relative_index)


@exercise.valid
def on_other_sizes(relative_index):
    examine(relative_index, sizes=[(n, reach) for n in (1, 2, 7, 12) for reach in (0, 1, 4, 20)])


@exercise.valid
def by_exceptions_of_its_own(relative_index):
    def agree(got, want):
        if got.dtype is not torch.int64:
            raise TypeError(f"expected int64, got {got.dtype}")
        if got.tolist() != want.tolist():
            raise ValueError("the numbers differ")

    examine(relative_index, agree=agree)


@exercise.valid
def by_a_table_of_bits(relative_index):
    # what a lookup in the unit vectors gives: one 1 for each pair, in the right place
    def agree(got, want):
        equal(torch.nn.functional.one_hot(got, 50), torch.nn.functional.one_hot(want, 50))

    examine(relative_index, agree=agree)


@exercise.valid
def by_its_properties(relative_index):
    for n, reach in SIZES:
        got = relative_index(n, reach)
        assert got.shape == (n, n) and got.dtype == torch.int64
        # along a diagonal it is constant, so its first row and column tell all
        assert got[1:, 1:].equal(got[:-1, :-1])
        assert got[0].tolist() == [min(reach + j, 2 * reach) for j in range(n)]
        assert got[:, 0].tolist() == [max(reach - i, 0) for i in range(n)]


NOTHING_REFUSED = (
    "it refuses nothing: call relative_index, assert what must hold, and catch none of the errors"
)


@exercise.mutant(NOTHING_REFUSED)
def nothing_is_called(relative_index):
    assert callable(relative_index)


@exercise.mutant(NOTHING_REFUSED)
def errors_caught(relative_index):
    try:
        examine(relative_index)
    except Exception:
        pass


NOTHING_ASSERTED = (
    "no wrong number fails it: assert, against numbers that the test works out without "
    "relative_index. What a test returns is not looked at, and a condition and a message in "
    "brackets are a tuple, which is always true"
)


@exercise.mutant(NOTHING_ASSERTED)
def returned_not_asserted(relative_index):
    agreed = []
    examine(relative_index, agree=lambda got, want: agreed.append(got.equal(want)))
    return all(agreed)


@exercise.mutant(NOTHING_ASSERTED)
def tuple_asserted(relative_index):
    def agree(got, want):
        outcome = got.equal(want), "the numbers differ"
        assert outcome

    examine(relative_index, agree=agree)


@exercise.mutant("it compares the shape only: compare the numbers, too")
def only_the_shape(relative_index):
    def agree(got, want):
        assert got.shape == want.shape

    examine(relative_index, agree=agree)


@exercise.mutant("it compares shape and dtype only: compare the numbers, too")
def only_shape_and_dtype(relative_index):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)

    examine(relative_index, agree=agree)


@exercise.mutant("one number that is right is enough for it: ask for all of them, not for any")
def any_for_all(relative_index):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert (got == want).any()

    examine(relative_index, agree=agree)


def part(relative_index, cut):
    """Shape and dtype are compared, and of the numbers what `cut` leaves."""

    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        equal(cut(got), cut(want))

    examine(relative_index, agree=agree)


@exercise.mutant("only the first row is compared: it has no key to the left")
def only_the_first_row(relative_index):
    part(relative_index, lambda table: table[0])


@exercise.mutant("only the last row is compared: it has no key to the right")
def only_the_last_row(relative_index):
    part(relative_index, lambda table: table[-1])


@exercise.mutant("only the first and the last row are compared: those between may be wrong")
def only_first_and_last_row(relative_index):
    part(relative_index, lambda table: table[[0, -1]])


@exercise.mutant("only the row in the middle is compared: the others may be wrong")
def only_the_middle_row(relative_index):
    part(relative_index, lambda table: table[len(table) // 2])


@exercise.mutant("only the first column is compared: it has no key to the right of its query")
def only_the_first_column(relative_index):
    part(relative_index, lambda table: table[:, 0])


@exercise.mutant("only the diagonal is compared: it shows offset 0 alone")
def only_the_diagonal(relative_index):
    part(relative_index, torch.diagonal)


WHICH_ROWS = "it looks at which rows occur, not where: compare the numbers in their places"


@exercise.mutant(WHICH_ROWS)
def only_the_ends(relative_index):
    part(relative_index, lambda table: torch.stack([table.min(), table.max()]))


@exercise.mutant(WHICH_ROWS)
def only_which_rows_occur(relative_index):
    part(relative_index, torch.unique)


SUMS = "it looks at sums only: wrong numbers may add up to the same"


@exercise.mutant(SUMS)
def only_the_sum(relative_index):
    part(relative_index, torch.sum)


@exercise.mutant("it asks only that the numbers depend on the offset alone: so do many wrong ones")
def constant_along_the_diagonals(relative_index):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert got[1:, 1:].equal(got[:-1, :-1])

    examine(relative_index, agree=agree)


@exercise.mutant(SUMS)
def left_and_right_add_up(relative_index):
    for n, reach in SIZES:
        got = relative_index(n, reach)
        assert got.shape == (n, n) and got.dtype == torch.int64
        assert (got + got.T == 2 * reach).all()


@exercise.mutant("it asks only that the rows lie in the table: which row it is matters, too")
def within_the_table(relative_index):
    for n, reach in SIZES:
        got = relative_index(n, reach)
        assert got.shape == (n, n) and got.dtype == torch.int64
        assert (got >= 0).all() and (got <= 2 * reach).all()


@exercise.mutant("== lets another dtype pass, and more axes: compare shape and dtype as well")
def broadcast(relative_index):
    def agree(got, want):
        assert (got == want).all()

    examine(relative_index, agree=agree)


@exercise.mutant("the shape is not looked at: an (n, n) corner of a larger table is not enough")
def shape_not_looked_at(relative_index):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert all(got[i, j] == want[i, j] for i in range(len(want)) for j in range(len(want)))

    examine(relative_index, agree=agree)


@exercise.mutant(
    "it refuses a table that is not contiguous: how numbers lie in memory is no matter"
)
def contiguous(relative_index):
    def agree(got, want):
        equal(got, want)
        assert got.is_contiguous()

    examine(relative_index, agree=agree)


@exercise.mutant("the dtype is not looked at: a row number is an int64")
def dtype_not_looked_at(relative_index):
    examine(relative_index, agree=lambda got, want: equal(got.long(), want))


@exercise.mutant("any integers will do for it: a row number is an int64")
def any_integers(relative_index):
    def agree(got, want):
        assert not got.is_floating_point()
        equal(got.long(), want)

    examine(relative_index, agree=agree)


@exercise.mutant(NOTHING_ASSERTED)
def compared_with_itself(relative_index):
    examine(relative_index, want=relative_index)


def sizes(*pairs):
    return partial(examine, sizes=pairs)


@exercise.mutant("nothing is ever clipped: try an n that is larger than reach + 1")
def never_clipped(relative_index):
    sizes((1, 0), (1, 3), (4, 3), (4, 8))(relative_index)


@exercise.mutant("n is always 1: only offset 0 is seen")
def one_position(relative_index):
    sizes((1, 0), (1, 2), (1, 3), (1, 8))(relative_index)


@exercise.mutant("the reach is never 0: then the table has a single row")
def reach_never_0(relative_index):
    sizes((1, 3), (9, 1), (9, 2), (9, 3), (5, 8))(relative_index)


@exercise.mutant("the reach is always 0: then every pair has row 0")
def reach_always_0(relative_index):
    sizes((1, 0), (5, 0), (9, 0))(relative_index)


@exercise.mutant("the reach is never larger than the length: try one that is")
def reach_never_beyond_the_length(relative_index):
    sizes((1, 0), (9, 0), (9, 2), (9, 3), (9, 4))(relative_index)


@exercise.mutant("the reach is always 2, so it might be a fixed number: try others")
def reach_always_2(relative_index):
    sizes((1, 2), (2, 2), (3, 2), (5, 2), (9, 2))(relative_index)


@exercise.mutant("n is never 1: try a sequence of one token")
def never_one_position(relative_index):
    sizes((9, 0), (9, 2), (9, 3), (5, 8))(relative_index)


@exercise.mutant("all sequences are short: try one of 9 tokens or more")
def short_sequences(relative_index):
    sizes((1, 0), (1, 3), (8, 0), (8, 2), (8, 3), (5, 8))(relative_index)


FEW = "your n and reach miss a case: try n=1, a reach of 0, and one beyond n"


@exercise.mutant(FEW)
def neither_small_nor_far(relative_index):
    sizes((5, 2), (8, 3), (10, 4))(relative_index)


@exercise.mutant(FEW)
def the_example_only(relative_index):
    sizes((10, 3))(relative_index)


def refuses(relative_index, row):
    """A test that takes `row` of the offset and the reach for right."""

    def want(n, reach):
        j = torch.arange(n)
        return row(j - j[:, None], reach)

    examine(relative_index, want=want)


@exercise.mutant("its own formula takes query minus key: it refuses what is right")
def formula_with_query_minus_key(relative_index):
    refuses(relative_index, lambda offset, reach: (-offset).clamp(-reach, reach) + reach)


@exercise.mutant("its own formula does not clip: it refuses what is right")
def formula_not_clipped(relative_index):
    refuses(relative_index, lambda offset, reach: offset + reach)


@exercise.mutant("its own formula does not add reach: it refuses what is right")
def formula_not_shifted(relative_index):
    refuses(relative_index, lambda offset, reach: offset.clamp(-reach, reach))


@exercise.mutant("its own formula never gets to the last row, 2 reach: it refuses what is right")
def formula_one_row_short(relative_index):
    def row(offset, reach):
        return (offset + reach).clamp(0, max(2 * reach - 1, 0))

    refuses(relative_index, row)


@exercise.mutant("its own formula clips once reach is added: it refuses what is right")
def formula_clipped_after_the_shift(relative_index):
    refuses(relative_index, lambda offset, reach: (offset + reach).clamp(-reach, reach))


@exercise.mutant("it expects 32 bit integers: it refuses int64, which is right")
def formula_of_32_bits(relative_index):
    examine(relative_index, want=lambda n, reach: formula(n, reach).int())


@exercise.mutant("it expects floating numbers: it refuses int64, which is right")
def formula_of_floats(relative_index):
    examine(relative_index, want=lambda n, reach: formula(n, reach).float())


@exercise.mutant("it refuses everything, the right ones too: run it on an index you trust")
def all_refused(relative_index):
    assert relative_index(4, 2).shape == (4, 5)
