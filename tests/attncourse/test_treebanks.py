"""The treebank, its sample without network, and batches of its sentences."""

import pytest
import torch

from attncourse.data import (
    NO_LABEL,
    PADDING,
    UNKNOWN,
    CorruptArchiveError,
    Sentence,
    Vocabulary,
    treebank,
    treebanks,
)
from tests.attncourse.conftest import wheel_bytes

SAMPLE = treebank(offline=True)
SENTENCES = [*SAMPLE.train, *SAMPLE.dev, *SAMPLE.test]


def test_without_network_the_treebank_is_our_sample_and_says_so(cache, fake_pip):
    fake_pip({}, status=1, stderr="ERROR: no network")
    bank = treebank()
    assert bank.sample and bank.train == SAMPLE.train
    assert str(bank).startswith("a small sample that we wrote: 25 sentences to train, 3 to develop")
    assert "turkish-treebanks==1.0.0 could not be downloaded (no network)" in str(bank)


def test_a_file_with_another_hash_is_an_error_not_the_sample(cache, fake_pip):
    fake_pip({treebanks.TREEBANK.name: b"abc"})
    with pytest.raises(CorruptArchiveError, match=r"turkish_treebanks-1\.0\.0"):
        treebank()


@pytest.mark.parametrize("content", [b"no archive", wheel_bytes({"data/web.conllu": ""})], ids=len)
def test_an_archive_that_cannot_be_read_is_named(pin_archive, content):
    pin_archive(treebanks, "TREEBANK", content)
    with pytest.raises(
        CorruptArchiveError, match=r"turkish_treebanks-1\.0\.0.* cannot be read .*: delete"
    ):
        treebank()


def test_both_sections_of_an_archive_are_read_and_split_each_by_tens(pin_archive):
    text = treebanks.SAMPLE.read_text("utf-8")
    content = wheel_bytes(dict.fromkeys(("data/web.conllu", "data/wiki.conllu"), text))
    pin_archive(treebanks, "TREEBANK", content)
    bank = treebank()
    assert not bank.sample and bank.train == SAMPLE.train * 2
    assert (len(bank.dev), len(bank.test)) == (6, 6)


def test_of_ten_sentences_the_ninth_is_to_develop_and_the_tenth_to_test():
    words = [Sentence((str(i),), ("X",), ("root",), (-1,)) for i in range(20)]
    bank = treebanks.split_sections([words])
    assert [example.forms[0] for example in bank.dev] == ["8", "18"]
    assert [example.forms[0] for example in bank.test] == ["9", "19"]
    assert len(bank.train) == 16


def test_the_sample_is_made_of_trees_with_a_gloss_for_each_word():
    assert len(SENTENCES) == 31
    for sentence in SENTENCES:
        n = len(sentence.forms)
        assert (
            n
            == len(sentence.upos)
            == len(sentence.functions)
            == len(sentence.parents)
            == len(sentence.gloss)
        )
        assert all(sentence.gloss)
        assert [sentence.functions[i] for i in range(n) if sentence.parents[i] == -1] == ["root"]
        for i in range(n):
            steps = 0
            while i != -1:
                assert 0 <= i < n and steps < n
                i, steps = sentence.parents[i], steps + 1


def test_a_sentence_is_what_its_lines_say():
    expected = Sentence(
        ("Kedi", "uyuyor", "."),
        ("NOUN", "VERB", "PUNCT"),
        ("nsubj", "root", "p"),
        (1, -1, 1),
        ("cat", "is-sleeping", "."),
    )
    assert SAMPLE.train[0] == expected


@pytest.mark.parametrize(
    "form, want",
    [
        ("İstanbul", "istanbul"),
        ("AÇIK", "açık"),
        ("Lİ", "li"),
        ("Şehir", "şehir"),
        ("ILIK", "ılık"),
    ],
)
def test_small_letters_are_those_of_turkish(form, want):
    assert treebanks.lower_turkish(form) == want


def test_a_word_is_the_same_in_capitals():
    vocabulary = Vocabulary(SAMPLE, least=1)
    words = {form for example in SAMPLE.train for form in example.forms if "i" in form}
    upper_words = tuple(form.replace("i", "İ").upper() for form in words)
    labels = ("p",) * len(words), (-1,) * len(words)
    lower_batch, upper_batch = (
        vocabulary.batch([Sentence(tuple(forms), labels[0], labels[0], labels[1])])
        for forms in (words, upper_words)
    )
    assert words and (lower_batch.words == upper_batch.words).all()
    assert (lower_batch.suffixes == upper_batch.suffixes).all()


def test_the_treebank_is_the_whole_one():
    bank = treebank()
    if bank.sample:
        pytest.skip(f"the treebank cannot be had: {bank.why}")
    sentences = [*bank.train, *bank.dev, *bank.test]
    assert (len(bank.train), len(bank.dev), len(bank.test)) == (3881, 485, 485)
    assert sum(len(sentence.forms) for sentence in sentences) == 81370
    assert len({tag for sentence in sentences for tag in sentence.functions}) == 44
    assert len({tag for sentence in sentences for tag in sentence.upos}) == 14
    glossed = [sentence for sentence in sentences if sentence.gloss]
    assert len(glossed) == len(treebanks.GLOSSES)
    assert all(len(sentence.gloss) == len(sentence.forms) for sentence in glossed)


def test_a_batch_is_padded_to_its_longest_sentence():
    vocabulary = Vocabulary(SAMPLE, least=1)
    short, long = SAMPLE.train[0], SAMPLE.train[1]
    batch = vocabulary.batch([short, long])
    assert batch.lengths.tolist() == [3, 5]
    assert batch.parents.tolist() == [[1, -1, 1, -1, -1], [1, 3, 3, -1, 3]]
    assert batch.words[0, 3:].tolist() == batch.suffixes[0, 3:].tolist() == [PADDING] * 2
    assert batch.labels[0, 3:].tolist() == [NO_LABEL] * 2
    names = list(vocabulary.labels)
    assert [names[i] for i in batch.labels[1].tolist()] == list(long.functions)
    # "kedi" and "uyuyor" are the same words in both
    assert batch.words[0, :3].tolist() == batch.words[1, [1, 3, 4]].tolist()


def test_a_word_that_training_lacks_is_unknown_and_its_suffix_may_not_be():
    vocabulary = Vocabulary(SAMPLE, least=1)
    batch = vocabulary.batch([Sentence(("Masada", "Qxq"), ("X",) * 2, ("p",) * 2, (1, -1))])
    assert batch.words.tolist()[0][1] == batch.suffixes.tolist()[0][1] == UNKNOWN
    batch = vocabulary.batch([Sentence(("adada",), ("X",), ("p",), (-1,))])
    assert batch.words.item() == UNKNOWN != batch.suffixes.item()


def test_a_word_that_training_has_once_is_unknown_at_least_two():
    default_ids = Vocabulary(SAMPLE).batch([SAMPLE.train[0]]).words[0].tolist()
    all_known_ids = Vocabulary(SAMPLE, least=1).batch([SAMPLE.train[0]]).words[0].tolist()
    assert UNKNOWN not in all_known_ids and default_ids[2] not in (UNKNOWN, PADDING)


def test_the_labels_may_be_parts_of_speech():
    assert set(Vocabulary(SAMPLE, label="upos").labels) >= {"NOUN", "VERB", "PUNCT"}


@pytest.mark.parametrize("size", [1, 4, 100])
def test_an_epoch_has_every_sentence_once_and_like_lengths_together(g, size):
    vocabulary = Vocabulary(SAMPLE, least=1)
    batches = list(vocabulary.batches(SAMPLE.train, size, g))
    rows = [row[:n].tolist() for b in batches for row, n in zip(b.words, b.lengths, strict=True)]
    expected = [vocabulary.batch([example]).words[0].tolist() for example in SAMPLE.train]
    assert sorted(rows) == sorted(expected)
    if size == 4:
        assert max(b.lengths.max() - b.lengths.min() for b in batches) <= 4


def test_the_order_is_the_generators():
    vocabulary = Vocabulary(SAMPLE)
    orders = [
        [b.words.tolist() for b in vocabulary.batches(SAMPLE.train, 4, g)]
        for g in (torch.Generator().manual_seed(seed) for seed in (0, 0, 1))
    ]
    assert orders[0] == orders[1] != orders[2]


def test_what_is_forgotten_is_a_share_of_the_words_and_nothing_else(g):
    vocabulary = Vocabulary(SAMPLE, least=1)
    sentences = SAMPLE.train * 20
    (batch,) = vocabulary.batches(sentences, len(sentences))
    (forgetful,) = vocabulary.batches(sentences, len(sentences), forget=0.25)
    unknown = forgetful.words != batch.words
    assert (forgetful.words[unknown] == UNKNOWN).all() and not (batch.words[unknown] == 0).any()
    assert 0.2 < unknown.sum() / batch.lengths.sum() < 0.3
    assert torch.equal(forgetful.suffixes, batch.suffixes) and torch.equal(
        forgetful.labels, batch.labels
    )
