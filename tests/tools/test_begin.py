"""The skeleton of an exercise is whole."""

import shutil
import subprocess
import sys

import pytest

from tests import ROOT
from tools import begin


def test_an_exercise_that_is_begun_is_laid_out_and_judges_its_answers_rightly(tmp_path):
    unused = shutil.ignore_patterns(".*", "_build", "__pycache__", "theme", "tests")
    course = shutil.copytree(ROOT, tmp_path / "course", ignore=unused)
    assert "attncourse/checks/linear/centred.py" in begin.exercise("linear/centred", course)
    order = (course / "attncourse/checks/linear/__init__.py").read_text()
    assert order.endswith('    "centred",\n)\n')
    for command in (
        ["-m", "ruff", "check", "attncourse/checks/linear"],
        ["-m", "ruff", "format", "--check", "attncourse/checks/linear"],
        ["-m", "attncourse.checks", "centred"],
        ["-c", "from tools.notebooks import solved_notebook; solved_notebook('linear')"],
    ):
        done = subprocess.run(
            [sys.executable, *command], cwd=course, capture_output=True, text=True
        )
        assert done.returncode == 0 and "!!" not in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("prefix_mask", "NAME=prefix_mask is not as in make exercise NAME="),
        ("nowhere/one", "there is no chapter nowhere"),
        ("dot_product/prefix_mask", "prefix_mask.py is there already"),
    ],
)
def test_a_name_that_will_not_do_is_said_plainly(name, words):
    with pytest.raises(ValueError, match=words):
        begin.exercise(name, ROOT)
