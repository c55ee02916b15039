"""The Python of a page as a zip: the judge, exercises of a chapter, and what they import."""

import ast
import io
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

from attncourse.course import COURSE
from tools.urls import ROOT

# what stands for torch in the page, all of it
TORCH = ROOT / "torch_over_numpy"
# libraries that are Python alone; numpy comes with Pyodide
PURE = ("einops", "jaxtyping", "wadler_lindig")
# the same files make the same zip
DATE = (1980, 1, 1, 0, 0, 0)


def course_zip(chapter: str, names: Iterable[str]) -> bytes:
    """The judge, and of a chapter these exercises, with all that they import."""
    index = COURSE.index(chapter)
    banks = [COURSE.one_of(chapter, name) for name in names]
    cells = {bank.task.imports for bank in banks}
    modules = {"judge.page_worker", COURSE.content, *(bank.module for bank in banks)}
    modules |= {name for cell in cells for name in imported(ast.parse(cell), [])}
    others = [index, *(index.with_name(f"{bank.name}.md") for bank in banks), *TORCH.rglob("*.*")]
    others = [file for file in others if file.suffix != ".pyc"]
    files = files_of(modules) | {place(ROOT, file): file for file in others}
    return zipped(files | metadata(name for name in PURE if f"{name}/__init__.py" in files))


def metadata(libraries: Iterable[str]) -> dict[str, Path]:
    """The files, by their places, in which libraries look up their own versions."""
    files = (file for name in libraries for file in distribution(name).files or ())
    return {str(file): Path(file.locate()) for file in files if file.name == "METADATA"}


def files_of(modules: Iterable[str]) -> dict[str, Path]:
    """The files of modules and of all that they import, by their places; not of other libraries."""
    waiting, found = [*modules], {}
    while waiting:
        name = waiting.pop()
        if not name or (path := path_of(name)) is None or place(*path) in found:
            continue
        root, file = path
        found[place(root, file)] = file
        package = name.split(".")[: None if file.stem == "__init__" else -1]
        waiting += [name.rpartition(".")[0], *imported(ast.parse(file.read_text("utf-8")), package)]
    return found


def imported(tree: ast.Module, package: list[str]) -> Iterator[str]:
    """The full names that a module of that package imports, each of which may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def path_of(name: str) -> tuple[Path, Path] | None:
    """The file of a module that a page has, behind the folder that it is imported from."""
    top = name.partition(".")[0]
    root = ROOT
    if top in PURE and (spec := find_spec(top)):
        root = Path(spec.origin).parents[1]
    elif top not in ("attncourse", "judge"):
        return None
    file = root.joinpath(*name.split("."))
    paths = (file / "__init__.py", file.with_suffix(".py"))
    return next(((root, path) for path in paths if path.is_file()), None)


def place(root: Path, file: Path) -> str:
    return file.relative_to(root).as_posix()


def zipped(files: dict[str, Path]) -> bytes:
    """A zip of files, by their places."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, file in sorted(files.items()):
            archive.writestr(
                zipfile.ZipInfo(name, DATE), file.read_bytes(), zipfile.ZIP_DEFLATED, 9
            )
    return buffer.getvalue()
