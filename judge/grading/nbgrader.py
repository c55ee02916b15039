"""The exercises as an assignment of nbgrader: its marks on the cells, a check that raises."""

import shutil
from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from judge.course import course
from judge.grading.pristine import chapters, own

# https://nbgrader.readthedocs.io/en/stable/contributor_guide/metadata.html
SCHEMA = 3
RAISES = """
# nbgrader gives points to a cell that raises nothing
from {notebook} import passed

assert passed("{name}"), "{name} is not passed: the line above says why"\
"""


def assignment(chapter: str) -> NotebookNode:
    """The notebook of a chapter's exercises, to lie in nbgrader's `source`.

    Answers are cells like any other, which nbgrader leaves alone: in its own form it would replace
    the given code by a line of its own.
    """
    notebook = deepcopy(chapters()[chapter].notebook)
    points: dict[str, int] = {}
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "answer" in tags:
            facts = own(cell)
            points[facts["exercise"]] = facts["points"]
        elif "check" in tags:
            name = cell.id.removeprefix("check-")
            cell.source += "\n" + RAISES.format(name=name, notebook=course().session)
            mark(cell, grade=True, points=points[name])
        else:
            mark(cell, grade=False)
    return notebook


def mark(cell: NotebookNode, grade: bool, **more: int) -> None:
    cell.metadata["nbgrader"] = {
        "schema_version": SCHEMA,
        "grade_id": cell.id,
        "grade": grade,
        "solution": False,
        "locked": True,
        "task": False,
        **more,
    }


def write(folder: Path, only: list[str]) -> list[Path]:
    """Write `CHAPTER/CHAPTER.ipynb` for each chapter, as nbgrader's `source` has it.

    What the course tells the learners' coding assistants lies beside each.
    """
    written, tutor = [], course().notebooks / "AGENTS.md"
    for chapter in only or list(chapters()):
        path = folder / chapter / f"{chapter}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(assignment(chapter), path)
        if tutor.is_file():
            shutil.copy(tutor, path.parent)
        written.append(path)
    return written
