"""The set-up cell, the first of every notebook: it finds the course or installs it."""

from pathlib import Path

import attncourse
from tools.urls import ROOT, branch

# module and requirement of the small dependencies; a notebook uses the torch, numpy and matplotlib
# that are installed. num2words, which the package can do without, makes the data of a chapter
LIGHT_REQUIREMENTS = {
    "jaxtyping": "jaxtyping>=0.2.34",
    "wadler_lindig": "wadler-lindig>=0.1.3",
    "num2words": "num2words>=0.5.13",
}

CELL = """\
# @title Set-up: run this cell first
import importlib.util
import subprocess
import sys

repository, version = "{repository}", "{version}"
light = {light}


def is_here(module):
    return importlib.util.find_spec(module) is not None


def place():
    # the release that this notebook was made with, or the newest text where it has no tag yet
    asked = f"git ls-remote --exit-code --tags {{repository}} v{{version}}"
    # a shell, because it raises nothing where there is no git: pip then says so
    missing, _ = subprocess.getstatusoutput(asked)
    return f"git+{{repository}}@" + ("{branch}" if missing else f"v{{version}}")


if not is_here("attncourse"):
    wanted = [place(), *(need for module, need in light.items() if not is_here(module))]
    # --no-deps: whatever is installed keeps its version
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *wanted]
    run = subprocess.run(pip, capture_output=True, text=True)
    importlib.invalidate_caches()
    if run.returncode or not is_here("attncourse"):
        command = " ".join(pip)
        raise RuntimeError(
            f"The course could not be installed.\\n\\n{{run.stderr.strip()}}\\n\\n"
            f"Check that there is a network, git and pip; then run in a terminal:\\n{{command}}"
        )

import attncourse

if attncourse.__version__ != version:
    print(
        f"This notebook is of attncourse {{version}}, and {{attncourse.__version__}} is installed: "
        "run `pip uninstall -y attncourse`, restart the kernel, and run this cell again."
    )"""


def setup_cell(repository: str, root: Path = ROOT) -> str:
    """The source of the set-up cell for the course in a repository."""
    pairs = "".join(f'    "{module}": "{need}",\n' for module, need in LIGHT_REQUIREMENTS.items())
    light, version = f"{{\n{pairs}}}", attncourse.__version__
    return CELL.format(repository=repository, branch=branch(root), version=version, light=light)
