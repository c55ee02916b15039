"""Run the cells of the book's pages, as many pages at a time as there are cores, and keep outputs.

A page runs again when its cells have changed, or a module of the package that they imported.
"""

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attncourse

PACKAGE = Path(attncourse.__file__).parent
NOT_READ = {"_build", "__pycache__", "tests", "benchmarks"}
# run after a page's own cells: the files of the course's modules that they have imported
IMPORTED = """
import json, sys
print(json.dumps(sorted(
    module.__file__ for name, module in list(sys.modules.items())
    if name.partition(".")[0] == "attncourse" and getattr(module, "__file__", None)
)))
"""


class BuildError(Exception):
    """The site could not be built; the message says where and why."""


def source_files(folder: Path) -> list[Path]:
    """What an author writes below a folder, sorted; hidden files are an editor's or a system's."""
    files = []
    for parent, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if name not in NOT_READ and not name.startswith(".")]
        files += [Path(parent, name) for name in names if not name.startswith(".")]
    return sorted(files)


def digest(files: Iterable[Path], root: Path, *more: str) -> str:
    """One short name for these strings, and for the content of these files below the root."""
    total = hashlib.sha256("\0".join(more).encode())
    # a file may have been removed since it was listed
    for path in filter(Path.is_file, sorted(files)):
        name = path.relative_to(root).as_posix()
        total.update(f"\0{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def versions() -> str:
    """Python's version and those of the libraries: outputs made with others are stale."""
    pins = PACKAGE.parent / "requirements.txt"
    return sys.version + (pins.read_text("utf-8") if pins.is_file() else "")


def package_files() -> list[Path]:
    """The package's sources: its modules, and the scripts and styles that its figures carry."""
    return [path for path in source_files(PACKAGE) if path.suffix in {".py", ".js", ".css"}]


def package_digest() -> str:
    """The state of the whole package."""
    return digest(package_files(), PACKAGE, versions())


def module_states() -> dict[str, str]:
    """The content of every source file of the package, in short, by its name."""
    return {
        path.relative_to(PACKAGE).as_posix(): digest([path], PACKAGE) for path in package_files()
    }


def made_with(imported: Iterable[str], states: dict[str, str]) -> str:
    """The state of what a page imported, and of the list of all modules, which some pages show."""
    # which scripts and styles a figure reads is not traced: all of them count
    read = sorted({*imported, *(name for name in states if not name.endswith(".py"))})
    return digest((), PACKAGE, versions(), *states, *(states.get(name, "") for name in read))


def execution_cache(book: Path) -> Path:
    """Where the cells' outputs are kept."""
    return book / ".cache" / "execution"


def notebooks(book: Path) -> list[Path]:
    """The pages in the table of contents that have cells to run, in its order."""
    from myst_nb.core.read import is_myst_markdown_notebook
    from sphinx_external_toc.parsing import parse_toc_yaml

    pages = [book / f"{name}.md" for name in parse_toc_yaml(book / "_toc.yml")]
    missing = [str(page.relative_to(book)) for page in pages if not page.is_file()]
    if missing:
        raise BuildError(f"_toc.yml names pages that do not exist: {', '.join(missing)}")
    return [page for page in pages if is_myst_markdown_notebook(page.read_text("utf-8"))]


def execute(book: Path, say=print) -> list[str]:
    """Run the cells of every page whose outputs are not fresh; the names of those pages.

    A page that fails is named when all have run, and the outputs of the others are kept.
    """
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from myst_nb.core.read import myst_nb_reader_plugin

    cache = get_cache(str(execution_cache(book)))
    # as they are before the cells run: what is edited meanwhile makes the outputs stale
    states = module_states()
    read = {page: myst_nb_reader_plugin(str(page)) for page in notebooks(book)}
    stale = {page: one for page, one in read.items() if not fresh(cache, one, states)}
    if not stale:
        return []
    # the first import of matplotlib on a machine may announce its font cache on a page's stderr
    import matplotlib.font_manager  # noqa: F401

    say(f"running the cells of {', '.join(page.stem for page in stale)}")
    failures = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {page: pool.submit(run, one, page, book) for page, one in stale.items()}
        for page, job in jobs.items():
            try:
                imported = job.result()
            except BuildError as failure:
                failures.append(str(failure))
                continue
            data = {"imported": imported, "made_with": made_with(imported, states)}
            bundle = CacheBundleIn(stale[page], str(page), data=data)
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    if failures:
        raise BuildError("\n".join(failures))
    return [page.relative_to(book).as_posix() for page in stale]


def fresh(cache, notebook, states: dict[str, str]) -> bool:
    """Whether the cache has outputs of these cells that were made with today's modules."""
    try:
        record = cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    if record.data.get("made_with") == made_with(record.data.get("imported", ()), states):
        return True
    cache.remove_cache(record.pk)
    return False


def run(notebook, page: Path, book: Path) -> list[str]:
    """Run one page's cells in place; the modules of the package that they imported, as paths.

    A cell that fails is a BuildError, which says its page, its line, how it begins and why.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbformat.v4 import new_code_cell

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
    notebook.cells.append(new_code_cell(IMPORTED))
    path = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    # pages share the cores; and on one thread a sum is the same however many pages run
    settings = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path)}
    try:
        asyncio.run(client.async_execute(env=os.environ | settings))
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        failed = isinstance(error, CellExecutionError)
        why = f"{error.ename}: {error.evalue}" if failed else str(error).strip().splitlines()[0]
        line = notebook.metadata.source_map[started[-1]] + 1
        first = notebook.cells[started[-1]].source.strip().split("\n")[0]
        name = page.relative_to(book).as_posix()
        raise BuildError(f"{name}:{line}: the cell failed: {first}\n    {why}") from error
    files = json.loads(notebook.cells.pop().outputs[0].text)
    return [Path(file).relative_to(PACKAGE).as_posix() for file in files]
