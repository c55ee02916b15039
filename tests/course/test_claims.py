"""Claims: each holds over several seeds, is shown in its chapter, and one that fails says so."""

import math
import os
import re
import subprocess
import sys
from importlib import import_module

import pytest

from attncourse.course.claim import (
    Claim,
    Expected,
    Ledger,
    Measured,
    about,
    above,
    at_least,
    at_most,
    below,
    between,
    claim,
    claims,
    exactly,
    ledger,
    number,
)
from tests import ROOT
from tests.test_layout import TEXTS
from tools.book import chapter_texts

CLAIMS = claims()
CHAPTERS, CLAIM = ROOT / "attncourse" / "course", "attncourse.course.claim"


def claim_id(claim):
    return claim.id


# of seed 0 the site's list is made, and tests/site/test_html.py reads there whether each holds
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, int(os.environ.get("ATTNCOURSE_SEEDS", 2))))
@pytest.mark.parametrize("claim", CLAIMS, ids=claim_id)
def test_every_claim_holds(claim, seed):
    finding = claim.measure(seed)
    assert finding.measured.holds, finding


@pytest.mark.parametrize("claim", CLAIMS, ids=claim_id)
def test_every_claim_is_stated_in_its_chapter(claim):
    chapter, _, name = claim.id.partition(".")
    page = "\n".join(path.read_text() for path in chapter_texts(ROOT, chapter))
    link = rf"\{{claim\}}`([^`]*<)?{re.escape(claim.id)}>?`"
    assert f"\nclaims.{name}.measure()\n" in page or re.search(link, page)


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_a_page_has_at_most_eight_boxes(page):
    assert len(re.findall(r"^claims\.\w+\.measure\(\)$", page.read_text(), re.MULTILINE)) <= 8


def test_every_chapter_has_at_least_eight_claims():
    chapters = {claim.id.partition(".")[0] for claim in CLAIMS}
    assert chapters
    assert all(len(claims(chapter)) >= 8 for chapter in chapters)


@pytest.mark.parametrize("claim", CLAIMS, ids=claim_id)
def test_every_claim_says_what_and_where_from(claim):
    assert claim.statement.endswith(".") and claim.source


def test_the_same_seed_draws_the_same_numbers():
    claim = next(claim for claim in CLAIMS if claim.id == "dot_product.variance_is_d_k")
    assert claim.measure(3) == claim.measure(3)
    assert claim.measure(3) != claim.measure(4)


def test_the_machinery_imports_no_mechanism():
    script = f"import sys; import {CLAIM}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name for name in run.stdout.split() if name.startswith("attncourse")}
    assert loaded == {"attncourse", "attncourse.course", CLAIM, "attncourse.devices"}


@pytest.mark.parametrize(
    ("expected", "text", "inside", "outside"),
    [
        (exactly(32768), "exactly 32768", [32768], [32769, math.nan]),
        (at_most(7.6e-6, "rounding"), "≤ 7.6 · 10⁻⁶, rounding", [0, 7.6e-6], [1e-5]),
        (at_least(2.5), "≥ 2.5", [2.5, math.inf], [2]),
        (below(0.9), "< 0.9", [0.89], [0.9, math.nan]),
        (above(1), "> 1", [1.1], [1]),
        (between(0.75, 4 / 3), "0.75 to 1.33", [0.75, 1], [1.4]),
        (about(1, 0.1), "1 ± 0.1", [0.95, 1.05], [0.85, 1.15]),
    ],
    ids=lambda claim: claim.text if isinstance(claim, Expected) else "",
)
def test_an_expectation_says_what_it_allows(expected, text, inside, outside):
    assert expected.text == text
    assert all(map(expected.allows, inside)) and not any(map(expected.allows, outside))
    for numbers, holds in ((inside, True), (outside[:1], False), ([], False)):
        assert Measured({"one of many": (numbers, expected)}).holds is holds


@pytest.mark.parametrize(
    ("value", "text"),
    [(32768.0, "32768"), (3.2e4 + 0.3, "32000"), (0.10423, "0.104"), (2e-7, "2 · 10⁻⁷")],
)
def test_a_number_is_written_as_people_do(value, text):
    assert number(value) == text


def test_a_number_has_the_digits_that_tell_on_which_side_it_lies():
    assert below(1).show(0.99996) == "0.99996"
    assert at_most(0.5).show(0.50001) == "0.50001"


def test_a_claim_has_few_quantities():
    with pytest.raises(ValueError, match="at most 6 quantities, not 7"):
        Measured({str(i): (i, at_least(0)) for i in range(7)})


@pytest.fixture
def false_claim():
    @claim("That $|x|$ is below 1.", source="nowhere")
    def one_is_below_one(g):
        return Measured({"some $|x|$ | others": ([0.5, 1.0], below(1)), "zero": (0, below(1))})

    return one_is_below_one


def test_a_claim_that_fails_is_shown_as_failing(false_claim):
    finding = false_claim.measure()
    assert finding.verdict == "does not hold here"
    assert repr(finding).endswith("zero: 0 (< 1 ✓). It does not hold here.")
    markdown = finding._repr_markdown_()
    assert "✗ It **does not hold here**. Source: nowhere." in markdown
    # a bar would end the cell of a table
    assert "| some $\\vert x\\vert $ \\| others | 0.5 to 1 | < 1 ✗ |" in markdown
    assert "**Claim.** That $|x|$ is below 1." in markdown and "| zero | 0 | < 1 ✓ |" in markdown


def test_a_claim_is_named_after_its_module_and_function(false_claim):
    assert isinstance(false_claim, Claim)
    assert false_claim.id == "test_claims.one_is_below_one"


def test_a_box_shows_how_the_claim_was_measured(false_claim):
    markdown = false_claim.measure()._repr_markdown_()
    assert "<summary>How it was measured</summary>" in markdown
    assert "def one_is_below_one(g):" in markdown


def test_the_ledger_holds_every_claim():
    findings = ledger("dot_product")
    assert [finding.claim.id for finding in findings] == [
        claim.id for claim in claims("dot_product")
    ]
    assert {finding.verdict for finding in findings} == {"holds"}


def test_the_ledger_shows_what_was_measured_and_what_does_not_hold(false_claim):
    finding = false_claim.measure()
    markdown = Ledger([finding])._repr_markdown_()
    assert '<div class="listed-claim" id="test_claims.one_is_below_one">' in markdown
    assert f"**Does not hold here.** {false_claim.statement}" in markdown
    assert str(finding.measured) in markdown


def test_an_unknown_chapter_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no chapter 'poetry' has claims; .*'dot_product'"):
        claims("poetry")


@pytest.mark.parametrize("folder", [path.parent for path in CHAPTERS.glob("*/claims/__init__.py")])
def test_a_chapter_in_several_files_lists_each_of_its_claims_once(folder):
    chapter = folder.parent.name
    names = [f"attncourse.course.{chapter}.claims.{path.stem}" for path in folder.glob("[a-z]*.py")]
    defined = [value for name in names for value in vars(import_module(name)).values()]
    defined_ids = {value.id for value in defined if isinstance(value, Claim)}
    listed_ids = [claim.id for claim in claims(chapter)]
    assert len(listed_ids) == len(set(listed_ids)) and defined_ids <= {*listed_ids}
