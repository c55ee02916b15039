"""Writes the notebooks into the tree, and tells which are not as their text makes them."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import nbformat

from tools.book import Book
from tools.notebooks import chapter_notebook, exercise_notebook
from tools.urls import ROOT, repository_url


def texts(book: Book, exercises: Mapping | None = None) -> dict[Path, str]:
    """What each notebook of the course holds, by its place in the tree."""
    made = {}
    for slug in book.slugs:
        made[book.root / f"chapters/{slug}.ipynb"] = chapter_notebook(slug, book)
        made[book.root / f"exercises/{slug}.ipynb"] = exercise_notebook(slug, book, exercises)
    return {path: nbformat.writes(notebook) + "\n" for path, notebook in made.items()}


def write(root: Path = ROOT, exercises: Mapping | None = None) -> list[Path]:
    """Write every notebook that is not as its text makes it; gives those that were written."""
    made = texts(Book(repository_url(root), root), exercises)
    changed = [path for path, text in made.items() if kept(path) != text]
    for path in changed:
        path.write_text(made[path], "utf-8")
    return changed


def stale(root: Path = ROOT, exercises: Mapping | None = None) -> list[Path]:
    """The notebooks that are not as their text makes them, whatever address they were made for.

    A fork's copies name the repository it came from until its first release: that is not stale.
    """
    seen = cache(lambda address: texts(Book(address, root), exercises))
    here = repository_url(root)
    return [path for path in seen(here) if kept(path) != seen(address_in(path) or here)[path]]


def kept(path: Path) -> str:
    """What the tree holds there, or nothing."""
    return path.read_text("utf-8") if path.exists() else ""


def address_in(path: Path) -> str | None:
    """The repository that a notebook in the tree was made for; None where it does not say."""
    try:
        return json.loads(kept(path))["metadata"]["attncourse"]["repository"]
    except (ValueError, KeyError):
        return None
