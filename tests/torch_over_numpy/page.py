"""A page's process: judges answers of the bank over torch_over_numpy, and prints each verdict.

`python -m tests.torch_over_numpy.page exercise seed place place ...`, places among the known wrong
answers, then the right ones; all of them where none is given.
"""

import json
import sys
from collections.abc import Iterator

from torch_over_numpy.load import in_place_of_torch

in_place_of_torch()

from attncourse.course import COURSE  # noqa: E402
from judge.exercise import Exercise  # noqa: E402
from judge.say import bank  # noqa: E402
from judge.verdict import judge, judge_own, local  # noqa: E402


def verdicts(exercise: Exercise, seed: int, places: list[int]) -> Iterator[dict]:
    """What is said of the answers at these places of all that are known."""
    wrong = [mutant.function for mutant in bank.mutants(exercise)]
    answers = [*wrong, *exercise.valid_answers]
    for place in places or range(len(answers)):
        answer = answers[place]
        # as in `judge.mutation_score`: right ones are watched
        if place < len(wrong):
            verdict = judge_own(exercise, answer, seed)
        else:
            verdict = judge(exercise, local(answer), seed, COURSE.solving(exercise))
        yield {"place": place, "status": verdict.status, "hint": verdict.hint}


if __name__ == "__main__":
    name, seed, *places = sys.argv[1:]
    for one in verdicts(COURSE.exercise(name), int(seed), [*map(int, places)]):
        print(json.dumps(one))
