"""The chapter linear shows what its benchmark measured, and says no more of it than is so."""

from itertools import pairwise

from tests.claims.tables import missing, rows

ROWS = rows("linear", "In times of the causal form")


def test_every_row_of_the_table_stands_in_the_chapter():
    assert len(ROWS) == 8
    assert missing(ROWS, "linear") == []


def test_what_the_chapter_says_of_the_clock_is_so():
    cells = [[float(cell) for cell in row.strip("|").split("|")] for row in ROWS[2:]]
    softmax = [(forward, both) for _, forward, both, *_ in cells]
    assert 1 <= softmax[0][0] < 1.3
    for before, after in pairwise(softmax):
        assert all(x < y for x, y in zip(before, after, strict=True))
