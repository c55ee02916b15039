"""The program that sets formulas is the published one, and says which; what a line may part."""

from tools.extensions.formulas import (
    WITH_PUNCTUATION,
    WORD_JOINER,
    mathml,
    wrap_with_punctuation,
)


def unbreakable_parts(tex):
    """The parts of an inline formula between which a line may break."""
    result = mathml(tex, display=False)["html"].removeprefix("<math>").removesuffix("</math>")
    return result.replace("</mrow><mrow", "</mrow>|<mrow").split("|")


def test_a_line_ends_after_a_sum_or_a_relation_and_not_within_a_product():
    assert len(unbreakable_parts(r"n \cdot d_v")) == len(unbreakable_parts(r"n \times d_k")) == 1
    assert len(unbreakable_parts(r"a \cdot b + c \cdot d = e")) == 3


def test_a_full_stop_is_glued_to_a_formula_that_may_go_on_in_the_next_line():
    indivisible, divisible = (
        f'<span class="math notranslate">{mathml(tex, display=False)["html"]}</span>'
        for tex in ("x", "x = 1")
    )
    assert (
        WITH_PUNCTUATION.sub(wrap_with_punctuation, f"{indivisible} and {divisible}")
        == f"{indivisible} and {divisible}"
    )
    assert (
        WITH_PUNCTUATION.sub(wrap_with_punctuation, f"{indivisible}.")
        == f'<span class="joined">{indivisible}.</span>'
    )
    for text in (f"({divisible}", f"{divisible}.", f"({divisible}),"):
        glued = text.replace(divisible, WORD_JOINER + divisible + WORD_JOINER).strip(WORD_JOINER)
        assert (
            WITH_PUNCTUATION.sub(wrap_with_punctuation, text)
            == f'<span class="joined">{glued}</span>'
        )
