"""What `make quick` runs after an edit."""

import subprocess

import pytest

from tools import quick


@pytest.mark.parametrize(
    ("edited", "wanted"),
    {
        "attncourse/checks/dot_product/prefix_mask.py": {"prefix_mask"},
        "attncourse/checks/dot_product/shared/masked_softmax.py": {
            "distance_attention",
            "bilinear_weights",
        },
        "attncourse/linear.py": {"tests/mechanisms/test_linear.py"},
        "attncourse/cost.py": {"tests/mechanisms/test_cost.py"},
        "tools/quick.py": {"tests/tools/test_quick.py"},
        "tools/markdown.py": {"tests/tools/test_release.py"},
        "tests/test_layout.py": {"tests/test_layout.py"},
        "chapters/linear.md": {"tests/tools/test_release.py"},
        "README.md": set(),
    }.items(),
)
def test_an_edit_has_the_tests_of_its_name(edited, wanted):
    assert quick.tests(edited) >= wanted


def test_an_exercise_is_asked_for_by_name_among_the_tests_of_all():
    asked = quick.command(["prefix_mask", "tests/tools/test_quick.py"])
    assert quick.CHECKS in asked and "tests/tools/test_quick.py" in asked
    chosen = "not pyright and (prefix_mask or test_layout.py or test_style.py or test_quick.py)"
    assert asked[-1] == chosen


def test_what_git_does_not_know_yet_counts(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "one.py").touch()
    assert quick.changed(tmp_path) == ["new/one.py"]
