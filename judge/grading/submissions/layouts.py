"""Whose a file is by where it lies: in a platform's layout, or in folders that people named."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from judge.grading.notebook.pristine import exercise_files
from judge.grading.submissions.files import ENDING, KINDS, WEIGHTS
from judge.grading.submissions.platforms import METADATA, MOODLE, MOODLE_FOLDER, PLATFORMS
from judge.grading.submissions.roster import Roster
from judge.grading.submissions.students import Student, composed

FILE = re.compile(rf"(\.tar)?({'|'.join(map(re.escape, [*KINDS, WEIGHTS]))})$", re.IGNORECASE)
# what browsers and file managers put behind the name of a second file
COPY = re.compile(r"( ?\(\d+\)| - Copy| copy( \d+)?|-Copy\d+){1,5}$")
# how many folders a class may lie in
DEEP = 3


def student_of(file: str, folder: Path, above: Iterable[str] = ()) -> Student:
    """The student whose file this is, by the name that it has below the folder.

    The first part that names somebody decides: what lies below, they have named themselves.
    """
    download, parts = split_path(file, above)
    outer = PurePosixPath(download).name or folder.resolve().name
    own, *below = parts
    if found := student_by_platform(outer, own, is_file=not below):
        return replace(found, download=download)
    # nbgrader: submitted/STUDENT/ASSIGNMENT
    platform = "nbgrader" if outer == "submitted" and len(below) > 1 else ""
    return replace(student_by_name(own, is_file=not below), platform=platform)


def split_path(file: str, above: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The folders of a path that are nobody's, and the parts from the student's on."""
    place, parts = "", PurePosixPath(file).parts
    while len(parts) > 1 and (longer := f"{place}/{parts[0]}".strip("/")) in above:
        place, parts = longer, parts[1:]
    return place, parts


def student_by_name(name: str, is_file: bool = False) -> Student:
    """The student whose name a folder or file has, as people give them."""
    name = composed(name)
    key = without_ending(name, is_file)
    # jo.doe may be a file without an ending, and jo.odt is not
    ended = is_file and key == name
    also = re.sub(r"\.\w+$", "", name) if ended else COPY.sub("", key)
    return Student(key, called=(name, key, also))


def student_by_platform(outer: str, inner: str, is_file: bool = False) -> Student | None:
    """The student whom a file or folder names in a platform's way."""
    if not is_file and (found := MOODLE_FOLDER.fullmatch(inner)):
        return Student(found["key"], composed(found["name"]), "moodle")
    for platform, pattern in PLATFORMS.items():
        if found := pattern.fullmatch(inner):
            # with two numbers, one was written by a student: into their name, or into the file's
            twice = platform == "moodle" and len({*re.findall(MOODLE, inner)}) > 1
            return None if twice else Student(found["key"], composed(found["name"]), platform)
    # gh classroom clone: ASSIGNMENT-submissions/ASSIGNMENT-USER
    assignment = outer.removesuffix("submissions")
    user = without_ending(inner).removeprefix(assignment)
    if outer.endswith("-submissions") and inner.startswith(assignment) and user:
        return Student(user, platform="github")
    return None


def without_ending(name: str, is_file: bool = False) -> str:
    """A name without the ending of a notebook or a zip, and a file's without a usual one."""
    stem = ENDING.sub("", name)
    return FILE.sub("", name) if is_file and stem == name else stem


def first_level(files: Iterable[str]) -> dict[str, list[str]]:
    """What lies at the root, with the paths below each; "" for a file."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        outer, *rest = PurePosixPath(file).parts
        found[outer].append("/".join(rest))
    return found


def first_parts(paths: Iterable[str]) -> set[str]:
    return {path.partition("/")[0] for path in paths}


def class_folders(
    files: Iterable[str], folder: Path, roster: Roster | None, deep: int = DEEP
) -> set[str]:
    """The folders and zips that are nobody's, by their paths: the students' names lie in them.

    All that lies at the root has to be such a one: beside a student's folder it is another
    student's, whatever it is called and holds. One with the name of a chapter or of a platform's
    folder may lie beside what a platform has named, and beside all else if the roster knows most of
    those in it.
    """
    here = folder.resolve().name
    # below a platform's folder are students, whatever they are called
    if not deep or here == "submitted" or here.endswith("-submissions"):
        return set()
    below = first_level(files)
    # a note of the instructor's is no student's
    things = {one for one, paths in below.items() if "" not in paths or ENDING.search(one)}
    plain = {one for one in things if not student_by_platform(here, one, is_file="" in below[one])}
    folders = {one for one in plain if "" not in below[one]}
    nobody = {one for one in folders if not (roster and roster.match(student_by_name(one)))}
    inside = {one: first_parts(below[one]) for one in nobody}
    within = {one: class_folders(below[one], Path(one), roster, deep - 1) for one in nobody}
    known = {one for one in nobody if roster and most_known(one, inside[one], roster)}
    for_a_class = {one for one in nobody if named_for_a_class(one, inside[one])}
    like = known | for_a_class
    like |= {one for one in nobody if named_by_platform(inside[one]) or inside[one] <= within[one]}
    found = like if things == like else for_a_class if plain == for_a_class else known & for_a_class
    return found | {f"{one}/{inner}" for one in found for inner in within[one]}


def most_known(outer: str, names: set[str], roster: Roster) -> bool:
    """Whether a roster knows most of those whose names lie in a folder."""
    found = [roster.match(student_of(f"{name}/x", Path(outer))) for name in names]
    return 2 * sum(one is not None for one in found) > len(found)


def named_for_a_class(outer: str, names: set[str]) -> bool:
    """Whether a folder has the name of a chapter or of a platform's folder for a class."""
    own = outer.removesuffix("submissions")
    cloned = outer.endswith("-submissions") and all(name.startswith(own) for name in names)
    return cloned or outer == "submitted" or outer in exercise_files()


def named_by_platform(names: set[str]) -> bool:
    """Whether a platform has named everything in a folder."""
    named = names - {METADATA}
    return bool(named) and all(student_by_platform("", name) for name in named)
