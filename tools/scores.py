"""How the checks judge our own answers: the table of the page "How the checks were tested".

`make release` judges an exercise whose answers are not as many as the table says, and
`make scores` all of them. The tests judge every answer in each run, and need no table.
"""

import secrets
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from multiprocessing import get_context
from pathlib import Path

from attncourse.checks import chapters, exercise, exercises, score
from tools.urls import ROOT

FILE = ROOT / "reference" / "scores.md"


def kept(file: Path = FILE) -> dict[str, score.Row]:
    """The table's line of each exercise."""
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    rows = {cells[1]: cells[1:-1] for line in lines if len(cells := line.split("|")) > 2}
    rows = {name.strip(): [one.strip() for one in row] for name, row in rows.items()}
    return {
        name: score.Row(chapter, *rows[name][:2], *map(int, rows[name][2:]))
        for chapter in chapters()
        for name in exercises(chapter)
        if name in rows
    }


def lacking(file: Path = FILE) -> list[str]:
    """The exercises that have other numbers of answers than the table says."""
    rows = kept(file)
    now = {
        name: (len(one.own_mutants), len(one.usual_mutants), len(one.valid_answers))
        for chapter in chapters()
        for name, one in exercises(chapter).items()
    }
    return [
        name
        for name, counts in now.items()
        if name not in rows or counts != (rows[name].mutants, rows[name].usual, rows[name].valid)
    ]


def judge(name: str, seed: int) -> score.Row:
    """The line of one exercise, all of its answers judged now."""
    return score.row(exercise(name), (seed,))


def write(file: Path = FILE, again: bool = False) -> bool:
    """Judge what the table lacks, or everything, and write the table; whether it has changed."""
    every = [name for chapter in chapters() for name in exercises(chapter)]
    if not (todo := every if again else lacking(file)):
        return False
    seed = secrets.randbits(16)
    # a fork would copy the threads' locks of whoever asks, and not the threads
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        made = dict(zip(todo, pool.map(judge, todo, [seed] * len(todo)), strict=True))
    rows = kept(file) | made
    table = score.markdown_table([rows[name] for name in every])
    judged = f"The last that were judged: {len(todo)} exercises on {date.today()}, at seed {seed}."
    file.write_text(f"{table}\n\n{judged}\n", "utf-8")
    return True


if __name__ == "__main__":
    write(again=True)
