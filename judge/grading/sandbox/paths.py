"""The paths that a sandbox opens or closes: the packages, what an answer reads, what is masked."""

import os
import sys
from pathlib import Path

import psutil

import judge
from judge.course import course

JUDGE = Path(judge.__file__).parent
# its entries may be relative to the folder in which the command was given
PYTHONPATH = [
    os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry
]
# libraries, what finds them, what torch counts processors by
SYSTEM_PATHS = (
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
    "/sys/devices/system/cpu",
)  # fmt: skip
# the folders that hold libraries, whatever else lies in them
SITE_PACKAGES = ("site-packages", "dist-packages")


def packages() -> list[Path]:
    """The folders of the course's package and of the judge's: the checks' lie in the first."""
    return [course().folder, JUDGE]


def readable_paths() -> list[str]:
    """The files and folders that a learner's process may read, none of them within another."""
    needed = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    needed += map(str, packages())
    needed += [path for path in sys.path if Path(path).name in SITE_PACKAGES]
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    needed += filter(os.path.isdir, [*PYTHONPATH, *libraries])
    # beside the packages may lie tests, solutions, and what others have handed in
    parents = (copy.parent for copy in package_copies())
    closed = {parent.resolve() for parent in parents if parent.name not in SITE_PACKAGES}
    paths = {os.path.abspath(path) for path in needed if Path(path).resolve() not in closed}
    paths |= {*SYSTEM_PATHS}
    paths = {path for path in paths | {*map(os.path.realpath, paths)} if os.path.exists(path)}
    return [path for path in sorted(paths) if not any(path.startswith(f"{one}/") for one in paths)]


def package_copies() -> list[Path]:
    """The packages, and the folders on Python's path that have the name of one."""
    entries = [*sys.path, *PYTHONPATH]
    copies = (Path(entry, package.name) for package in packages() for entry in entries)
    return [*packages(), *filter(Path.is_dir, copies)]


def masked_paths(chapter: str) -> list[str]:
    """Where the answers to a chapter's exercises lie in the course, and other copies of it."""
    paths = []
    for name in course().hidden(chapter):
        module = course().folder.joinpath(*name.split(".")[1:])
        # a module may be a folder
        paths += [module, module.with_suffix(".py"), module.parent / "__pycache__"]
    modules = {os.path.realpath(path) for path in paths if path.exists()}
    copies = {*map(os.path.realpath, package_copies())} - {*map(os.path.realpath, packages())}
    readable = tuple(f"{path}/" for path in readable_paths())
    return sorted(modules | {copy for copy in copies if copy.startswith(readable)})


def required_files() -> list[str]:
    """Files that an answer cannot do without, one of the course and one of its libraries."""
    return [str(course().folder / "__init__.py"), psutil.__file__]
