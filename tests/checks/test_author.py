"""What `python -m attncourse.checks NAME` tells the author of an exercise."""

import re
from dataclasses import replace
from importlib import import_module

import pytest
import torch

from attncourse.checks import exercise
from attncourse.course import COURSE
from judge import author, course, variants
from judge.course import OneLineError
from judge.exercise import Case, Exercise

CARD = ("name", "chapter", "title", "kind", "difficulty", "minutes", "points", "hints")


def doubled(x):
    twice = 2 * x
    return twice


def toy(reference=doubled, **answers) -> Exercise:
    """An exercise with a right answer and a wrong one."""
    one = Exercise(
        name="doubled",
        chapter="dot_product",
        title="Twice as much",
        kind="build",
        difficulty=1,
        minutes=1,
        points=1,
        hints=("idea", "shape", "line"),
    )
    one.reference(reference)
    one.cases(lambda draw: iter([Case("a vector", (draw.normal(4),))]))
    one.valid(doubled)
    variants.wrong(one, doubled, {"it is tripled: double it": ("2 * x", "3 * x")} | answers)
    return one


def test_each_answer_has_a_line_and_the_last_one_counts():
    lines = author.report(COURSE, toy(), seed=1)
    assert "   wrong '2 * x -> 3 * x': it is tripled: double it" in lines
    assert "   right 'doubled': passed" in lines
    assert lines[-1] == (
        "doubled, seed 1: 10 of 10 wrong answers (1 of its own, 9 usual ones) refused with their "
        "hint, 1 of 1 right ones accepted"
    )
    assert not any(line.startswith("!!") for line in lines)


def test_a_wrong_answer_that_passes_is_marked():
    lines = author.report(COURSE, toy(harmless=("2 * x", "x + x")), seed=1)
    assert "!! wrong '2 * x -> x + x': passed" in lines
    assert any("should hear: harmless" in line for line in lines)


def test_a_reference_that_every_right_answer_contradicts_is_named():
    lines = author.report(COURSE, toy(reference=lambda x: 4 * x), seed=1)
    said = "!! the reference agrees with 0 of 1 right answers: look at the reference first"
    assert lines[-2] == said


def raising(x):
    raise RuntimeError("first line\nsecond line")


@pytest.mark.parametrize(
    ("reference", "oracle", "why", "suspect"),
    [
        (lambda x: 4 * x, doubled, "disagrees with the oracle: Tensor-likes are not", "reference"),
        (doubled, lambda x: 4 * x, "disagrees with the oracle: Tensor-likes are not", "oracle"),
        (doubled, lambda x: None, "disagrees with the oracle: ", "oracle"),
        (doubled, raising, "the oracle raises RuntimeError: first line second line", "oracle"),
    ],
)
def test_where_the_oracle_says_otherwise_right_answers_take_a_side(
    reference, oracle, why, suspect, monkeypatch
):
    monkeypatch.setattr(author, "oracle_of", lambda course, one: oracle)
    answer, *lines, _ = author.report(COURSE, toy(reference), seed=1)
    lines = [line for line in lines if line.startswith("!!")]
    assert "right 'doubled'" in answer and len(lines) == 2
    assert lines[0].startswith("!! on a vector, ") and why in lines[0] and "\n" not in lines[0]
    said = f"agrees with {int(suspect == 'oracle')} of 1 right answers: look at the {suspect} first"
    assert lines[1] == f"!! the reference {said}"


@pytest.mark.parametrize("name", ["tests", "tests.checks.oracles.dot_product", "scipy", "tests.x"])
def test_without_the_tests_there_is_no_oracle_and_what_an_oracle_lacks_is_named(name, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(f"no {name}", name=name)

    monkeypatch.setattr(author, "import_module", missing)
    if "tests.checks.oracles.dot_product".startswith(name):
        assert author.oracle_of(COURSE, toy()) is None
    else:
        with pytest.raises(ModuleNotFoundError, match=f"no {name}"):
            author.oracle_of(COURSE, toy())


def test_the_reference_of_the_course_agrees_with_its_oracle():
    assert author.disagreement(COURSE, exercise("distance_attention"), seed=2) == ""


def test_a_slip_in_an_exercise_s_file_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["checks", "decoder_mask"])
    monkeypatch.setattr(
        course.Course, "one_of", lambda *named: variants.edited(doubled, "x + x", "x")
    )
    with pytest.raises(SystemExit) as left:
        author.main(COURSE)
    said = f"{__name__}.doubled has no 'x + x' to replace\n"
    assert left.value.code == 2 and capsys.readouterr().err == said


def test_of_an_exercise_only_its_own_file_is_loaded(monkeypatch):
    loaded = []
    monkeypatch.setattr(course, "import_module", lambda m: loaded.append(m) or import_module(m))
    exercise("GatedCell")
    assert [m for m in loaded if m.count(".") == 3] == ["attncourse.checks.recurrence.GatedCell"]


@pytest.mark.parametrize(("name", "code"), [("decoder_mask", 0), ("decoder", 2)])
def test_the_command_ends_as_it_went(name, code, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["checks", name, "--seed", "3"])
    if code:
        with pytest.raises(SystemExit) as left:
            author.main(COURSE)
        assert left.value.code == code and "no exercise is called" in capsys.readouterr().err
    else:
        assert author.main(COURSE) == code
        assert "decoder_mask, seed 3: " in capsys.readouterr().out


def test_a_case_that_the_reference_cannot_take_is_named():
    (said,) = author.report(COURSE, toy(reference=lambda x: x[7]), seed=1)
    assert said.startswith("!! on a vector, the reference raises IndexError: ")


def test_where_loops_are_not_refused_a_line_says_so():
    said = "   no case is `longer`, so an answer that loops is not refused"
    assert said in author.report(COURSE, toy(), seed=1)
    assert said not in author.report(COURSE, exercise("decoder_mask"), seed=1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"args": torch.ones(2)}, "case 'a vector': args is a tuple, and not a Tensor"),
        ({"args": (), "longer": [1]}, "case 'a vector': longer is a tuple, and not a list"),
    ],
)
def test_a_case_whose_arguments_are_no_tuple_is_refused(given, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        Case("a vector", **given)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"difficulty": 4}, "doubled: difficulty 4 is not 1, 2 or 3"),
        ({"hints": ("idea", "shape")}, "doubled has 2 hints: there are three"),
        ({"kind": "write"}, "doubled: kind 'write' is not one of"),
    ],
)
def test_a_card_that_says_what_it_may_not_is_refused(change, said):
    card = {name: getattr(toy(), name) for name in CARD}
    with pytest.raises(ValueError, match=re.escape(said)):
        Exercise(**card | change)


def test_a_list_of_exercises_and_the_files_must_agree(tmp_path, monkeypatch):
    chapter = tmp_path / "fresh/checks/first"
    chapter.mkdir(parents=True)
    for folder in (chapter, chapter.parent, chapter.parent.parent):
        (folder / "__init__.py").touch()
    (chapter / "__init__.py").write_text("ORDER = ('one', 'other')")
    (chapter / "other.py").write_text("from tests.checks.test_author import toy\nexercise = toy()")
    monkeypatch.syspath_prepend(tmp_path)
    fresh = replace(COURSE, package="fresh")
    said = r"first lists 'one', and there is no module fresh\.checks\.first\.one"
    with pytest.raises(ValueError, match=said):
        fresh.exercise("one")
    said = r"fresh\.checks\.first\.other holds the exercise 'doubled' of 'dot_product'"
    with pytest.raises(ValueError, match=said):
        fresh.exercise("other")
    monkeypatch.setattr(course.Course, "order", lambda *chapter: ())
    with pytest.raises(OneLineError, match=r"fresh\.checks has no exercises yet"):
        fresh.exercise("one")
