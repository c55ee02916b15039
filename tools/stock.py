"""A page with the stock theme's styles, scripts and formulas, to weigh ours against.

It keeps our mends of the theme's HTML, so that only the weight differs.

`python -m tools.stock FOLDER PAGE` leaves it and the front page in FOLDER/_build/html;
a page is called as in the built site, such as chapters/dot_product.html.
"""

import shutil
import sys
from pathlib import Path

from tools.execute import execution_cache
from tools.urls import ROOT

# what makes our pages light: the formulas' renderer, and the joined styles and scripts
OURS = ("formulas", "outside", "slim")
TEMPLATES = ("layout.html", "search.html", "static")


def copy_book(folder: Path, book: Path = ROOT) -> None:
    """Copy the book's sources and its cells' outputs, without what makes its pages light."""
    skipped = shutil.ignore_patterns(".*", "_build", "tests", "benchmarks", "__pycache__")
    shutil.copytree(book, folder, ignore=skipped, dirs_exist_ok=True)
    shutil.copytree(execution_cache(book), execution_cache(folder), dirs_exist_ok=True)
    for name in TEMPLATES:
        path = folder / "tools" / "theme" / "templates" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in OURS:
        (folder / "tools" / "extensions" / f"{name}.py").write_text(
            "def setup(app):\n    pass\n", "utf-8"
        )


def main() -> int:
    """Build the copy; what Sphinx warns of is of no interest here."""
    from jupyter_book.sphinx import build_sphinx

    folder, page = Path(sys.argv[1]).resolve(), sys.argv[2].removesuffix(".html")
    copy_book(folder)
    contents = f"format: jb-book\nroot: index\nchapters: [{{file: {page}}}]\n"
    (folder / "_toc.yml").write_text(contents, "utf-8")
    status = build_sphinx(
        folder,
        folder / "_build" / "html",
        path_config=folder / "_config.yml",
        noconfig=True,
        confoverrides={
            "external_toc_path": str(folder / "_toc.yml"),
            "latex_individualpages": False,
        },
        really_quiet=True,
    )
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
