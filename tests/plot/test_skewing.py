"""The figure of the skew, before another step is chosen."""

import pytest

from attncourse import plot
from tests.plot.elements import begins


def test_the_figure_begins_with_a_row_of_offsets_for_each_query():
    texts = begins(plot.skewing(3, alt="offsets"))
    assert texts["entry"] == ["−2", "−1", "0", "1", "2", ""] * 3


def test_a_figure_without_a_query_is_refused():
    with pytest.raises(ValueError, match="length=0: there is no query"):
        plot.skewing(0, alt="nothing")
