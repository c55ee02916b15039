"""What a check takes: every known answer, right and wrong, judged on inputs drawn for it alone.

As in a notebook, an answer meets a seed of its own, so that its inputs, what the reference makes of
them and what the known mistakes do there are all worked out anew. Seconds of the processor, which
depend little on what else the machine does. The imports, and each exercise's first check, are
apart: a session makes them once.
"""

import argparse
import statistics
import time

from timing import RESULTS, machine_info, markdown_table

from attncourse.course import COURSE, chapters, exercises
from judge.exercise import Exercise
from judge.say import bank
from judge.verdict import judge, local

HEADINGS = ("exercise", "answers", "median, s", "95 %, s", "longest, s")


def check_times(exercise: Exercise, max_answers: int) -> list[float]:
    """CPU seconds of the check of each answer, or of an even selection of `most` answers."""
    answers = [*exercise.valid_answers, *(mutant.function for mutant in bank.mutants(exercise))]
    forbidden = COURSE.solving(exercise)
    times = []
    for seed, answer in enumerate([answers[0], *answers[:: -(-len(answers) // max_answers)]]):
        start = time.process_time()
        judge(exercise, local(answer), seed, forbidden=forbidden)
        times.append(time.process_time() - start)
    return times[1:]


def summary_row(name: str, times: list[float]) -> tuple:
    """The name, number of answers, and median, 95th percentile and maximum of their times."""
    percentile = sorted(times)[int(0.95 * len(times))]
    numbers = (statistics.median(times), percentile, max(times))
    return name, len(times), *(f"{number:.2f}" for number in numbers)


def main() -> None:
    """Print a line for each exercise, and write them to the results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--most", type=int, default=1000, help="answers of an exercise")
    max_answers = arguments.parse_args().most
    rows, all_times = [], []
    for chapter in chapters():
        for name, exercise in exercises(chapter).items():
            times = check_times(exercise, max_answers)
            rows.append(summary_row(name, times))
            all_times += times
            print(*rows[-1], sep=" | ", flush=True)
    rows.append(summary_row("all", all_times))
    print(*rows[-1], sep=" | ")
    (RESULTS / "checks.md").write_text(
        f"# What a check takes\n\n{machine_info()}\n\n{' '.join(__doc__.split())}\n\n"
        + markdown_table(HEADINGS, rows),
        "utf-8",
    )


if __name__ == "__main__":
    main()
