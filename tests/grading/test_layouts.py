"""Each right answer of the banks passes wherever a notebook holds it and what it needs."""

import inspect
import sys
from collections.abc import Callable

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from attncourse.checks import chapters, exercises
from judge.exercise import JudgesItself
from judge.grading.grade import grade
from judge.grading.pristine import exercise_files
from judge.grading.repair import definitions, with_helpers
from judge.variants import source_of
from tests.grading.submissions import written

# what the notebooks import themselves is there
GIVEN = {"torch", "Tensor"}


def own_text(answer: Callable) -> tuple[str, str]:
    """The text of a right answer of a bank, and of what it needs of its module."""
    module = inspect.getsource(sys.modules[answer.__module__])
    text = source_of(answer)
    whole, _ = with_helpers(text, definitions([module]), GIVEN)
    return text, whole.removesuffix(text)


def in_its_cell(name: str, text: str, helpers: str) -> tuple[str, str, str]:
    """All in the answer cell."""
    return "", f"{helpers}{text}\n{name} = {defined(text)}", name


def with_its_helpers_above(name: str, text: str, helpers: str) -> tuple[str, str, str]:
    """What it needs in a cell of its own."""
    return helpers, f"{text}\n{name} = {defined(text)}", name


def in_a_cell_of_its_own(name: str, text: str, helpers: str) -> tuple[str, str, str]:
    """The stub left where it is, and the answer checked under its own name."""
    return f"{helpers}{text}\nmine_{name} = {defined(text)}", "", f"mine_{name}"


def defined(text: str) -> str:
    return text.partition("(")[0].partition(":")[0].split()[-1]


LAYOUTS = (in_its_cell, with_its_helpers_above, in_a_cell_of_its_own)


def notebooks(chapter: str, layout: Callable):
    """Notebooks that together hold each right answer of the chapter once, and whose each holds."""
    waiting = {
        name: [own_text(one) for one in exercise.valid_answers]
        for name, exercise in exercises(chapter).items()
        if not isinstance(exercise, JudgesItself)
    }
    # what the chapter itself has made is not there
    own = f"attncourse.{chapter}"
    waiting = {
        name: [one for one in texts if own not in "".join(one)] for name, texts in waiting.items()
    }
    while any(waiting.values()):
        notebook = nbformat.read(exercise_files()[chapter], as_version=4)
        held = {name: texts.pop() for name, texts in waiting.items() if texts}
        cells = {cell.id: cell for cell in notebook.cells}
        for name, (text, helpers) in held.items():
            free, answer, checked = layout(name, text, helpers)
            if answer:
                cells[f"answer-{name}"].source = f"# exercise: {name}\n{answer}"
            check = cells[f"check-{name}"]
            check.source = f'from attncourse import check\n\ncheck("{name}", {checked})'
            if free:
                place = notebook.cells.index(cells[f"answer-{name}"])
                notebook.cells.insert(place, new_code_cell(free))
        yield notebook, held


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chapter", chapters())
def test_a_right_answer_passes_in_each_layout(tmp_path, chapter, layout):
    count = 0
    for number, (notebook, held) in enumerate(notebooks(chapter, layout)):
        report = grade(written(tmp_path, notebook, f"{number}.ipynb"), seed=7)
        for one in report.exercises:
            count += one.name in held
            assert one.name not in held or one.status == "passed", (one, held[one.name])
    assert count
