"""Exercise test_relative_index: the learner's test meets right and wrong row tables, unnamed."""

import torch

from attncourse.course.relative.exercises.shared.indexes import RIGHT, WRONG
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations
from judge.variants import every

exercise = Exercise.read(__name__, differentiable=False)


@exercise.cases
def cases(draw):
    return implementations(draw, "relative_index", "an index", RIGHT, WRONG)


# what a test needs: one position; a reach of 0, far within the length, and beyond it
SIZES = ((1, 0), (1, 3), (10, 0), (10, 2), (10, 3), (5, 8))


@exercise.reference
def cell_by_cell(relative_index):
    for n, reach in SIZES:
        got = relative_index(n, reach)
        assert got.shape == (n, n) and got.dtype == torch.int64
        for i in range(n):
            for j in range(n):
                assert got[i, j] == max(-reach, min(reach, j - i)) + reach


@exercise.valid
def plain(relative_index):
    for n, reach in SIZES:
        got = relative_index(n, reach)
        j = torch.arange(n)
        offset = j - j[:, None]
        want = offset.clamp(-reach, reach) + reach
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert got.equal(want)


@exercise.valid
def by_its_properties(relative_index):
    for n, reach in SIZES:
        got = relative_index(n, reach)
        assert got.shape == (n, n) and got.dtype == torch.int64
        # along a diagonal it is constant, so its first row and column tell all
        assert got[1:, 1:].equal(got[:-1, :-1])
        assert got[0].tolist() == [min(reach + j, 2 * reach) for j in range(n)]
        assert got[:, 0].tolist() == [max(reach - i, 0) for i in range(n)]


KIND = "assert (got.shape, got.dtype) == (want.shape, want.dtype)"
NUMBERS = "assert got.equal(want)"
EDGES = "assert got[0].equal(want[0]) and got[:, 0].equal(want[:, 0])"
GOT, ROW = "got = relative_index(n, reach)", "offset.clamp(-reach, reach) + reach"
variants.right(exercise,
    ("in SIZES", "in [(n, reach) for n in (1, 2, 7, 12) for reach in (0, 1, 4, 20)]"),
    (ROW, "(offset[..., None] >= torch.arange(1 - reach, reach + 1)).sum(-1)"),
    (every("assert"), "if not (", "want.dtype)", "want.dtype)): raise TypeError(got.dtype)",
     "got.equal(want)", "got.tolist() == want.tolist()): raise ValueError('the numbers differ')"),
    # what a lookup in the unit vectors gives: one 1 for each pair, in the right place
    (KIND, "got, want = (torch.nn.functional.one_hot(rows, 50) for rows in (got, want))"),
)  # fmt: skip
variants.wrong(exercise, {
    "it refuses nothing: call relative_index, assert what must hold, and catch none of the errors":
        [("    for n", "    assert callable(relative_index)\n    return\n    for n"),
         errors_caught(plain)],
    "no wrong number fails it: assert, against numbers that the test works out without "
    "relative_index. What a test returns is not looked at, and a condition and a message in "
    "brackets are a tuple, which is always true": [
        (KIND, "pass", NUMBERS, "agreed = got.equal(want)\n    return agreed"),
        (KIND, "pass", NUMBERS, "outcome = got.equal(want), 'differ'\n        assert outcome"),
        ("want = offset.clamp(-reach, reach) + reach", "want = relative_index(n, reach)")],
    "it compares the shape only: compare the numbers, too": (
        KIND, "assert got.shape == want.shape", NUMBERS, "pass"),
    "it compares shape and dtype only: compare the numbers, too": (NUMBERS, "pass"),
    "one right number is enough for it: ask for all of them, not for any": (
        NUMBERS, "assert (got == want).any()"),
    "only the first row is compared, which has no key to the left: compare all of them": (
        NUMBERS, "assert got[0].equal(want[0])"),
    "only the last row is compared, which has no key to the right: compare all of them": (
        NUMBERS, "assert got[-1].equal(want[-1])"),
    "only the first and the last row are compared: compare those between, too": (
        NUMBERS, "assert got[[0, -1]].equal(want[[0, -1]])"),
    "only the row in the middle is compared: compare the others, too": (
        NUMBERS, "assert got[n // 2].equal(want[n // 2])"),
    "only the first column is compared, which has no key to the right: compare all of them": (
        NUMBERS, "assert got[:, 0].equal(want[:, 0])"),
    "only the first row and the first column are compared: compare the others, too": [
        (NUMBERS, EDGES), (NUMBERS, EDGES, "SIZES", "((12, 140), *SIZES)")],
    "only the diagonal is compared, which shows offset 0 alone: compare the rest, too": (
        NUMBERS, "assert got.diagonal().equal(want.diagonal())"),
    "it looks at which rows occur, not where: compare the numbers in their places": [
        (NUMBERS, "assert got.min() == want.min() and got.max() == want.max()"),
        (NUMBERS, "assert got.unique().equal(want.unique())")],
    "it looks at sums only, and wrong numbers may add up to the same: compare each number": [
        (NUMBERS, "assert got.sum() == want.sum()"),
        (NUMBERS, "assert (got + got.T == 2 * reach).all()")],
    "it asks only that the numbers depend on the offset alone, as many wrong ones do: compare "
    "them": (
        NUMBERS, "assert got[1:, 1:].equal(got[:-1, :-1])"),
    "it asks only that the rows lie in the table: ask which row it is, too": (
        NUMBERS, "assert (got >= 0).all() and (got <= 2 * reach).all()"),
    "== lets another dtype pass, and more axes: compare shape and dtype as well": (
        KIND, "pass", NUMBERS, "assert (got == want).all()"),
    "== broadcasts, so a result with more axes passes: compare the shape as well": (
        KIND, "assert got.dtype == want.dtype", NUMBERS, "assert (got == want).all()"),
    "an error of relative_index is caught: a right one raises none, so let it through": (
        GOT, f"try:\n            {GOT}\n        except Exception:\n            continue"),
    "the shape is not looked at, so a larger table passes for its (n, n) corner: compare it, too": (
        KIND, "assert got.dtype == want.dtype",
        NUMBERS, "assert all(got[i, j] == want[i, j] for i in range(n) for j in range(n))"),
    "it asks for the ends and the diagonal only: ask for the numbers between them, too": (
        NUMBERS, "assert got[1:, 1:].equal(got[:-1, :-1])\n"
        "        assert got[[0, 0, -1], [0, -1, 0]].equal(want[[0, 0, -1], [0, -1, 0]])"),
    "it writes into the result, which may be an expanded one: work on a copy": (
        NUMBERS, "got -= reach\n        assert got.equal(want - reach)"),
    "it refuses a table that is not contiguous: how numbers lie in memory does not matter": [
        (NUMBERS, "assert got.equal(want) and got.is_contiguous()"),
        (NUMBERS, "assert got.view(-1).equal(want.flatten())")],
    "the dtype is not looked at: a row number should be an int64": (GOT, f"{GOT}.long()"),
    "any integers will do for it: a row number should be an int64": (
        KIND, "assert not got.is_floating_point() and got.shape == want.shape",
        NUMBERS, "assert got.long().equal(want)"),
    "nothing is ever clipped: try an n that is larger than reach + 1": (
        "SIZES", "((1, 0), (1, 3), (4, 3), (4, 8))"),
    "n is always 1, so only offset 0 is seen: try longer sequences": (
        "SIZES", "((1, 0), (1, 2), (1, 3), (1, 8))"),
    "the reach is never 0, where the table has a single row: try that": (
        "SIZES", "((1, 3), (10, 1), (10, 2), (10, 3), (5, 8))"),
    "the reach is always 0, where every pair has row 0: try others": (
        "SIZES", "((1, 0), (5, 0), (10, 0))"),
    "the reach is never larger than the length: try one that is": (
        "SIZES", "((1, 0), (10, 0), (10, 2), (10, 3), (10, 4))"),
    "the reach is always 2, so it might be a fixed number: try others": (
        "SIZES", "((1, 2), (2, 2), (3, 2), (5, 2), (10, 2))"),
    "n is never 1: try a sequence of one token": ("SIZES", "SIZES[2:]"),
    "all sequences are short: try one of ten tokens or more": [
        ("SIZES", f"((1, 0), (1, 3), ({n}, 0), ({n}, 2), ({n}, 3), (5, 8))") for n in (8, 9)],
    "your n and reach miss a case: try n=1, a reach of 0, and one beyond n": [
        ("SIZES", "((5, 2), (8, 3), (10, 4))"), ("SIZES", "((10, 3),)")],
    "its own formula takes query minus key, so it refuses what is right": (
        "j - j[:, None]", "j[:, None] - j"),
    "its own formula does not clip, so it refuses what is right": (ROW, "offset + reach"),
    "its own formula does not add reach, so it refuses what is right": (ROW, ROW[:-8]),
    "its own formula never gets to the last row, 2 reach, so it refuses what is right": (
        ROW, "(offset + reach).clamp(0, max(2 * reach - 1, 0))"),
    "its own formula clips once reach is added, so it refuses what is right": (
        ROW, "(offset + reach).clamp(-reach, reach)"),
    "it expects 32-bit integers, so it refuses int64, which is right": (ROW, f"({ROW}).int()"),
    "it expects floating-point numbers, so it refuses int64, which is right": (
        ROW, f"({ROW}).float()"),
    "it refuses the right ones, too: run it on an index you trust": (
        KIND, "assert got.shape == (n, n + 1)", NUMBERS, "pass"),
})  # fmt: skip
