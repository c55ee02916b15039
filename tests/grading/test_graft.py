"""The exercise that a cell answers, and a notebook of its own for each student's answers."""

import json

import nbformat

from attncourse.course import exercises
from judge.grading.notebook.graft import graft
from judge.grading.notebook.pristine import answer_cells
from judge.grading.notebook.repair import definitions, with_helpers
from judge.grading.notebook.submitted_cells import read
from tests.grading.submissions import NAMES, SLUG, make_notebook

EXERCISE_NAMES = set(exercises(SLUG))


def notebook_bytes(answers: dict[str, str]) -> bytes:
    return nbformat.writes(make_notebook(answers)).encode()


def test_what_one_student_wrote_is_not_in_the_next_one_s_notebook():
    first, second = NAMES[:2]
    first_graft = graft(
        notebook_bytes({first: f"# exercise: {first}\n{first} = 'the first student'"})
    )
    second_graft = graft(
        notebook_bytes({second: f"# exercise: {second}\n{second} = 'the second student'"})
    )
    assert "the first student" in first_graft.answers()[first]
    assert "the first student" not in second_graft.answers()[first]


def test_of_a_helper_that_is_there_twice_the_later_one_counts():
    helpers = definitions(["def helper():\n    return 1", "x = 0", "def helper():\n    return 2"])
    assert with_helpers("y = helper()", helpers, set())[0].startswith("def helper():\n    return 2")


def test_what_the_notebook_has_recorded_of_a_cell_counts_before_its_first_line():
    first, second = NAMES[:2]
    notebook = make_notebook({first: f"# exercise: {second}\n{first} = 1"})
    (cell,) = [
        cell for cell in read(nbformat.writes(notebook).encode()) if f"{first} = 1" in cell.source
    ]
    assert cell.answers(EXERCISE_NAMES) == first
    bare_notebook = {"cells": [{"cell_type": "code", "source": cell.source, "metadata": {}}]}
    assert read(json.dumps(bare_notebook).encode())[0].answers(EXERCISE_NAMES) == second
    assert answer_cells(notebook)[first].source == cell.source
