"""The rules that hold the course together.

A rule takes the folder of a course and yields what is wrong in it and what to do about that.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest
import yaml

from tests import ROOT
from tests.taught_code import long_functions
from tools.book import chapter_texts
from tools.exercise_texts import text_files

# the files of each chapter, and how to get them
WRITE, RELEASE = "write it, or take the chapter out", "run `make release`"
PARTS = {
    "chapters/{}.md": WRITE,
    "chapters/{}.ipynb": RELEASE,
    "attncourse/{}.py": WRITE,
    "attncourse/course/{}/claims.py": WRITE,
    "attncourse/course/{}/questions.py": WRITE,
    "attncourse/course/{}/exercises/index.md": WRITE,
    "exercises/{}.ipynb": RELEASE,
    "tests/attncourse/test_{}.py": WRITE,
    "tests/course/false_of/{}.py": WRITE,
}
# and those of a chapter with a page that goes deeper
DEEPER_PARTS = {"deeper/{}.md": WRITE, "deeper/{}.ipynb": RELEASE}
# the entry of each chapter in the pages of the reference
REFERENCE_ENTRIES = {
    "reference/api.md": ("attncourse.{}\n", "automodule"),
    "reference/claims.md": ('\nledger("{}")\n', "ledger"),
}
# english loads models of later chapters, so that an earlier one may look at them; the workbench
# compares the methods of all
ALL_CHAPTER_MODULES = ("english", "workbench")
COMPUTING = ("torch", "jaxtyping", "einops", "math", "collections", "contextlib", "functools")
# checks of signatures and of the precision, which a mechanism takes for granted
DECORATORS = ("attncourse.shapes", "attncourse.precision")
DRAWING = ("figures", "drawing")
JUDGING = ("judge", "grading", "judging", "answers")
FORBIDDEN_PATTERNS = {
    r"/(?:home|Users|root|work|mnt)/\w|\b[A-Z]:\\\w": "a path of one machine",
    r"\.\./shared": "a folder beside the checkout",
    r"pypi\.org|pythonhosted\.|npmjs\.|download\.pytorch\.org|index[-]url": "a package registry",
}
PROBE = """
import importlib, sys
loaded = set()
for module in sys.argv[1:]:
    importlib.import_module(module)
    libraries = {"torch", "matplotlib", "nbval"} & set(sys.modules)
    print(module, *sorted(libraries - loaded))
    loaded |= libraries
"""


def slugs(root: Path) -> list[str]:
    """The chapters of `_toc.yml`, in order."""
    parts = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))["parts"]
    files = [entry["file"] for part in parts for entry in part["chapters"]]
    return [file.removeprefix("chapters/") for file in files if file.startswith("chapters/")]


# the pages of all chapters
TEXTS = [path for slug in slugs(ROOT) for path in chapter_texts(ROOT, slug)]


def missing_chapter_parts(root: Path) -> Iterator[str]:
    parts = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))["parts"]
    entries = {entry["file"]: entry for part in parts for entry in part["chapters"]}
    for slug in slugs(root):
        sections = [entry["file"] for entry in entries[f"chapters/{slug}"].get("sections", [])]
        if f"exercises/{slug}" not in sections:
            yield f"exercises/{slug} is not a section of chapters/{slug} in _toc.yml: add it there"
        deeper = f"deeper/{slug}" in sections or (root / f"deeper/{slug}.md").exists()
        if deeper and f"deeper/{slug}" not in sections:
            yield f"deeper/{slug} is not a section of chapters/{slug} in _toc.yml: add it there"
        for pattern, remedy in (PARTS | (DEEPER_PARTS if deeper else {})).items():
            path = pattern.format(slug)
            # a module may be a folder
            package = (root / path).with_suffix("") / "__init__.py"
            if not (root / path).is_file() and not package.is_file():
                yield f"chapters/{slug} is in _toc.yml but {path} is missing: {remedy}"
        for page, (reference_entry, name) in REFERENCE_ENTRIES.items():
            if reference_entry.format(slug) not in (root / page).read_text("utf-8"):
                yield f"{page} does not show chapter {slug}: add its {name} there"


def parts_without_chapter(root: Path) -> Iterator[str]:
    texts = ("chapters/*.md", "deeper/*.md", "exercises/*.ipynb")
    for pattern in (*texts, "attncourse/course/*/__init__.py"):
        for path in root.glob(pattern):
            slug = path.parent.name if path.suffix == ".py" else path.stem
            if slug not in slugs(root):
                file = path.relative_to(root).as_posix()
                yield f"{file} has no chapter: add chapters/{slug} to _toc.yml, or delete it"


def unlisted_exercises(root: Path) -> Iterator[str]:
    for slug in slugs(root):
        index, *listed = text_files(root, slug)
        for path in sorted({*index.parent.glob("*.md")} - {index}):
            file = path.relative_to(root).as_posix()
            if path not in listed:
                yield f"{file} is not listed: write its name into index.md beside it"
            if not path.with_suffix(".py").is_file():
                yield f"{file} has no bank beside it: write {path.stem}.py"


def imports(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and full name of each import in a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = path.relative_to(root).parts[: -node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def is_within(name: str, *modules: str) -> bool:
    return any(f"{name}.".startswith(f"{module}.") for module in modules)


def import_objection(path: tuple[str, ...], name: str, chapters: list[str]) -> str:
    """Why a module, given by its path in the package, may not import a name; else empty."""
    if is_within(name, "matplotlib") and path != DRAWING:
        return "computing must not need matplotlib: draw in attncourse/figures/drawing.py"
    match path:
        case (slug, *_) if slug in chapters:
            earlier = (f"attncourse.{chapter}" for chapter in chapters[: chapters.index(slug) + 1])
            if is_within(name, *COMPUTING, *DECORATORS, f"attncourse.kernels.{slug}", *earlier):
                return ""
            allowed_names = ", ".join(COMPUTING + DECORATORS)
            return f"a mechanism needs only {allowed_names}, its fast form and earlier mechanisms"
        case ("kernels", slug) if slug in chapters:
            allowed = chapters[: chapters.index(slug)]
            reason = "a fast form is compared with what its chapter teaches: it may not call that"
        case ("course", slug, "exercises", *_) if slug in chapters:
            allowed = chapters[: chapters.index(slug)]
            reason = "a check that calls what it judges agrees with it: write the reference out"
        case ("course", slug, *_) if slug in chapters:
            allowed = chapters[: chapters.index(slug) + 1]
            reason = "a chapter has what it and earlier ones teach: move it to the later one"
        case ("judge", "grading", *_) if path != JUDGING and is_within(name, "torch"):
            return f"only the notebook's judge computes: move this to {'/'.join(JUDGING)}.py"
        case _:
            allowed = chapters if path[0] in (*ALL_CHAPTER_MODULES, "__init__") else []
            reason = "what helps every chapter knows no mechanism: take it as an argument"
    later = [slug for slug in chapters if slug not in allowed]
    modules = [
        f"attncourse.{module}" for slug in later for module in (slug, f"course.{slug}.claims")
    ]
    return reason if is_within(name, *modules) else ""


def forbidden_imports(root: Path) -> Iterator[str]:
    chapters = slugs(root)
    for path in sorted([*(root / "attncourse").rglob("*.py"), *(root / "judge").rglob("*.py")]):
        package, *parts = path.relative_to(root).with_suffix("").parts
        module_path = tuple(parts) if package == "attncourse" else (package, *parts)
        for line, name in imports(path, root):
            if reason := import_objection(module_path, name, chapters):
                yield f"{path.relative_to(root).as_posix()}:{line} imports {name}: {reason}"


def missing_benchmark_imports(root: Path) -> Iterator[str]:
    for path in sorted((root / "benchmarks").rglob("*.py")):
        for line, name in imports(path, root):
            if is_within(name, "attncourse", "judge"):
                try:
                    resolve_name(name)
                except (ImportError, AttributeError):
                    file = path.relative_to(root).as_posix()
                    yield f"{file}:{line} imports {name}, which is not there"


def heavy_imports(root: Path) -> Iterator[str]:
    modules = ["attncourse", *(f"attncourse.{slug}" for slug in slugs(root))]
    command = [sys.executable, "-c", PROBE, *modules]
    process = subprocess.run(command, cwd=root, capture_output=True, text=True)
    for line in process.stdout.splitlines():
        module, *heavy = line.split()
        for name in heavy:
            if name != "torch" or module == "attncourse":
                yield f"`import {module}` imports {name}: import it where it is used"
    if process.returncode:
        yield f"one of {', '.join(modules)} cannot be imported: {process.stderr.splitlines()[-1]}"


def outside_references(root: Path) -> Iterator[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    for name in sorted(set(names.split("\0")) - {""}):
        # a file that was deleted, but not yet in git, is still listed
        if not (root / name).is_file():
            continue
        content = (root / name).read_bytes()
        # a font or a picture has no lines
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            for pattern, fault in FORBIDDEN_PATTERNS.items():
                if match := re.search(pattern, line):
                    yield f"{name}:{number} names {fault}, {match[0]!r}: say it without"


RULES = [
    missing_chapter_parts,
    parts_without_chapter,
    unlisted_exercises,
    forbidden_imports,
    missing_benchmark_imports,
    heavy_imports,
    long_functions,
    outside_references,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_course_keeps_the_rule(rule):
    if rule is outside_references and not (ROOT / ".git").exists():
        pytest.skip("only a git checkout knows which files are the course's")
    faults = list(rule(ROOT))
    assert not faults, "\n".join(["", *faults])
