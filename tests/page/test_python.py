"""What a page loads as Python: enough for its exercises, little, and what it should be."""

import json
import subprocess
import sys
import zipfile
from io import BytesIO

import pytest

from attncourse.course import COURSE
from tests.torch_over_numpy.differences import EXCLUDED
from tools.extensions.editors import runs_in_page
from tools.page_python import course_zip

MOST_BYTES = 300_000
# in a process that has numpy and the zip, and none of what lies beside numpy
CHECK = """
import importlib.machinery, json, sys
folder, libraries, *names = sys.argv[1:]
sys.path = [folder, *(path for path in sys.path if path not in ("", libraries))]

class NumpyAlone:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            return importlib.machinery.PathFinder.find_spec(name, [libraries])

sys.meta_path.append(NumpyAlone())
from torch_over_numpy.load import as_torch
as_torch()
from attncourse.course import COURSE
from judge.page_worker import Page
from judge.exercise_text import with_first_line
page, told = Page(COURSE), {}
for name in names:
    answer = with_first_line(name, COURSE.exercise(name).task.code("answer"))
    told[name] = json.loads(page.check(name, answer, 7))["said"]
print(json.dumps(told))
"""
ON_A_PUSH = "dot_product"


def names(chapter: str) -> list[str]:
    return [one.name for one in COURSE.exercises(chapter).values() if runs_in_page(one)]


@pytest.mark.parametrize(
    "chapter",
    [one if one == ON_A_PUSH else pytest.param(one, marks=pytest.mark.slow)
     for one in COURSE.chapters()],
)  # fmt: skip
def test_with_numpy_and_a_page_s_zip_alone_every_worked_answer_passes(chapter, tmp_path):
    content = course_zip(chapter, names(chapter))
    assert len(content) < MOST_BYTES
    with zipfile.ZipFile(BytesIO(content)) as archive:
        archive.extractall(tmp_path)
    libraries = next(path for path in sys.path if path.endswith("site-packages"))
    command = [sys.executable, "-I", "-S", "-c", CHECK, tmp_path, libraries, *names(chapter)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.splitlines()[-1])
    assert list(told) == names(chapter)
    assert not {name: said for name, said in told.items() if not said.startswith(f"{name}: ok")}


def test_what_no_page_checks_is_what_is_excluded_from_the_comparison():
    listed = {one for chapter in COURSE.chapters() for one in COURSE.order(chapter)}
    checked = {name for chapter in COURSE.chapters() for name in names(chapter)}
    assert listed - checked == {*EXCLUDED}


def test_a_page_s_zip_has_no_grader_and_is_the_same_each_time():
    content = course_zip(ON_A_PUSH, names(ON_A_PUSH))
    assert content == course_zip(ON_A_PUSH, names(ON_A_PUSH))
    members = zipfile.ZipFile(BytesIO(content)).namelist()
    assert not [name for name in members if "grading" in name or name.endswith(".pyc")]
