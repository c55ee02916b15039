"""What other platforms grade with: Gradescope's zip, nbgrader's notebooks."""

import contextlib
import importlib.metadata
import json
import zipfile
from copy import deepcopy
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from nbformat import NotebookNode
from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from judge.course import course
from judge.grading.notebook.pristine import chapters, exercise_files
from judge.grading.sandbox.paths import packages

# what a container is, whatever this machine is
LINUX = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "extra": "",
}
SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the autograder.
set -euo pipefail
cd "${AUTOGRADER:-/autograder}"

if command -v apt-get >/dev/null; then
    apt-get update -q
    apt-get install -q -y python3-venv || true
fi
find_python() {
    for one in python3.13 python3.12 python3.11 python3; do
        "$one" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \\
            && echo "$one" && return
    done
    return 1
}
find_python || apt-get install -q -y python3.11 python3.11-venv
"$(find_python)" -m venv venv
# the wheels, if some came along, are all there is to install from
from=()
[ -d source/wheels ] && from=(--no-index --find-links source/wheels)
venv/bin/python -m pip install --disable-pip-version-check --no-cache-dir "${from[@]}" \\
    -r source/requirements.txt
"""
RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission. Without results.json it says that the autograder failed.
cd "${AUTOGRADER:-/autograder}"
export PYTHONPATH="$PWD/source/course" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 LC_ALL=C.UTF-8
rm -f results/results.json
venv/bin/python -m PACKAGE grade submission --gradescope results/results.json
[ -s results/results.json ]
"""
# https://nbgrader.readthedocs.io/en/stable/contributor_guide/metadata.html
GRADED_TESTS = {
    "schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False
}  # fmt: skip
RAISES = """
# nbgrader gives points to a cell that raises nothing
from {notebook} import passed

assert passed("{name}"), "{name} has not passed: the line above says why"\
"""


def gradescope_zip(path: Path, wheels: Path | None = None, partial: bool = False) -> None:
    """Write what Gradescope takes for an autograder: two scripts, the pins, the course itself."""
    run = RUN.replace("PACKAGE", course().package)
    if partial:
        run = run.replace("grade submission", "grade submission --partial")
    pinned = pins()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, script in (("setup.sh", SETUP), ("run_autograder", run)):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, script)
        archive.writestr("requirements.txt", "\n".join(pinned) + "\n")
        for package in packages():
            for file in sorted(package.rglob("*")):
                place = file.relative_to(package.parent)
                if file.is_file() and "__pycache__" not in place.parts:
                    archive.write(file, "course" / place)
        above = course().folder.parent
        for file in exercise_files().values():
            if not file.is_relative_to(course().folder):
                archive.write(file, "course" / file.relative_to(above))
        for file in sorted(wheels.glob("*.whl")) if wheels else []:
            archive.write(file, Path("wheels") / file.name)


def without_wheel(folder: Path) -> list[str]:
    """Of the versions that the zip asks for, those of which a folder has no wheel."""
    found = set()
    for file in folder.glob("*.whl"):
        with contextlib.suppress(InvalidWheelFilename):
            name, version, *_ = parse_wheel_filename(file.name)
            found.add(f"{name}=={version.public}")
    return [pin for pin in pins() if pin not in found]


def own_distributions() -> set[str]:
    """The installed distributions that hold the judge or the course: the zip has copies of both."""
    found = set()
    for distribution in importlib.metadata.distributions():
        files = {str(file) for file in distribution.files or ()}
        origin = json.loads(distribution.read_text("direct_url.json") or "{}").get("url", "")
        checkout = Path(url2pathname(urlsplit(origin).path)) if origin.startswith("file:") else None
        for package in packages():
            inside = checkout is not None and package.resolve().is_relative_to(checkout.resolve())
            if inside or f"{package.name}/__init__.py" in files:
                found.add(canonicalize_name(distribution.name))
    return found


def pins() -> list[str]:
    """The versions that are installed here of all that grading needs, on Linux.

    LookupError where torch is not among them: then nothing can be graded.
    """
    found: dict[str, str] = {}
    own = own_distributions()
    wanted = [Requirement(f"{name}[grade]") for name in own]
    seen = set()
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        asked = (name, frozenset(requirement.extras))
        if asked in seen:
            continue
        seen.add(asked)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            # as of a GPU's libraries, where there is none: pip knows what they need
            continue
        if name not in own:
            found[name] = distribution.version.partition("+")[0]
        for line in distribution.requires or []:
            needed = Requirement(line)
            extras = [{"extra": one} for one in requirement.extras] or [{}]
            if not needed.marker or any(needed.marker.evaluate(LINUX | one) for one in extras):
                wanted.append(needed)
    if "torch" not in found:
        raise LookupError(
            "the packages that grading needs are not known here: install the judge with pip, with "
            "its extra [grade], and write the zip again"
        )
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def nbgrader_source(chapter: str) -> NotebookNode:
    """The notebook of a chapter's exercises for nbgrader's `source`: its checks are graded tests.

    Answers are cells like any other, which nbgrader leaves alone: in its own form it would replace
    the given code by a line of its own.
    """
    notebook = deepcopy(chapters()[chapter].notebook)
    facts = chapters()[chapter].facts
    for cell in notebook.cells:
        if "check" in cell.metadata.get("tags", []):
            name = cell.id.removeprefix("check-")
            cell.source += "\n" + RAISES.format(name=name, notebook=course().session)
            marks = {"grade_id": cell.id, "points": facts[name]["points"]}
            cell.metadata["nbgrader"] = GRADED_TESTS | marks
    return notebook
