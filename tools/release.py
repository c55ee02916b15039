"""Write the pictures, the notebooks and Zenodo's record that are stale: `make release`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat

from tools import pictures, zenodo
from tools.book import Book
from tools.notebooks import chapter_notebook, deeper_notebook, exercise_notebook
from tools.urls import ROOT, repository_url

MAKERS = {
    "chapters": chapter_notebook,
    "deeper": deeper_notebook,
    "exercises": exercise_notebook,
}


def outdated_notebooks(repository: str, root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """The notebooks in the tree that are not as their text makes them, and what they should be."""
    book = Book(repository, root)
    for page in book.pages:
        folder, _, slug = page.partition("/")
        if folder in MAKERS:
            path, text = root / f"{page}.ipynb", nbformat.writes(MAKERS[folder](slug, book)) + "\n"
            if not path.exists() or path.read_text("utf-8") != text:
                yield path, text


def write(root: Path = ROOT) -> list[Path]:
    """Write every notebook that is not as its text makes it; gives those that were written."""
    changed = dict(outdated_notebooks(repository_url(root), root))
    for path, text in changed.items():
        path.write_text(text, "utf-8")
    return [*changed]


def stale(root: Path = ROOT) -> list[Path]:
    """The notebooks that are not as their text makes them, for the address that they name.

    A fork's name the repository that it came from until its first release: that is not stale.
    """
    first = min(root.glob("chapters/*.ipynb"), default=None)
    repository = nbformat.read(first, 4).metadata.attncourse.repository if first else None
    return [path for path, _ in outdated_notebooks(repository or repository_url(root), root)]


def main() -> str | None:
    """Write what is stale; gives the fault that keeps it from being written."""
    try:
        # the notebooks hold the pictures
        paths = pictures.write() + write() + zenodo.write()
    except (OSError, ValueError) as error:
        return str(error)
    names = ", ".join(path.relative_to(ROOT).as_posix() for path in paths)
    print(f"wrote {names}" if names else "all is up to date")
    return None


if __name__ == "__main__":
    sys.exit(main())
