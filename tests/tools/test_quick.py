"""What `make quick` runs after an edit."""

import subprocess
from types import SimpleNamespace

import pytest

from tests import ROOT
from tools import quick


@pytest.mark.parametrize(
    ("edited", "wanted"),
    {
        "attncourse/checks/dot_product/prefix_mask.py": {f"{quick.CHECKS}[prefix_mask"},
        # an exercise of another chapter imports it too
        "attncourse/checks/dot_product/shared/masked_softmax.py": {
            f"{quick.CHECKS}[distance_attention",
            f"{quick.CHECKS}[EncoderBlock",
        },
        "attncourse/claims/relative.py": {f"{file}[relative." for file in quick.CLAIMS},
        "attncourse/linear.py": {"tests/mechanisms/test_linear"},
        "attncourse/autograd/linear.py": {"tests/mechanisms/test_linear"},
        "attncourse/cost.py": {"tests/mechanisms/test_cost.py"},
        "judge/seen.py": {"tests/checks/test_notebook.py", f"{quick.CHECKS}[distance_attention"},
        "judge/grading/judge_process.py": {"tests/grading"},
        "tests/checks/oracles/linear.py": {f"{quick.CHECKS}[reordered_attention"},
        "tests/plot/conftest.py": {"tests/plot"},
        "tools/extensions/seo.py": {"tests/site"},
        "tools/quick.py": {"tests/tools/test_quick.py"},
        "chapters/linear.md": {quick.RELEASE},
        "README.md": set(),
    }.items(),
)
def test_an_edit_has_its_own_tests_or_those_of_its_users(edited, wanted):
    assert quick.tests(edited) >= wanted


def test_a_chapter_s_module_has_few():
    assert quick.tests("attncourse/convolution.py") == {"tests/mechanisms/test_convolution"}


def test_no_code_is_without_tests():
    folders = ("attncourse", "drawings", "judge", "tools")
    paths = [path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py")]
    code = [path for path in paths if "def " in path.read_text("utf-8")]
    names = [path.relative_to(ROOT).as_posix() for path in code]
    assert len(names) > 200 and [name for name in names if not quick.tests(name)] == []


def test_the_worked_solution_is_run_too_and_other_slow_tests_are_not():
    chosen = quick.Chosen({f"{quick.CHECKS}[prefix_mask", "tests/tools", "gone.py"})
    files = [quick.CHECKS, *quick.ALWAYS, "tests/tools"]
    assert chosen.files == {str(ROOT / file) for file in files}
    solution, make = f"{quick.CHECKS}::test_solutions", "tests/tools/test_make.py::test_one"
    slow = {
        f"{solution}[prefix_mask-True]": True,
        make: False,
        f"{solution}[band_mask-True]": True,
        f"{make}[two]": True,
        "tests/test_style.py::test_nothing_is_left_to_fix[pyright]": False,
    }
    items = [
        SimpleNamespace(nodeid=name, get_closest_marker=lambda _, name=name: slow[name])
        for name in slow
    ]
    chosen.pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == list(slow)[:2]


def test_what_git_does_not_know_yet_counts(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "one.py").touch()
    assert quick.changed(tmp_path) == ["new/one.py"]
