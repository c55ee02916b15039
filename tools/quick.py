"""Run the tests that the edits since the last commit can break: `make quick`.

A chapter's module has the tests of its name, the judge those of verdicts; any other file those
that import it, or else those that import what imports it, and so on. What reaches further, `make
test` finds.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tools.urls import ROOT

CHECKS = "tests/judge/test_checks.py"
CLAIMS = ("tests/course/test_claims.py", "tests/course/test_false_of.py")
RELEASE = "tests/tools/test_release.py"
# they take no time, and any edit can break them; types take longer
ALWAYS = ("tests/test_layout.py", "tests/test_style.py")


def changed(root: Path = ROOT) -> list[str]:
    """The files that differ from the last commit, and those that git does not know yet."""
    command = ["git", "status", "--porcelain", "--no-renames", "--untracked-files=all"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [line[3:] for line in done.stdout.splitlines()]


@cache
def users() -> dict[str, list[str]]:
    """The files that import each file."""
    command = [sys.executable, "-m", "ruff", "analyze", "graph", "--direction=dependents", "-q"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)


def named(name: str) -> set[str]:
    """The tests that a file has by its place and name: how their files and parameters begin."""
    match Path(name).with_suffix("").parts:
        case ("attncourse", "checks", _, exercise) if exercise != "__init__":
            return {f"{CHECKS}[{exercise}"}
        case ("tests", "checks", "oracles", slug):
            exercises = ROOT.glob(f"attncourse/checks/{slug}/[!_]*.py")
            return {f"{CHECKS}[{path.stem}" for path in exercises}
        case ("attncourse", "claims", slug, *_) | ("tests", "claims", "false_of", slug):
            return {f"{file}[{slug}." for file in CLAIMS if slug != "__init__"}
        case ("judge", _):
            # a step of every verdict: all that is tested of them, and one exercise
            files = {f"tests/judge/{path.name}" for path in ROOT.glob("tests/judge/test_*.py")}
            return files - {CHECKS} | {f"{CHECKS}[distance_attention"}
        case ("tests", *_, "conftest"):
            return {name.removesuffix("/conftest.py")}
        case ("tests", *_, file) if file.startswith("test_"):
            return {name}
        case ("attncourse", "__main__"):
            return {"tests/grading"}
        case ("attncourse", slug, *_) if (ROOT / f"chapters/{slug}.md").exists():
            return {f"tests/attncourse/test_{slug}"}
        case ("tools", "extensions" | "theme", *_):
            return {"tests/site"}
        case ("drawings", *_):
            return {"tests/test_drawings.py", RELEASE}
        case ("chapters" | "solutions" | "exercises" | "_toc", *_) | (_, "checks", _, "__init__"):
            return {RELEASE}
    return set()


def tests(name: str) -> set[str]:
    """The tests that a change of this file can break: its own, or those of its nearest users."""
    seen, level = {name}, {name}
    while level:
        if found := {one for file in level for one in named(file)}:
            return found
        level = {user for file in level for user in users().get(file, ())} - seen
        seen |= level
    # what is run as a program nobody imports
    folder = f"tests/{Path(name).parent.name}"
    return {folder} if name.endswith(".py") and (ROOT / folder).is_dir() else set()


class Chosen:
    """Keeps the tests that are asked for; the slow ones only of what has a name of its own."""

    def __init__(self, asked: set[str]):
        self.asked = [one.partition("[")[::2] for one in {*asked, *ALWAYS}]
        self.files = {str(path) for file, _ in self.asked for path in ROOT.glob(f"{file}*")}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the others out."""
        items[:] = filter(self.wants, items)

    def wants(self, item: pytest.Item) -> bool:
        """Whether to run this test."""
        place, _, parameter = item.nodeid.partition("[")
        fast = parameter != "pyright]" and not item.get_closest_marker("slow")
        return any(
            place.startswith(file) and parameter.startswith(word) and (word or fast)
            for file, word in self.asked
        )


if __name__ == "__main__":
    chosen = Chosen({one for name in changed() for one in tests(name)})
    sys.exit(pytest.main(["-q", *chosen.files], plugins=[chosen]))
