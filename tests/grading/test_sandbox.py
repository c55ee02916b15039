"""What the sandbox hides: the text of every module that holds the answers of a chapter."""

import subprocess
from pathlib import Path

import pytest

from attncourse.checks import chapters
from attncourse.grading import sandbox
from attncourse.grading.sandbox import PACKAGE, answers, command


def modules(chapter: str) -> list[Path]:
    """The files of a chapter's mechanisms and of its kernel."""
    found = [PACKAGE / f"{chapter}.py", PACKAGE / "kernels" / f"{chapter}.py"]
    return [path for path in [*found, *(PACKAGE / chapter).glob("*.py")] if path.is_file()]


@pytest.mark.parametrize("chapter", chapters())
def test_every_module_of_the_chapter_is_hidden(chapter):
    hidden = answers(chapter)
    assert modules(chapter)
    for path in modules(chapter):
        assert {path, *path.parents} & set(hidden), path


@pytest.mark.skipif(not sandbox.available(), reason="needs bubblewrap, which does not work here")
@pytest.mark.parametrize("chapter", ["dot_product", "efficient", "relative"])
def test_in_the_sandbox_none_of_them_can_be_read(chapter, tmp_path):
    names = [str(path) for path in modules(chapter)]
    done = subprocess.run([*command(tmp_path, chapter), "cat", *names], capture_output=True)
    assert done.stdout == b""
    # what is not of this chapter can be
    other = str(PACKAGE / "cost.py")
    assert subprocess.run([*command(tmp_path, chapter), "cat", other]).returncode == 0
