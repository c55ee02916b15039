"""What a check takes: every known answer, right and wrong, judged on inputs drawn for it alone.

As in a notebook, an answer meets a seed of its own, so that its inputs, what the reference makes of
them and what the known mistakes do there are all worked out anew. Seconds of the processor, which
depend little on what else the machine does. The imports, and each exercise's first check, are
apart: a session makes them once.
"""

import argparse
import statistics
import time

from timing import RESULTS, markdown, where

from attncourse.course import COURSE, chapters, exercises
from judge import bank
from judge.exercise import Exercise
from judge.verdict import judge, local

HEADINGS = ("exercise", "answers", "median, s", "95 %, s", "longest, s")


def seconds(one: Exercise, most: int) -> list[float]:
    """What each answer's check takes; of so many at most, spread over all."""
    answers = [*one.valid_answers, *(mutant.function for mutant in bank.mutants(one))]
    forbidden = COURSE.solving(one)
    took = []
    for seed, answer in enumerate([answers[0], *answers[:: -(-len(answers) // most)]]):
        start = time.process_time()
        judge(one, local(answer), seed, forbidden=forbidden)
        took.append(time.process_time() - start)
    return took[1:]


def row(name: str, took: list[float]) -> tuple:
    most = sorted(took)[int(0.95 * len(took))]
    numbers = (statistics.median(took), most, max(took))
    return name, len(took), *(f"{one:.2f}" for one in numbers)


def main() -> None:
    """Print a line for each exercise, and write them to the results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--most", type=int, default=1000, help="answers of an exercise")
    most = arguments.parse_args().most
    rows, every = [], []
    for chapter in chapters():
        for name, one in exercises(chapter).items():
            took = seconds(one, most)
            rows.append(row(name, took))
            every += took
            print(*rows[-1], sep=" | ", flush=True)
    rows.append(row("all", every))
    print(*rows[-1], sep=" | ")
    (RESULTS / "checks.md").write_text(
        f"# What a check takes\n\n{where()}\n\n{' '.join(__doc__.split())}\n\n"
        + markdown(HEADINGS, rows),
        "utf-8",
    )


if __name__ == "__main__":
    main()
