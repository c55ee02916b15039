"""Grading a class goes on where it was: nothing is lost, nothing is graded twice."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from attncourse.course import PACKAGE
from judge.grading.cli import app
from judge.grading.gradebook import resume
from judge.grading.report.results import TOO_BUSY
from tests import ROOT
from tests.conftest import SEED
from tests.grading import classes
from tests.grading.submissions import SOLVED, make_notebook, write_notebook


@pytest.fixture
def judged_files(monkeypatch, grading) -> list[str]:
    """The files that are judged, in order."""
    files = []

    def judge(report, *args):
        files.append(report.file)
        return classes.judge_by_mark(report, *args)

    monkeypatch.setattr("judge.grading.grade.judged", judge)
    return files


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "class").mkdir()
    for name in "abc":
        write_notebook(tmp_path / "class", make_notebook(SOLVED), f"{name}.ipynb")
    return tmp_path


def grade(folder: Path, *options: str) -> str:
    command = ["grade", str(folder / "class"), "--out", str(folder / "out"), *options]
    return CliRunner().invoke(app, command, catch_exceptions=False).output


def test_a_second_run_grades_nothing_and_writes_the_same(folder, judged_files):
    grade(folder)
    gradebook = (folder / "out/gradebook.csv").read_text()
    assert sorted(judged_files) == ["a.ipynb", "b.ipynb", "c.ipynb"]
    assert "3 of them graded before" in grade(folder)
    assert len(judged_files) == 3 and (folder / "out/gradebook.csv").read_text() == gradebook


def change_file(folder, monkeypatch):
    write_notebook(
        folder / "class", make_notebook(SOLVED | {"prefix_mask": classes.WRONG}), "b.ipynb"
    )


def change_pristine(folder, monkeypatch):
    for path in (folder / "out/reports").glob("*.json"):
        data = json.loads(path.read_text())
        if data["file"] == "b.ipynb":
            path.write_text(json.dumps(data | {"pristine_sha256": "another"}))


def cut_report(folder, monkeypatch):
    for path in (folder / "out/reports").glob("*.json"):
        if "b.ipynb" in path.read_text():
            path.write_text(path.read_text()[:500])


def mark_not_graded(folder, monkeypatch):
    for path in (folder / "out/reports").glob("*.json"):
        if "b.ipynb" in path.read_text():
            path.write_text(path.read_text().replace('"passed"', '"not graded"', 1))


def rename_file(folder, monkeypatch):
    (folder / "class/b.ipynb").rename(folder / "class/d.ipynb")


CHANGES = (change_file, change_pristine, cut_report, mark_not_graded, rename_file)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_has_changed_is_graded_again_and_nothing_else(
    change, folder, judged_files, monkeypatch
):
    grade(folder)
    judged_files.clear()
    change(folder, monkeypatch)
    grade(folder)
    assert judged_files == ["d.ipynb" if change is rename_file else "b.ipynb"]


def test_what_the_machine_was_too_busy_for_twice_is_graded_again_only_when_asked(
    folder, judged_files
):
    grade(folder)
    judged_files.clear()
    for path in (folder / "out/reports").glob("*.json"):
        data = json.loads(path.read_text())
        if data["file"] == "b.ipynb":
            data["exercises"][0] |= {"status": "not graded", "hint": TOO_BUSY}
            path.write_text(json.dumps(data))
    assert "3 of them graded before" in grade(folder) and not judged_files
    grade(folder, "--regrade", "b.ipynb")
    assert judged_files == ["b.ipynb"]


def test_another_seed_grades_all_again_and_is_kept(folder, judged_files):
    grade(folder)
    seed = json.loads((folder / "out/seed.json").read_text())["seed"]
    grade(folder, "--seed", str(seed))
    assert len(judged_files) == 3
    grade(folder, "--seed", str(seed + 1))
    assert len(judged_files) == 6
    grade(folder)
    assert len(judged_files) == 6 and resume.seed_of(folder / "out", None) == seed + 1


def change_reference(package, monkeypatch):
    with (package / "course/dot_product/exercises/prefix_mask.py").open("a") as file:
        file.write("# repaired\n")


def change_torch(package, monkeypatch):
    monkeypatch.setattr(resume, "version", lambda name: "9.9.9")


@pytest.mark.parametrize(
    "change", [change_reference, change_torch], ids=lambda change: change.__name__
)
def test_another_judge_grades_all_again(change, folder, judged_files, monkeypatch):
    package = folder / "attncourse"
    shutil.copytree(PACKAGE / "course", package / "course")
    monkeypatch.setattr(resume, "packages", lambda: [package])
    grade(folder)
    assert "3 of them graded before" in grade(folder)
    judged_files.clear()
    change(package, monkeypatch)
    grade(folder)
    assert sorted(judged_files) == ["a.ipynb", "b.ipynb", "c.ipynb"]


def test_the_same_modules_have_one_digest_wherever_they_lie(tmp_path):
    folders = [tmp_path / "here/course", tmp_path / "there/course"]
    for folder in folders:
        (folder / "checks").mkdir(parents=True)
        (folder / "checks/one.py").write_text("1")
    # as Python and an editor leave it
    (folders[0] / "checks/__pycache__").mkdir()
    (folders[0] / "checks/__pycache__/one.pyc").write_text("2")
    first_copy, second_copy = ([folder] for folder in folders)
    assert resume.sources_digest(first_copy) == resume.sources_digest(second_copy)
    (folders[0] / "checks/one.py").rename(folders[0] / "one.py")
    assert resume.sources_digest(first_copy) != resume.sources_digest(second_copy)


def test_some_are_graded_again_when_asked(folder, judged_files):
    (folder / "class/Jane Doe_1_assignsubmission_file_").mkdir()
    write_notebook(
        folder / "class/Jane Doe_1_assignsubmission_file_", make_notebook(SOLVED), "x.ipynb"
    )
    grade(folder)
    judged_files.clear()
    grade(folder, "--regrade", "b.ipynb", "--regrade", "Jane*")
    assert sorted(judged_files) == ["Jane Doe_1_assignsubmission_file_/x.ipynb", "b.ipynb"]
    judged_files.clear()
    # a student's key selects as well as a file's name, and a pattern without a match is reported
    output = grade(
        folder, "--regrade", "a", "--regrade", "1", "--regrade", "b?", "--regrade", "x[y]"
    )
    assert sorted(judged_files) == ["Jane Doe_1_assignsubmission_file_/x.ipynb", "a.ipynb"]
    assert [line for line in output.splitlines() if "--regrade" in line] == [
        "--regrade b?: no notebook or student has that name",
        "--regrade x[y]: no notebook or student has that name",
    ]


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_any_moment_nothing_is_lost_or_graded_twice(kills, tmp_path, grading):
    (tmp_path / "class").mkdir()
    files = [f"{i}.ipynb" for i in range(16)]
    for name in files:
        nbformat.write(
            make_notebook({} if name == "3.ipynb" else SOLVED), tmp_path / "class" / name
        )
    process = subprocess.run(
        [
            sys.executable, "-m", "tests.grading.killed", str(tmp_path), str(kills), SEED, *grading,
        ],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    runs = [json.loads(line) for line in process.stdout.splitlines()]
    assert len(runs) == kills
    for run in runs:
        # one of the files was not touched
        assert run["codes"] == [1, 1] and run["same"]
        assert sorted({*run["kept"], *run["after"]}) == sorted(files)
        # no report that was there is made again; what was at work then is begun anew
        assert not set(run["kept"]) & set(run["after"])
        assert len(run["after"]) == len(set(run["after"]))
        assert len(set(run["before"]) & set(run["after"])) <= 2


def test_a_class_of_sixty_killed_five_times_has_the_grades_of_one_run(tmp_path, grading):
    classes.make_sixty(tmp_path)
    command = [sys.executable, "-m", "tests.grading.killed", str(tmp_path), "5", "table"]
    options = ["--roster", str(tmp_path / "roster.csv"), *grading]
    process = subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, check=True
    )
    *kills, last_run = [json.loads(line) for line in process.stdout.splitlines()]
    assert all(kill["killed"] for kill in kills) and len({kill["kept"] for kill in kills}) == 5
    # one file is broken, and so the exit code is 2
    assert last_run["codes"] == [2, 2] and last_run["same"]
    # nothing is graded twice, but for what was at work when it was killed
    assert len(last_run["judged"]) - len(set(last_run["judged"])) <= 2 * len(kills)
