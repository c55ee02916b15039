"""What `make quick` runs after an edit."""

import subprocess
from types import SimpleNamespace

import pytest

from tests import ROOT
from tools import quick


@pytest.mark.parametrize(
    ("edited", "wanted"),
    {
        "attncourse/checks/dot_product/prefix_mask.py": {(quick.CHECKS, "[prefix_mask")},
        # an exercise of another chapter imports it too
        "attncourse/checks/dot_product/shared/masked_softmax.py": {
            (quick.CHECKS, "[distance_attention"),
            (quick.CHECKS, "[EncoderBlock"),
        },
        "attncourse/claims/relative.py": {(file, "[relative.") for file in quick.CLAIMS},
        "attncourse/linear.py": {("tests/mechanisms/test_linear.py", "")},
        "attncourse/kernels/linear.py": {("tests/mechanisms/test_linear.py", "")},
        "attncourse/cost.py": {("tests/mechanisms/test_cost.py", "")},
        "attncourse/grading/plugin.py": {("tests/grading", "")},
        "tests/checks/oracles/linear.py": {(quick.CHECKS, "[reordered_attention")},
        "tests/plot/conftest.py": {("tests/plot", "")},
        "tools/extensions/seo.py": {("tests/site", "")},
        "tools/quick.py": {("tests/tools/test_quick.py", "")},
        "chapters/linear.md": {(quick.RELEASE, "")},
        "README.md": set(),
    }.items(),
)
def test_an_edit_has_its_own_tests_or_those_of_its_users(edited, wanted):
    assert quick.tests(edited) >= wanted


def test_a_chapter_s_module_has_few():
    assert quick.tests("attncourse/convolution.py") == {
        ("tests/mechanisms/test_convolution.py", "")
    }


def test_no_code_is_without_tests():
    every = (
        path for top in ("attncourse", "drawings", "tools") for path in ROOT.glob(f"{top}/**/*.py")
    )
    names = {
        path.relative_to(ROOT).as_posix() for path in every if "def " in path.read_text("utf-8")
    }
    assert len(names) > 200 and [name for name in names if not quick.tests(name)] == []


def item(file: str, name: str, slow: bool = False) -> SimpleNamespace:
    return SimpleNamespace(path=ROOT / file, name=name, get_closest_marker=lambda _: slow)


def test_the_worked_solution_is_run_too_and_other_slow_tests_are_not():
    chosen = quick.Chosen({(quick.CHECKS, "[prefix_mask"), ("tests/tools", ""), ("gone.py", "")})
    assert chosen.files == [quick.CHECKS, *quick.ALWAYS, "tests/tools"]
    wanted = [
        item(quick.CHECKS, "test_solutions[prefix_mask-True]", slow=True),
        item("tests/tools/test_make.py", "test_one"),
    ]
    others = [
        item(quick.CHECKS, "test_solutions[band_mask-True]", slow=True),
        item("tests/tools/test_make.py", "test_one", slow=True),
        item("tests/test_style.py", "test_nothing_is_left_to_fix[pyright]"),
    ]
    assert list(filter(chosen.wants, [*wanted, *others])) == wanted


def test_what_git_does_not_know_yet_counts(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "one.py").touch()
    assert quick.changed(tmp_path) == ["new/one.py"]
