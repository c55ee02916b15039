"""How long a page takes to read, as its head says it."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from tools.extensions.page_head import duration, reading_minutes, reading_path


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(0, "5 minutes"), (43, "45 minutes"), (58, "1 h"), (128, "2 h 10 min")],
)
def test_a_time_is_said_to_five_minutes(minutes, words):
    assert duration(minutes) == words


def test_reading_takes_time_for_prose_code_and_what_is_displayed():
    page, ids = new_document("page"), []
    box = nodes.raw("", '<div class="claim" id="a.b">'), nodes.paragraph("", "word " * 90)
    for node in (
        nodes.paragraph("", "word " * 90),
        nodes.literal_block("", "\n".join("abcd")),
        nodes.math_block("", "x"),
        nodes.figure(),
        # of an output, no more than that there is one
        nodes.container("", *box, nodes.raw("", "</div>"), classes=["cell_output"]),
    ):
        page += node
        ids.append(reading_minutes(page))
    assert ids == [1, 1.5, 2.5, 3.5, 4.5]


def section(name: str, *paragraphs: str) -> nodes.section:
    return nodes.section(
        "",
        nodes.title("", name),
        *(nodes.paragraph("", paragraph) for paragraph in paragraphs),
        ids=[name.lower()],
    )


def test_the_path_ends_where_a_page_says_what_goes_deeper():
    turn = "You now know what the next chapter needs. The rest of this one goes deeper."
    page, short = new_document("page"), new_document("short")
    page += section("Page", "word " * 90)
    page[0] += section("First", "word " * 180)
    page[0] += section("Second", "word " * 90)
    page[0][-1] += nodes.raw("", "<div></div>", format="html", question="which_is_heavier")
    page[0][-1] += section("Below", turn)
    page[0] += section("Third", "word " * 900)
    page[0][-1] += nodes.raw("", "<div></div>", format="html", question="asked_too_late")
    words = 90 + 180 + 90 + len(turn.split())
    assert reading_path(page) == {
        "title": "Second",
        "anchor": "second",
        "minutes": words / 90,
        "questions": ["which_is_heavier"],
    }
    short += section("Page", "word")
    assert reading_path(short) is None
