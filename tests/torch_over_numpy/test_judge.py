"""The judge of a page says of each answer in the bank what that of a notebook says.

What that says is the answer's own hint, or that it passed: `tests/judge/test_checks.py` shows it.
"""

import json
import random
import subprocess
import sys
from functools import cache

import pytest

from attncourse.course import chapters, exercise, order
from judge.compare.run import ABSENT
from judge.exercise import JudgesItself
from judge.say import bank
from judge.verdict import judge, local
from tests import ROOT
from tests.judge.test_answers import SEED
from tests.night import commit
from tests.torch_over_numpy.differences import DIFFERENT, EXCLUDED
from torch_over_numpy.absent import NotInPageError, NotInPageImportError

NAMES = [name for chapter in chapters() for name in order(chapter) if name not in EXCLUDED]
DRAWN, DRAWN_ANSWERS = 2, 12
# of right answers and of wrong ones, how many may be judged otherwise
MOST_RIGHT, MOST_WRONG = 0.005, 0.02


@cache
def known(name: str) -> list[tuple[str, str | None]]:
    """Each answer of an exercise's bank by its name, with the hint that it must get, if any."""
    one = exercise(name)
    wrong = [(mutant.function.__name__, mutant.hint) for mutant in bank.mutants(one)]
    return wrong + [(answer.__name__, None) for answer in one.valid_answers]


def in_the_page(name: str, places: list[int]) -> list[dict]:
    """The verdicts of a page, for which another process stands."""
    command = [sys.executable, "-m", "tests.torch_over_numpy.page", name, str(SEED)]
    made = subprocess.run(
        [*command, *map(str, places)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr[-2000:]
    return [json.loads(line) for line in made.stdout.splitlines()]


def differing(name: str, places: list[int]) -> dict[str, str]:
    """The answers that a page judges otherwise, with what it says of them."""
    found = {}
    for one in in_the_page(name, places):
        answer, hint = known(name)[one["place"]]
        passed = one["status"] == "passed"
        if passed != (hint is None) or (hint is not None and one["hint"] != hint):
            found[answer] = f"{one['status']}: {one['hint']}"
    return found


@pytest.mark.parametrize("name", random.Random(commit()).sample(NAMES, DRAWN))
def test_some_answers_are_judged_as_in_a_notebook(name):
    places = random.Random(commit()).sample(range(len(known(name))), DRAWN_ANSWERS)
    assert differing(name, places).keys() <= DIFFERENT.get(name, {}).keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_answer_is_judged_as_in_a_notebook(name):
    assert differing(name, []).keys() == DIFFERENT.get(name, {}).keys()


@pytest.mark.slow
def test_few_answers_are_judged_otherwise():
    hints = [hint for name in NAMES for _, hint in known(name)]
    other = [dict(known(name))[answer] for name, some in DIFFERENT.items() for answer in some]
    assert other.count(None) <= MOST_RIGHT * hints.count(None)
    wrong = len(other) - other.count(None)
    assert wrong <= MOST_WRONG * (len(hints) - hints.count(None))


def test_what_is_excluded_judges_itself():
    assert all(isinstance(exercise(name), JudgesItself) for name in EXCLUDED)


@pytest.mark.parametrize("name", ["attention_pool", "test_attention"])
@pytest.mark.parametrize("error", [NotInPageError, NotInPageImportError])
def test_an_answer_that_asks_for_what_is_absent_is_told_so_and_nothing_else(name, error):
    def asks_for_what_is_absent(*args, **kwargs):
        raise error("torch.compile")

    verdict = judge(exercise(name), local(asks_for_what_is_absent), SEED)
    assert verdict.status == "error"
    assert verdict.hint == "`torch.compile` works in the notebook, not in the page"


def test_what_the_judge_knows_it_by_is_its_name():
    assert ABSENT == (NotInPageError.__name__, NotInPageImportError.__name__)


@pytest.mark.parametrize("line", ["import torch.optim", "from torch import optim", "torch.optim"])
def test_whichever_way_it_is_asked_for_it_is_named(line):
    program = f"from torch_over_numpy.load import in_place_of_torch as load\ntorch = load()\n{line}"
    made = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert "`torch.optim` works in the notebook, not in the page" in made.stderr


def test_an_import_of_what_torch_has_not_fails_as_python_says():
    program = (
        "from torch_over_numpy.load import in_place_of_torch\nin_place_of_torch()\n"
        "from torch.nn import functional, Linear\nfrom torch import softmaxx"
    )
    made = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert "cannot import name 'softmaxx' from 'torch'" in made.stderr
