"""Run the cells of the book's pages, a page on each core, and cache the outputs.

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
IGNORED_FOLDERS = {"_build", "__pycache__", "tests"}
# the cache of cell outputs, in the folder of a book
OUTPUT_CACHE = Path(".cache", "execution")


class BuildError(Exception):
    """The site could not be built; the message says where and why."""


def source_files(folder: Path, without: tuple[str, ...] = ()) -> Iterator[Path]:
    """The files below a folder, without hidden ones and those in folders that builds write."""
    # built folders are not walked, because `make book` looks twice a second
    ignored = (*IGNORED_FOLDERS, *without)
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ignored and name[0] != ".")
        relevant = (name for name in sorted(names) if name not in ignored and name[0] != ".")
        for path in (Path(parent, name) for name in relevant):
            # a file may have been removed since it was listed
            if path.is_file():
                yield path


def digest(folder: Path, *texts: str, without: tuple[str, ...] = ()) -> str:
    """Hash of these strings and of the files below a folder, names included: 16 hex digits."""
    sha = hashlib.sha256("\0".join(texts).encode())
    for path in source_files(folder, without):
        name = path.relative_to(folder).as_posix()
        sha.update(f"\0{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return sha.hexdigest()[:16]


def package_digest(without: tuple[str, ...] = ()) -> str:
    """Digest of the package (but for files of these names), the judge, Python and the libraries."""
    judge, pins = digest(PACKAGE.parent / "judge"), PACKAGE.parent / "requirements.txt"
    return digest(PACKAGE, judge, sys.version, pins.read_text("utf-8"), without=without)


def notebooks(book: Path) -> dict:
    """The pages with cells, as notebooks by path, in the order of the table of contents."""
    from myst_nb.core.read import is_myst_markdown_notebook, myst_nb_reader_plugin
    from sphinx_external_toc.parsing import parse_toc_yaml

    pages = (book / f"{name}.md" for name in parse_toc_yaml(book / "_toc.yml"))
    return {
        page: myst_nb_reader_plugin(str(page))
        for page in pages
        # Sphinx names a page that is missing
        if page.is_file() and is_myst_markdown_notebook(page.read_text("utf-8"))
    }


def output_cache(book: Path):
    """The cache of cell outputs, emptied first where the package has changed since."""
    from jupyter_cache import get_cache

    # no cell asks a question
    state, folder = package_digest(without=("questions.py",)), book / OUTPUT_CACHE
    stamp = folder / "made_with"
    if not stamp.is_file() or stamp.read_text("utf-8") != state:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        stamp.write_text(state, "utf-8")
    return get_cache(str(folder))


def execute(book: Path, log=print) -> list[str]:
    """Run the cells of every page without cached outputs, and return the names of those pages.

    BuildError, when all have run, names those that failed; the others' outputs are cached.
    """
    from jupyter_cache.base import CacheBundleIn

    # as the package is before the cells run: what is edited meanwhile makes the outputs stale
    cache, stale = output_cache(book), {}
    for page, notebook in notebooks(book).items():
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            stale[page] = notebook
    if not stale:
        return []
    names = [page.relative_to(book).as_posix() for page in stale]
    log(f"running the cells of {', '.join(names)}")
    # pages share the cores; and on one thread a sum is the same however many pages run
    os.environ["OMP_NUM_THREADS"] = "1"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = list(pool.map(run_page, stale, stale.values(), [book] * len(stale)))
    for page, fault in zip(stale, faults, strict=True):
        if not fault:
            bundle = CacheBundleIn(stale[page], str(page))
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    if any(faults):
        raise BuildError("\n".join(filter(None, faults)))
    return names


def run_page(page: Path, notebook, book: Path) -> str:
    """Run a page's cells in place; return where and why one failed, or an empty string."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, DeadKernelError
    from sphinx.util.console import strip_escape_sequences

    from tools.forked_kernels import ForkedKernelManager

    started = []
    client = NotebookClient(
        notebook,
        timeout=300,
        # the cache compares the cells' metadata too, and finds no page whose cells carry times
        record_timing=False,
        kernel_manager_class=ForkedKernelManager,
        resources={"metadata": {"path": str(page.parent)}},
        on_cell_start=lambda cell, cell_index: started.append(cell_index),
    )
    try:
        asyncio.run(client.async_execute(measured=book / OUTPUT_CACHE / "measured"))
        return ""
    except (CellControlSignal, DeadKernelError) as error:
        line = notebook.metadata.source_map[started[-1]] + 1
        reason = strip_escape_sequences(str(error))
        return f"{page.relative_to(book)}:{line}: the cell failed: {reason}"
