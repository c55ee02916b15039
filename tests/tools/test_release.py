"""The notebooks in the tree are those that their texts make."""

import subprocess

import pytest

import attncourse
from tools import release
from tools.book import Book
from tools.notebooks import chapter_notebook
from tools.setup_cell import setup_cell

REPOSITORY = "https://github.com/someone/course"


def test_the_notebooks_in_the_tree_are_up_to_date():
    assert release.stale() == [], "run `make release`"


def test_a_stale_notebook_is_named_and_released_also_in_a_fork(course, monkeypatch):
    assert len(release.stale(course)) == len(release.write(course)) == 4
    assert "5 minutes · 1 point. " in (course / "exercises/first.ipynb").read_text()
    monkeypatch.setenv("GITHUB_REPOSITORY", "fork/attention")
    assert release.stale(course) == []
    assert len(release.write(course)) == 4
    text = (course / "chapters/first.ipynb").read_text()
    assert '\\"https://github.com/fork/attention\\"' in text and REPOSITORY not in text
    assert release.stale(course) == release.write(course) == []
    path = course / "chapters/second.md"
    path.write_text(path.read_text() + "\nOne more word.\n")
    assert release.stale(course) == [path.with_suffix(".ipynb")]


def test_ids_are_unique_and_an_edit_leaves_those_of_other_sections_alone(course):
    path = course / "chapters/first.md"
    path.write_text(path.read_text() + "\nA sentence.\n\n## Setup\n\n## Setup\n")
    before = [cell.id for cell in chapter_notebook("first", Book(REPOSITORY, course)).cells]
    assert len(set(before)) == len(before)
    path.write_text(path.read_text().replace("A sentence", "## New\n\nAnother. A sentence"))
    after = [cell.id for cell in chapter_notebook("first", Book(REPOSITORY, course)).cells]
    assert [name for name in after if name != "new"] == before


def test_the_set_up_cell_says_only_that_the_course_is_of_another_version(monkeypatch, capfd):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it started a program"))
    cell = setup_cell(REPOSITORY)
    exec(cell, {})
    assert capfd.readouterr() == ("", "")
    made_with = attncourse.__version__
    monkeypatch.setattr(attncourse, "__version__", "9.9")
    exec(cell, {})
    (line,) = capfd.readouterr().out.splitlines()
    message = f"of attncourse {made_with}, and 9.9 is installed: run `pip uninstall -y attncourse`"
    assert message in line
