"""The learner's answers, taken out of whatever was handed in and set into the pristine notebook."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.reader import NotJSONError

import attncourse
from attncourse.cells import exercise_of

LARGEST = 20_000_000


class NotGradableError(ValueError):
    """A file in which there is nothing to grade; its text says why."""


@dataclass
class Graft:
    """A notebook ready to be judged: pristine but for the answers, with what was seen of each."""

    chapter: str
    notebook: NotebookNode
    found: set[str] = field(default_factory=set)
    notes: dict[str, str] = field(default_factory=dict)


def exercise_files() -> dict[str, Path]:
    """The pristine exercise notebooks by chapter: in the installed package, or in the checkout."""
    package = Path(attncourse.__file__).parent
    folders = (package / "exercises", package.parent / "exercises")
    folder = next((one for one in folders if one.is_dir()), folders[0])
    return {path.stem: path for path in sorted(folder.glob("*.ipynb"))}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(path: Path) -> NotebookNode:
    """The notebook in a file; NotGradableError with a plain reason where there is none."""
    if not path.is_file():
        raise NotGradableError("there is no such file")
    size = path.stat().st_size
    if size > LARGEST:
        raise NotGradableError(f"it has {size:,} bytes, more than {LARGEST:,}: clear its outputs")
    if not path.read_bytes().strip():
        raise NotGradableError("the file is empty")
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8-sig"), as_version=4)
        cells = [dict(cell) for cell in notebook.cells]
    except (NotJSONError, UnicodeDecodeError, RecursionError):
        raise NotGradableError("it is not a notebook: the file is not complete JSON") from None
    except Exception as error:
        raise NotGradableError(f"it is not a notebook ({type(error).__name__})") from None
    for cell in cells:
        if not isinstance(cell.get("source"), str):
            raise NotGradableError("it is not a notebook: a cell has no text")
    return notebook


def answered(cell: NotebookNode, known: set[str]) -> str | None:
    """Whose answer a cell is: by its metadata, else its id, else its first line."""
    metadata = cell.get("metadata")
    own = metadata.get("attncourse") if isinstance(metadata, dict) else None
    named = own.get("exercise") if isinstance(own, dict) else None
    candidates = (
        named,
        str(cell.get("id", "")).removeprefix("answer-"),
        exercise_of(cell["source"]),
    )
    return next((name for name in candidates if isinstance(name, str) and name in known), None)


def graft(path: Path) -> Graft:
    """Find which chapter a file answers, and set its answers into that chapter's notebook."""
    submission = read(path)
    pristine = {slug: nbformat.read(file, as_version=4) for slug, file in exercise_files().items()}
    names = {slug: set(answer_cells(notebook)) for slug, notebook in pristine.items()}
    everything = set().union(*names.values())
    seen = {answered(cell, everything) for cell in submission.cells}
    chapter = max(names, key=lambda slug: len(names[slug] & seen), default=None)
    if chapter is None or not names[chapter] & seen:
        raise NotGradableError(
            f"no exercise of the course is in it; the chapters are {sorted(names)}"
        )
    result = Graft(chapter, pristine[chapter])
    for name, cell in answer_cells(result.notebook).items():
        stub = cell.source
        copies = [c for c in submission.cells if answered(c, everything) == name]
        written = [c for c in copies if c["cell_type"] == "code"]
        if not written:
            if copies:
                result.notes[name] = "its cell is not a code cell"
            continue
        result.found.add(name)
        if len(written) > 1:
            result.notes[name] = (
                f"it is there {len(written)} times: the last one that was written counts"
            )
        changed = [c for c in written if c["source"].strip() != stub.strip()]
        cell.source = (changed or written)[-1]["source"]
    return result


def answer_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The answer cells of a pristine notebook by exercise."""
    return {
        cell.metadata["attncourse"]["exercise"]: cell
        for cell in notebook.cells
        if "answer" in cell.metadata.get("tags", [])
    }
