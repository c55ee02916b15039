"""The rules that hold the course together, and a broken course for each, to show that it fires.

A rule takes the folder of a course and yields what is wrong in it and what to do about that.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
import yaml

import attncourse
from tests import ROOT
from tests.taught_code import MAX_FUNCTION, what_is_taught_is_short

WRITE, RELEASE = "write it, or take the chapter out", "run `make release`"
STUB = "write it, so that it includes the chapter's solutions"
# what each chapter has, and how to get it
PARTS = {
    "chapters/{}.md": WRITE,
    "chapters/{}.ipynb": RELEASE,
    "attncourse/{}.py": WRITE,
    "attncourse/claims/{}.py": WRITE,
    "attncourse/checks/{}/__init__.py": WRITE,
    "solutions/{}.md": WRITE,
    "exercises/{}.md": STUB,
    "exercises/{}.ipynb": RELEASE,
    "tests/mechanisms/test_{}.py": WRITE,
    "tests/claims/false_of/{}.py": WRITE,
}
# what the pages of the reference have of each chapter
LISTED = {
    "reference/api.md": ("attncourse.{}\n", "automodule"),
    "reference/claims.md": ('\nledger("{}")\n', "ledger"),
}
# modules of the package that know no mechanism
HELPERS = {"__init__", "__main__", "aims", "cost", "course", "data", "devices", "precision"}
# of these, english alone loads models of later chapters, so that an earlier one may look at them
HELPERS |= {"english", "checks", "claims", "plot", "questions", "quiz", "shapes"}
HELPERS |= {"autograd", "stored", "train"}
COMPUTING = ("torch", "jaxtyping", "einops", "math", "collections", "contextlib", "functools")
# what a signature says, and the precision, that a mechanism takes for granted
DECORATORS = ("attncourse.shapes", "attncourse.precision")
DRAWING = {("plot", "drawing")}
# for the learners' coding assistants, who look beside the notebooks
TUTOR = "exercises/AGENTS.md"
OUTSIDE = {
    r"/(?:home|Users|root|work|mnt)/\w|\b[A-Z]:\\\w": "a path of one machine",
    r"\.\./shared": "a folder beside the checkout",
    r"pypi\.org|pythonhosted\.|npmjs\.|download\.pytorch\.org|index[-]url": "a package registry",
}
PROBE = """
import importlib, sys
here = set()
for module in sys.argv[1:]:
    importlib.import_module(module)
    found = {"torch", "matplotlib", "nbval"} & set(sys.modules)
    print(module, *sorted(found - here))
    here |= found
"""


def slugs(root: Path) -> list[str]:
    """The chapters of `_toc.yml`, in order."""
    parts = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))["parts"]
    files = [entry["file"] for part in parts for entry in part["chapters"]]
    return [file.removeprefix("chapters/") for file in files if file.startswith("chapters/")]


def every_chapter_is_whole(root: Path) -> Iterator[str]:
    parts = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))["parts"]
    entries = {entry["file"]: entry for part in parts for entry in part["chapters"]}
    for slug in slugs(root):
        below = [entry["file"] for entry in entries[f"chapters/{slug}"].get("sections", [])]
        if f"exercises/{slug}" not in below:
            yield f"exercises/{slug} is not a section of chapters/{slug} in _toc.yml: add it there"
        for pattern, remedy in PARTS.items():
            path = pattern.format(slug)
            # a module may be a folder
            package = (root / path).with_suffix("") / "__init__.py"
            if not (root / path).is_file() and not package.is_file():
                yield f"chapters/{slug} is in _toc.yml but {path} is missing: {remedy}"
        for page, (shown, name) in LISTED.items():
            if shown.format(slug) not in (root / page).read_text("utf-8"):
                yield f"{page} does not show chapter {slug}: add its {name} there"


def every_part_has_its_chapter(root: Path) -> Iterator[str]:
    for pattern in PARTS:
        # tests also stand beside modules that are no chapter's
        if pattern.startswith("tests/"):
            continue
        before, after = pattern.split("{}")
        folders = [one.parent for one in root.glob(f"{before}*/__init__.py") if after == ".py"]
        for path in sorted([*root.glob(pattern.format("*")), *folders]):
            part = path.relative_to(root).as_posix()
            if part == TUTOR:
                continue
            slug = part.removeprefix(before).removesuffix(after)
            known = {*slugs(root), *(HELPERS if before == "attncourse/" else {"__init__"})}
            if slug not in known:
                remedy = f"add chapters/{slug} to _toc.yml, or delete it"
                if before == "attncourse/":
                    remedy += ", or, if it knows no mechanism, name it in HELPERS in test_layout.py"
                yield f"{part} has no chapter: {remedy}"


def imports(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Every name that a file imports, in full, with its line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = path.relative_to(root).parts[: -node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def within(name: str, *modules: str) -> bool:
    return any(f"{name}.".startswith(f"{module}.") for module in modules)


def objection(place: tuple[str, ...], name: str, chapters: list[str]) -> str:
    """Why the module at this place in a package may not import that name; empty where it may."""
    if within(name, "matplotlib") and place not in DRAWING:
        return "computing must not need matplotlib: draw in attncourse/plot/drawing.py"
    known, why = [], "what helps every chapter knows no mechanism: take it as an argument"
    match place:
        case (slug, *_) if slug in chapters:
            known = chapters[: chapters.index(slug) + 1]
            own = (*DECORATORS, f"attncourse.autograd.{slug}")
            if not within(name, *COMPUTING, *own, *(f"attncourse.{one}" for one in known)):
                may = ", ".join(COMPUTING + DECORATORS)
                return f"a mechanism needs only {may}, its fast form and earlier mechanisms"
        case ("autograd", slug) if slug in chapters:
            known = chapters[: chapters.index(slug)]
            why = "a fast form is compared with what its chapter teaches: it may not call that"
        case ("claims", slug, *_) if slug in chapters:
            known = chapters[: chapters.index(slug) + 1]
            why = "a claim measures its own chapter and earlier ones: move it to the later chapter"
        case ("questions", slug) if slug in chapters:
            known = chapters[: chapters.index(slug) + 1]
            why = (
                "a question asks of its own chapter and earlier ones: move it to the later chapter"
            )
        case ("checks", slug, *_) if slug in chapters:
            known = chapters[: chapters.index(slug)]
            why = "a check that calls what it judges agrees with it: write the reference out"
        case ("english",):
            known = chapters
        case ("judge", "grading", module) if module != "notebook" and within(name, "torch"):
            return "only the notebook's judge computes: move this to judge/grading/notebook.py"
    unknown = [slug for slug in chapters if slug not in known]
    mechanisms = [f"attncourse{part}.{slug}" for part in ("", ".claims") for slug in unknown]
    return why if within(name, *mechanisms) else ""


def every_module_imports_what_it_may(root: Path) -> Iterator[str]:
    chapters = slugs(root)
    for path in sorted([*(root / "attncourse").rglob("*.py"), *(root / "judge").rglob("*.py")]):
        package, *inside = path.relative_to(root).with_suffix("").parts
        place = tuple(inside) if package == "attncourse" else (package, *inside)
        for line, name in imports(path, root):
            if why := objection(place, name, chapters):
                yield f"{path.relative_to(root).as_posix()}:{line} imports {name}: {why}"


def importing_stays_light(root: Path) -> Iterator[str]:
    modules = ["attncourse", *(f"attncourse.{slug}" for slug in slugs(root))]
    command = [sys.executable, "-c", PROBE, *modules]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        module, *heavy = line.split()
        for name in heavy:
            if name != "torch" or module == "attncourse":
                yield f"`import {module}` imports {name}: import it where it is used"
    if done.returncode:
        yield f"one of {', '.join(modules)} cannot be imported: {done.stderr.splitlines()[-1]}"


def the_course_stands_alone(root: Path) -> Iterator[str]:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True).stdout
    for name in sorted(set(names.split("\0")) - {""}):
        # a file that was deleted, but not yet in git, is still listed
        if not (root / name).is_file():
            continue
        content = (root / name).read_bytes()
        # a font or a picture has no lines
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            for pattern, what in OUTSIDE.items():
                if found := re.search(pattern, line):
                    yield f"{name}:{number} names {what}, {found[0]!r}: say it without"


def aims(root: Path) -> dict[str, dict[str, str]]:
    """The aims of each chapter, by id, as `attncourse/aims.py` has them."""
    (found,) = [
        node.value
        for node in ast.parse((root / "attncourse/aims.py").read_text("utf-8")).body
        if isinstance(node, ast.Assign)
    ]
    return ast.literal_eval(found)


def every_aim_is_a_bullet_of_its_page(root: Path) -> Iterator[str]:
    known = aims(root)
    for slug in known.keys() - {*slugs(root)}:
        yield f"attncourse/aims.py has aims of {slug}, which is no chapter: take them out"
    for slug in slugs(root):
        listed, page = known.get(slug, {}), (root / f"chapters/{slug}.md").read_text("utf-8")
        box = re.search(r"^```\{admonition\} In this chapter\n(.*?)^```", page, re.M | re.S)
        bullets = re.findall(r"^- (.+)[;.]$", box[1], re.M) if box else []
        for said, kept in zip_longest(bullets, listed.values()):
            if said != kept:
                remedy = "let both say the same, in the same order"
                yield f"chapters/{slug}.md promises {said!r}, attncourse/aims.py {kept!r}: {remedy}"
        for name in listed:
            if not re.fullmatch(r"[a-z]+(-[a-z]+)*", name):
                yield f"attncourse/aims.py: {slug} has an aim {name!r}: write it like count-cost"


RULES = [
    every_chapter_is_whole,
    every_part_has_its_chapter,
    every_module_imports_what_it_may,
    importing_stays_light,
    what_is_taught_is_short,
    the_course_stands_alone,
    every_aim_is_a_bullet_of_its_page,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_course_keeps_the_rule(rule):
    if rule is the_course_stands_alone and not (ROOT / ".git").exists():
        pytest.skip("only a git checkout knows which files are the course's")
    wrong = list(rule(ROOT))
    assert not wrong, "\n".join(["", *wrong])


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of two chapters that keeps every rule."""
    files = {
        "_toc.yml": "parts:\n- chapters:\n"
        "  - {file: chapters/first, sections: [{file: exercises/first}]}\n"
        "  - {file: chapters/second, sections: [{file: exercises/second}]}\n"
        "- chapters: [{file: reference/api}]\n",
        "reference/api.md": "attncourse.first\nattncourse.second\n",
        "reference/claims.md": '\nledger("first")\n\nledger("second")\n',
        "attncourse/__init__.py": "def device():\n    import torch\n",
        "attncourse/aims.py": 'AIMS = {"second": {"add-up": "add", "find-mean": "find a mean"}}\n',
        "attncourse/claims/__init__.py": "",
        "attncourse/plot/drawing.py": "import matplotlib\n",
        TUTOR: "",
        "judge/grading/notebook.py": "import torch\n",
        "judge/grading/cli.py": "from judge.course import course\n",
    }
    files |= {part.format(slug): "" for part in PARTS for slug in ("first", "second")}
    bullets = "You will be able to\n\n- add;\n- find a mean.\n\nYou need nothing.\n"
    files["chapters/second.md"] = f"```{{admonition}} In this chapter\n{bullets}```\n"
    files["attncourse/second.py"] = "import math\nfrom attncourse.first import attention\n"
    files["attncourse/first.py"] = "def attention():\n    import torch\n"
    files["attncourse/checks/second/one.py"] = "from ...first import attention\n"
    files["attncourse/claims/second.py"] = "from attncourse import first, second\n"
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_course_that_keeps_the_rule_is_left_in_peace(rule, course):
    assert list(rule(course)) == []


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_part_is_named_with_what_to_do(part, course):
    path = part.format("second")
    (course / path).unlink()
    expected = f"chapters/second is in _toc.yml but {path} is missing: {PARTS[part]}"
    assert list(every_chapter_is_whole(course)) == [expected]


def test_an_exercise_page_that_the_table_of_contents_forgets_is_named(course):
    path = course / "_toc.yml"
    path.write_text(path.read_text().replace(", sections: [{file: exercises/second}]", ""))
    (wrong,) = every_chapter_is_whole(course)
    assert wrong.startswith("exercises/second is not a section of chapters/second in _toc.yml")


@pytest.mark.parametrize(("page", "name"), [(page, name) for page, (_, name) in LISTED.items()])
def test_a_chapter_that_a_page_of_the_reference_forgets_is_named(page, name, course):
    (course / page).write_text((course / page).read_text().replace("second", "third"))
    (wrong,) = every_chapter_is_whole(course)
    assert wrong == f"{page} does not show chapter second: add its {name} there"


@pytest.mark.parametrize("part", [part for part in PARTS if not part.startswith("tests/")])
def test_an_orphan_is_named_with_what_to_do(part, course):
    path = course / part.format("third")
    path.parent.mkdir(exist_ok=True)
    path.touch()
    (wrong,) = every_part_has_its_chapter(course)
    assert wrong.startswith(
        f"{part.format('third')} has no chapter: add chapters/third to _toc.yml"
    )


@pytest.mark.parametrize(
    ("path", "line", "imported", "why"),
    [
        ("first", "import numpy as np", "numpy", "a mechanism needs only"),
        ("first", "from attncourse import cost", "attncourse.cost", "a mechanism needs only"),
        ("first", "from .autograd import second", "attncourse.autograd.second", "its fast form"),
        ("autograd/first", "from attncourse.first import f", "attncourse.first.f", "not call that"),
        ("first", "from attncourse import second", "attncourse.second", "a mechanism needs only"),
        ("second", "from . import claims", "attncourse.claims", "a mechanism needs only"),
        ("first", "import matplotlib.pyplot", "matplotlib.pyplot", "draw in attncourse/plot/"),
        ("train", "from .first import attention", "attncourse.first.attention", "as an argument"),
        ("cost", "import attncourse.claims.first", "attncourse.claims.first", "as an argument"),
        ("claims/__init__", "from ..first import f", "attncourse.first.f", "as an argument"),
        ("claims/first", "from attncourse.second import f", "attncourse.second.f", "earlier ones"),
        ("checks/first/one", "from ...first import f", "attncourse.first.f", "agrees with it"),
        ("checks/cards", "import attncourse.first", "attncourse.first", "as an argument"),
        ("../judge/verdict", "import attncourse.first", "attncourse.first", "as an argument"),
        (
            "../judge/grading/notebook",
            "import attncourse.first",
            "attncourse.first",
            "as an argument",
        ),
        ("../judge/grading/cli", "from torch import Tensor", "torch.Tensor", "only the notebook"),
    ],
)
def test_a_forbidden_import_is_named_with_the_reason(path, line, imported, why, course):
    file = (course / f"attncourse/{path}.py").resolve()
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'"""Docstring."""\n\n\ndef f():\n    {line}\n')
    (wrong,) = every_module_imports_what_it_may(course)
    assert wrong.startswith(f"{file.relative_to(course)}:5 imports {imported}: ")
    assert why in wrong


@pytest.mark.parametrize(
    ("module", "text", "message"),
    [
        (
            "__init__",
            "import matplotlib",
            "`import attncourse` imports matplotlib: import it where",
        ),
        ("second", "import matplotlib", "`import attncourse.second` imports matplotlib: "),
        ("first", "1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_a_heavy_or_broken_import_is_named(module, text, message, course):
    (course / f"attncourse/{module}.py").write_text(text)
    (wrong,) = importing_stays_light(course)
    assert message in wrong


def test_a_chapter_s_module_may_be_a_folder(course):
    (course / "attncourse/second.py").unlink()
    (course / "attncourse/second").mkdir()
    (course / "attncourse/second/__init__.py").write_text("from attncourse.second.part import f\n")
    (course / "attncourse/second/part.py").write_text("from attncourse.shapes import shaped\n")
    assert [wrong for rule in (*RULES[:3], what_is_taught_is_short) for wrong in rule(course)] == []
    (course / "attncourse/second").rename(course / "attncourse/third")
    assert [wrong.partition(":")[0] for wrong in every_part_has_its_chapter(course)] == [
        "attncourse/third has no chapter"
    ]


DOCSTRING = '"""Docstring.\n\n    Not counted.\n    """\n\n'
FUNCTION = f"def f():\n    {DOCSTRING}" + "    x = 1\n" * MAX_FUNCTION


@pytest.mark.parametrize("path", ["second.py", "second/part.py"])
def test_a_long_function_is_named_with_its_length(path, course):
    (course / "attncourse/second").mkdir()
    (course / "attncourse" / path).write_text(FUNCTION)
    (wrong,) = what_is_taught_is_short(course)
    said = ":1 f has 31 lines of code, more than 30: give a step of it a name of its own"
    assert wrong == f"attncourse/{path}{said}"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("", "home", "ada", "course"), "a path of one machine"),
        (("", "Users", "ada"), "a path of one machine"),
        (("see ..", "shared", "notes"), "a folder beside the checkout"),
        (("https:", "", "pypi." + "org", "simple"), "a package registry"),
    ],
)
def test_a_name_from_outside_the_course_is_found(words, what, course):
    (course / "chapters/first.md").write_text(f"fine\n{'/'.join(words)}\n")
    (wrong,) = the_course_stands_alone(course)
    assert wrong.startswith(f"chapters/first.md:2 names {what}, ")


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        (
            "chapters/second.md",
            "- add;",
            "- add up;",
            "chapters/second.md promises 'add up', attncourse/aims.py 'add': let both say the same",
        ),
        (
            "chapters/second.md",
            "- find a mean.",
            "- find a mean;\n- divide.",
            "chapters/second.md promises 'divide', attncourse/aims.py None: let both say the same",
        ),
        ("attncourse/aims.py", "add-up", "add_up", "second has an aim 'add_up': write it like"),
        ("attncourse/aims.py", "}}", '}, "third": {}}', "aims of third, which is no chapter"),
    ],
)
def test_an_aim_that_its_page_does_not_promise_is_named(path, old, new, message, course):
    (course / path).write_text((course / path).read_text().replace(old, new))
    (wrong,) = every_aim_is_a_bullet_of_its_page(course)
    assert message in wrong


def test_the_changelog_begins_with_the_version():
    found = re.search(r"^## \[([\d.]+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert found and found[1] == attncourse.__version__
