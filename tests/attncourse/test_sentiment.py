"""Texts and their ratings: what is read out of the archive, the folds, the batches."""

import hashlib
import io
import tarfile

import pytest
import torch

from attncourse.data import CorruptArchiveError, UnavailableError, ratings, sentiment
from attncourse.data.sentiment import FILE_NAMES, RatedText, Vocabulary, tokenize

SAMPLE = ratings(offline=True)


def pack_tar(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


@pytest.fixture
def put_archive(cache, monkeypatch):
    """In the archive's place, one with these bytes, in the cache already."""

    def write_archive(content: bytes) -> None:
        cache.mkdir()
        sha256 = hashlib.sha256(content).hexdigest()
        pin_archive = sentiment.RATINGS._replace(sha256=sha256)
        (cache / pin_archive.name).write_bytes(content)
        monkeypatch.setattr(sentiment, "RATINGS", pin_archive)

    return write_archive


def test_clear_ratings_are_read_and_doubtful_ones_left_out(put_archive):
    lines = "1\t2.5\tGood &amp; cheap :)\r\n2\t0.4\tSo\tso\r\n3\t-0.6\tBad\r\n"
    name = f"hutto_ICWSM_2014/{FILE_NAMES['movies']}_GroundTruth.txt"
    put_archive(pack_tar({sentiment.INNER_ARCHIVE: pack_tar({name: lines.encode()})}))
    actual = ratings("movies")
    assert actual.texts == (RatedText("Good & cheap :)", 2.5), RatedText("Bad", -0.6))
    assert str(actual) == "movies: 2 texts, 50% of them positive"
    with pytest.raises(CorruptArchiveError, match=r"tar\.gz cannot be read .*: delete"):
        ratings("tweets")


@pytest.mark.parametrize("content", [b"no archive", pack_tar({"other": b""})], ids=len)
def test_an_archive_that_cannot_be_read_is_named(put_archive, content):
    put_archive(content)
    with pytest.raises(CorruptArchiveError, match=r"vaderSentiment-3\.3\.2.* cannot be read"):
        ratings()


def test_without_network_the_texts_are_our_sample_and_say_so(monkeypatch):
    def fetch(put_archive):
        raise UnavailableError("no network")

    monkeypatch.setattr(sentiment, "fetch", fetch)
    actual = ratings("tweets")
    assert actual.sample and actual.texts == SAMPLE.texts
    assert str(actual).endswith("not the tweets: no network")
    assert len(actual.texts) == 32 and 0.4 < sum(text.positive for text in actual.texts) / 32 < 0.6


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match=r"kind='poems' .* tweets, movies"):
        ratings("poems")


def test_the_texts_are_the_whole_ones():
    sizes = {"tweets": 3362, "movies": 10043, "products": 2943, "editorials": 2788}
    for kind, size in sizes.items():
        actual = ratings(kind)
        if actual.sample:
            pytest.skip(f"the ratings cannot be had: {actual.why}")
        assert len(actual.texts) == size


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("It's GREAT :-) !!!", ["it's", "GREAT", ":-)", "!!!"]),
        ("<3 @you, #fun :(", ["<3", "@you", ",", "#fun", ":("]),
        ("a/b 20% I", ["a", "/", "b", "20", "%", "i"]),
        ("", []),
    ],
)
def test_emoticons_marks_and_shouted_words_are_tokens(text, want):
    assert tokenize(text) == want


@pytest.mark.parametrize("k", [2, 5, 32])
def test_folds_test_each_text_once_and_never_learn_what_they_test(k):
    folds = list(SAMPLE.folds(k, seed=0))
    assert len(folds) == k
    assert sorted((text for _, test in folds for text in test), key=str) == sorted(
        SAMPLE.texts, key=str
    )
    for train, test in folds:
        assert not {*train} & {*test} and len(train) + len(test) == len(SAMPLE.texts)
    assert folds == list(SAMPLE.folds(k, seed=0)) and folds != list(SAMPLE.folds(k, seed=1))


@pytest.mark.parametrize("k", [1, 33])
def test_folds_that_cannot_be_are_refused_with_the_numbers(k):
    with pytest.raises(ValueError, match=f"k={k}.* 2 to 32"):
        next(SAMPLE.folds(k, seed=0))


def test_a_batch_is_padded_and_an_empty_text_is_one_unknown_token():
    vocabulary = Vocabulary([RatedText("good good film", 1.0), RatedText("bad film", -1.0)])
    batch = vocabulary.batch([RatedText("good dull film", 2.0), RatedText("", -2.0)])
    good, film = vocabulary.words["good"], vocabulary.words["film"]
    assert batch.words.tolist() == [[good, 1, film], [1, 0, 0]]
    assert batch.lengths.tolist() == [3, 1] and batch.labels.tolist() == [1, 0]


def test_an_epoch_has_every_text_once(g):
    vocabulary = Vocabulary(SAMPLE.texts, least=1)
    batches = list(vocabulary.batches(SAMPLE.texts, 5, g))
    rows = [row[:n].tolist() for b in batches for row, n in zip(b.words, b.lengths, strict=True)]
    expected = [vocabulary.batch([text]).words[0].tolist() for text in SAMPLE.texts]
    assert sorted(rows) == sorted(expected)
    assert torch.cat([b.labels for b in batches]).sum() == 17
