"""What a page's worker calls, where Python has torch: an answer's cell is run and checked."""

import json

import pytest

from attncourse.course import COURSE
from judge.compare.run import Trial
from judge.notebook import Session
from judge.page_worker import Page
from tests.page.answers import (
    FAULTY,
    NAME,
    ODD_BUT_RIGHT,
    RIGHT,
    UPSIDE_DOWN,
    UPSIDE_DOWN_HINT,
)


@pytest.fixture
def outside_pytest(monkeypatch):
    """Sessions print a wrong answer's verdict, as in a notebook that no test runs."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)


def checked(source: str, seed: int = 7) -> dict:
    return json.loads(Page(COURSE).check(NAME, source, seed))


def lines(source: str) -> list[str]:
    return source.splitlines()


@pytest.mark.parametrize("source", [UPSIDE_DOWN, RIGHT], ids=["wrong", "right"])
def test_a_page_says_what_a_notebook_says(source, capsys, outside_pytest):
    namespace: dict = {}
    exec(f"{COURSE.exercise(NAME).task.imports}\n{source}", namespace)
    Session(COURSE).check(NAME, namespace[NAME], 7)
    assert checked(source)["said"] == capsys.readouterr().out.rstrip()


@pytest.mark.parametrize("source", FAULTY, ids=[said for said, _ in FAULTY.values()])
def test_a_fault_is_told_in_a_sentence_with_its_line(source, outside_pytest):
    result, (said, marked) = checked(source), FAULTY[source]
    assert result["status"] != "passed" and said in result["said"], result
    assert bool(marked) == (result["line"] is not None), result
    assert marked in lines(source)[(result["line"] or 1) - 1] if marked else True


@pytest.mark.parametrize("source", ODD_BUT_RIGHT)
def test_what_is_right_but_odd_is_read_and_what_was_cleaned_is_named(source, outside_pytest):
    result, note = checked(source), ODD_BUT_RIGHT[source]
    assert result["status"] == "passed" and len(result["printed"]) <= 100
    assert result["notes"] == ([note] if note else [])


def test_what_is_right_is_not_computed_again_for_a_check_that_was_prepared(
    monkeypatch, outside_pytest
):
    page = Page(COURSE)
    page.prepare(NAME)
    (seed,) = page.seeds.values()
    with monkeypatch.context() as patched:
        patched.setattr(Trial, "expected_on", lambda *_: pytest.fail("computed again"))
        result = json.loads(page.check(NAME, UPSIDE_DOWN))
    assert UPSIDE_DOWN_HINT in result["said"] and f"(seed={seed})" in result["said"]
    assert f"(seed={seed})" not in page.check(NAME, UPSIDE_DOWN)


def test_the_call_that_failed_is_shown_by_the_names_of_its_arguments(outside_pytest):
    rows = dict(checked(UPSIDE_DOWN)["failed"])
    assert list(rows) == ["expected", "got", "scores", "mask"]
    assert all(value.startswith("tensor(") for value in rows.values())


def test_an_answer_sees_nothing_of_another(outside_pytest):
    page = Page(COURSE)
    page.check(NAME, f"leaked = 1\n{RIGHT}")
    result = json.loads(page.check(NAME, f"leaked\n{RIGHT}"))
    assert "line 1: NameError: name 'leaked' is not defined" in result["said"]
