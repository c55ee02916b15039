"""Notebooks as learners hand them in, for the tests."""

from pathlib import Path

import nbformat

from attncourse.course import exercises
from judge.grading.notebook.pristine import answer_cells, exercise_files
from judge.grading.report.results import Report, Result
from tools.notebooks import solved_notebook

SLUG = "dot_product"
NAMES = list(exercises(SLUG))
SOLVED = {name: cell.source for name, cell in answer_cells(solved_notebook(SLUG)).items()}
SECONDS = 4


def make_notebook(answers: dict[str, str]):
    """The pristine exercise notebook with these answers in place."""
    notebook = nbformat.read(exercise_files()[SLUG], as_version=4)
    for name, cell in answer_cells(notebook).items():
        cell.source = answers.get(name, cell.source)
    return notebook


def write_notebook(folder: Path, notebook, name: str = "submission.ipynb") -> Path:
    nbformat.write(notebook, folder / name)
    return folder / name


def result_of(report: Report, name: str) -> Result:
    return next(result for result in report.exercises if result.name == name)


def statuses(report: Report) -> dict[str, str]:
    return {result.name: result.status for result in report.exercises}
