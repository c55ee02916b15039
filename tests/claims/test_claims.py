"""Claims: each holds over several seeds, is shown in its chapter, and one that fails says so."""

import ast
import re
import subprocess
import sys
from html import escape
from pathlib import Path

import pytest

from attncourse.claims import Claim, Ledger, Measured, claim, claims, ledger
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
