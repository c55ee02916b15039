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


def write(book: Path, texts: dict[str, str]) -> Path:
    """Write a book with these texts by path, over FILES; its chapter is `chapters/one.md`."""
    for name, text in (FILES | texts).items():
        (book / name).parent.mkdir(parents=True, exist_ok=True)
        (book / name).write_text(text, "utf-8")
    shutil.copy(ROOT / "_config.yml", book)
    shutil.copytree(ROOT / "tools" / "theme", book / "tools" / "theme")
    return book


def build(book: Path, **environment: str) -> subprocess.CompletedProcess:
    """Build a book in a subprocess."""
    command, env = [sys.executable, "-m", "tools.site", str(book)], os.environ | environment
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
