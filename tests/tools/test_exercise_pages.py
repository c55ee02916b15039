"""An exercise page is its solutions notebook, line by line, with nothing left to run."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from tests import ROOT
from tools.extensions.exercise_pages import page_text
from tools.extensions.page_head import clock, reading_minutes

SOLUTIONS = sorted((ROOT / "solutions").glob("*.md"))


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_every_line_keeps_its_place(path):
    source, page = path.read_text().split("\n"), page_text(path).split("\n")
    assert len(source) == len(page)
    header = source.index("---", 1)
    assert not any(page[: header + 1])
    changed = [(a, b) for a, b in zip(source, page, strict=True) if a != b][header + 1 :]
    for before, after in changed:
        if before:
            assert (before, after) == ("```{code-cell} python3", "```{exercise-cell} python3")
        else:
            assert after.startswith("::::")
    assert "{code-cell}" not in "".join(page)


def test_a_statement_is_boxed_between_its_heading_and_its_cell(course):
    path = course / "solutions/first.md"
    path.write_text(path.read_text().replace("## Double it\n", "## Double it\n\nTwice, please.\n"))
    lines = page_text(path).split("\n")
    at = lines.index("## Double it")
    assert lines[at + 1].lstrip(":") == "{exercise-statement} twice"
    assert lines[at + 2] == "Twice, please."
    assert set(lines[at + 3]) == {":"}
    assert lines[at + 4] == "```{exercise-cell} python3"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("## Double it\n", "## Double it\nAt once.\n", "first.md:11: this line"),
        ("## Double it\n", "## Double it\n\nTo the end.\n```\n1\n```", "first.md:15: this line"),
        ("# Exercises\n\n## Double it", "No heading", "first.md:12: no heading"),
    ],
)
def test_a_statement_that_cannot_be_boxed_is_named(course, before, after, words):
    path = course / "solutions/first.md"
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(ValueError, match=words):
        page_text(path)


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
