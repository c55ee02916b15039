"""Build the site: `make site`.

The pages' cells run first, so that a failing one is named; Sphinx then takes their outputs from
the cache. Nothing runs when nothing that the site is made of has changed.
"""

import argparse
import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

import attncourse
from attncourse.publish.address import repository_url

PACKAGE = Path(attncourse.__file__).parent
NOT_READ = {"_build", "__pycache__", "tests", "benchmarks"}


class BuildFailed(Exception):
    """The site could not be built; the message says where and why."""


def digest(files, *more: str) -> str:
    """One short name for the content of these files and strings."""
    total = hashlib.sha256("\0".join(more).encode())
    for path in sorted(files):
        total.update(f"\0{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def package_digest() -> str:
    """The package's state: outputs made with another state of it are stale."""
    parts = [path for kind in ("py", "js", "css") for path in PACKAGE.rglob(f"*.{kind}")]
    return digest(parts, sys.version)


def execution_cache(book: Path) -> Path:
    """Where the cells' outputs are kept, one folder for one state of the package."""
    return book / ".cache" / "execution" / package_digest()


def book_digest(book: Path) -> str:
    """The state of everything that the site is made of."""
    files = []
    for folder, inner, names in os.walk(book):
        inner[:] = [name for name in inner if name not in NOT_READ and not name.startswith(".")]
        files += [Path(folder, name) for name in names]
    return digest(files, package_digest(), repository_url())


def notebooks(book: Path) -> list[Path]:
    """The pages in the table of contents that have cells to run, in its order."""
    from myst_nb.core.read import is_myst_markdown_notebook
    from sphinx_external_toc.parsing import parse_toc_yaml

    pages = [book / f"{name}.md" for name in parse_toc_yaml(book / "_toc.yml")]
    missing = [str(page.relative_to(book)) for page in pages if not page.is_file()]
    if missing:
        raise BuildFailed(f"_toc.yml names pages that do not exist: {', '.join(missing)}")
    return [page for page in pages if is_myst_markdown_notebook(page.read_text("utf-8"))]


def execute(book: Path, say=print) -> None:
    """Run the cells of every page whose outputs are not in the cache."""
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from myst_nb.core.read import myst_nb_reader_plugin

    here = execution_cache(book)
    for other in here.parent.glob("*"):
        if other != here:
            shutil.rmtree(other)
    cache = get_cache(str(here))
    pages = notebooks(book)
    for number, page in enumerate(pages, start=1):
        name = page.relative_to(book).as_posix()
        notebook = myst_nb_reader_plugin(str(page))
        try:
            cache.match_cache_notebook(notebook)
            continue
        except KeyError:
            say(f"running the cells of {name} (page {number} of {len(pages)} with cells)")
        start = time.monotonic()
        run(notebook, page, name)
        cache.cache_notebook_bundle(
            CacheBundleIn(
                notebook, str(page), data={"execution_seconds": time.monotonic() - start}
            ),
            check_validity=False,
            overwrite=True,
        )


def run(notebook, page: Path, name: str) -> None:
    """Run one page's cells in place; a cell that fails or writes to stderr is a BuildFailed."""
    # the first import of matplotlib on a machine may announce its font cache on a page's stderr
    import matplotlib.font_manager  # noqa: F401
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    started = []
    client = NotebookClient(
        notebook,
        timeout=120,
        # the cache compares the cells' metadata too, and finds no page whose cells carry times
        record_timing=False,
        # the kernel's own notes at start-up are not the page's
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(page.parent)}},
        on_cell_start=lambda cell, cell_index: started.append(cell_index),
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise BuildFailed(
            f"{cell_name(notebook, started[-1], name)}\n    {error.ename}: {error.evalue}"
        ) from error
    except (CellTimeoutError, DeadKernelError) as error:
        why = str(error).strip().splitlines()[0]
        raise BuildFailed(f"{cell_name(notebook, started[-1], name)}\n    {why}") from error
    for index, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise BuildFailed(
                    f"{cell_name(notebook, index, name)}\n    it wrote to stderr: {output.text}"
                )


def cell_name(notebook, index: int, page: str) -> str:
    """Which cell, as an author finds it: page, number among the code cells, line, first line."""
    number = sum(cell.cell_type == "code" for cell in notebook.cells[: index + 1])
    line = notebook.metadata.source_map[index] + 1
    first = notebook.cells[index].source.strip().split("\n")[0]
    return f"{page}, cell {number} (line {line}) failed: {first}"


def build(book: Path, say=print) -> Path:
    """The built site's folder; raises BuildFailed where a cell fails or Sphinx warns."""
    site, stamp = book / "_build" / "html", book / ".cache" / "site"
    state = book_digest(book)
    if stamp.is_file() and stamp.read_text() == state and (site / "index.html").is_file():
        say("the site is up to date")
        return site
    stamp.unlink(missing_ok=True)
    execute(book, say)
    say("making the pages (Sphinx; a warning is an error)")
    from jupyter_book.sphinx import build_sphinx
    from sphinx.util.console import nocolor

    if not sys.stderr.isatty():
        nocolor()
    status = build_sphinx(
        book,
        site,
        path_config=book / "_config.yml",
        noconfig=True,
        confoverrides={
            "external_toc_path": str(book / "_toc.yml"),
            "latex_individualpages": False,
            "nitpicky": True,
        },
        quiet=True,
        warningiserror=True,
        keep_going=True,
    )
    if status:
        raise BuildFailed("Sphinx warned or failed: the lines above name the page and the line")
    stamp.write_text(state)
    return site


def main() -> int:
    """Build the book in a folder, and say in one line how that went."""
    parser = argparse.ArgumentParser(prog="attncourse.publish.site", description=__doc__)
    parser.add_argument("book", nargs="?", type=Path, default=Path(), help="the book's folder")
    start = time.monotonic()
    try:
        site = build(
            parser.parse_args().book.resolve(), lambda line: print(f"==> {line}", flush=True)
        )
    except BuildFailed as failure:
        print(f"==> the site was not built: {failure}", file=sys.stderr)
        return 1
    print(f"==> the site is in {os.path.relpath(site)} ({time.monotonic() - start:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
