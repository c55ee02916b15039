"""The course's grader beside nbgrader and otter-grader: each grades the same class, in one run.

    pip install -e ".[dev]"
    PYTHONPATH=. python benchmarks/graders.py    # writes results/graders.md
    PYTHONPATH=. python benchmarks/graders.py --files 0 --rounds 1

The two others get environments of their own, below .cache, and the exercises in their own form: the
asserts of asserts.py in hidden cells, and in test files. The graders take turns, so that all meet
alike what else the machine does.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path

import asserts
import nbformat
from nbformat import NotebookNode
from peers import (
    CARDS,
    KINDS,
    NAMES,
    NBGRADER,
    OTTER,
    OURS,
    PRISTINE,
    Grader,
    graders,
    handed_in,
    with_programs,
)
from processes import Cost, measured
from timing import RESULTS, markdown

from attncourse.course import COURSE
from judge import bank
from judge.exercise import Exercise
from judge.grading.grade import grade
from judge.grading.judge_pool import idle
from judge.grading.pristine import answer_cells, exercise_files
from judge.grading.sandbox import strongest
from judge.verdict import judge, local
from tools.notebooks import solved_notebook

HALVES = "two {}, each with half of the class"
TESTED = (
    ("judged besides values", "gradients, types, devices, loops, changed inputs", "", ""),
    ("inputs", "drawn anew in each run", "fixed", "fixed"),
    ("the verdict falls", "outside the answer's process", *2 * ["in the answer's kernel"]),
    ("a kernel for", "each answer", "each notebook", "each notebook"),
    ("sandbox", "{sandbox}", "none", "none: Docker, which can be one, was not used"),
    ("limits of an answer", "processor, memory, disk, processes", "300 s for a cell", "none"),
    ("written", "gradebook, a page for each student", "gradebook, executed notebooks", "points"),
    ("two jobs", "`--jobs 2`", HALVES.format("commands"), HALVES.format("processes")),
)
COLUMNS = ("grader", "jobs", "seconds", "to ours", "processor, s", "to ours", "notebooks a minute",
           "peak, MiB")  # fmt: skip
OF_CHAPTERS = ("chapter", "exercises", "solved, s", "processor, s", "half solved, s",
               "processor, s", "after another, s")  # fmt: skip
OF_STEPS = ("step", "seconds", "processor", "calls")
STEPS = {
    "the command, up to its options": ("-m", "attncourse", "--help"),
    "the proof of the sandbox": (
        "-c",
        "from judge.grading.sandbox import strongest; strongest()",
    ),
    "torch by itself": ("-c", "import torch"),
}


def class_of(count: int) -> list[str]:
    return list(islice(cycle(KINDS), count))


def in_turn(all_of_them: list[Grader], plans: dict, rounds: int) -> dict:
    """What each grader took for each plan, in each round."""
    took = {(grader.name, plan): [] for grader in all_of_them for plan in plans}
    for _ in range(rounds):
        for plan, (kinds, jobs) in plans.items():
            for grader in all_of_them:
                cost = grader.cost(kinds, jobs)
                took[grader.name, plan].append(cost)
                print(grader.name, plan, *(f"{one:.1f}" for one in cost), flush=True)
    return took


def median(costs: list[Cost]) -> Cost:
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def ratio(costs: list[Cost], ours: list[Cost]) -> Cost:
    """How many times as much as ours, in the median of the rounds."""
    pairs = zip(costs, ours, strict=True)
    return median([Cost(x.wall / y.wall, x.processor / y.processor, 0) for x, y in pairs])


def class_rows(took: dict, classes: dict) -> list[tuple]:
    rows = []
    for plan, (kinds, jobs) in classes.items():
        for name in (OURS, NBGRADER, OTTER):
            costs = took[name, plan]
            cost, to_ours = median(costs), ratio(costs, took[OURS, plan])
            rows.append((
                name, jobs, f"{cost.wall:.1f}", f"{to_ours.wall:.2f}", f"{cost.processor:.1f}",
                f"{to_ours.processor:.2f}", f"{60 * len(kinds) / cost.wall:.1f}",
                f"{max(one.peak for one in costs):.0f}",
            ))  # fmt: skip
    return rows


def chapter_rows() -> list[tuple]:
    """What a notebook of each chapter takes of ours, and how much more after another chapter."""
    rows = []
    with tempfile.TemporaryDirectory() as made:
        *_, last = files = list(exercise_files().items())
        # before the first another is judged, whose row is left out
        for slug, pristine in (last, *files):
            answers = answer_cells(solved_notebook(slug))
            half = dict(islice(answers.items(), len(answers) // 2))
            path = Path(made) / f"{slug}.ipynb"
            first, solved, halves = (
                graded(path, pristine, one) for one in (answers, answers, half)
            )
            rows.append((slug, len(answers), *solved, *halves, first[0] - solved[0]))
    means = (statistics.mean(column) for column in list(zip(*rows[1:], strict=True))[1:])
    rows.append(("mean", *means))
    return [(name, *(f"{one:.3g}" for one in numbers)) for name, *numbers in rows[1:]]


def graded(path: Path, pristine: Path, answers: dict[str, NotebookNode]) -> tuple[float, float]:
    """Seconds, and those of the processor, to grade a notebook with these answers."""
    notebook = nbformat.read(pristine, 4)
    for name, cell in answer_cells(notebook).items():
        cell.source = answers[name].source if name in answers else cell.source
    nbformat.write(notebook, path)
    begun, before = time.monotonic(), at_work()
    grade(path, seed=0)
    return time.monotonic() - begun, at_work() - before


def at_work() -> float:
    """Seconds of the processor that judges and their kernels have had."""
    below = [one for judge in idle for one in judge.process.children(recursive=True)]
    return sum(sum(one.cpu_times()[:4]) for one in [*below, *(judge.process for judge in idle)])


def step_rows(rounds: int) -> list[tuple]:
    """What the course's grader takes before it grades, and for each answer of a solved notebook."""
    rows, environment = [], with_programs(Path(sys.executable).parent)
    with tempfile.TemporaryDirectory() as made:
        path, reports = Path(made) / "solved.ipynb", Path(made) / "reports.json"
        for step, arguments in STEPS.items():
            command = [sys.executable, *arguments]
            cost = median([measured([command], [path.parent], environment) for _ in range(rounds)])
            rows.append((step, f"{cost.wall:.2f}", f"{cost.processor:.2f}", ""))
        handed_in(PRISTINE, "solved", path)
        grade = [sys.executable, "-m", "attncourse", "grade", path, "--json", reports]
        measured([grade], [path.parent], environment)
        for one in json.loads(reports.read_text("utf-8"))[0]["exercises"]:
            called, _ = calls(CARDS[one["name"]])
            rows.append((f"`{one['name']}`", f"{one['seconds']:.2f}", "", called))
    return rows


def calls(one: Exercise) -> tuple[int, int]:
    """How often the course's check calls a right answer, and how often the asserts do."""
    counts = [0, 0]

    def counting(function: Callable, which: int) -> Callable:
        def counted(*args, **kwargs):
            counts[which] += 1
            return function(*args, **kwargs)

        return counted

    answer = one.valid_answers[0]
    forbidden = COURSE.solving(one)
    judge(one, counting(local(answer), 0), 0, forbidden=forbidden)
    asserts.CHECKS[one.name](counting(answer, 1))
    return counts[0], counts[1]


def refused(one: Exercise) -> int:
    """How many of its known wrong answers the asserts refuse."""
    count = 0
    for mutant in bank.mutants(one):
        try:
            asserts.CHECKS[one.name](mutant.function)
        except Exception:
            count += 1
    return count


def tested_rows() -> list[tuple]:
    by_ours, by_asserts = (
        f"{statistics.mean(column):.1f}" for column in zip(*map(calls, CARDS.values()), strict=True)
    )
    wrong = sum(len(bank.mutants(one)) for one in CARDS.values())
    found = sum(map(refused, CARDS.values()))
    computed = [
        ("calls of an answer, on average", by_ours, by_asserts, by_asserts),
        (f"refused, of {wrong} known wrong answers", "all", found, found),
    ]
    sandbox = strongest()[0]
    return [*computed, *(tuple(cell.format(sandbox=sandbox) for cell in row) for row in TESTED)]


def where() -> str:
    """The machine, and the versions of what ran on it."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "nbval", "ipython"))
    return (
        f"{len(os.sched_getaffinity(0))} cores, {platform.machine()}, {os.getloadavg()[0]:.1f} "
        f"processes at work when it ended, {date.today():%d %B %Y}; Python "
        f"{platform.python_version()}, {packages}. Made with `python benchmarks/graders.py`."
    )


def place(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    return name, Path(path).absolute()


def main() -> None:
    """Print what each run takes, and write the tables to the results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--beside", type=int, default=48, help="notebooks for all three graders")
    arguments.add_argument("--files", type=int, default=200, help="notebooks for ours alone")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument(
        "--env", type=place, action="append", default=[], metavar="NAME=PATH",
        help="an environment that has nbgrader, or otter-grader, and torch",
    )  # fmt: skip
    chosen = arguments.parse_args()
    classes = {f"class, {jobs}": (class_of(chosen.beside), jobs) for jobs in (1, 2)}
    with tempfile.TemporaryDirectory() as base:
        every = graders(Path(base), dict(chosen.env))
        took = in_turn(every, classes, chosen.rounds)
        large = {"large": (class_of(chosen.files), 2)}
        whole = in_turn(every[:1], large, int(chosen.files > 0))[OURS, "large"]
    parts = [
        "# The course's grader beside nbgrader and otter-grader",
        where(),
        f"The same {chosen.beside} notebooks of {len(NAMES)} exercises, a third of them untouched, "
        "a third half solved and a third solved.",
        markdown(COLUMNS, class_rows(took, classes)),
        *(
            f"The course's grader alone took {one.wall / 60:.1f} minutes for {chosen.files} such "
            f"notebooks with 2 jobs, {one.processor / chosen.files:.2f} seconds of the processor "
            f"for each, and {one.peak:.0f} MiB at most."
            for one in whole
        ),
        "## What each tested",
        markdown(("what", OURS, NBGRADER, OTTER), tested_rows()),
        "## What a notebook of each chapter takes",
        "These are seconds on the clock and of the processor, where a notebook of the chapter was "
        "graded just before; the last column says how much longer it takes after one of another "
        "chapter.",
        markdown(OF_CHAPTERS, chapter_rows()),
        "## Where the course's grader spends it",
        "Before it grades, and for each answer of a solved notebook.",
        markdown(OF_STEPS, step_rows(chosen.rounds)),
    ]
    (RESULTS / "graders.md").write_text("\n\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
