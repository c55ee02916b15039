"""How the checks judge our own answers: the table of the page "How the checks were tested".

`make release` judges an exercise whose answers are not as many as the table says, and
`make scores` all of them. The tests judge every answer in each run, and need no table.
"""

import secrets
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from multiprocessing import get_context
from pathlib import Path

from tabulate import tabulate

from attncourse.checks import chapters, exercise, exercises, score
from tools.urls import ROOT

FILE = ROOT / "reference" / "scores.md"
HEADINGS = ["exercise", "kind", "mutants", "refused", "right hint", "valid", "accepted"]
JUDGED = ["seed", "judged on"]
ALIGNED = ["left"] * 2 + ["right"] * 6 + ["left"]

Row = list[str]


def kept(file: Path = FILE) -> dict[str, Row]:
    """The table's line of each exercise."""
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row for row in rows if row[-1][:1].isdigit()}


def answers() -> dict[str, tuple[str, str]]:
    """How many mutants and right answers each exercise of the course has."""
    return {
        name: (str(len(one.mutants)), str(len(one.right)))
        for chapter in chapters()
        for name, one in exercises(chapter).items()
    }


def stale(file: Path = FILE) -> bool:
    """Whether the table is of other exercises, or of other numbers of answers."""
    return {name: (row[2], row[5]) for name, row in kept(file).items()} != answers()


def judge(name: str, seed: int) -> Row:
    """The line of one exercise, all of its answers judged now."""
    return [*map(str, score.row(exercise(name), (seed,))[1:]), str(seed), f"{date.today()}"]


def write(file: Path = FILE, again: bool = False) -> bool:
    """Judge what the table lacks, or everything, and write the table; whether it has changed."""
    if not (again or stale(file)):
        return False
    now, seed = answers(), secrets.randbits(16)
    old = {} if again else kept(file)
    todo = [name for name in now if name not in old or now[name] != (old[name][2], old[name][5])]
    # a fork would copy the threads' locks of whoever asks, and not the threads
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        old |= {row[0]: row for row in pool.map(judge, todo, [seed] * len(todo))}
    table = []
    for chapter in chapters():
        rows = [old[name] for name in exercises(chapter)]
        totals = [sum(map(int, column)) for column in list(zip(*rows, strict=True))[2:-2]]
        table += [*rows, [f"all of {chapter}", "", *totals, "", ""]]
    text = tabulate(table, HEADINGS + JUDGED, "pipe", disable_numparse=True, colalign=ALIGNED)
    file.write_text(f"{text}\n", "utf-8")
    return True


if __name__ == "__main__":
    write(again=True)
