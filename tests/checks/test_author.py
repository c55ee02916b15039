"""What `python -m attncourse.checks NAME` tells the author of an exercise."""

import pytest

from attncourse.checks import __main__ as command
from attncourse.checks import exercise, variants
from attncourse.checks.exercise import Case, Exercise


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
    lines = command.report(toy(), seed=1)
    assert "   wrong '2 * x -> 3 * x': it is tripled: double it" in lines
    assert "   right 'doubled': passed" in lines
    assert lines[-1] == (
        "doubled, seed 1: 10 of 10 wrong answers (1 of its own, 9 usual ones) refused with their "
        "hint, 1 of 1 right ones accepted"
    )
    assert not any(line.startswith("!!") for line in lines)


def test_a_wrong_answer_that_passes_is_marked():
    lines = command.report(toy(harmless=("2 * x", "x + x")), seed=1)
    assert "!! wrong '2 * x -> x + x': passed" in lines
    assert any("should hear: harmless" in line for line in lines)


def test_a_reference_that_every_right_answer_contradicts_is_named():
    lines = command.report(toy(reference=lambda x: 4 * x), seed=1)
    assert "!! the reference disagrees with every right answer: look at it first" in lines


def test_an_oracle_is_asked_first(monkeypatch):
    one = exercise("distance_attention")
    assert command.disagreement(one, seed=2) == ""
    monkeypatch.setattr(one, "reference_answer", lambda q, k, v, mask=None: 0 * q @ k.mT @ v)
    (line,) = command.report(one, seed=2)
    assert line.startswith("!! on a batch of 2") and "disagrees with the oracle" in line


@pytest.mark.parametrize(("name", "code"), [("decoder_mask", 0), ("decoder", 2)])
def test_the_command_ends_as_it_went(name, code, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["checks", name, "--seed", "3"])
    if code:
        with pytest.raises(SystemExit) as left:
            command.main()
        assert left.value.code == code and "no exercise is called" in capsys.readouterr().err
    else:
        assert command.main() == code
        assert "decoder_mask, seed 3: " in capsys.readouterr().out
