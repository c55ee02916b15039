"""The path through a chapter's exercises: their groups, their order and their aims."""

from dataclasses import replace
from itertools import pairwise

import pytest

from attncourse import status
from attncourse.course import chapters, exercises, groups, session
from attncourse.course.aims import AIMS
from attncourse.course.cards import Cards
from judge.course import FIRST, MORE
from tests import ROOT
from tests.judge.test_author import toy
from tests.test_layout import slugs
from tools.blocks import parse
from tools.notebooks import group_sentence, with_group_headings

EXERCISES = [exercise for chapter in chapters() for exercise in exercises(chapter).values()]


@pytest.mark.parametrize("chapter", chapters())
def test_two_or_three_exercises_carry_a_chapter_in_an_hour(chapter):
    carrying = groups(chapter).get(FIRST, [])
    # of three exercises nobody needs to choose
    assert len(carrying) in (2, 3) or len(exercises(chapter)) <= 3
    assert sum(exercise.minutes for exercise in carrying) <= 60
    assert "capstone" not in {exercise.kind for exercise in carrying}


@pytest.mark.parametrize("chapter", chapters())
def test_easier_exercises_come_first_in_each_group(chapter):
    for members in groups(chapter).values():
        for earlier, later in pairwise(members):
            message = (
                f"{earlier.name} stands before {later.name}, which is easier: move it in index.md"
            )
            assert earlier.difficulty <= later.difficulty, message


@pytest.mark.parametrize("task", EXERCISES, ids=lambda task: task.name)
def test_an_exercise_tests_what_its_chapter_or_an_earlier_one_promises(task):
    assert task.aims, f"{task.name}: aims names none of {[*AIMS[task.chapter]]}"
    order = slugs(ROOT)
    for aim in task.aims:
        earlier, _, name = aim.rpartition(".")
        assert not earlier or order.index(earlier) < order.index(task.chapter)
        assert name in AIMS[earlier or task.chapter], f"{task.name}: no aim is called {aim}"


def test_what_the_carrying_exercises_leave_out_is_said():
    aims_by_id = AIMS["dot_product"]
    first_exercise = replace(
        toy(), aims=("compute-attention", "query-and-key", "scale"), minutes=15
    )
    text = group_sentence(
        FIRST, [first_exercise, replace(first_exercise, aims=("count-cost",), minutes=30)]
    )
    assert text.startswith("If you have an hour for exercises, do these. They take about 45 min")
    assert text.endswith(f" They leave out one of the chapter's aims: to {aims_by_id['mask']}.")
    listed_aims = f"- {aims_by_id['mask']};\n- {aims_by_id['count-cost']}."
    assert group_sentence(FIRST, [first_exercise]).endswith(
        f" some of the chapter's aims:\n\n{listed_aims}"
    )
    text = group_sentence(FIRST, [replace(first_exercise, aims=(*aims_by_id,))])
    assert text.endswith(" They leave out none of the chapter's aims.")


def test_a_group_is_opened_where_its_first_exercise_is_and_a_capstone_by_its_title():
    answer = "```{{code-cell}} python3\n:tags: [answer]\n# exercise: {}\n```\n\n"
    text = f"# All\n\n## One\n\n## Two\n\n{answer.format('a')}## Three\n\n{answer.format('b')}"
    groups = {MORE: [replace(toy(), name="a", minutes=15)], "Capstone": [replace(toy(), name="b")]}
    kinds = [(block.kind, block.text) for block in with_group_headings(parse(text), groups)]
    headings = [text for kind, text in kinds if kind == "heading"]
    assert headings == ["All", "One", "More", "Two", "Three"]
    group_text = "These take about 15 minutes together, and the easier ones come first."
    assert kinds[kinds.index(("heading", "More")) + 1] == ("text", group_text)


def test_status_shows_the_path(capsys, monkeypatch):
    monkeypatch.setattr(session.session, "verdicts", {})
    status("tasks")
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line[0] != " "][:3] == [
        f"{name}: {sum(member.minutes for member in members)} minutes"
        for name, members in groups("tasks").items()
    ]
    names = [line.split()[1] for line in lines if line[0] == " "]
    assert names == [*exercises("tasks")]


def test_the_table_of_a_chapter_says_how_many_to_start_with(monkeypatch):
    minutes = sum(group.minutes for group in groups("efficient")[FIRST])
    last_line = f"{Cards('efficient')}".split("\n")[-1]
    assert last_line == f"Start with the first two: about {minutes} minutes."
    monkeypatch.setattr("attncourse.course.cards.groups", lambda _: {"": []})
    assert f"{Cards('efficient')}".split("\n")[-1].startswith("|`")
