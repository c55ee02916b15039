"""Writes the exercise notebooks: a text for each exercise, a cell for its answer, and its check."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from signals.course import COURSE

from judge.cells import answer_and_check

TASKS = {
    "moving_average": """
## Smooth a signal

Write `moving_average(x, width)`. Of each row of n numbers it returns n - width + 1: the mean of
each window of `width` neighbours. Any leading axes are allowed, or none.
""",
    "Rescale": """
## A factor and a shift for each channel

Write the layer `Rescale(d)`: it multiplies each of the d channels on the last axis by its own
number, and adds another. Its parameters are called `scale` and `shift`.
""",
}
STUBS = {
    "moving_average": """
# exercise: moving_average
def moving_average(x, width):
    raise NotImplementedError("write moving_average here")
""",
    "Rescale": """
# exercise: Rescale
class Rescale(nn.Module):
    def __init__(self, d):
        super().__init__()
        raise NotImplementedError("write Rescale here")
""",
}

PYTHON = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}

COURSE.notebooks.mkdir(exist_ok=True)
for chapter in COURSE.chapters():
    cells = [new_code_cell("import torch\nfrom torch import nn", id="setup")]
    for name, exercise in COURSE.exercises(chapter).items():
        cells.append(new_markdown_cell(TASKS[name].strip(), id=f"task-{name}"))
        cells += answer_and_check(COURSE, exercise, STUBS[name].strip())
    page = new_notebook(cells=cells, metadata=PYTHON)
    nbformat.write(page, COURSE.notebooks / f"{chapter}.ipynb")
