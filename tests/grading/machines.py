"""Machines as graders have them, made with bubblewrap: the user and what is refused there."""

import os
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

from judge.grading.sandbox.tiers import BWRAP, Tier
from tests import ROOT
from tests.needs import lacks

ROOTS = ("root", "root in a container")
USERS = ("a user", "a user without namespaces")
# the tier that each machine should get
TIERS = {
    "root": Tier.BUBBLEWRAP,
    "root in a container": Tier.OWN_USER,
    "a user": Tier.BUBBLEWRAP,
    "a user without namespaces": None,
}
# in the environment of the grader
SECRET = "A_SECRET_OF_THE_GRADER"


def bind_options(path: str) -> list[str]:
    """The options that let all users read the interpreter in a home that is closed to them."""
    chain = [*reversed(Path(path).parents), Path(path)]
    closed_parents = [parent for _, parent in pairwise(chain) if not parent.stat().st_mode & 0o005]
    if not closed_parents:
        return []
    top = closed_parents[0]
    folders = [folder for folder in chain[:-1] if folder == top or top in folder.parents]
    options = ["--perms", "755", "--tmpfs", str(folders[0])]
    for folder in folders[1:]:
        options += ["--perms", "755", "--dir", str(folder)]
    return [*options, "--ro-bind", path, path]


def command(machine: str) -> list[str]:
    """The command that runs another command on this machine, given after it."""
    base_command = [BWRAP, "--dev-bind", "/", "/", *bind_options(os.path.realpath(sys.base_prefix))]
    return {
        "root": base_command,
        "root in a container": [*base_command, "--cap-drop", "CAP_SYS_ADMIN"],
        "a user": base_command
        if os.getuid()
        else [*base_command, "setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"],
        "a user without namespaces": [
            *base_command, "--unshare-user", "--uid", "1000", "--gid", "1000", "--disable-userns",
        ],
    }[machine]  # fmt: skip


@cache
def missing_reason(machine: str) -> str:
    """The reason why this machine cannot be made here; empty if it can."""
    if machine in ROOTS and os.getuid():
        return lacks("root")
    if not BWRAP:
        return lacks("bubblewrap")
    probe = subprocess.run([*command(machine), sys.executable, "-c", ""], capture_output=True)
    return f"{machine}: {probe.stderr.decode().strip()}" if probe.returncode else ""


def open_to_others(folder: Path) -> None:
    """Let all users read a test's folder; pytest closes the folders that it makes."""
    for path in (folder, *folder.parents):
        if path.name.startswith(("test_", "popen-", "pytest-")):
            path.chmod(0o755)


def run_python(machine: str, *arguments: str, path: Path = ROOT) -> subprocess.CompletedProcess:
    """Run Python on this machine, with the package of the checkout or of another path."""
    variables = {"PYTHONPATH": str(path), "HOME": "/tmp", "OMP_NUM_THREADS": "1", SECRET: "1"}
    return subprocess.run(
        [*command(machine), sys.executable, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        cwd="/",
    )
