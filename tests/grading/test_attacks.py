"""No attack wins, and none costs the answers beside it.

Every notebook is made by the test and graded by the command's own code, in a kernel of its own.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from judge.grading.grade import grade
from judge.grading.sandbox import tiers
from tests.grading import machines
from tests.grading.attacks import (
    ATTACKS,
    SPOILERS,
    WRONG_ANSWERS,
    attack_source,
)
from tests.grading.submissions import SECONDS, SOLVED, make_notebook, write_notebook


@pytest.fixture(scope="module")
def attack_results(tmp_path_factory, grading):
    """Every attack's result, and the results of the right answers in the same notebooks."""
    folder = tmp_path_factory.mktemp("attacks")
    results, bystanders, jobs = {}, [], {}
    attacks = list({**ATTACKS, **SPOILERS}.items())
    for number in range(0, len(attacks), len(WRONG_ANSWERS)):
        attack_by_exercise = dict(
            zip(WRONG_ANSWERS, attacks[number : number + len(WRONG_ANSWERS)], strict=False)
        )
        answers = SOLVED | {
            name: attack_source(attack, name) for name, (_, attack) in attack_by_exercise.items()
        }
        jobs[write_notebook(folder, make_notebook(answers), f"{number}.ipynb")] = attack_by_exercise
    with ThreadPoolExecutor(2) as pool:
        reports = pool.map(lambda path: grade(path, seed=7, timeout=SECONDS), jobs)
    for attack_by_exercise, report in zip(jobs.values(), reports, strict=True):
        assert not report.problem, report.problem
        assert report.sandbox == tiers.select_tier()[0]
        for result in report.exercises:
            if result.name in attack_by_exercise:
                results[attack_by_exercise[result.name][0]] = result
            else:
                bystanders.append(result)
    return results, bystanders


# without a sandbox a kernel outlives the process that started it
NEEDS_SANDBOX = "a stop of the process that starts kernels"


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, marks=[pytest.mark.sandbox] * (attack == NEEDS_SANDBOX))
        for attack in (*ATTACKS, *SPOILERS)
    ],
)
def test_no_attack_wins(attack_results, attack):
    result, expected = attack_results[0][attack], {**ATTACKS, **SPOILERS}[attack]
    assert result.status in expected.statuses, result
    assert result.points == 0
    assert re.search(expected.hint, f"{result.hint} {result.evidence}"), result


def test_right_answers_beside_an_attack_still_pass(attack_results):
    assert len(attack_results[1]) >= 3
    assert {result.status for result in attack_results[1]} == {"passed"}, [
        result for result in attack_results[1] if result.status != "passed"
    ]


AS_A_USER = """
import json, tempfile
from pathlib import Path
from judge.grading.grade import grade
from tests.grading.attacks import SPOILERS, WRONG_ANSWERS, attack_source
from tests.grading.submissions import SOLVED, make_notebook, statuses, write_notebook
attacks = [attack for name, attack in SPOILERS.items() if "process 1" in name]
answers = {name: attack_source(attack, name) for name, attack in zip(WRONG_ANSWERS, attacks)}
with tempfile.TemporaryDirectory() as folder:
    path = write_notebook(Path(folder), make_notebook(SOLVED | answers))
    results = statuses(grade(path, seed=7, timeout=4))
print(json.dumps([[results.pop(name) for name in answers], list(results.values())]))
"""


@pytest.mark.slow
@pytest.mark.sandbox
def test_process_1_costs_no_neighbour_where_it_has_the_user_of_the_answer():
    if reason := machines.missing_reason("a user"):
        pytest.skip(reason)
    process = machines.run_python("a user", "-c", AS_A_USER)
    attacks, bystanders = json.loads(process.stdout)
    assert attacks == ["wrong"] * 3 and {*bystanders} == {"passed"}, process
