"""Writes the exercise notebooks: a text for each exercise, a cell for its answer, and its check."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from signals.course import COURSE

from judge.cells import answer_and_check

PYTHON = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}

COURSE.notebooks.mkdir(exist_ok=True)
for chapter in COURSE.chapters():
    cells = [new_code_cell("import torch\nfrom torch import nn", id="setup")]
    for name, exercise in COURSE.exercises(chapter).items():
        task = exercise.task
        text = f"## {task.title}\n\n{task.prose}"
        cells.append(new_markdown_cell(text, id=f"task-{name}"))
        cells += answer_and_check(COURSE, exercise, task.start)
    page = new_notebook(cells=cells, metadata=PYTHON)
    nbformat.write(page, COURSE.notebooks / f"{chapter}.ipynb")
