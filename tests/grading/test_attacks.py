"""No attack wins, and none costs the answers beside it.

Every notebook is made by the test and graded by the command's own code, in a kernel of its own.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from judge.grading import sandbox
from judge.grading.grade import grade
from tests.grading import machines
from tests.grading.attacks import (
    ATTACKS,
    RULES,
    SPOILERS,
    UNPROVEN,
    WRONG,
    around_a_rule,
    source_of,
)
from tests.grading.submissions import SECONDS, SOLVED, notebook_with, write_notebook


@pytest.fixture(scope="module")
def played(tmp_path_factory, grading):
    """Every attack's result and, in the same notebooks, what became of the right answers."""
    folder = tmp_path_factory.mktemp("attacks")
    results, bystanders, jobs = {}, [], {}
    waiting = list({**ATTACKS, **SPOILERS}.items())
    for number in range(0, len(waiting), len(WRONG)):
        placed = dict(zip(WRONG, waiting[number : number + len(WRONG)], strict=False))
        answers = SOLVED | {name: source_of(attack, name) for name, (_, attack) in placed.items()}
        jobs[write_notebook(folder, notebook_with(answers), f"{number}.ipynb")] = placed
    with ThreadPoolExecutor(2) as pool:
        reports = pool.map(lambda path: grade(path, seed=7, timeout=SECONDS), jobs)
    for placed, report in zip(jobs.values(), reports, strict=True):
        assert not report.problem, report.problem
        assert report.sandbox == sandbox.strongest()[0]
        for result in report.exercises:
            if result.name in placed:
                results[placed[result.name][0]] = result
            else:
                bystanders.append(result)
    return results, bystanders


# without a sandbox a kernel outlives what has started it, and goes on
SEALED = "a stop of the process that starts kernels"


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, marks=[pytest.mark.sandbox] * (attack == SEALED))
        for attack in (*ATTACKS, *SPOILERS)
    ],
)
def test_no_attack_wins(played, attack):
    result, expected = played[0][attack], {**ATTACKS, **SPOILERS}[attack]
    assert result.status in expected.allowed, result
    assert result.points == 0
    assert re.search(expected.hint, f"{result.hint} {result.evidence}"), result


@pytest.mark.usefixtures("table")
def test_right_answers_beside_an_attack_still_pass(played):
    assert len(played[1]) >= 3
    assert {result.status for result in played[1]} == {"passed"}, [
        result for result in played[1] if result.status != "passed"
    ]


AS_A_USER = """
import json, tempfile
from pathlib import Path
from judge.grading.grade import grade
from tests.grading.attacks import SPOILERS, WRONG, source_of
from tests.grading.submissions import SOLVED, notebook_with, statuses, write_notebook
attacks = [one for name, one in SPOILERS.items() if "process 1" in name]
placed = {name: source_of(one, name) for name, one in zip(WRONG, attacks)}
with tempfile.TemporaryDirectory() as folder:
    path = write_notebook(Path(folder), notebook_with(SOLVED | placed))
    found = statuses(grade(path, seed=7, timeout=4))
print(json.dumps([[found.pop(name) for name in placed], list(found.values())]))
"""


@pytest.mark.sandbox
def test_process_1_costs_no_neighbour_where_it_has_the_user_of_the_answer():
    if why := machines.problem("a user"):
        pytest.skip(why)
    done = machines.python("a user", "-c", AS_A_USER)
    attacks, bystanders = json.loads(done.stdout)
    assert attacks == ["wrong"] * 3 and {*bystanders} == {"passed"}, done


@pytest.fixture(scope="module")
def table(played, request):
    """The attack table, for whoever reads the run."""
    yield
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n\nattack" + " " * 36 + "status")
        for attack, result in played[0].items():
            print(f"{attack:<42}{result.status:<12}{result.hint[:60]}")


@pytest.fixture(scope="module")
def ruled(tmp_path_factory, grading):
    """What becomes of right answers that break a rule, each in another way."""
    # the first needs an input of numbers, and comes last
    placed = dict(zip(reversed(WRONG), RULES, strict=True))
    answers = {name: around_a_rule(rule, name, SOLVED[name]) for name, rule in placed.items()}
    folder = tmp_path_factory.mktemp("rules")
    report = grade(write_notebook(folder, notebook_with(answers)), seed=7, timeout=SECONDS)
    return {placed[result.name]: result for result in report.exercises if result.name in placed}


@pytest.mark.parametrize("rule", RULES)
def test_a_broken_rule_is_seen_or_called_not_proven(ruled, rule):
    result, *_, remark = ruled[rule], *RULES[rule]
    if remark == UNPROVEN:
        assert result.status == "passed" and remark in "".join(result.remarks), result
    else:
        assert result.status == "wrong" and remark in result.hint, result
