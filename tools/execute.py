"""Run the cells of the book's pages, as many pages at a time as there are cores, and keep outputs.

A page runs again when its cells have changed, and every page when the package has.
"""

import asyncio
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attncourse

PACKAGE = Path(attncourse.__file__).parent
NOT_READ = {"_build", "__pycache__", "tests"}
# where a book keeps its cells' outputs
OUTPUTS = Path(".cache", "execution")


class BuildError(Exception):
    """The site could not be built; the message says where and why."""


def source_files(folder: Path, without: tuple[str, ...] = ()) -> Iterator[Path]:
    """What an author writes below a folder; hidden files are an editor's or a system's."""
    # what was built is not walked: `make book` looks twice a second
    passed = (*NOT_READ, *without)
    for parent, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if name not in passed and name[0] != ".")
        own = (name for name in sorted(names) if name not in passed and name[0] != ".")
        for path in (Path(parent, name) for name in own):
            # a file may have been removed since it was listed
            if path.is_file():
                yield path


def digest(folder: Path, *more: str, without: tuple[str, ...] = ()) -> str:
    """One short name for these strings, and for the content of the files below a folder."""
    total = hashlib.sha256("\0".join(more).encode())
    for path in source_files(folder, without):
        name = path.relative_to(folder).as_posix()
        total.update(f"\0{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def package_digest(without: tuple[str, ...] = ()) -> str:
    """The state of the package, but for files of these names, the judge, Python and libraries."""
    judge, pins = digest(PACKAGE.parent / "judge"), PACKAGE.parent / "requirements.txt"
    return digest(PACKAGE, judge, sys.version, pins.read_text("utf-8"), without=without)


def notebooks(book: Path) -> dict:
    """The pages in the table of contents that have cells to run, as notebooks, in its order."""
    from myst_nb.core.read import is_myst_markdown_notebook, myst_nb_reader_plugin
    from sphinx_external_toc.parsing import parse_toc_yaml

    pages = (book / f"{name}.md" for name in parse_toc_yaml(book / "_toc.yml"))
    return {
        page: myst_nb_reader_plugin(str(page))
        for page in pages
        # Sphinx names a page that is missing
        if page.is_file() and is_myst_markdown_notebook(page.read_text("utf-8"))
    }


def kept_outputs(book: Path):
    """The cache of the outputs that were made with the package as it is now, and no others."""
    from jupyter_cache import get_cache

    # no cell asks a question
    state, folder = package_digest(without=("questions.py",)), book / OUTPUTS
    stamp = folder / "made_with"
    if not stamp.is_file() or stamp.read_text("utf-8") != state:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        stamp.write_text(state, "utf-8")
    return get_cache(str(folder))


def execute(book: Path, say=print) -> list[str]:
    """Run the cells of every page whose outputs are not kept; the names of those pages.

    A page that fails is named when all have run, and the outputs of the others are kept.
    """
    from jupyter_cache.base import CacheBundleIn

    # as the package is before the cells run: what is edited meanwhile makes the outputs stale
    cache, stale = kept_outputs(book), {}
    for page, notebook in notebooks(book).items():
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            stale[page] = notebook
    if not stale:
        return []
    names = [page.relative_to(book).as_posix() for page in stale]
    say(f"running the cells of {', '.join(names)}")
    # pages share the cores; and on one thread a sum is the same however many pages run
    os.environ["OMP_NUM_THREADS"] = "1"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = list(pool.map(run, stale, stale.values(), [book] * len(stale)))
    for page, fault in zip(stale, faults, strict=True):
        if not fault:
            bundle = CacheBundleIn(stale[page], str(page))
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    if any(faults):
        raise BuildError("\n".join(filter(None, faults)))
    return names


def run(page: Path, notebook, book: Path) -> str:
    """Run one page's cells in place; where and why one has failed, or nothing."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, DeadKernelError
    from sphinx.util.console import strip_escape_sequences

    from tools.forked_kernels import CopiedKernel

    started = []
    client = NotebookClient(
        notebook,
        timeout=300,
        # the cache compares the cells' metadata too, and finds no page whose cells carry times
        record_timing=False,
        kernel_manager_class=CopiedKernel,
        resources={"metadata": {"path": str(page.parent)}},
        on_cell_start=lambda cell, cell_index: started.append(cell_index),
    )
    try:
        asyncio.run(client.async_execute(measured=book / OUTPUTS / "measured"))
        return ""
    except (CellControlSignal, DeadKernelError) as error:
        line = notebook.metadata.source_map[started[-1]] + 1
        why = strip_escape_sequences(str(error))
        return f"{page.relative_to(book)}:{line}: the cell failed: {why}"
