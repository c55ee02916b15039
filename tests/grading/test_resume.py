"""Grading a class goes on where it was: nothing is lost, nothing is graded twice."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attncourse.course import PACKAGE
from judge.grading.gradebook import resume
from judge.grading.report.results import SCHEMA, TOO_BUSY
from tests import ROOT
from tests.grading import classes
from tests.grading.commands import call
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
    return call("grade", folder / "class", "--out", folder / "out", *options).output


def test_a_second_run_grades_nothing_and_writes_the_same(folder, judged_files):
    grade(folder)
    gradebook = (folder / "out/gradebook.csv").read_text()
    assert sorted(judged_files) == ["a.ipynb", "b.ipynb", "c.ipynb"]
    assert "3 of them already graded" in grade(folder)
    assert len(judged_files) == 3 and (folder / "out/gradebook.csv").read_text() == gradebook


def change_file(folder):
    write_notebook(
        folder / "class", make_notebook(SOLVED | {"prefix_mask": classes.WRONG}), "b.ipynb"
    )


def report_of_b(folder: Path) -> Path:
    reports = (folder / "out/reports").glob("*.json")
    return next(path for path in reports if json.loads(path.read_text())["file"] == "b.ipynb")


def change_pristine(folder):
    path = report_of_b(folder)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pristine_sha256": "another"}))


def change_schema(folder):
    path = report_of_b(folder)
    path.write_text(path.read_text().replace(f'"schema": {SCHEMA}', f'"schema": {SCHEMA - 1}'))


def cut_report(folder):
    path = report_of_b(folder)
    path.write_text(path.read_text()[:500])


def mark_not_graded(folder):
    path = report_of_b(folder)
    path.write_text(path.read_text().replace('"passed"', '"not graded"', 1))


def rename_file(folder):
    (folder / "class/b.ipynb").rename(folder / "class/d.ipynb")


CHANGES = (change_file, change_pristine, change_schema, cut_report, mark_not_graded, rename_file)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_has_changed_is_graded_again_and_nothing_else(change, folder, judged_files):
    grade(folder)
    judged_files.clear()
    change(folder)
    grade(folder)
    assert judged_files == ["d.ipynb" if change is rename_file else "b.ipynb"]


def test_what_the_machine_was_too_busy_for_twice_is_graded_again_only_when_asked(
    folder, judged_files
):
    grade(folder)
    judged_files.clear()
    data = json.loads((path := report_of_b(folder)).read_text())
    data["exercises"][0] |= {"status": "not graded", "hint": TOO_BUSY}
    path.write_text(json.dumps(data))
    assert "3 of them already graded" in grade(folder) and not judged_files
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
    assert "3 of them already graded" in grade(folder)
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


def test_a_class_of_sixty_killed_five_times_has_the_grades_of_one_run(tmp_path, grading):
    classes.make_sixty(tmp_path)
    command = [sys.executable, "-m", "tests.grading.killed", str(tmp_path), "5"]
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
