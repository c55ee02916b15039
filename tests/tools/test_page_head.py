"""How long a page takes to read, as its head says it."""

from itertools import pairwise

import pytest
from docutils import nodes
from docutils.utils import new_document

from tools.extensions.details import fold
from tools.extensions.page_head import duration, reading_minutes


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(0, "5 minutes"), (43, "45 minutes"), (58, "1 h"), (128, "2 h 10 min")],
)
def test_a_time_is_said_to_five_minutes(minutes, words):
    assert duration(minutes) == words


def test_reading_takes_time_for_the_prose_claims_code_equations_figures_and_questions_shown():
    def prose():
        return nodes.paragraph("", "word " * 190)

    def code(lines=5):
        return nodes.literal_block("", "print(1)\n" * lines)

    def cell(**attributes):
        source = nodes.container("", code(), classes=["cell_input"])
        return nodes.container("", source, classes=["cell"], **attributes)

    live = nodes.raw("", '<div class="attncourse-figure" data-figure="a">', format="html")
    claim = nodes.raw("", '<div class="claim" id="linear.forms_agree">', format="html")
    page, minutes = new_document("page"), [0.0]
    for node in (
        prose(),
        code(),
        code(lines=60),
        nodes.math_block("", "x = 1"),
        nodes.figure("", nodes.raw("", "<svg/>", format="html")),
        cell(),
        cell(hide_mode="input"),
        # of an output, no more than that it is a figure to try
        nodes.container("", live, code(), prose(), classes=["cell_output"]),
        # of a claim, its statement
        nodes.container("", claim, prose(), fold("How", prose()), classes=["cell_output"]),
        fold("What it shows", prose(), code()),
        nodes.raw("", "<div></div>", format="html", question="which_is_heavier", minutes=3),
    ):
        page += node
        minutes.append(reading_minutes(page))
    added = [after - before for before, after in pairwise(minutes)]
    assert added == pytest.approx([1, 25 / 60, 3, 0.75, 0.75, 25 / 60, 0, 2.5, 1, 0, 3])
