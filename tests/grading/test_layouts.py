"""Each right answer of the banks passes wherever a notebook holds it and what it needs."""

import inspect
import re
import sys
from collections.abc import Callable

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from attncourse.course import chapters, exercises
from judge.exercise import JudgesItself
from judge.grading.grade import grade
from judge.grading.pristine import exercise_files
from judge.grading.repair import definitions, with_helpers
from judge.variants import source_of
from tests.grading.submissions import write_notebook

# what the notebooks import themselves is there
GIVEN = {"torch", "Tensor"}


SHARED = re.compile(
    r"^from (attncourse\.checks\.[\w.]+) import (\([\w,\s]+\)|[\w, ]+)$", re.MULTILINE
)


def own_text(answer: Callable) -> tuple[str, str]:
    """The text of a right answer of a bank, and of what it needs of the bank's modules."""
    text = source_of(answer)
    return text, needed(text, answer.__module__)


def rebound(answer: Callable) -> bool:
    """Whether other functions stand behind names of a right answer, which its text does not say."""
    return bool(getattr(answer, "made_by", None) and answer.made_by.names)  # pyright: ignore


def needed(text: str, module: str) -> str:
    """What a text needs of a module, and that of the bank's other modules."""
    helpers = definitions([inspect.getsource(sys.modules[module])])
    whole, _ = with_helpers(text, helpers, GIVEN)
    return SHARED.sub(written_out, whole.removesuffix(text))


def written_out(imported: re.Match) -> str:
    """What is imported of a module of the bank; the import itself where that is a whole module."""
    module, names = imported.groups()
    is_module = any(f"{module}.{element}" in sys.modules for element in re.findall(r"\w+", names))
    return imported[0] if is_module else needed(names, module)


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
        name: [own_text(answer) for answer in exercise.valid_answers if not rebound(answer)]
        for name, exercise in exercises(chapter).items()
        if not isinstance(exercise, JudgesItself)
    }
    # what the chapter itself has made is not there, nor are the bank's modules
    hidden = f"attncourse.{chapter}", "attncourse.course"
    waiting = {
        name: [text for text in texts if not any(x in "".join(text) for x in hidden)]
        for name, texts in waiting.items()
    }
    while any(waiting.values()):
        notebook = nbformat.read(exercise_files()[chapter], as_version=4)
        answers = {name: texts.pop() for name, texts in waiting.items() if texts}
        cells = {cell.id: cell for cell in notebook.cells}
        for name, (text, helpers) in answers.items():
            free, answer, checked = layout(name, text, helpers)
            if answer:
                cells[f"answer-{name}"].source = f"# exercise: {name}\n{answer}"
            check = cells[f"check-{name}"]
            check.source = f'from attncourse import check\n\ncheck("{name}", {checked})'
            if free:
                place = notebook.cells.index(cells[f"answer-{name}"])
                notebook.cells.insert(place, new_code_cell(free))
        yield notebook, answers


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chapter", chapters())
def test_a_right_answer_passes_in_each_layout(tmp_path, chapter, layout):
    judged, refused = 0, []
    for number, (notebook, answers) in enumerate(notebooks(chapter, layout)):
        report = grade(write_notebook(tmp_path, notebook, f"{number}.ipynb"), seed=7)
        results = [result for result in report.exercises if result.name in answers]
        judged += len(results)
        refused += [
            (result, answers[result.name]) for result in results if result.status != "passed"
        ]
    assert judged and not refused
