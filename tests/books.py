"""Small books to build, with the course's own settings and theme."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import ROOT

FILES = {
    "_toc.yml": "format: jb-book\nroot: index\nchapters: [{file: chapters/one}]\n",
    "index.md": "# Book\n\nA book.\n",
    "chapters/one.ipynb": "",
    "reference/references.bib": "",
}
# how a page with cells begins
NOTEBOOK = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n\n"


def write(book: Path, **pages: str) -> Path:
    """Write a book: its chapter is `one`, and another text of its frame may be given."""
    places = {"one": "chapters/one.md", "index": "index.md", "papers": "reference/references.bib"}
    for name, text in (FILES | {places.get(page, page): pages[page] for page in pages}).items():
        (book / name).parent.mkdir(parents=True, exist_ok=True)
        (book / name).write_text(text, "utf-8")
    shutil.copy(ROOT / "_config.yml", book)
    shutil.copytree(ROOT / "tools" / "theme", book / "tools" / "theme")
    return book


def build(book: Path, **environment: str) -> subprocess.CompletedProcess:
    """Build a book."""
    command, env = [sys.executable, "-m", "tools.site", str(book)], os.environ | environment
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
