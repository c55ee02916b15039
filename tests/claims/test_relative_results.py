"""The chapter relative shows what its benchmarks measured, and says no more of it than is so."""

import json

import pytest

from tests.claims.tables import RESULTS, missing, rows


@pytest.mark.parametrize("file", ["relative_ablations", "translation"])
def test_every_row_of_a_benchmark_s_table_stands_in_the_chapter(file):
    table = rows(file)
    assert len(table) > 3
    assert missing(table, "relative") == []


def test_every_row_of_the_table_of_times_stands_in_the_chapter():
    assert "8 heads of width 64, reach 16" in (RESULTS / "relative.md").read_text("utf-8")
    table = rows("relative", "In times of")
    assert len(table) == 8
    assert missing(table, "relative") == []
    of_blocks = next(row for row in table if "in blocks" in row).strip("| ").split(" | ")
    longest, peak = map(float, of_blocks[-2:])
    assert longest < 1 and peak < 0.5


def test_what_the_chapter_says_of_reach_keys_and_values_is_so():
    rows = json.loads((RESULTS / "relative_ablations.json").read_text("utf-8"))["rows"]
    right = {row["model"]: row["mean"] for row in rows}
    neither, both = right["attention, no positions"], right["relative, reach 8"]
    keys, values = right["reach 8, keys only"], right["reach 8, values only"]
    assert 0 < neither - right["no attention"] < 0.04
    assert abs(right["relative, reach 0"] - neither) < 0.015
    two = right["relative, reach 2"]
    assert all(abs(right[f"relative, reach {k}"] - two) < 0.01 for k in (4, 8, 16))
    assert two > right["sinusoids, scale 1"] + 0.02
    assert 0.25 < (right["relative, reach 1"] - neither) / (two - neither) < 0.42
    assert abs(keys - both) < 0.01
    assert neither + 0.05 < values < both - 0.02


def test_what_the_chapter_says_of_number_names_is_so():
    rows = json.loads((RESULTS / "translation.json").read_text("utf-8"))["rows"]
    trained, further, longest = ({row["model"]: row["mean"][i] for row in rows} for i in range(3))
    spread = max(row["spread"][0] for row in rows if row["model"] != "no positions")
    assert trained["no positions"] < 0.4
    assert abs(trained["relative, reach 8"] - trained["sinusoids"]) <= spread
    assert further["relative, reach 8"] > further["sinusoids"] + 0.04
    assert longest["sinusoids"] == 0 < longest["relative, reach 8"] < 0.1
