"""The chapter convolution shows what its benchmarks measured, and says no more of it."""

import pytest

from tests.claims.tables import RESULTS, missing, rows

ROWS = rows("digits")
GROWTH = rows("convolution", "How they grow")
OF_WINDOWS = (RESULTS / "convolution.md").read_text("utf-8")


@pytest.mark.parametrize(("table", "count"), [(ROWS, 6), (GROWTH, 5)], ids=["digits", "growth"])
def test_every_row_of_a_table_stands_in_the_chapter(table, count):
    assert len(table) == count
    assert missing(table, "convolution") == []


def test_what_the_chapter_says_of_growth_was_measured_there():
    assert "from n = 1024 to 8192" in OF_WINDOWS and "a window of 129 words" in OF_WINDOWS
    assert "8 heads of width 64" in OF_WINDOWS


def test_what_the_chapter_says_of_digits_is_so():
    cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in ROWS[1:])
    right = {name: (float(mean), float(spread)) for name, mean, spread, _ in cells}
    line, kernel, bag, places, plane = (mean for mean, _ in right.values())
    assert kernel == max(mean for mean, _ in right.values())
    assert 0.01 < kernel - max(places, plane) < 0.04
    assert bag < line - 0.5
    assert max(places, plane) <= line
