"""The skeletons of a chapter and of an exercise are whole."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.test_layout import RULES
from tools import begin


@pytest.fixture(scope="module")
def extended_course(tmp_path_factory) -> Path:
    """A copy of the course in which a chapter with two exercises has been begun."""
    unused = shutil.ignore_patterns(".*", "_build", "__pycache__", "theme")
    course = shutil.copytree(ROOT, tmp_path_factory.mktemp("parent") / "course", ignore=unused)
    subprocess.run(["git", "init", "-q"], cwd=course, check=True)
    assert set(begin.write_chapter("toy", course)) > {"chapters/toy.md", "_toc.yml"}
    for name in ("centred", "also_centred"):
        assert f"attncourse/course/toy/exercises/{name}.py" in begin.write_exercise(
            f"toy/{name}", course
        )
    run_python(course, "-c", "from tools import release; release.write()")
    return course


def run_python(course: Path, *words: str) -> str:
    command = [sys.executable, *words]
    result = subprocess.run(command, cwd=course, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_they_keep_the_rule_of_the_layout(extended_course, rule):
    assert list(rule(extended_course)) == []


@pytest.mark.slow
def test_their_code_is_laid_out_and_their_tests_pass(extended_course):
    tests = ["tests/attncourse/test_toy.py", "tests/judge/test_checks.py"]
    code = [tests[0], "attncourse/toy.py", "attncourse/course/toy"]
    run_python(extended_course, "-m", "ruff", "check", *code)
    run_python(extended_course, "-m", "ruff", "format", "--check", *code)
    result = run_python(
        extended_course, "-m", "pytest", "-v", "--all", *tests, "-k", "toy or centred"
    )
    assert "[also_centred-True-passed] PASSED" in result


@pytest.mark.parametrize(
    ("write", "name", "words"),
    [
        (begin.write_chapter, "2nd", "SLUG=2nd is no plain word"),
        (begin.write_chapter, "dot_product", "chapters/dot_product.md is there already"),
        (begin.write_exercise, "prefix_mask", "NAME=prefix_mask is not as in make exercise NAME="),
        (begin.write_exercise, "nowhere/one", "there is no chapter nowhere"),
        (begin.write_exercise, "dot_product/prefix_mask", "prefix_mask.py is there already"),
    ],
)
def test_a_name_that_will_not_do_is_said_plainly(write, name, words):
    with pytest.raises(ValueError, match=words):
        write(name, ROOT)
