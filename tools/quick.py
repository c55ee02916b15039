"""Run the tests that the edits since the last commit can break, as far as names tell: `make quick`.

A chapter and an exercise have the tests of their name, a module those that import it. What
reaches further, `make test` finds.
"""

import re
import subprocess
import sys
from pathlib import Path

from tools.urls import ROOT

CHECKS, RELEASE = "tests/checks/test_checks.py", "tests/tools/test_release.py"
# they take no time, and any edit can break them; types take longer
ALWAYS = ("tests/test_layout.py", "tests/test_style.py")


def changed(root: Path = ROOT) -> list[str]:
    """The files that differ from the last commit, and those that git does not know yet."""
    command = ["git", "status", "--porcelain", "--no-renames", "--untracked-files=all"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [line[3:] for line in done.stdout.splitlines()]


def found(files: str, imported: tuple[str, ...] = ()) -> set[str]:
    """The files that a glob finds, or those of them that import a module."""
    package, module = ".".join(imported[:-1]), "".join(imported[-1:])
    pattern = rf"^\s*from {package}(\.{module} | import .*\b{module}\b)" if imported else ""
    paths = (path for path in ROOT.glob(files) if re.search(pattern, path.read_text("utf-8"), re.M))
    return {path.relative_to(ROOT).as_posix() for path in paths}


def tests(name: str) -> set[str]:
    """The test files, and the exercises, that a change of this file can break."""
    parts = Path(name).with_suffix("").parts
    match parts:
        case ("tests", *_, file) if file.startswith("test_") and (ROOT / name).exists():
            return {name}
        case ("attncourse", "checks", chapter, "shared", _):
            return {Path(user).stem for user in found(f"attncourse/checks/{chapter}/*.py", parts)}
        case ("attncourse", "checks", _, exercise) if exercise != "__init__":
            return {exercise}
        case ("attncourse", slug, *_) if (ROOT / f"chapters/{slug}.md").exists():
            return found(f"tests/mechanisms/test_{slug}*.py")
        case ("tools", _) if name.endswith(".py"):
            # most of them make the notebooks
            return {RELEASE, *found("tests/**/test_*.py", parts)}
        case ("attncourse" | "tools", *_) if name.endswith(".py"):
            return found("tests/**/test_*.py", parts)
        case ("chapters" | "solutions" | "exercises" | "_toc", *_):
            return {RELEASE}
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
