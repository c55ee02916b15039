"""Claims: each holds over several seeds, is shown in its chapter, and one that fails says so."""

import ast
import re
import subprocess
import sys
from html import escape
from pathlib import Path

import pytest
import torch

from attncourse.claims import Claim, Ledger, Measured, claim, claims, ledger
from attncourse.claims import dot_product as page
from attncourse.dot_product import additive_weights, attention, attention_weights
from tests import ROOT

EVERY = claims()


def ids(one):
    return one.id


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("one", EVERY, ids=ids)
def test_every_claim_holds(one, seed):
    finding = one.measure(seed)
    assert finding.measured.holds, finding


@pytest.mark.parametrize("one", EVERY, ids=ids)
def test_every_claim_is_measured_in_its_chapter(one):
    chapter, _, name = one.id.partition(".")
    page = (ROOT / "chapters" / f"{chapter}.md").read_text()
    cells = re.findall(r"^```\{code-cell\}.*?^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert any(f"claims.{name}.measure()" in cell for cell in cells)


def unscaled(q, k, mask=None):
    return (q @ k.mT).softmax(-1)


def overflowing(scores, mask=None):
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def without_tanh(q, k, w_q, w_k, w_v):
    return (((q @ w_q)[:, None] + (k @ w_k)[None]) @ w_v).softmax(-1)


def masked_with_zero(q, k, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return (scores if mask is None else scores * mask).softmax(-1)


# each claim, but for the one about float32 alone, with a wrong function that it must notice
FALSE_OF = {
    "rows_sum_to_one": ("attention_weights", lambda q, k: attention_weights(k, q).mT),
    "output_is_a_mean": ("attention", lambda q, k, v: q @ k.mT @ v),
    "softmax_needs_the_largest_subtracted": ("masked_softmax", overflowing),
    "additive_products_cost_the_same": ("additive_weights", lambda q, k, *w: unscaled(q, k)),
    "additive_holds_hidden_times_more": ("additive_weights", lambda q, k, *w: unscaled(q, k)),
    "dot_product_is_faster": ("attention_weights", lambda q, k: additive_weights(q, k, *SQUARE)),
    "variance_is_d_k": ("attention_weights", unscaled),
    "tokens_attend_to_themselves": ("attention_weights", unscaled),
    "additive_scores_are_bounded": ("additive_weights", without_tanh),
    "one_key_takes_all_unscaled": ("attention_weights", unscaled),
    "jacobian_collapses_unscaled": ("attention_weights", unscaled),
    "most_rows_pass_no_gradient": ("attention_weights", unscaled),
    "zero_is_no_mask": ("attention_weights", masked_with_zero),
    "future_has_no_gradient": ("attention", lambda q, k, v, mask: attention(q, k, v)),
    "operations_are_n_m_d": ("attention", lambda q, k, v: unscaled(q, k) @ v),
    "cost_is_quadratic": ("attention", lambda q, k, v: q @ (k.mT @ v)),
}
SQUARE = (torch.ones(64, 64), torch.ones(64, 64), torch.ones(64))


@pytest.mark.parametrize("name", FALSE_OF)
def test_a_claim_does_not_hold_of_a_wrong_function(name, monkeypatch):
    replaced, wrong = FALSE_OF[name]
    monkeypatch.setattr(page, replaced, wrong)
    assert not getattr(page, name).measure().measured.holds


def test_every_claim_about_the_package_has_a_wrong_function():
    names = {one.id.partition(".")[2] for one in claims("dot_product")}
    assert names - set(FALSE_OF) == {"finite_fill_is_not_enough"}


def test_every_chapter_has_at_least_eight_claims():
    chapters = {one.id.partition(".")[0] for one in EVERY}
    assert chapters
    assert all(len(claims(chapter)) >= 8 for chapter in chapters)


@pytest.mark.parametrize("one", EVERY, ids=ids)
def test_every_claim_says_what_where_from_and_is_short(one):
    assert one.statement.endswith(".") and one.source
    code = Path(one.function.__code__.co_filename).read_text()
    function = next(
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef) and node.name == one.function.__name__
    )
    assert function.end_lineno - function.lineno < 25


def test_the_same_seed_draws_the_same_numbers():
    one = next(one for one in EVERY if one.id == "dot_product.variance_is_d_k")
    assert one.measure(3) == one.measure(3)
    assert one.measure(3) != one.measure(4)


def test_the_machinery_imports_no_mechanism():
    script = "import sys; import attncourse.claims; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name for name in run.stdout.split() if name.startswith("attncourse")}
    assert loaded == {"attncourse", "attncourse.claims", "attncourse.devices"}


@pytest.fixture
def false_claim():
    @claim("1 < 1 & all that.", source="nowhere")
    def one_is_less_than_one(g):
        return Measured({"left": 1.0, "right": 1.0}, "left < right", False)

    return one_is_less_than_one


def test_a_claim_that_fails_is_shown_as_failing(false_claim):
    finding = false_claim.measure()
    assert finding.verdict == "does not hold here"
    assert repr(finding).endswith(
        "left: 1; right: 1 (stated: left < right). It does not hold here."
    )
    shown = finding._repr_html_()
    assert "<strong>does not hold here</strong>" in shown
    assert "1 &lt; 1 &amp; all that." in shown and "left &lt; right" in shown
    assert finding.verdict == "does not hold here"


def test_a_claim_is_named_after_its_module_and_function(false_claim):
    assert isinstance(false_claim, Claim)
    assert false_claim.id == "test_claims.one_is_less_than_one"


def test_a_box_shows_how_the_claim_was_measured(false_claim):
    shown = false_claim.measure()._repr_html_()
    assert "<summary>How test_claims.one_is_less_than_one is measured</summary>" in shown
    assert "def one_is_less_than_one(g):" in shown


def test_the_ledger_holds_every_claim():
    findings = ledger("dot_product")
    assert [one.claim.id for one in findings] == [one.id for one in claims("dot_product")]
    assert {one.verdict for one in findings} == {"holds"}


def test_the_ledger_shows_what_was_measured_and_what_does_not_hold(false_claim):
    finding = false_claim.measure()
    shown = Ledger([finding])._repr_html_()
    assert "<code>test_claims.one_is_less_than_one</code> does not hold here" in shown
    assert all(escape(text) in shown for text in (false_claim.statement, str(finding.measured)))


def test_an_unknown_chapter_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no chapter 'poetry' has claims; .*'dot_product'"):
        claims("poetry")
