"""The cells of the pages: which run, when they run again, and what happens when one fails."""

import os

import pytest

from tests.books import NOTEBOOK
from tools import execute

# a page that also tells us that it has run
COUNTS = "print(open('runs', 'a').write('x'))"
WAIT_FOR_OTHER = """\
import time
from pathlib import Path
Path("{0}").touch()
end = time.monotonic() + 60
while not Path("{1}").exists():
    assert time.monotonic() < end, "{1} did not run meanwhile"
    time.sleep(0.05)"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Writes a book of two pages with these cells, beside a package that they can import."""
    (tmp_path / "attncourse").mkdir()
    for name in ("attncourse/__init__.py", "requirements.txt"):
        (tmp_path / name).touch()
    monkeypatch.setattr(execute, "PACKAGE", tmp_path / "attncourse")
    (tmp_path / "_toc.yml").write_text("root: one\nchapters:\n- file: two\nformat: jb-book\n")

    def write_book(one: str, two: str):
        for name, cell in (("one", one), ("two", two)):
            text = f"{NOTEBOOK}# Title\n\n```{{code-cell}} python3\n{cell}\n```\n"
            (tmp_path / f"{name}.md").write_text(text)
        return tmp_path

    return write_book


def test_two_pages_run_at_the_same_time(book, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert execute.execute(book(WAIT_FOR_OTHER.format("a", "b"), WAIT_FOR_OTHER.format("b", "a")))


def test_each_cell_that_fails_is_named_and_the_other_pages_are_kept(book):
    with pytest.raises(execute.BuildError) as failure:
        execute.execute(book("1 / 0  # wrong", "import os; os._exit(1)"))
    first, second = str(failure.value).split("two.md:9: the cell failed: ")
    assert first.startswith("one.md:9: the cell failed: ") and "1 / 0  # wrong" in first
    assert first.strip().endswith("division by zero") and second == "Kernel died"
    with pytest.raises(execute.BuildError, match=r"one\.md"):
        execute.execute(book("1 / 0", COUNTS))
    assert execute.execute(book("1", COUNTS)) == ["one.md"]


def test_pages_run_again_when_the_package_has_changed_be_it_while_they_run(book):
    folder = book("print(open('attncourse/__init__.py', 'a').write('#'))", COUNTS)
    names = ["one.md", "two.md"]
    assert execute.execute(folder) == names
    assert execute.execute(book("2", COUNTS)) == names
    assert execute.execute(book("3", COUNTS)) == ["one.md"]
    (folder / "judge").mkdir()
    for name in ("attncourse/figure.js", "judge/hints.py", "requirements.txt"):
        (folder / name).write_text("//")
        assert execute.execute(folder) == names
    assert (folder / "runs").read_text() == "xxxxx"
