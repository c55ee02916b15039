"""The documents for teachers and assistants agree with the course."""

import re
from itertools import chain

import pytest
import yaml

import attncourse
from attncourse.course import COURSE, chapters, exercises
from judge.course import FIRST
from tests import ROOT

SCHEDULES = (ROOT / "reference/schedules.md").read_text("utf-8")
TUTOR = (ROOT / "exercises/AGENTS.md").read_text("utf-8")
EXERCISES = {name: exercise for slug in chapters() for name, exercise in exercises(slug).items()}


def parse_weeks(schedule: str) -> list[dict]:
    """The weeks of a schedule, each with its readings."""
    weeks = yaml.safe_load(schedule)
    return [week | {"reads": week.get("whole", []) + week.get("read", [])} for week in weeks]


PLANS = [
    parse_weeks(element)
    for element in re.findall(r"```\{schedule\}\n(.*?)```", SCHEDULES, re.DOTALL)
]


def required_chapters(slug: str) -> list[str]:
    """The chapters that a chapter names as required."""
    page = (ROOT / f"chapters/{slug}.md").read_text("utf-8")
    (sentence,) = re.findall(r"^You need (.+?)\.(?:$| )", page, re.MULTILINE)
    return re.findall(r"\{doc\}`/chapters/(\w+)`", sentence)


@pytest.mark.parametrize("plan", PLANS, ids=len)
def test_a_schedule_reads_first_what_a_chapter_needs_and_sets_what_has_been_read(plan):
    chapters_read, exercises_solved = [], []
    for week in plan:
        chapters_read += week["reads"]
        for slug in week["reads"]:
            assert {*required_chapters(slug)} <= {*chapters_read}, (
                f"{week['title']} reads {slug} too early"
            )
        for name in week["solve"]:
            assert EXERCISES[name].chapter in chapters_read, (
                f"{week['title']} sets {name} too early"
            )
        carrying = {name for slug in week.get("whole", []) for name in COURSE.listed(slug)[FIRST]}
        assert carrying <= {*week["solve"]}, f"{week['title']} leaves out what carries a chapter"
        exercises_solved += week["solve"]
    assert len({*chapters_read}) == len(chapters_read) and len({*exercises_solved}) == len(
        exercises_solved
    )


def test_the_schedules_are_of_six_weeks_and_of_ten_with_all_chapters_and_the_capstone():
    short_plan, long_plan = PLANS
    assert (len(short_plan), len(long_plan)) == (6, 10)
    assert {*chain.from_iterable(week["reads"] for week in long_plan)} == {*chapters()}
    assert [EXERCISES[name].kind for name in long_plan[-1]["solve"]] == ["capstone"]


def test_a_mistake_that_a_check_is_said_to_know_is_one_that_it_knows():
    definitions = re.findall(r"^`(\w+)`\n: (.+)$", SCHEDULES, re.MULTILINE)
    unknown = [
        f"{name}: {hint}"
        for name, hint in definitions
        if hint not in {mutant.hint for mutant in EXERCISES[name].own_mutants}
    ]
    assert len({name for name, _ in definitions}) > 20 and unknown == []


def test_an_assistant_is_told_of_functions_and_places_that_there_are():
    function_names = re.findall(r"`(\w+)\(", TUTOR)
    assert (
        {*function_names}
        == {"check", "failed", "hint", "status"}
        == {*attncourse.__all__} - {"device"}
    )
    folders = re.findall(r"`([\w/]+/)`", TUTOR)
    assert folders and all((ROOT / place).is_dir() for place in folders)
