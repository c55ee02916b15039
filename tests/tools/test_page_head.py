"""How long a page takes to read, as its head says it."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from tools.extensions.page_head import clock, reading_minutes


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(0, "5 minutes"), (43, "45 minutes"), (58, "1 h"), (128, "2 h 10 min")],
)
def test_a_time_is_said_to_five_minutes(minutes, words):
    assert clock(minutes) == words


def test_reading_takes_longer_with_prose_and_code():
    page, taken = new_document("page"), []
    for part in (nodes.paragraph("", "word " * 100), nodes.literal_block("", "a\n" * 10)):
        page += part
        taken.append(reading_minutes(page))
    assert taken == [1, 1.5]
