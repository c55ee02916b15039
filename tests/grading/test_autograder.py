"""The forms in which other platforms grade: Gradescope's zip, nbgrader's cells, an exit code."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

from attncourse.course import exercises
from judge.grading import autograder
from judge.grading.grade import grade
from judge.grading.notebook.graft import graft
from judge.grading.notebook.pristine import answer_cells, exercise_files
from judge.grading.report.formats import gradescope
from judge.grading.report.results import Report, Result
from tests.grading import machines
from tests.grading.commands import call
from tests.grading.submissions import NAMES, SOLVED, make_notebook, result_of, write_notebook
from tests.needs import lacks

FIRST_EXERCISE = NAMES[0]


def invoke_autograder(*arguments: str) -> None:
    result = call("autograder", *arguments)
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def zip_path(tmp_path_factory) -> Path:
    """Gradescope's zip."""
    path = tmp_path_factory.mktemp("made") / "a.zip"
    invoke_autograder("gradescope", "--out", str(path))
    return path


@pytest.fixture
def machine(zip_path, grading) -> Iterator[Path]:
    """Gradescope's folder after its set-up, with the packages that are here."""
    # pytest's own may be entered by one user only
    with tempfile.TemporaryDirectory() as public_folder:
        Path(public_folder).chmod(0o755)
        yield set_up(Path(public_folder) / "autograder", zip_path, grading)


def set_up(folder: Path, zip_path: Path, options: list[str]) -> Path:
    (folder / "venv/bin").mkdir(parents=True)
    (folder / "results").mkdir()
    with zipfile.ZipFile(zip_path) as archive:
        archive.extractall(folder / "source")
        (mode,) = (
            entry.external_attr >> 16
            for entry in archive.infolist()
            if entry.filename == "setup.sh"
        )
    assert mode & 0o111
    script = folder / "source/run_autograder"
    head, command, tail = script.read_text().partition("grade submission")
    script.write_text(" ".join([head + command, *options]) + tail)
    python_path = folder / "venv/bin/python"
    python_path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python_path.chmod(0o755)
    return folder


def run(folder: Path, *prefix: str) -> subprocess.CompletedProcess:
    """Run the autograder from `/`, as the harness does."""
    environment = os.environ | {"AUTOGRADER": str(folder), "PYTHONPATH": "", "HOME": "/root"}
    return subprocess.run(
        [*prefix, "bash", str(folder / "source/run_autograder")],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
    )


# a container is what Gradescope has; what root gets elsewhere is tried in test_sandbox.py
@pytest.mark.sandbox
@pytest.mark.parametrize(
    "user", [pytest.param("root", marks=pytest.mark.slow), "root in a container"]
)
def test_gradescope_s_zip_grades_a_submission_as_root_in_either_tier(user, machine):
    if reason := machines.missing_reason(user):
        pytest.skip(reason)
    (machine / "submission").mkdir()
    answers = {FIRST_EXERCISE: f"!ls\n{SOLVED[FIRST_EXERCISE]}"}
    write_notebook(machine / "submission", make_notebook(answers), "handed in.ipynb")
    (machine / "submission/readme.md").write_text("# Mine")
    process = run(machine, *machines.command(user))
    assert process.returncode == 0, process
    assert f"sandbox: {machines.TIERS[user]}" in process.stdout
    results = json.loads((machine / "results/results.json").read_text())
    scores = {test["name"]: test["score"] for test in results["tests"]}
    task = exercises("dot_product")[FIRST_EXERCISE]
    assert scores.pop(f"dot_product: {task.title}") == task.points
    assert len(scores) == len(NAMES) - 1 and set(scores.values()) == {0}
    assert results["stdout_visibility"] == "hidden"


def test_a_submission_without_a_notebook_gets_its_line_and_nothing_counts_as_graded(machine):
    (machine / "submission").mkdir()
    (machine / "submission/a.py").write_text("# exercise: prefix_mask\n")
    assert run(machine).returncode == 0
    results = json.loads((machine / "results/results.json").read_text())
    assert results["score"] == 0 and "a Python file with answers in it" in results["output"]


def test_a_grader_that_fails_leaves_no_results(machine):
    (machine / "submission").mkdir()
    (machine / "results/results.json").write_text("of the submission before")
    (machine / "source/course/judge/grading/cli.py").write_text("1 / 0")
    process = run(machine)
    assert process.returncode != 0 and not (machine / "results/results.json").exists()


def test_the_zip_holds_the_course_its_notebooks_and_exact_versions(machine):
    course = machine / "source/course"
    assert {path.name for path in (course / "exercises").iterdir()} == {
        path.name for path in exercise_files().values()
    }
    pins = [Requirement(line) for line in (machine / "source/requirements.txt").read_text().split()]
    assert all([specifier.operator for specifier in pin.specifier] == ["=="] for pin in pins)
    assert {"torch", "numpy", "nbval", "pytest", "ipython", "typer"} <= {pin.name for pin in pins}
    assert not list(course.rglob("__pycache__"))
    for name in ("setup.sh", "run_autograder"):
        assert subprocess.run(["bash", "-n", str(machine / "source" / name)]).returncode == 0


def test_a_zip_that_could_not_grade_is_not_written(tmp_path, monkeypatch):
    """As of a course that is installed nowhere: its zip once had no requirement at all."""
    monkeypatch.setattr(autograder, "own_distributions", set)
    out = tmp_path / "a.zip"
    result = call("autograder", "gradescope", "--out", out)
    assert result.exit_code == 2 and not out.exists()
    assert "install the judge with pip, with its extra" in " ".join(result.output.split())


def test_the_judge_s_own_distribution_says_what_grading_needs():
    assert autograder.own_distributions() == {"attncourse"}
    assert not any(pin.startswith("attncourse") for pin in autograder.pins())


@pytest.mark.parametrize(("status", "expected"), [("passed", "passed"), ("wrong", "failed")])
def test_only_what_has_passed_is_shown_as_passed_on_gradescope(status, expected):
    half = Result("prefix_mask", "A prefix", 10, status, share=0.5)
    report = Report("a.ipynb", chapter="dot_product", partial=True, exercises=[half])
    (test,) = json.loads(gradescope([report]))["tests"]
    assert test["status"] == expected and test["score"] > 0


def test_wheels_come_along_when_asked(tmp_path):
    (tmp_path / "wheels").mkdir()
    refusal = call("autograder", "gradescope", "--wheels", tmp_path / "wheels")
    assert refusal.exit_code == 2 and "no wheel" in refusal.output and "torch==" in refusal.output
    wheels = [
        f"{pin.replace('-', '_').replace('==', '-')}-py3-none-any.whl" for pin in autograder.pins()
    ]
    for name in wheels:
        (tmp_path / "wheels" / name).write_bytes(b"PK")
    out = str(tmp_path / "a.zip")
    invoke_autograder("gradescope", "--out", out, "--wheels", str(tmp_path / "wheels"))
    assert {f"wheels/{name}" for name in wheels} < {*zipfile.ZipFile(out).namelist()}
    assert "--no-index --find-links source/wheels" in autograder.SETUP


def test_github_s_command_succeeds_where_its_exercise_has_passed(tmp_path, grading):
    path = write_notebook(tmp_path, make_notebook({FIRST_EXERCISE: SOLVED[FIRST_EXERCISE]}))
    for name, code in ((FIRST_EXERCISE, 0), (NAMES[1], 1)):
        result = call("grade", path, "--exercise", name, *grading)
        assert result.exit_code == code and name in result.output, result.output
        assert not any(other in result.output for other in NAMES if other != name)


def test_a_chapter_that_there_is_not_is_named():
    result = call("autograder", "nbgrader", "no_such")
    assert result.exit_code == 2 and "no chapter 'no_such'" in result.output


@pytest.mark.parametrize("chapter", exercise_files())
def test_nbgrader_s_marks_are_as_it_documents_them(chapter, tmp_path):
    invoke_autograder("nbgrader", chapter, "--out", str(tmp_path))
    notebook = nbformat.read(tmp_path / chapter / f"{chapter}.ipynb", as_version=4)
    nbformat.validate(notebook)
    marks = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert all(mark.grade and mark.locked and not mark.solution and not mark.task for mark in marks)
    points = {mark.grade_id: mark.points for mark in marks}
    tasks = exercises(chapter)
    assert points == {f"check-{name}": task.points for name, task in tasks.items()}
    # a class that nbgrader has collected can be graded from outside, too
    grafted = graft(nbformat.writes(notebook).encode())
    assert grafted.chapter == chapter and grafted.found == set(tasks)


def test_a_wrong_answer_that_nbgrader_collected_hears_nothing_of_its_cells(tmp_path, grading):
    notebook = autograder.nbgrader_source("dot_product")
    answer_cells(notebook)[
        FIRST_EXERCISE
    ].source = f"# exercise: {FIRST_EXERCISE}\n{FIRST_EXERCISE} = no_such_name"
    report = grade(write_notebook(tmp_path, notebook), seed=1)
    result = result_of(report, FIRST_EXERCISE)
    assert result.status == "error" and "no_such_name" in result.hint
    assert "ImportError" not in f"{report.notes} {result.evidence}"


def test_nbgrader_itself_makes_a_release_of_it(tmp_path):
    program = os.environ.get("NBGRADER") or shutil.which("nbgrader")
    if not program:
        pytest.skip(lacks("nbgrader"))
    path = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"HOME": str(tmp_path), "PATH": path}
    invoke_autograder("nbgrader", "--out", str(tmp_path / "source"))
    for chapter in exercise_files():
        process = subprocess.run(
            [program, "generate_assignment", chapter, "--create", "--force"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert process.returncode == 0, process.stderr
        release = nbformat.read(tmp_path / f"release/{chapter}/{chapter}.ipynb", as_version=4)
        pristine = nbformat.read(exercise_files()[chapter], as_version=4)
        for name in exercises(chapter):
            (pristine_source,) = (c.source for c in pristine.cells if c.id == f"answer-{name}")
            (released_source,) = (c.source for c in release.cells if c.id == f"answer-{name}")
            assert released_source == pristine_source
        graded_cells = [c for c in release.cells if c.metadata.get("nbgrader", {}).get("grade")]
        assert all(cell.metadata.nbgrader.checksum for cell in graded_cells)
