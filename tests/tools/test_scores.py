"""The table of the page "How the checks were tested"."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from attncourse.checks.score import Row
from tools import scores


def test_the_table_in_the_tree_is_of_today_s_answers_and_shows_none_that_was_misjudged():
    assert scores.lacking() == [], "run `make release`"
    for row in scores.kept().values():
        given = row.mutants + row.usual, row.mutants + row.usual, row.valid
        assert (row.refused, row.right_hint, row.accepted) == given, row


@pytest.fixture
def judged(monkeypatch):
    """A course of two exercises in two chapters, and the names of those that are judged."""
    asked = []

    def judge(name, seed):
        asked.append(name)
        mutants = len(course[name[0]][name].own_mutants)
        return Row(name[0], name, "build", mutants, 0, mutants, mutants, 2, 2)

    one = SimpleNamespace(own_mutants=[1, 2, 3], usual_mutants=[], valid_answers=[1, 2])
    course = {"a": {"a1": one}, "b": {"b1": SimpleNamespace(**vars(one))}}
    monkeypatch.setattr(scores, "chapters", lambda: list(course))
    monkeypatch.setattr(scores, "exercises", course.get)
    monkeypatch.setattr(scores, "judge", judge)
    monkeypatch.setattr(scores, "ProcessPoolExecutor", lambda mp_context: ThreadPoolExecutor(1))
    return course, asked


def test_an_exercise_is_judged_again_when_it_has_more_answers(judged, tmp_path):
    (course, asked), file = judged, tmp_path / "scores.md"
    assert scores.write(file) and not scores.write(file)
    assert asked == ["a1", "b1"]
    course["b"]["b1"].own_mutants = [1]
    assert scores.lacking(file) == ["b1"] and scores.write(file)
    assert asked == ["a1", "b1", "b1"]
    assert [row.mutants for row in scores.kept(file).values()] == [3, 1]
    assert scores.write(file, again=True) and len(asked) == 5
