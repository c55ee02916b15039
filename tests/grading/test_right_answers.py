"""Each right answer of the banks passes within what a grader lets it use and take.

In what other places a notebook may hold an answer is tried in test_forms.py.
"""

import inspect
import re
import sys
from collections.abc import Callable

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from attncourse.course import chapters, exercises
from judge.exercise import Exercise, JudgesItself
from judge.grading.grade import grade
from judge.grading.notebook.pristine import exercise_files
from judge.grading.notebook.repair import definitions, with_helpers
from judge.variants import source_of
from tests.grading.submissions import write_notebook

# the names that the notebooks import themselves
IMPORTED_NAMES = {"torch", "Tensor"}
SHARED_IMPORT = re.compile(
    r"^from (attncourse\.course\.[\w.]+) import (\([\w,\s]+\)|[\w, ]+)$", re.MULTILINE
)
# they put a function into the bank, and need all that it is made of
DECORATOR = re.compile(r"^@exercise\..*\n", re.MULTILINE)


def answer_text(exercise: Exercise, answer: Callable) -> tuple[str, str]:
    """The text of a right answer of a bank, and what it needs of the worked one's and the bank."""
    text, cell = source_of(answer), exercise.task.code("answer") if exercise.task else ""
    return text, needed_source(text, answer.__module__, cell)


def is_rebound(answer: Callable) -> bool:
    """Whether an answer calls other functions than those that its text names."""
    change = getattr(answer, "made_by", None)
    return change is not None and (bool(change.names) or is_rebound(change.answer))


def needed_source(text: str, module: str, cell: str = "") -> str:
    """The source that a text needs of a module, of the bank's other modules and of a cell."""
    helpers = definitions([DECORATOR.sub("", inspect.getsource(sys.modules[module])), cell])
    full_text, _ = with_helpers(text, helpers, IMPORTED_NAMES)
    return SHARED_IMPORT.sub(replace_import, full_text.removesuffix(text))


def replace_import(match: re.Match) -> str:
    """The imported source of a module of the bank; the import itself if it is of a module."""
    module, names = match.groups()
    is_module = any(f"{module}.{element}" in sys.modules for element in re.findall(r"\w+", names))
    return match[0] if is_module else needed_source(names, module)


def defined_name(text: str) -> str:
    return text.partition("(")[0].partition(":")[0].split()[-1]


def notebooks(chapter: str):
    """Yield notebooks that together hold each right answer once, each with its answers.

    What an answer needs stands in a cell above it.
    """
    texts_by_exercise = {
        name: [
            answer_text(exercise, answer_cell)
            for answer_cell in exercise.valid_answers
            if not is_rebound(answer_cell)
        ]
        for name, exercise in exercises(chapter).items()
        if not isinstance(exercise, JudgesItself)
    }
    # a grader's kernel has neither the chapter's own module nor the bank's modules nor the judge
    hidden = f"attncourse.{chapter}", "attncourse.course", "judge"
    texts_by_exercise = {
        name: [text for text in texts if not any(x in "".join(text) for x in hidden)]
        for name, texts in texts_by_exercise.items()
    }
    while any(texts_by_exercise.values()):
        notebook = nbformat.read(exercise_files()[chapter], as_version=4)
        answers = {name: texts.pop() for name, texts in texts_by_exercise.items() if texts}
        cells = {cell.id: cell for cell in notebook.cells}
        for name, (text, helpers) in answers.items():
            cell = cells[f"answer-{name}"]
            cell.source = f"# exercise: {name}\n{text}\n{name} = {defined_name(text)}"
            if helpers:
                notebook.cells.insert(notebook.cells.index(cell), new_code_cell(helpers))
        yield notebook, answers


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("chapter", chapters())
def test_a_right_answer_passes_in_a_notebook(tmp_path, chapter):
    result_count, refused = 0, []
    for number, (notebook, answers) in enumerate(notebooks(chapter)):
        report = grade(write_notebook(tmp_path, notebook, f"{number}.ipynb"), seed=7)
        results = [result for result in report.exercises if result.name in answers]
        result_count += len(results)
        refused += [
            (result, answers[result.name]) for result in results if result.status != "passed"
        ]
    assert result_count and not refused
