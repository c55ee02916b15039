"""The score of the checks for the site: judged on all cores, and kept for each chapter.

The seed is new each time; where a chapter's score is kept, its seed is, too.
"""

import json
import os
import re
import secrets
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from attncourse.checks import chapters, exercises, score
from tools.execute import PACKAGE, digest, source_files, versions

# what judging an answer never imports
NOT_JUDGING = ("grading", "claims")
CHECKS = re.compile(r"^from attncourse\.checks\.(\w+)", re.MULTILINE)


def taking_part(chapter: str) -> set[str]:
    """The chapters whose checks a chapter's checks import, at first or second hand, and itself."""
    found, new = set(), {chapter}
    while new:
        found |= new
        files = (path for one in new for path in (PACKAGE / "checks" / one).glob("*.py"))
        named = {name for path in files for name in CHECKS.findall(path.read_text("utf-8"))}
        new = named & set(chapters()) - found
    return found


def judging(chapter: str) -> list[Path]:
    """The files of the package that a chapter's score can depend on."""
    others = tuple(f"checks/{other}" for other in set(chapters()) - taking_part(chapter))
    return [
        path
        for path in source_files(PACKAGE)
        if path.suffix == ".py"
        and not any(path.is_relative_to(PACKAGE / name) for name in (*NOT_JUDGING, *others))
    ]


def score_files(folder: Path) -> dict[str, Path]:
    """Where each chapter's score is kept, if it has been judged."""
    return {
        chapter: folder / f"{chapter}-{digest(judging(chapter), PACKAGE, versions())}.json"
        for chapter in chapters()
    }


def rows(folder: Path) -> list[score.Row]:
    """The score of every exercise; a chapter's are taken from the folder where nothing changed."""
    kept = score_files(folder)
    # imported even where all are kept: a page runs again when what it imported has changed
    names = {chapter: list(exercises(chapter)) for chapter in kept}
    todo = [
        (chapter, name)
        for chapter, file in kept.items()
        if not file.is_file()
        for name in names[chapter]
    ]
    if todo:
        seed = secrets.randbits(31)
        folder.mkdir(parents=True, exist_ok=True)
        # a fork would copy the threads' locks of whoever asks, and not the threads
        workers = min(os.cpu_count() or 1, len(todo))
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            judged = pool.map(partial(row, seed), *zip(*todo, strict=True))
            for chapter, found in groupby(judged, key=lambda one: one.chapter):
                for old in folder.glob(f"{chapter}-*.json"):
                    old.unlink()
                text = json.dumps({"seed": seed, "rows": list(found)})
                kept[chapter].write_text(text, "utf-8")
    return [score.Row(*one) for file in kept.values() for one in read(file)["rows"]]


def read(file: Path) -> dict:
    """What is kept of a chapter: its rows, and the seed at which they were judged."""
    return json.loads(file.read_text("utf-8"))


def row(seed: int, chapter: str, name: str) -> score.Row:
    """The score of one exercise."""
    return score.row(exercises(chapter)[name], (seed,))
