"""The sandbox: bubblewrap on Linux, where it works; every report says whether it was used."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import attncourse

PACKAGE = Path(attncourse.__file__).parent
ISOLATION = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net",
             "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session")  # fmt: skip


@cache
def available() -> bool:
    """Whether bubblewrap is here and this system lets it make its namespaces."""
    program = shutil.which("bwrap")
    if program is None:
        return False
    tried = subprocess.run([program, *ISOLATION, "true"], capture_output=True)
    return tried.returncode == 0


def command(folder: Path, chapter: str) -> list[str]:
    """What to put before a command: no network, only the folder writable, answers unreadable."""
    masks = []
    for hidden in answers(chapter):
        if hidden.is_dir():
            masks += ["--tmpfs", str(hidden)]
        elif hidden.is_file():
            masks += ["--ro-bind", "/dev/null", str(hidden)]
    return ["bwrap", *ISOLATION, *masks, "--bind", str(folder), str(folder), "--chdir", str(folder)]


def answers(chapter: str) -> list[Path]:
    """Where the answers to a chapter's exercises lie: in the package, and in a checkout."""
    modules = (PACKAGE / chapter, PACKAGE / "kernels" / chapter)
    package = [
        PACKAGE / "checks",
        *(where / "__pycache__" for where in (PACKAGE, PACKAGE / "kernels")),
    ]
    # a chapter's module may be a folder
    package += [path for module in modules for path in (module, module.with_suffix(".py"))]
    checkout = [
        PACKAGE.parent / name for name in ("solutions", "chapters", ".git", "_build", ".cache")
    ]
    # an installed package lies among others: only beside our own pyproject is there a checkout
    return package + (checkout if (PACKAGE.parent / "pyproject.toml").is_file() else [])
