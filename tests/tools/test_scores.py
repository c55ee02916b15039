"""The table of the page "How the checks were tested"."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from tools import scores


def test_the_table_in_the_tree_is_of_today_s_answers_and_shows_none_that_was_misjudged():
    assert not scores.stale(), "run `make release`"
    for name, _, mutants, refused, right_hint, valid, accepted, *_ in scores.kept().values():
        assert (refused, right_hint, accepted) == (mutants, mutants, valid), name


@pytest.fixture
def judged(monkeypatch):
    """A course of two exercises in two chapters, and the names of those that are judged."""
    asked = []

    def judge(name, seed):
        asked.append(name)
        mutants = str(len(course[name[0]][name].mutants))
        return [name, "build", mutants, mutants, mutants, "2", "2", str(seed), "2026-01-01"]

    one = SimpleNamespace(mutants=[1, 2, 3], right=[1, 2])
    course = {"a": {"a1": one}, "b": {"b1": SimpleNamespace(**vars(one))}}
    monkeypatch.setattr(scores, "chapters", lambda: list(course))
    monkeypatch.setattr(scores, "exercises", course.get)
    monkeypatch.setattr(scores, "judge", judge)
    monkeypatch.setattr(scores, "ProcessPoolExecutor", lambda mp_context: ThreadPoolExecutor(1))
    return course, asked


def test_an_exercise_is_judged_again_when_it_has_more_answers(judged, tmp_path):
    (course, asked), file = judged, tmp_path / "scores.md"
    assert scores.stale(file) and scores.write(file)
    assert asked == ["a1", "b1"] and not scores.stale(file) and not scores.write(file)
    course["b"]["b1"].mutants = [1]
    assert scores.stale(file) and scores.write(file)
    assert asked == ["a1", "b1", "b1"]
    assert [row[2] for row in scores.kept(file).values()] == ["3", "1"]
    assert "| all of b" in file.read_text()
    del course["a"]
    assert scores.stale(file) and scores.write(file) and list(scores.kept(file)) == ["b1"]
    assert scores.write(file, again=True) and asked[-1] == "b1" and len(asked) == 4
