"""The chapter convolution shows what its benchmark of digits measured, and says no more of it."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "chapters" / "convolution.md").read_text("utf-8")
RESULTS = (ROOT / "benchmarks" / "results" / "digits.md").read_text("utf-8")
ROWS = [line for line in RESULTS.splitlines() if line.startswith("| ")]


def test_every_row_of_the_table_stands_in_the_chapter():
    assert len(ROWS) == 6
    assert [row for row in ROWS if row not in PAGE] == []


def test_what_the_chapter_says_of_digits_is_so():
    cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in ROWS[1:])
    right = {name: (float(mean), float(spread)) for name, mean, spread, _ in cells}
    line, kernel, bag, places, plane = (mean for mean, _ in right.values())
    assert kernel == max(mean for mean, _ in right.values())
    assert 0.01 < kernel - max(places, plane) < 0.04
    assert bag < line - 0.5
    assert max(places, plane) <= line
