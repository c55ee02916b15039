"""The exercise notebooks as they are handed out, in the installed package or in the checkout."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from judge.course import course
from judge.grading.notebook.repair import definitions

HEADING = re.compile(r"#+ (.*)")


@dataclass(frozen=True)
class Chapter:
    """A pristine notebook: its answer cells by exercise, all its texts, and what its cells make.

    `facts` has what their metadata says of each exercise: its title, its points, and, of one that
    has weights, the name of their file.
    """

    notebook: NotebookNode
    stubs: dict[str, str]
    facts: dict[str, dict]
    texts: set[str]
    given: set[str]


def exercise_files() -> dict[str, Path]:
    """The pristine exercise notebooks by chapter."""
    return {path.stem: path for path in sorted(course().notebooks.glob("*.ipynb"))}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@cache
def chapters() -> dict[str, Chapter]:
    """The pristine notebooks, read once."""
    read_in = {}
    for slug, file in exercise_files().items():
        notebook = nbformat.read(file, as_version=4)
        answers = answer_cells(notebook)
        stubs = {name: cell.source for name, cell in answers.items()}
        facts = {name: own(cell) for name, cell in answers.items()}
        code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        given = set(definitions(text for text in code if text not in stubs.values()).names)
        read_in[slug] = Chapter(notebook, stubs, facts, {text.strip() for text in code}, given)
    return read_in


def heading(chapter: str) -> str:
    """The title of a chapter's notebook."""
    for cell in chapters()[chapter].notebook.cells:
        if cell.cell_type == "markdown" and (title := HEADING.match(cell.source)):
            return title[1]
    return chapter


def answer_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The answer cells of a pristine notebook by exercise."""
    tagged = (cell for cell in notebook.cells if "answer" in cell.metadata.get("tags", []))
    return {own(cell)["exercise"]: cell for cell in tagged}


def own(cell: NotebookNode) -> dict:
    """What the metadata of a pristine answer cell say of its exercise."""
    return cell.metadata[course().metadata_key]


def weight_files() -> set[str]:
    """The names of all files with weights that an exercise asks for."""
    facts = [one for chapter in chapters().values() for one in chapter.facts.values()]
    return {one["weights"] for one in facts if "weights" in one}
