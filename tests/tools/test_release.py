"""The notebooks in the tree are those that their texts make."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import attncourse
from tools import __main__ as publish
from tools import release
from tools.book import Book
from tools.notebooks import chapter_notebook
from tools.setup_cell import light_needs, setup_cell
from tools.urls import ROOT

HERE = "https://github.com/someone/course"


@pytest.fixture
def course(course: Path) -> Path:
    """The sample course, whose second chapter has the same exercises."""
    shutil.copy(course / "solutions/first.md", course / "solutions/second.md")
    return course


def notebooks(course: Path, exercises: dict) -> list:
    made = release.texts(Book(HERE, course), exercises)
    return [nbformat.reads(text, 4) for text in made.values()]


def test_notebooks_are_valid_and_their_ids_unique(course, exercises):
    (course / "chapters/second.md").write_text("# Setup\n\n## Setup\n\n## Setup\n")
    for notebook in notebooks(course, exercises):
        nbformat.validate(notebook)
        assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
        assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_notebooks_come_out_the_same_each_time_and_were_not_run(course, exercises):
    first, second = notebooks(course, exercises), notebooks(course, exercises)
    assert first == second
    for cell in (cell for notebook in first for cell in notebook.cells if cell.cell_type == "code"):
        assert cell.id.startswith("check-") or (cell.execution_count is None and not cell.outputs)


def test_an_edit_leaves_the_ids_of_other_sections_alone(course):
    before = [cell.id for cell in chapter_notebook("first", Book(HERE, course)).cells]
    path = course / "chapters/first.md"
    path.write_text(path.read_text().replace("A sentence", "## New\n\nAnother. A sentence"))
    after = [cell.id for cell in chapter_notebook("first", Book(HERE, course)).cells]
    assert [name for name in after if name != "new"] == before


def test_a_stale_copy_is_named_and_released(course, exercises):
    assert len(release.stale(course, exercises)) == 4
    assert len(release.write(course, exercises)) == 4
    assert release.stale(course, exercises) == release.write(course, exercises) == []
    path = course / "chapters/second.md"
    path.write_text(path.read_text() + "\nOne more word.\n")
    assert release.stale(course, exercises) == [path.with_suffix(".ipynb")]
    path.with_suffix(".ipynb").write_text("{")
    assert release.stale(course, exercises) == [path.with_suffix(".ipynb")]


def test_a_fork_is_not_stale_and_its_release_names_it(course, exercises, monkeypatch):
    release.write(course, exercises)
    monkeypatch.setenv("GITHUB_REPOSITORY", "fork/attention")
    assert release.stale(course, exercises) == []
    assert len(release.write(course, exercises)) == 4
    text = (course / "chapters/first.ipynb").read_text()
    assert '\\"https://github.com/fork/attention\\"' in text and HERE not in text
    assert release.stale(course, exercises) == []
    path = course / "exercises/first.ipynb"
    path.write_text(path.read_text().replace("medium", "hard"))
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/course")
    assert release.stale(course, exercises) == [path]


def test_the_check_names_what_is_stale_and_the_remedy(monkeypatch, capsys):
    monkeypatch.setattr(release, "stale", lambda: [ROOT / "chapters/a.ipynb"])
    monkeypatch.setattr("sys.argv", ["publish", "--check"])
    assert publish.main() == 1
    assert capsys.readouterr().err == "stale: chapters/a.ipynb: run `make release`\n"


def test_the_notebooks_in_the_tree_are_up_to_date():
    done = subprocess.run(
        [sys.executable, "-m", "tools", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_set_up_cell_says_only_that_the_course_is_of_another_version(monkeypatch, capfd):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it started a program"))
    cell = setup_cell(HERE)
    exec(cell, {})
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(attncourse, "__version__", "9.9")
    exec(cell, {})
    (line,) = capfd.readouterr().out.splitlines()
    assert "of attncourse 0.1.0, and 9.9 is installed: run `pip uninstall -y attncourse`" in line


def test_the_set_up_cell_never_names_what_is_tied_to_the_machine():
    needs = light_needs()
    assert needs["jaxtyping"].startswith("jaxtyping") and "wadler_lindig" in needs
    assert not {"torch", "numpy", "matplotlib"} & set(needs)
