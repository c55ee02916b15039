"""What the tests use and pip cannot install, by Debian's package manager: `make system`.

Imports the standard library alone, so that it needs no .venv.
"""

import os
import shutil
import subprocess
import sys

from tools.chromium import chromium

# what the tests use -> the packages of Debian that have it, the best first: not every system has
# every one
PACKAGES = {
    "bubblewrap": ["bubblewrap"],
    "chromium": ["chromium-headless-shell", "chromium"],
}


def missing() -> list[str]:
    """What this machine lacks."""
    lacks = {
        "bubblewrap": sys.platform == "linux" and shutil.which("bwrap") is None,
        "chromium": chromium() is None,
    }
    return [name for name, lacking in lacks.items() if lacking]


def install(names: list[str]) -> None:
    """Install these where there is apt, by root or by a sudo that asks for no password."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (sudo and not shutil.which("sudo")):
        return

    def apt_get(*words: str) -> bool:
        command = " ".join(["apt-get", *words])
        print(f"==> {command}", flush=True)
        done = subprocess.run([*sudo, *command.split()], stdout=subprocess.DEVNULL)
        if done.returncode:
            print(f"==> {command} failed", file=sys.stderr)
        return done.returncode == 0

    apt_get("update", "-q")
    for name in names:
        for package in PACKAGES[name]:
            if apt_get("install", "-q", "-y", package):
                break


def main() -> int:
    """Install what is missing, and name what is missing still."""
    if names := missing():
        install(names)
    for name in (names := missing()):
        print(f"==> {name} is missing: the tests that need it are skipped", file=sys.stderr)
    if not names:
        print("==> this machine has what the tests use beyond Python")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
