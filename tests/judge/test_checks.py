"""The checks: each refuses every wrong answer it knows, with its hint, and accepts every right one.

The seed is new at each run; ATTNCOURSE_SEED=<number> runs an earlier one again, ATTNCOURSE_SEEDS=5
as many from there on. With `--all`, every wrong answer is judged.
"""

import ast
import os
import re
import secrets
import sys
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules

import pytest
import torch
import torch.nn.functional as F
from nbformat import NotebookNode

from attncourse.course import COURSE, chapters, exercise, exercises
from judge import author, mutation_score
from judge.compare.credit import NOTHING, Group, Groups, credit, in_parts
from judge.exercise import Draw, Mutant
from judge.mutation_score import Tried
from judge.notebook import report
from judge.say import bank
from judge.say.failure import failure
from judge.verdict import Verdict, judge, judge_own, local
from tests import WEIGHTS
from tests.judge import oracles
from tests.needs import night
from tests.night import drawn_mutants
from tools.book import Book
from tools.notebooks import exercise_notebook
from tools.urls import repository_url

# as in a notebook: where the course is called, its annotations are not checked
pytestmark = pytest.mark.usefixtures("unchecked")
START = int(os.environ.get("ATTNCOURSE_SEED") or secrets.randbits(31))
SEEDS = tuple(range(START, START + int(os.environ.get("ATTNCOURSE_SEEDS", 1))))
EXERCISES = [exercise for chapter in chapters() for exercise in exercises(chapter).values()]


@pytest.fixture(scope="module", params=EXERCISES, ids=lambda task: task.name)
def task(request):
    """Each exercise: all tests of one come before the next's, while its inputs are still known."""
    return request.param


@pytest.fixture(scope="module")
def mutants(task, pytestconfig) -> list[Mutant]:
    """Mutants of an exercise: with `--all` every one, otherwise those that a push draws."""
    return bank.mutants(task) if pytestconfig.getoption("all") else drawn_mutants(task)


@pytest.fixture(scope="module")
def tried_mutants(task, mutants) -> list[Tried]:
    """The verdicts on the mutants at each seed."""
    return [
        Tried(mutant.function, mutant.hint, seed, judge_own(task, mutant.function, seed))
        for seed in SEEDS
        for mutant in mutants
    ]


def test_every_mutant_is_refused_with_its_own_hint(task, mutants, tried_mutants, record_property):
    record_property(night("mutants"), len(bank.mutants(task)) - len(mutants))
    misjudged = [
        f"seed {seed}: {answer.__name__} should hear {expected!r}: {verdict}"
        for answer, expected, seed, verdict in tried_mutants
        if verdict.status == "passed" or verdict.hint != expected
    ]
    assert not misjudged, "\n".join(misjudged)


def test_every_valid_answer_is_accepted(task):
    forbidden = COURSE.solving(task)
    for answer in task.valid_answers:
        # to be watched is slow, and what an answer calls does not depend on the seed
        verdicts = [judge(task, local(answer), SEEDS[0], forbidden)]
        verdicts += [judge_own(task, answer, seed) for seed in SEEDS[1:]]
        for seed, verdict in zip(SEEDS, verdicts, strict=True):
            assert verdict.status == "passed", f"seed {seed}: {answer.__name__}: {verdict}"


def test_the_groups_of_an_exercise_share_its_points_and_given_code_earns_none(task):
    if not in_parts(task):
        return
    groups = Groups(task, SEEDS[0])
    assert sum(groups.shares.values()) == pytest.approx(1) and groups.shares[Group.VALUES] >= 0.3
    assert task.shares.keys() <= groups.shares.keys() - {Group.VALUES}
    if task.stub_answer:
        assert credit(task, local(task.stub_answer), SEEDS[0], forbidden=()) == NOTHING


@cache
def exercise_page(chapter: str, solved: bool = False) -> NotebookNode:
    """The exercise notebook of a chapter, with empty answers or with the solutions."""
    return exercise_notebook(chapter, Book(repository_url()), solved=solved)


@cache
def answer_namespace(chapter: str, solved: bool) -> dict:
    """The namespace of a learner's kernel after every answer cell has been run."""
    namespace: dict = {"__name__": "__main__"}
    for cell in exercise_page(chapter, solved).cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and cell.id not in ("setup", "status") and "check" not in tags:
            exec(cell.source, namespace)
    return namespace


# tests/grading/test_nbval.py has every solution pass its check in a kernel
SOLVED_PARAM = pytest.param(True, "passed", marks=pytest.mark.slow)


@pytest.mark.parametrize(("solved", "expected"), [(False, "not attempted"), SOLVED_PARAM])
def test_every_stub_is_not_attempted_and_every_solution_passes(task, solved, expected, monkeypatch):
    if solved:
        # a capstone's weights lie beside the notebook
        monkeypatch.chdir(WEIGHTS / "tasks")
    answer = answer_namespace(task.chapter, solved)[task.name]
    # a learner's answer is watched; what it calls does not depend on the seed
    verdicts = {SEEDS[0]: judge(task, local(answer), SEEDS[0], forbidden=COURSE.forbidden(task))}
    verdicts |= {seed: judge_own(task, answer, seed) for seed in SEEDS[1:]}
    assert {verdict.status for verdict in verdicts.values()} == {expected}, verdicts


def test_an_exercise_is_stated_under_its_title(task):
    page = exercise_page(task.chapter)
    cells_before = page.cells[: [cell.id for cell in page.cells].index(f"answer-{task.name}")]
    headings = [
        line
        for cell in cells_before
        if cell.cell_type == "markdown"
        for line in cell.source.split("\n")
        if line.startswith("## ")
    ]
    assert headings[-1] == f"## {task.title}"


def test_an_exercise_has_a_card_and_three_hints(task):
    assert task.difficulty in (1, 2, 3) and task.minutes > 0 and task.points > 0
    assert len(set(task.hints)) == 3
    assert all(text.strip() for text in task.hints)
    assert task.own_mutants and task.valid_answers


def names_bound(code: str) -> set[str]:
    """What a cell imports, or takes as a parameter."""
    nodes = [*ast.walk(ast.parse(code))]
    imported = {
        (one.asname or one.name).partition(".")[0]
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for one in node.names
    }
    return imported | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_a_hint_uses_no_module_that_its_cell_lacks():
    modules = {*sys.stdlib_module_names, "F", "einops", "nn", "np", "numpy", "torch"}
    lacking = [
        (task.name, name)
        for task in EXERCISES
        for hint in task.hints
        for name in {*re.findall(r"(?<![\w.])(\w+)\.\w", hint)} & modules
        if name not in names_bound(f"{task.task.imports}\n{task.task.start}")
        if f"import {name}" not in hint
    ]
    assert not lacking


def test_its_text_and_its_card_say_the_same_and_loops_are_looked_at(task):
    assert [*author.mistakes_in_files(task)] == []


def test_the_mutation_score_counts_an_answer_that_is_judged_wrongly(monkeypatch):
    task = EXERCISES[0]
    results = mutation_score.tried(COURSE, task, SEEDS[:1])
    wrong_index = next(i for i, result in enumerate(results) if result.hint is not None)
    valid_index = next(i for i, result in enumerate(results) if result.hint is None)
    changed_trials = list(results)
    changed_trials[wrong_index] = results[wrong_index]._replace(verdict=Verdict("passed"))
    changed_trials[valid_index] = results[valid_index]._replace(
        verdict=Verdict("wrong", "some hint")
    )
    monkeypatch.setattr(mutation_score, "tried", lambda *arguments: changed_trials)
    row = mutation_score.row(COURSE, task, SEEDS[:1])
    assert row.refused == row.right_hint == row.mutants + row.generic - 1
    assert row.accepted == row.valid - 1


def test_the_table_has_a_line_for_each_exercise_and_a_sum():
    row = mutation_score.Row("some_chapter", "first", "build", 10, 5, 9, 8, 3, 2)
    table = mutation_score.markdown_table([row, row._replace(exercise="second", mutants=101)])
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in table.split("\n")]
    assert lines[0] == list(mutation_score.HEADINGS)
    assert lines[2] == ["first", "build", "10", "5", "9", "8", "3", "2"]
    assert lines[-1] == ["all of some_chapter", "", "111", "10", "18", "16", "6", "4"]
    assert len({len(line) for line in table.split("\n")}) == 1


# a chapter may have none
ORACLES = {
    name: oracle
    for module in iter_modules(oracles.__path__)
    for name, oracle in import_module(f"{oracles.__name__}.{module.name}").ORACLES.items()
}


@pytest.mark.parametrize("name", ORACLES)
def test_the_reference_agrees_with_an_oracle_that_we_did_not_write(name):
    for seed in SEEDS:
        for case in exercise(name).draw_cases(Draw(seed)):
            got, expected = case.result(exercise(name).reference_answer), case.result(ORACLES[name])
            message = f"seed {seed}, {case.name}: expected {expected}, got {got}"
            torch.testing.assert_close(got, expected, equal_nan=True, msg=message)


def test_a_wrong_answer_prints_at_most_two_lines_and_no_traceback(task, tried_mutants):
    for answer, _, seed, verdict in tried_mutants:
        first_lines, _, _ = report(task.name, verdict, seed).partition("\nyour code printed:")
        lines = first_lines.split("\n")
        message = f"seed {seed}: {answer.__name__}: {lines}"
        assert len(lines) <= 2 and "Traceback" not in lines[0], message
        assert lines[0].startswith(f"{task.name}: "), message


def test_the_call_that_a_wrong_answer_failed_on_is_shown_with_its_arguments(mutants, tried_mutants):
    for answer, _, seed, verdict in tried_mutants[: len(mutants) : 8]:
        if verdict.failing is None:
            continue
        message = f"seed {seed}: {answer.__name__}: {verdict}"
        call = failure(verdict.failing)
        assert len(call.names) == len(call.args) + len(call.kwargs), message
        names = [line.partition(" = ")[0] for line in repr(call).splitlines()]
        assert {*call.names, *call.weights, "expected", "got"} <= {*names}, message


def torch_attention(q, k, v, mask=None):
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out if mask is None else out.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def test_the_test_we_would_write_accepts_torch_and_refuses_its_causal_form():
    reference = exercise("test_attention").reference_answer
    reference(torch_attention)
    with pytest.raises(AssertionError):
        reference(partial(F.scaled_dot_product_attention, is_causal=True))
