"""Short texts with human sentiment ratings (Hutto & Gilbert 2014, MIT licence)."""

import html
import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from attncourse.data.archives import Archive, fetch, load_or_sample, unreadable_error
from attncourse.data.batches import (
    PADDING,
    UNKNOWN,
    frequent_items,
    item_ids,
    length_buckets,
    pad_rows,
)

SAMPLE = Path(__file__).with_name("sample_sentiment.tsv")
RATINGS = Archive(
    "vaderSentiment==3.3.2",
    "vaderSentiment-3.3.2.tar.gz",
    "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
)
INNER_ARCHIVE = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
FILE_NAMES = {
    "tweets": "tweets",
    "movies": "movieReviewSnippets",
    "products": "amazonReviewSnippets",
    "editorials": "nytEditorialSnippets",
}
# texts with a smaller absolute mean rating are neutral, and left out
MIN_RATING = 0.5
# a word, an emoticon, or punctuation; repeated ! ? . are one token
TOKEN = re.compile(
    r"[<>]?[:;=8xX][-o*']?[)\](\[dDpP/:}{@|\\]+|[)\](\[dDpP/:}{@|\\]+[-o*']?[:;=8][<>]?|<3"
    r"|[@#]?\w+(?:['’]\w+)*|[!?.]+|[^\w\s]"
)


@dataclass(frozen=True)
class RatedText:
    """A text, and the mean of its at least 20 ratings between -4 and 4."""

    text: str
    rating: float

    @property
    def positive(self) -> bool:
        return self.rating > 0


@dataclass(frozen=True)
class Ratings:
    """Positive and negative texts; `sample` marks our own, and `why` gives the reason."""

    texts: tuple[RatedText, ...]
    kind: str
    sample: bool
    why: str = ""

    def __str__(self) -> str:
        name = "a small sample that we wrote" if self.sample else self.kind
        share = sum(text.positive for text in self.texts) / len(self.texts)
        summary = f"{name}: {len(self.texts):,} texts, {share:.0%} of them positive"
        return summary + (f"\nnot the {self.kind}: {self.why}" if self.why else "")

    def folds(self, k: int, seed: int) -> Iterator[tuple[list[RatedText], list[RatedText]]]:
        """The k pairs of training and test texts of a shuffled k-fold cross-validation."""
        if not 2 <= k <= len(self.texts):
            raise ValueError(f"k={k}: folds are from 2 to {len(self.texts)}, the number of texts")
        g = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(self.texts), generator=g).tolist()
        for fold in range(k):
            test_indices = set(order[fold::k])
            yield (
                [self.texts[i] for i in order if i not in test_indices],
                [self.texts[i] for i in order[fold::k]],
            )


def ratings(kind: str = "tweets", offline: bool = False) -> Ratings:
    """The rated texts of a kind: "tweets", "movies", "products" or "editorials".

    Our sample if they cannot be downloaded. Raises CorruptArchiveError for a download with another
    sha256.
    """
    if kind not in FILE_NAMES:
        raise ValueError(f"kind={kind!r} is none of {', '.join(FILE_NAMES)}")
    return load_or_sample(partial(load_ratings, kind), partial(load_sample, kind), offline)


def load_ratings(kind: str) -> Ratings:
    """The real texts of a kind, from the downloaded archive."""
    path = fetch(RATINGS)
    name = f"hutto_ICWSM_2014/{FILE_NAMES[kind]}_GroundTruth.txt"
    try:
        with tarfile.open(
            fileobj=io.BytesIO(read_member(path.read_bytes(), INNER_ARCHIVE))
        ) as inner:
            file = inner.extractfile(name)
            text = file.read().decode("utf-8", "replace") if file else ""
    except (KeyError, tarfile.TarError) as error:
        raise unreadable_error(path, error) from error
    return Ratings(parse_ratings(text), kind, sample=False)


def read_member(archive: bytes, name: str) -> bytes:
    """The bytes of one file in a compressed tar archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        file = tar.extractfile(name)
        return file.read() if file else b""


def load_sample(kind: str, reason: str) -> Ratings:
    """The sample that comes with the course."""
    return Ratings(parse_ratings(SAMPLE.read_text("utf-8")), kind, sample=True, why=reason)


def parse_ratings(text: str) -> tuple[RatedText, ...]:
    """The non-neutral texts in lines of an id, a rating and a text, separated by tabs."""
    lines = [line.split("\t", 2) for line in text.splitlines() if line.strip()]
    rated = [RatedText(html.unescape(words.strip()), float(rating)) for _, rating, words in lines]
    return tuple(text for text in rated if abs(text.rating) > MIN_RATING)


def tokenize(text: str) -> list[str]:
    """Words, emoticons and punctuation of a text; words in lower case unless all are capitals."""
    tokens = TOKEN.findall(text)
    return [token if token.isupper() and len(token) > 1 else token.lower() for token in tokens]


@dataclass(frozen=True)
class Batch:
    """Padded token ids of texts; the labels are 1 for positive texts, else 0."""

    words: Int[Tensor, "batch n"]
    lengths: Int[Tensor, "batch"]
    labels: Int[Tensor, "batch"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Words and lengths, the arguments of a model."""
        return self.words, self.lengths


class Vocabulary:
    """Ids of the tokens that occur at least `least` times: 0 is padding, 1 an unknown token."""

    def __init__(self, texts: Sequence[RatedText], least: int = 2):
        self.words = item_ids(
            frequent_items((token for text in texts for token in tokenize(text.text)), least), 2
        )

    def batch(self, texts: Sequence[RatedText], device: torch.device | str | None = None) -> Batch:
        """One batch of all these texts; an empty text becomes one unknown token."""
        ids = [[self.words.get(t, UNKNOWN) for t in tokenize(text.text)] for text in texts]
        rows = [row or [UNKNOWN] for row in ids]
        return Batch(
            pad_rows(rows, PADDING, device),
            torch.tensor([len(row) for row in rows], device=device),
            torch.tensor([int(text.positive) for text in texts], device=device),
        )

    def batches(
        self,
        texts: Sequence[RatedText],
        size: int,
        g: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Iterator[Batch]:
        """Batches of all texts, similar lengths together; a generator shuffles them."""
        for indices in length_buckets([len(tokenize(text.text)) for text in texts], size, g):
            yield self.batch([texts[i] for i in indices], device)
