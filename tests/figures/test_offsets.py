"""The figure of scores over offsets: its lines, dots and ticks."""

import re

import pytest

from .in_page import FAMILY, OFFSETS, all_states, bare_page, figure_in, read_states

# of each method the points of its line, the dots on it, and the dot at the cursor
READ_LINES_JS = """svg => ["polyline", "path", "circle"].map((name) =>
  [...svg.querySelectorAll(name)].map((one) => one.getAttribute("points") ?? one.getAttribute("d")
    ?? `${parseFloat(one.getAttribute("cx"))},${parseFloat(one.getAttribute("cy"))}`))"""
READ_TICKS_JS = """svg => [...svg.querySelectorAll(".tick")].map((one, i) =>
  [parseFloat(one.getAttribute("y1")), +one.nextSibling.textContent.replace("−", "-")])"""


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([-\d.]+)[ ,]([-\d.]+)", text)]


def test_a_line_holds_all_pairs_and_its_dots_are_the_scores_of_the_query(tab):
    tab.set_content(bare_page(OFFSETS))
    plot = figure_in(tab).locator(".plot")
    (bottom, low), (top, high) = (plot.evaluate(READ_TICKS_JS)[i] for i in (0, -1))
    assert (bottom, top) == (100, 0)
    for state in all_states(**{"query at": 6, "key at": 6}):
        read_states(figure_in(tab), [state])
        i, j = state.values()
        lines = zip(*plot.evaluate(READ_LINES_JS), FAMILY.values(), strict=True)
        for line, marks, dot, scores in lines:
            heights = ((high - scores + scores[0, 0]) / (high - low)).tolist()
            height_by_offset = dict(points(line))
            assert sorted(height_by_offset) == [*range(11)]
            for query in range(6):
                for key in range(6):
                    assert height_by_offset[5 + key - query] == pytest.approx(
                        heights[query][key], abs=0.001
                    )
            want = [(5 + key - i, heights[i][key]) for key in range(6)]
            assert points(marks) == [pytest.approx(point, abs=0.001) for point in want]
            cursor = (10 * (5 + j - i), 100 * heights[i][j])
            assert points(dot) == [pytest.approx(cursor, abs=0.01)]
