"""Run the tests that the edits since the last commit can break, as far as names tell: `make quick`.

A chapter and an exercise have the tests of their name, a module those that import it. What
reaches further, `make test` finds.
"""

import re
import subprocess
import sys
from pathlib import Path

from tools.urls import ROOT

CHECKS = "tests/checks/test_checks.py"
# they take no time, and any edit can break them; types take longer
ALWAYS = ("tests/test_layout.py", "tests/test_style.py")


def changed(root: Path = ROOT) -> list[str]:
    """The files that differ from the last commit, and those that git does not know yet."""
    commands = (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    found = (subprocess.run(["git", *one], cwd=root, capture_output=True) for one in commands)
    return [name for one in found for name in one.stdout.decode().splitlines()]


def containing(pattern: str, files: str, root: Path) -> set[str]:
    """The files, of those that a glob finds, in which a line begins with the pattern."""
    beginning = re.compile(rf"^\s*{pattern}", re.MULTILINE)
    found = (path for path in root.glob(files) if beginning.search(path.read_text("utf-8")))
    return {path.relative_to(root).as_posix() for path in found}


def tests(name: str, root: Path = ROOT) -> set[str]:
    """The test files, and the exercises, that a change of this file can break."""
    path = Path(name)
    match path.with_suffix("").parts:
        case ("tests", *_, file) if file.startswith("test_") and (root / name).exists():
            return {name}
        case ("attncourse", "checks", _, exercise) if exercise != "__init__":
            return {exercise}
        case ("attncourse", "checks", chapter, "shared", shared):
            users = containing(
                rf"from .*\b{shared} import", f"attncourse/checks/{chapter}/*.py", root
            )
            return {Path(user).stem for user in users}
        case ("attncourse", slug, *_) if (root / f"chapters/{slug}.md").exists():
            found = (root / "tests" / "mechanisms").glob(f"test_{slug}*.py")
            return {one.relative_to(root).as_posix() for one in found}
        case ("attncourse" | "tools", *_, module) if path.suffix == ".py":
            package = ".".join(path.parts[:-1])
            pattern = rf"(from {package}\.{module} |from {package} import .*\b{module}\b)"
            return containing(pattern, "tests/**/test_*.py", root)
        case ("chapters" | "solutions" | "exercises" | "_toc", *_):
            return {"tests/tools/test_release.py"}
    return set()


def command(names: list[str]) -> list[str]:
    """How pytest is asked for all of these."""
    asked = sorted({*ALWAYS, *names})
    files = sorted({one if one.endswith(".py") else CHECKS for one in asked})
    chosen = " or ".join(Path(one).name for one in asked)
    return ["pytest", "-q", *files, "-m", "not slow", "-k", f"not pyright and ({chosen})"]


if __name__ == "__main__":
    every = [one for name in changed() for one in tests(name)]
    sys.exit(subprocess.run([sys.executable, "-m", *command(every)], cwd=ROOT).returncode)
