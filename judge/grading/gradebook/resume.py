"""The reports of a class, one file each, so that a run that was ended goes on where it was."""

import hashlib
import json
import secrets
from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from judge.grading.notebook.pristine import digest, exercise_files
from judge.grading.notebook.submitted_cells import NotGradableError
from judge.grading.report.results import Report
from judge.grading.report.text import replace
from judge.grading.sandbox.paths import packages
from judge.grading.submissions.files import Submission
from judge.grading.submissions.students import Student


class ReportCache:
    """A folder of reports. A submission's is found again while nothing that decides has changed.

    That is the file, the pristine notebook of its chapter, the sources of the judge and of the
    course, torch's version, the seed and the other `settings`.
    """

    def __init__(self, folder: Path, settings: dict, regrade: list[str]):
        self.folder, self.settings = folder / "reports", settings
        # what to grade anew, and whether there is such a thing
        self.regrade = dict.fromkeys(regrade, False)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.judge = [sources_digest(packages()), version("torch")]
        self.pristine = {slug: digest(p.read_bytes()) for slug, p in exercise_files().items()}

    def key(self, name: str, submission_sha256: str) -> str:
        """A name for a report that tells nobody whose it is."""
        decides = [self.judge, name, submission_sha256, self.settings]
        said = json.dumps(decides, sort_keys=True).encode()
        return hashlib.sha256(said).hexdigest()[:24]

    def find(self, file: Submission, owner: Student) -> Report | None:
        """The report on a file from a run before, where it is whole and still holds."""
        if self.again(file.name, owner):
            return None
        try:
            sha256 = digest(b"".join(file.handed_in()))
            report = Report.read(self.folder / f"{self.key(file.name, sha256)}.json")
        except (NotGradableError, OSError, ValueError, KeyError, TypeError):
            return None
        holds = self.pristine.get(report.chapter) == report.pristine_sha256
        # for what the machine was too busy twice, it is again: whoever knows better says --regrade
        return report if holds and (report.graded or report.too_busy) else None

    def store(self, report: Report) -> None:
        key = self.key(report.file, report.submission_sha256)
        report.write(self.folder / f"{key}.json")

    def again(self, name: str, owner: Student) -> bool:
        """Whether to grade a file anew: by its name, a part of it or its owner, or a pattern."""
        parts = [name, *PurePosixPath(name).parts, owner.key, owner.name, *owner.row.values()]
        met = [
            wanted
            for wanted in self.regrade
            if any(part == wanted or fnmatchcase(part, wanted) for part in parts if part)
        ]
        self.regrade |= dict.fromkeys(met, True)
        return bool(met)

    def warnings(self) -> list[str]:
        """What the instructor should look at: names of nothing."""
        return [
            f"--regrade {wanted}: no notebook or student has that name"
            for wanted, met in self.regrade.items()
            if not met
        ]


def sources_digest(folders: Iterable[Path]) -> str:
    """A digest of these packages' modules, and of the exercises' texts, wherever they lie."""
    sources = [
        (folder.name, path.relative_to(folder).as_posix(), digest(path.read_bytes()))
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in (".py", ".md")
    ]
    return digest(json.dumps(sorted(sources)).encode())


def seed_of(folder: Path, seed: int | None) -> int:
    """The seed of a class: as given, else that of the run before, else a fresh one."""
    path = folder / "seed.json"
    try:
        before = json.loads(path.read_text(encoding="utf-8"))["seed"]
    except (OSError, ValueError, KeyError, TypeError):
        before = None
    if seed is None:
        seed = before if isinstance(before, int) else secrets.randbits(31)
    if seed != before:
        folder.mkdir(parents=True, exist_ok=True)
        replace(path, json.dumps({"seed": seed}) + "\n")
    return seed
