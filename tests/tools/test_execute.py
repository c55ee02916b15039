"""The cells of the pages: which run, when they run again, and what happens when one fails."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import attncourse
from attncourse.checks import chapters, exercises
from attncourse.checks.score import Row
from tools import execute, scores

PAGE = """\
---
kernelspec:
  name: python3
  display_name: Python 3
---
# Title

```{{code-cell}} python3
{}
```
"""
# a page that also tells us that it has run
USES_ONE = "from attncourse import one\nprint(open('one.runs', 'a').write('x'))"
USES_TWO = "from attncourse import two\nprint(open('two.runs', 'a').write('x'))"
MEETS = """\
import time
from pathlib import Path
Path("{0}").touch()
end = time.monotonic() + 60
while not Path("{1}").exists():
    assert time.monotonic() < end, "{1} did not run meanwhile"
    time.sleep(0.05)"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Writes a book of two pages with these cells, beside a package that they can import from."""
    (tmp_path / "attncourse").mkdir()
    for name in ("__init__", "one", "two"):
        (tmp_path / "attncourse" / f"{name}.py").touch()
    monkeypatch.setattr(execute, "PACKAGE", tmp_path / "attncourse")

    def write(one: str, two: str):
        (tmp_path / "_toc.yml").write_text("root: one\nchapters:\n- file: two\nformat: jb-book\n")
        for name, cell in (("one", one), ("two", two)):
            text = PAGE.format(cell)
            (tmp_path / f"{name}.md").write_text(
                text.replace("---\n", "---\nfile_format: mystnb\n", 1)
            )
        return tmp_path

    return write


def test_two_pages_run_at_the_same_time(book, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert execute.execute(book(MEETS.format("a", "b"), MEETS.format("b", "a")))


def test_the_page_that_fails_is_named_and_the_others_are_kept(book):
    folder = book("1 / 0", USES_TWO)
    with pytest.raises(execute.BuildFailed) as failure:
        execute.execute(folder)
    assert str(failure.value).splitlines() == [
        "one.md, cell 1 (line 10) failed: 1 / 0",
        "    ZeroDivisionError: division by zero",
    ]
    assert execute.execute(book("1", USES_TWO)) == ["one.md"]


def test_both_pages_that_fail_are_named(book):
    with pytest.raises(execute.BuildFailed, match=r"(?s)one\.md.*two\.md"):
        execute.execute(book("1 / 0", "None + 1"))


def test_a_page_runs_again_when_what_it_imported_has_changed(book):
    folder = book(USES_ONE, USES_TWO)
    assert execute.execute(folder) == ["one.md", "two.md"]
    assert execute.execute(folder) == []
    (folder / "attncourse" / "one.py").write_text("edited = True\n")
    assert execute.execute(folder) == ["one.md"]
    assert (folder / "one.runs").read_text() == "xx"
    # a page may list the modules
    (folder / "attncourse" / "three.py").touch()
    assert execute.execute(folder) == ["one.md", "two.md"]


def test_what_is_edited_while_the_cells_run_makes_them_stale(book):
    edit = "from attncourse import one\nprint(open(one.__file__, 'a').write('#'))"
    folder = book(edit, "1")
    assert execute.execute(folder) == ["one.md", "two.md"]
    assert execute.execute(folder) == ["one.md"]


def test_hidden_files_and_those_that_vanish_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "PACKAGE", tmp_path)
    for name in ("a.py", ".b.py.swp", ".DS_Store", ".git/c.py", "__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    # an editor's lock
    (tmp_path / ".#a.py").symlink_to("nowhere")
    assert execute.source_files(tmp_path) == execute.package_files() == [tmp_path / "a.py"]
    files = [tmp_path / "a.py", tmp_path / "gone.py"]
    assert execute.digest(files, tmp_path) == execute.digest(files[:1], tmp_path)


def test_other_libraries_make_all_outputs_stale(book):
    folder = book(USES_ONE, USES_TWO)
    execute.execute(folder)
    (folder / "requirements.txt").write_text("torch==0\n")
    assert execute.execute(folder) == ["one.md", "two.md"]


def test_a_page_that_is_not_there_is_named(book):
    folder = book("1", "2")
    (folder / "two.md").unlink()
    with pytest.raises(execute.BuildFailed, match=r"do not exist: two\.md"):
        execute.notebooks(folder)


LOADED = """
import sys
from attncourse.checks import exercises
from tools.scores import row
one = next(iter(exercises(sys.argv[1]).values()))
# how many are judged makes no difference to what is imported
del one.mutants[1:], one.right[1:]
row(0, one.chapter, one.name)
for name, module in list(sys.modules.items()):
    if name.startswith("attncourse") and not name.startswith("tools"):
        print(module.__file__)
"""


@pytest.mark.parametrize("chapter", chapters())
def test_judging_needs_no_more_than_its_score_is_kept_by(chapter):
    command = [sys.executable, "-c", LOADED, chapter]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded
    assert loaded <= set(map(str, scores.judging(chapter)))


class Here:
    """A pool that does everything in this process."""

    def __init__(self, *settings):
        self.map = map

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def test_the_score_of_a_chapter_is_kept_until_its_checks_change(tmp_path, monkeypatch):
    package = tmp_path / "attncourse"
    for name in ("checks/first", "checks/second", "claims"):
        (package / name).mkdir(parents=True)
        (package / name / "code.py").touch()
    judged = []

    def row(seed, chapter, name):
        judged.append(name)
        return Row(chapter, name, "write", 1, 1, 1, 2, 2)

    monkeypatch.setattr(scores, "PACKAGE", package)
    monkeypatch.setattr(scores, "chapters", lambda: ["first", "second"])
    monkeypatch.setattr(scores, "exercises", lambda chapter: [f"{chapter} a", f"{chapter} b"])
    monkeypatch.setattr(scores, "row", row)
    monkeypatch.setattr(scores, "ProcessPoolExecutor", Here)
    every = scores.rows(tmp_path / "scores")
    assert (
        judged == [one.exercise for one in every] == "first a,first b,second a,second b".split(",")
    )

    judged.clear()
    (package / "claims" / "code.py").write_text("edited = True\n")
    assert scores.rows(tmp_path / "scores") == every
    assert judged == []
    (package / "checks" / "second" / "code.py").write_text("edited = True\n")
    assert scores.rows(tmp_path / "scores") == every
    assert judged == ["second a", "second b"]
    assert len(list((tmp_path / "scores").iterdir())) == 2


TABLE = "from pathlib import Path\nfrom tools import scores\nscores.rows(Path('scores'))"


def test_the_table_of_scores_is_made_again_after_an_edit_where_all_were_kept(book, monkeypatch):
    folder = book(TABLE, "2")
    package = folder / "attncourse"
    shutil.copytree(Path(attncourse.__file__).parent, package, dirs_exist_ok=True)
    monkeypatch.setattr(scores, "PACKAGE", package)
    for chapter in chapters():
        # one exercise stands for all
        with (package / "checks" / chapter / "__init__.py").open("a") as file:
            file.write("ORDER = ORDER[:1]\n")
    (folder / "scores").mkdir()
    for chapter, file in scores.score_files(folder / "scores").items():
        rows = [Row(chapter, "kept", "write", 1, 1, 1, 2, 2)]
        file.write_text(json.dumps({"seed": 0, "rows": rows}))
    kept = set((folder / "scores").iterdir())
    assert execute.execute(folder) == ["one.md", "two.md"]
    assert set((folder / "scores").iterdir()) == kept
    # no other chapter's checks use those of the last one, so it alone is judged
    last = chapters()[-1]
    with (package / "checks" / last / f"{next(iter(exercises(last)))}.py").open("a") as file:
        file.write("# edited\n")
    assert execute.execute(folder) == ["one.md"]
    assert set((folder / "scores").iterdir()) != kept
