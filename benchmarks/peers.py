"""The graders that benchmarks/graders.py compares: how each is given a class, and what it found."""

import csv
import inspect
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import asserts
import nbformat
import torch
from nbformat import NotebookNode
from processes import Cost, measured

from attncourse.course import ADDRESS, exercises
from judge.course import TOLD
from judge.grading.autograder import nbgrader_source
from judge.grading.pristine import answer_cells, exercise_files
from tools.notebooks import solved_notebook

# what grades here, and in the processes below
os.environ.setdefault(TOLD, ADDRESS)

CHAPTER = "dot_product"
CARDS = exercises(CHAPTER)
NAMES = list(CARDS)
PRISTINE = nbformat.read(exercise_files()[CHAPTER], as_version=4)
ANSWERS = {name: cell.source for name, cell in answer_cells(solved_notebook(CHAPTER)).items()}
KINDS = {"untouched": [], "half solved": NAMES[: (len(NAMES) + 1) // 2], "solved": NAMES}
OURS, NBGRADER, OTTER = "attncourse", "nbgrader 0.9.6", "otter-grader 7.0.0"
ENVIRONMENTS = Path(__file__).parents[1] / ".cache" / "graders"
# the documented way without Docker, in one process for many notebooks
OTTER_BATCH = """
import sys
from otter.api import grade_submission

with open("points", "w") as points:
    for path in sys.argv[2:]:
        print(grade_submission(path, sys.argv[1], quiet=True).total, file=points)
"""
OTTER_TEST = """\
OK_FORMAT = False

import torch
import torch.nn.functional as F
from otter.test_files import test_case

name, points = "{name}", {points}


@test_case()
{source}"""
HOME = ENVIRONMENTS / "home"
SETTINGS = {
    "HOME": str(HOME),
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPATH": "",
}


@dataclass
class Grader:
    """How one grader is given a class in a folder, what it is called by, and what it found."""

    name: str
    environment: dict[str, str]
    lay_out: Callable[[Path, list[str]], None]
    command: Callable[[Path, int], list]
    points: Callable[[Path], float]
    # one command for all jobs, or one for each
    parallel: bool = False

    def cost(self, kinds: list[str], jobs: int) -> Cost:
        """What it takes to grade notebooks of these kinds; it must find the right points."""
        with tempfile.TemporaryDirectory() as made:
            shares = [kinds] if self.parallel else [kinds[i::jobs] for i in range(jobs)]
            folders = [Path(made) / f"class{i}" for i in range(len(shares))]
            for folder, share in zip(folders, shares, strict=True):
                folder.mkdir()
                self.lay_out(folder, share)
            commands = [self.command(folder, jobs) for folder in folders]
            cost = measured(commands, folders, self.environment)
            found = sum(map(self.points, folders))
            worth = sum(CARDS[name].points for kind in kinds for name in KINDS[kind])
            if found != worth:
                said = "\n".join((folder / "said").read_text() for folder in folders)
                raise ValueError(f"{self.name} gives {found} points instead of {worth}:\n{said}")
            return cost


def with_programs(bin: Path) -> dict[str, str]:
    return os.environ | SETTINGS | {"PATH": f"{bin}{os.pathsep}{os.environ['PATH']}"}


def handed_in(notebook: NotebookNode, kind: str, path: Path) -> None:
    notebook = deepcopy(notebook)
    cells = answer_cells(notebook)
    for name in KINDS[kind]:
        cells[name].source = ANSWERS[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def ours() -> Grader:
    def lay_out(folder: Path, kinds: list[str]) -> None:
        for i, kind in enumerate(kinds):
            handed_in(PRISTINE, kind, folder / "submitted" / f"student{i}.ipynb")

    def command(folder: Path, jobs: int) -> list:
        grade = [sys.executable, "-m", "attncourse", "grade", folder / "submitted"]
        return [*grade, "--out", folder / "grades", "--jobs", jobs]

    def points(folder: Path) -> float:
        with (folder / "grades" / "gradebook.csv").open(encoding="utf-8", newline="") as file:
            return sum(float(row["points"]) for row in csv.DictReader(file))

    environment = with_programs(Path(sys.executable).parent)
    return Grader(OURS, environment, lay_out, command, points, parallel=True)


def asserted() -> NotebookNode:
    """nbgrader's form of the notebook, with asserts for checks, and without the course's cells."""
    notebook = nbgrader_source(CHAPTER)
    notebook.cells = [cell for cell in notebook.cells if cell.id not in ("setup", "status")]
    for cell in notebook.cells:
        name = cell.id.removeprefix("check-")
        if name != cell.id:
            lines = ("import torch.nn.functional as F", test_of(name), f"check_{name}({name})")
            hidden = ("### BEGIN HIDDEN TESTS", *lines, "### END HIDDEN TESTS")
            cell.source = "\n".join(hidden)
    return notebook


def test_of(name: str) -> str:
    return inspect.getsource(asserts.CHECKS[name])


def with_nbgrader(bin: Path, base: Path) -> Grader:
    program, environment = bin / "nbgrader", with_programs(bin)
    source, release = (base / way / CHAPTER / f"{CHAPTER}.ipynb" for way in ("source", "release"))
    source.parent.mkdir(parents=True)
    nbformat.write(asserted(), source)
    made = [program, "generate_assignment", CHAPTER, "--create"]
    subprocess.run(made, cwd=base, env=environment, check=True)
    released = nbformat.read(release, as_version=4)

    def lay_out(folder: Path, kinds: list[str]) -> None:
        shutil.copytree(base, folder, dirs_exist_ok=True)
        for i, kind in enumerate(kinds):
            path = folder / "submitted" / f"student{i}" / CHAPTER / f"{CHAPTER}.ipynb"
            handed_in(released, kind, path)

    def command(folder: Path, jobs: int) -> list:
        # a cell that begins while the machine is busy may need more than the usual half minute
        return [program, "autograde", CHAPTER, "--ExecutePreprocessor.timeout=300"]

    def points(folder: Path) -> float:
        with sqlite3.connect(folder / "gradebook.db") as gradebook:
            return gradebook.execute("select sum(auto_score) from grade").fetchone()[0]

    return Grader(NBGRADER, environment, lay_out, command, points)


def with_otter(bin: Path, base: Path) -> Grader:
    environment = with_programs(bin)
    (base / "tests").mkdir(parents=True)
    for name, card in CARDS.items():
        test = OTTER_TEST.format(name=name, points=card.points, source=test_of(name))
        (base / "tests" / f"{name}.py").write_text(test, "utf-8")
    made = [bin / "otter", "generate", "--no-environment", "--no-requirements"]
    subprocess.run(made, cwd=base, env=environment, check=True)
    plain = asserted()
    plain.cells = [cell for cell in plain.cells if not cell.id.startswith("check-")]

    def lay_out(folder: Path, kinds: list[str]) -> None:
        for i, kind in enumerate(kinds):
            handed_in(plain, kind, folder / f"student{i}.ipynb")

    def command(folder: Path, jobs: int) -> list:
        batch = [bin / "python", "-c", OTTER_BATCH, base / "autograder.zip"]
        return [*batch, *sorted(folder.glob("*.ipynb"))]

    def points(folder: Path) -> float:
        return sum(map(float, (folder / "points").open()))

    return Grader(OTTER, environment, lay_out, command, points)


def environment_with(package: str, given: dict[str, Path]) -> Path:
    """An environment with this version of a package, and torch: the given one, or one made here."""
    name, number = package.split()
    folder = given.get(name, ENVIRONMENTS / name)
    python = folder / "bin" / "python"
    asked = [python, "-c", f"import importlib.metadata as m; print(m.version('{name}'))"]
    if name not in given and not (python.exists() and said(asked) == number):
        venv.create(folder, clear=True, with_pip=True)
        needed = [f"{name}=={number}", f"torch=={torch.__version__.split('+')[0]}"]
        install = [python, "-m", "pip", "install", "--quiet", *needed, "numpy", "ipykernel"]
        subprocess.run(install, check=True)
    if (found := said(asked)) != number:
        raise ValueError(f"{folder} has {name} {found}: compare with {number}")
    return folder


def said(command: list) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def graders(base: Path, given: dict[str, Path]) -> list[Grader]:
    """All three; the two others from the given environments, or from those made here."""
    HOME.mkdir(parents=True, exist_ok=True)
    return [
        ours(),
        with_nbgrader(environment_with(NBGRADER, given) / "bin", base / "nbgrader"),
        with_otter(environment_with(OTTER, given) / "bin", base / "otter"),
    ]
