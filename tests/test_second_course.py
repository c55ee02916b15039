"""The judge knows no course: it judges another one where nothing of ours is within reach.

The judge and that course alone are copied into a folder, and Python runs in an environment whose
path leads to the libraries, but to no checkout.
"""

import contextlib
import csv
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import nbformat
import pytest

from tests import ROOT

OUR_PACKAGES = ("attncourse", "tests", "tools")
# writes the names of the imported packages when a process ends
SITE = """
import atexit, os, sys

def note():
    role = next((word for word in sys.orig_argv[1:] if word[0] != "-"), "none").replace("/", ":")
    packages = {name.partition(".")[0] for name in sys.modules}
    with open(f"{os.environ['NOTED']}/{os.getpid()} {role}", "w") as file:
        file.write(" ".join(packages))

if "NOTED" in os.environ:
    atexit.register(note)
"""
RIGHT_ANSWERS = {
    "averages": """# exercise: moving_average
def moving_average(x, width):
    return x.unfold(-1, width, 1).mean(-1)
""",
    "layers": """# exercise: Rescale
class Rescale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return x * self.scale + self.shift
""",
}
# right, as long as the process that it runs in has nothing of ours
LOOKING_ANSWER = f"""# exercise: moving_average
import sys

def moving_average(x, width):
    assert not [name for name in sys.modules if name.partition(".")[0] in {OUR_PACKAGES}]
    return x.unfold(-1, width, 1).mean(-1)
"""
WRONG_ANSWER = """# exercise: moving_average
def moving_average(x, width):
    return x.unfold(-1, width, 1).sum(-1)
"""
# right but in float64
FLOAT32_ANSWER = """# exercise: moving_average
def moving_average(x, width):
    return x.unfold(-1, width, 1).mean(-1).float()
"""


class Machine:
    """A folder and environment with the other course alone."""

    def __init__(self, folder: Path):
        self.folder, self.imports_folder = folder / "course", folder / "noted"
        shutil.copytree(ROOT / "judge", self.folder / "judge", ignore=lambda *_: ["__pycache__"])
        shutil.copytree(ROOT / "tests/second_course", self.folder, dirs_exist_ok=True)
        self.imports_folder.mkdir()
        # a symlink would lead back to the environment that has the checkout on its path
        venv.create(folder / "own", symlinks=True)
        self.python = folder / "own/bin/python"
        (packages,) = (folder / "own/lib").glob("python*/site-packages")
        libraries = [folder for folder in sys.path if folder.endswith("site-packages")]
        (packages / "libraries.pth").write_text("\n".join(libraries))
        (packages / "sitecustomize.py").write_text(SITE)
        self.run("write_notebooks.py")

    def start(self, *command: str, **env: str) -> subprocess.Popen:
        """Start Python in the course's folder."""
        hidden = {"PYTHONPATH", "JUDGE_COURSE", "PYTEST_ADDOPTS"}
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        return subprocess.Popen(
            [self.python, *command],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment | env | {"NOTED": str(self.imports_folder), "COLUMNS": "200"},
        )

    def run(self, *command: str, code: int = 0, **env: str) -> str:
        """Run Python in the course's folder, assert its exit code, and return its output."""
        process = self.start(*command, **env)
        output, _ = process.communicate()
        assert process.returncode == code, output
        return output

    def roles(self) -> set[str]:
        """The programs that have run, none of which may have imported anything of ours."""
        imports_by_role = [
            (path.name.split()[1], path.read_text().split())
            for path in self.imports_folder.iterdir()
        ]
        assert [role for role, packages in imports_by_role if {*packages} & {*OUR_PACKAGES}] == []
        return {role for role, _ in imports_by_role}

    def write_answers(self, answers: dict[str, str], folder: Path) -> None:
        """Write the notebooks of these chapters with these answers."""
        folder.mkdir(parents=True)
        for chapter, answer in answers.items():
            page = nbformat.read(self.folder / "notebooks" / f"{chapter}.ipynb", 4)
            (cell,) = (cell for cell in page.cells if "answer" in cell.metadata.get("tags", []))
            cell.source = answer
            nbformat.write(page, folder / f"{chapter}.ipynb")


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


def test_its_checkout_is_out_of_reach(machine):
    path = json.loads(machine.run("-c", "import json, sys; print(json.dumps(sys.path))"))
    assert not (machine.folder / "attncourse").exists()
    assert ROOT not in [Path(folder).resolve() for folder in path[1:]]


@pytest.mark.parametrize("chapter", RIGHT_ANSWERS)
def test_a_notebook_of_it_checks_its_answers(machine, chapter, tmp_path):
    machine.write_answers({chapter: RIGHT_ANSWERS[chapter]}, tmp_path / "solved")
    untouched = machine.folder / f"notebooks/{chapter}.ipynb"
    for page, code, sentence in (
        (tmp_path / "solved" / untouched.name, 0, "3 passed"),
        (untouched, 1, "not attempted"),
    ):
        command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", str(page))
        # its kernel begins in the notebook's folder
        assert sentence in machine.run(*command, code=code, PYTHONPATH=str(machine.folder))


def test_nbgrader_s_cells_check_its_answers(machine, tmp_path):
    machine.run("-m", "signals", "autograder", "nbgrader", "averages", "--out", str(tmp_path))
    page = tmp_path / "averages/averages.ipynb"
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", str(page))
    assert "not attempted" in machine.run(*command, code=1, PYTHONPATH=str(machine.folder))
    notebook = nbformat.read(page, 4)
    (cell,) = (cell for cell in notebook.cells if "answer" in cell.metadata.get("tags", []))
    cell.source = RIGHT_ANSWERS["averages"]
    nbformat.write(notebook, page)
    assert "3 passed" in machine.run(*command, PYTHONPATH=str(machine.folder))


def test_a_class_is_graded_and_goes_on_where_it_was(machine, grading, tmp_path):
    for student, answer in (
        ("ann", LOOKING_ANSWER),
        ("bob", WRONG_ANSWER),
        ("cleo", FLOAT32_ANSWER),
    ):
        answers = {"averages": answer, "layers": RIGHT_ANSWERS["layers"]}
        machine.write_answers(answers, tmp_path / "class" / student)
    command = ("grade", str(tmp_path / "class"), "--out", str(tmp_path / "grades"), *grading)
    machine.run("-m", "signals", *command, "--partial", "--seed", "3", code=1)
    with open(tmp_path / "grades/gradebook.csv", newline="") as file:
        points = {(row["student"], row["chapter"]): row["points"] for row in csv.DictReader(file)}
    assert {points[student, "layers"] for student in ("ann", "bob", "cleo")} == {"10"}
    assert [points[student, "averages"] for student in ("ann", "bob", "cleo")] == ["10", "0", "8"]
    (page,) = (tmp_path / "grades/feedback").glob("*bob*")
    assert "the windows are summed: divide by their width" in page.read_text()
    second_output = machine.run("-m", "signals", *command, "--partial", "--seed", "3", code=1)
    assert "6 notebooks, 6 of them already graded" in second_output, second_output
    assert "judge.grading.judging.process" in machine.roles()


@pytest.mark.sandbox
@pytest.mark.parametrize("path", ["notebooks/averages.ipynb", "write_notebooks.py"])
def test_what_lies_beside_the_course_cannot_be_read(machine, path, tmp_path):
    first_line, *other_lines = RIGHT_ANSWERS["averages"].splitlines(keepends=True)
    reading = f"open({str(machine.folder / path)!r})\n"
    machine.write_answers(
        {"averages": "".join([first_line, reading, *other_lines])}, tmp_path / "class"
    )
    output = machine.run("-m", "signals", "grade", str(tmp_path / "class"), code=1)
    assert "FileNotFoundError" in output or "PermissionError" in output


@pytest.mark.sandbox
def test_a_cluster_grades_it(machine, tmp_path):
    machine.write_answers({"averages": LOOKING_ANSWER}, tmp_path / "class")
    scheduler_file = str(tmp_path / "scheduler.json")
    programs = {
        "scheduler": ("--port", "0", "--no-dashboard", "--scheduler-file", scheduler_file),
        "worker": (
            "--no-nanny",
            "--no-dashboard",
            "--nthreads",
            "1",
            "--scheduler-file",
            scheduler_file,
        ),
    }
    with contextlib.ExitStack() as stack:
        for name, options in programs.items():
            command = ("-m", f"distributed.cli.dask_{name}", *options)
            # beside the course it needs nothing to find it by
            scheduler = stack.enter_context(machine.start(*command, PYTHONPATH=str(machine.folder)))
            stack.callback(scheduler.terminate)
        output = machine.run(
            "-m", "signals", "grade", str(tmp_path / "class"), "--scheduler", scheduler_file
        )
    assert "passed" in output
    assert "distributed.cli.dask_worker" in machine.roles()
