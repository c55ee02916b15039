"""What the tests use and pip cannot install, by Debian's package manager: `make system`.

Imports the standard library alone, so that it needs no .venv.
"""

import os
import shutil
import subprocess
import sys

from attncourse.publish.chromium import chromium


def missing() -> list[str]:
    """Debian's names of the packages that this machine lacks."""
    lacks = {
        "bubblewrap": sys.platform == "linux" and shutil.which("bwrap") is None,
        "chromium": chromium() is None,
    }
    return [package for package, lacking in lacks.items() if lacking]


def install(packages: list[str]) -> None:
    """Install packages where there is apt, by root or by a sudo that asks for no password."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (sudo and not shutil.which("sudo")):
        return
    # each by itself: not every system has every one, and one that is not there stops the others
    for words in (["update", "-q"], *(["install", "-q", "-y", one] for one in packages)):
        command = " ".join(["apt-get", *words])
        print(f"==> {command}", flush=True)
        if subprocess.run([*sudo, *command.split()], stdout=subprocess.DEVNULL).returncode:
            print(f"==> {command} failed", file=sys.stderr)


def main() -> int:
    """Install what is missing, and name what is missing still."""
    if packages := missing():
        install(packages)
    for package in (packages := missing()):
        print(f"==> {package} is missing: the tests that need it are skipped", file=sys.stderr)
    if not packages:
        print("==> this machine has what the tests use beyond Python")
    return 1 if packages else 0


if __name__ == "__main__":
    sys.exit(main())
