"""Machines as graders have them, made with bubblewrap: who one is there, and what is refused."""

import os
import shutil
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

from tests import ROOT
from tests.needs import lacks

ROOTS = ("root", "root in a container")
USERS = ("a user", "a user without namespaces")
# the tier that each is to get
TIERS = {
    "root": "bubblewrap",
    "root in a container": "own user",
    "a user": "bubblewrap",
    "a user without namespaces": "",
}
# in the environment of whoever grades there
SECRET = "A_SECRET_OF_THE_GRADER"


def opened(path: str) -> list[str]:
    """The interpreter in a home that only its owner may enter, for all to read."""
    chain = [*reversed(Path(path).parents), Path(path)]
    closed = [parent for _, parent in pairwise(chain) if not parent.stat().st_mode & 0o005]
    if not closed:
        return []
    folders = [one for one in chain[:-1] if one == closed[0] or closed[0] in one.parents]
    options = ["--perms", "755", "--tmpfs", str(folders[0])]
    for folder in folders[1:]:
        options += ["--perms", "755", "--dir", str(folder)]
    return [*options, "--ro-bind", path, path]


def command(machine: str) -> list[str]:
    """What to put before a command that is to run there."""
    whole = ["bwrap", "--dev-bind", "/", "/", *opened(os.path.realpath(sys.base_prefix))]
    return {
        "root": whole,
        "root in a container": [*whole, "--cap-drop", "CAP_SYS_ADMIN"],
        "a user": whole
        if os.getuid()
        else [*whole, "setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"],
        "a user without namespaces": [
            *whole, "--unshare-user", "--uid", "1000", "--gid", "1000", "--disable-userns",
        ],
    }[machine]  # fmt: skip


@cache
def problem(machine: str) -> str:
    """Why this machine cannot be had here."""
    if machine in ROOTS and os.getuid():
        return lacks("root")
    if shutil.which("bwrap") is None:
        return lacks("bubblewrap")
    tried = subprocess.run([*command(machine), sys.executable, "-c", ""], capture_output=True)
    return f"{machine}: {tried.stderr.decode().strip()}" if tried.returncode else ""


def opened_to_others(folder: Path) -> None:
    """Let whoever is there read a test's folder; pytest closes those that it makes."""
    for path in (folder, *folder.parents):
        if path.name.startswith(("test_", "popen-", "pytest-")):
            path.chmod(0o755)


def python(machine: str, *arguments: str, path: Path = ROOT) -> subprocess.CompletedProcess:
    """Run Python there, with the package in a checkout, or where the path says."""
    variables = {"PYTHONPATH": str(path), "HOME": "/tmp", "OMP_NUM_THREADS": "1", SECRET: "1"}
    return subprocess.run(
        [*command(machine), sys.executable, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        cwd="/",
    )
