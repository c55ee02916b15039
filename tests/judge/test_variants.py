"""Answers made by edits: what is replaced, what a traceback shows, and what is refused."""

import traceback

import pytest
from torch import nn

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


def exercise() -> Exercise:
    return Exercise(
        name="twice",
        chapter="dot_product",
        title="Twice",
        kind="build",
        difficulty=1,
        minutes=1,
        points=1,
        hints=("idea", "shape", "line"),
    )


def test_pieces_are_replaced_and_the_answer_stays_as_it_is():
    assert variants.edited(plain, "doubled", "halved", "+ 0", "+ 1")(8) == 3
    assert plain(8) == 32


def test_a_piece_at_several_places_is_replaced_only_where_that_is_asked_for():
    said = r"plain has 'times' at 3 places: quote more .* or write every\('times'\)"
    with pytest.raises(ValueError, match=said):
        variants.edited(plain, "times", "n")
    assert variants.edited(plain, variants.every("times"), "n")(8, n=3) == 64


def test_a_class_is_edited_too():
    made = variants.edited(Scaled, "factor = 3", "factor = 5", "self.offset = offset", "pass")
    assert made.factor == 5 and Scaled.factor == 3
    assert not hasattr(made(7), "offset")


def test_a_decorator_is_not_run_again():
    one = exercise()
    made = variants.edited(one.valid(plain), "+ 0", "+ 1")
    assert one.valid_answers == [plain] and made(1) == 5


def test_an_edit_that_no_longer_applies_is_named():
    said = rf"{__name__}\.plain has no 'x \+ 2' to replace"
    with pytest.raises(ValueError, match=f"^{said}$"):
        variants.edited(plain, "x + 2", "x")
    with pytest.raises(ValueError, match=f"^{said}, under the hint 'it adds two'$"):
        variants.wrong(
            exercise(), plain, {"it adds one": ("+ 0", "+ 1"), "it adds two": ("x + 2", "x")}
        )


def test_an_edit_that_is_no_longer_python_is_named():
    said = rf"<{__name__}: x \+ 0 -> x \+>, line 5\), under the hint 'it adds nothing'$"
    with pytest.raises(ValueError, match=said):
        variants.wrong(exercise(), plain, {"it adds nothing": ("x + 0", "x +")})


def test_a_piece_without_a_replacement_is_named():
    with pytest.raises(ValueError, match="plain: 'x' has nothing to take its place"):
        variants.edited(plain, "x", "y", "x")


def test_what_is_no_edit_is_named():
    with pytest.raises(ValueError, match=r"plain: an edit is \(old, new\).*, not \['a', 'b'\]"):
        variants.made(plain, ["a", "b"])


def test_a_traceback_shows_the_edited_text():
    broken = variants.edited(plain, "x + 0", "x / 0")
    with pytest.raises(ZeroDivisionError) as caught:
        broken(1)
    assert "return x / 0" in "".join(traceback.format_tb(caught.tb))
    assert broken.__name__ == "x + 0 -> x / 0"


def test_a_name_that_only_the_edit_knows_is_named():
    with pytest.raises(ValueError, match=r"x \+ 0 -> F.relu\(x\): .*test_variants has no F$"):
        variants.edited(plain, "x + 0", "F.relu(x)")


def test_another_function_stands_behind_a_name():
    assert variants.rebound(plain, doubled=halved)(8) == 2
    assert variants.rebound(Scaled, doubled=halved)(1)(8) == 13


def test_a_name_that_is_not_called_is_named():
    with pytest.raises(ValueError, match="plain calls no 'tripled'"):
        variants.rebound(plain, tripled=halved)


def test_a_table_gives_an_exercise_its_answers():
    one = exercise()
    variants.right(one, plain, ("+ 0", "- 0"))
    variants.wrong(one, plain, {
        "it adds one": ("+ 0", "+ 1"),
        "it does nothing": [("doubled(x)", "x"), zero],
    })  # fmt: skip
    variants.calling(one, plain, "doubled", {halved: "it halves", doubled: None})
    assert [answer(1) for answer in one.valid_answers] == [4, 4]
    assert [(m.hint, m.function(1)) for m in one.own_mutants] == [
        ("it adds one", 5),
        ("it does nothing", 1),
        ("it does nothing", 0),
        ("it halves", 0.25),
    ]


def test_several_names_are_rebound_at_once():
    one = exercise()
    variants.calling(one, plain, ("doubled", "range"), {(halved, lambda n: [0]): "it halves once"})
    assert one.own_mutants[0].function(8) == 4
