"""Answers made by edits: their replacements, their tracebacks and the errors of bad edits."""

import traceback

import pytest
import torch
from torch import nn

from attncourse.course import exercise
from judge import variants
from judge.exercise import Exercise


def doubled(x):
    return x + x


def halved(x):
    return x / 2


def plain(x, times=2):
    """Twice the number, times over."""
    for _ in range(times):
        x = doubled(x)
    return x + 0


def zero(x):
    return 0


class Scaled(nn.Module):
    factor = 3

    def __init__(self, offset):
        super().__init__()
        self.offset = offset

    def forward(self, x):
        return doubled(x) * self.factor + self.offset


def steps(x):
    """A step of its own for each number, and a condition."""
    one = x + 1
    if one < 0:
        one = -one
    both, sign = 2 * one, 1
    return both * sign


def make_twice(answer=plain) -> Exercise:
    exercise = Exercise(
        name="twice",
        chapter="dot_product",
        title="Twice",
        kind="build",
        difficulty=1,
        minutes=1,
        points=1,
        hints=("idea", "shape", "line"),
    )
    exercise.valid(answer)
    return exercise


def test_pieces_are_replaced_and_the_answer_stays_as_it_is():
    assert variants.edited(plain, "doubled", "halved", "+ 0", "+ 1")(8) == 3
    assert plain(8) == 32


def test_a_piece_at_several_places_is_replaced_only_where_that_is_asked_for():
    message = r"plain has 'times' at 3 places: quote more .* or write every\('times'\)"
    with pytest.raises(ValueError, match=message):
        variants.edited(plain, "times", "n")
    assert variants.edited(plain, variants.every("times"), "n")(8, n=3) == 64


def test_a_class_is_edited_too():
    edited_class = variants.edited(
        Scaled, "factor = 3", "factor = 5", "self.offset = offset", "pass"
    )
    assert edited_class.factor == 5 and Scaled.factor == 3
    assert not hasattr(edited_class(7), "offset")


def test_a_decorator_is_not_run_again():
    task = make_twice()
    edited_once = variants.edited(task.valid(halved), "/ 2", "/ 4")
    assert task.valid_answers == [plain, halved] and edited_once(4) == 1


def test_an_edit_that_no_longer_applies_is_named():
    message = rf"{__name__}\.plain has no 'x \+ 2' to replace"
    with pytest.raises(ValueError, match=f"^{message}$"):
        variants.edited(plain, "x + 2", "x")
    with pytest.raises(ValueError, match=f"^{message}, under the hint 'it adds two'$"):
        variants.wrong(make_twice(), {"it adds one": ("+ 0", "+ 1"), "it adds two": ("x + 2", "x")})


def test_an_edit_that_is_no_longer_python_is_named():
    message = rf"<{__name__}.plain: x \+ 0 -> x \+>, line 5\), under the hint 'it adds nothing'$"
    with pytest.raises(ValueError, match=message):
        variants.wrong(make_twice(), {"it adds nothing": ("x + 0", "x +")})


def test_a_piece_without_a_replacement_is_named():
    with pytest.raises(ValueError, match="plain: 'x' has nothing to take its place"):
        variants.edited(plain, "x", "y", "x")


def test_what_is_no_edit_is_named():
    message = r"plain: an edit is a statement, or \(old, new, .*, not \['a', 'b'\]"
    with pytest.raises(ValueError, match=message):
        variants.made(plain, ["a", "b"])


def test_a_traceback_shows_the_edited_text():
    divided_by_zero = variants.edited(plain, "x + 0", "x / 0")
    with pytest.raises(ZeroDivisionError) as caught:
        divided_by_zero(1)
    assert "return x / 0" in "".join(traceback.format_tb(caught.tb))
    assert divided_by_zero.__name__ == "x + 0 -> x / 0"


def test_a_name_that_only_the_edit_knows_is_named():
    with pytest.raises(ValueError, match=r"x \+ 0 -> F.relu\(x\): .*test_variants has no F$"):
        variants.edited(plain, "x + 0", "F.relu(x)")


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("one = x", 14),
        ("return both", 16),
        ("both, sign = 2 * one, -1\none = x + 2", -18),
        ("if one < 0: one = 0", 16),
        # a statement that is no step stands before the next step
        ("less = x - 1\none = less; return one", 6),
        ("if x > 5:\n    return 0\nboth, sign = one, one", 0),
    ],
)
def test_a_statement_takes_the_place_of_the_step_that_it_is(statements, expected):
    assert variants.made(steps, statements)(7) == expected


def test_a_step_of_a_method_is_replaced_too():
    edited_class = variants.made(Scaled, "self.offset = offset + 1\nreturn x + self.offset")
    assert edited_class(7)(2) == 10


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("two = x", r"steps has no step for \['two = x'\], among \['one', 'if one < 0', "),
        ("one = x\none = 2 * x", "steps: the step 'one' is there twice"),
    ],
)
def test_a_statement_that_is_no_step_is_named(statements, message):
    with pytest.raises(ValueError, match=message):
        variants.made(steps, statements)


def test_an_edited_answer_is_edited_again_and_knows_its_text():
    edited_twice = variants.edited(variants.made(steps, "one = 2"), "one = 2", "one = 3")
    assert edited_twice(7) == 6 and "one = 3" in variants.source_of(edited_twice)


def test_two_changes_are_made_at_once_where_each_has_steps_of_its_own():
    first, second, third = (
        variants.made(steps, edit).made_by  # pyright: ignore
        for edit in ("one = x", "return both + sign", "one = 2 * x")
    )
    assert first.joined(second)(7) == 15 and first.joined(third) is None


def test_the_worked_answer_of_a_text_is_right_and_has_the_names_of_its_notebook_and_its_bank():
    answer = exercise("distance_attention").valid_answers[0]
    q = torch.ones(2, 1, 3)
    assert answer(q, q, q).equal(q)
    assert variants.source_of(answer) in answer.__globals__["exercise"].task.text
    edited_once = variants.made(answer, "weights = softmax(scores)")
    assert edited_once(q, q, q).equal(q)


def test_a_stub_is_read_from_the_text():
    task = exercise("token_accuracy")
    assert variants.source_of(task.stub_answer) in task.task.text


def test_another_function_stands_behind_a_name_of_an_edited_answer():
    assert variants.made(plain, ("+ 0", "+ 1"), doubled=halved)(8) == 3


def test_a_name_that_is_not_called_is_named():
    with pytest.raises(ValueError, match="plain calls no 'tripled'"):
        variants.calling(make_twice(), "tripled", {halved: "it halves"})


def test_a_table_gives_an_exercise_its_answers():
    task = make_twice()
    variants.right(task, ("+ 0", "- 0"))
    variants.wrong(task, {
        "it adds one": ("+ 0", "+ 1"),
        "it does nothing": [("doubled(x)", "x"), zero],
    })  # fmt: skip
    variants.calling(task, "doubled", {halved: "it halves", doubled: None})
    assert [answer(1) for answer in task.valid_answers] == [4, 4, 4]
    assert [(m.hint, m.function(1)) for m in task.own_mutants] == [
        ("it adds one", 5),
        ("it does nothing", 1),
        ("it does nothing", 0),
        ("it halves", 0.25),
    ]


def test_several_names_are_rebound_at_once():
    task = make_twice()
    variants.calling(task, ("doubled", "range"), {(halved, lambda n: [0]): "it halves once"})
    assert task.own_mutants[0].function(8) == 4


def test_another_right_answer_is_edited_where_it_is_named():
    task = make_twice()
    variants.wrong(task, {"it is a third": ("2", "3")}, of=halved)
    variants.calling(task, "doubled", {halved: "it halves"}, of=Scaled)
    call_line = "one = doubled(x)"
    variants.calling(task, "doubled", {halved: "it halves first"}, of=steps, instead=call_line)
    third, module, first = (mutant.function for mutant in task.own_mutants)
    assert third(9) == 3 and module(1)(8) == 13 and first(8) == 8
