"""Short texts and how positive people found them (Hutto & Gilbert 2014, MIT licence)."""

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

from attncourse.data.archives import Archive, fetch, or_sample, unreadable
from attncourse.data.batches import PADDING, UNKNOWN, by_length, frequent, numbered, padded

SAMPLE = Path(__file__).with_name("sample_sentiment.tsv")
RATINGS = Archive(
    "vaderSentiment==3.3.2",
    "vaderSentiment-3.3.2.tar.gz",
    "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
)
MEMBER = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
KINDS = {
    "tweets": "tweets",
    "movies": "movieReviewSnippets",
    "products": "amazonReviewSnippets",
    "editorials": "nytEditorialSnippets",
}
# the mean of 20 ratings says neither yes nor no below this
LEAST = 0.5
# a word, an emoticon, or a mark; what is shouted, and how often, is part of a mark
TOKEN = re.compile(
    r"[<>]?[:;=8xX][-o*']?[)\](\[dDpP/:}{@|\\]+|[)\](\[dDpP/:}{@|\\]+[-o*']?[:;=8][<>]?|<3"
    r"|[@#]?\w+(?:['’]\w+)*|[!?.]+|[^\w\s]"
)


@dataclass(frozen=True)
class Rated:
    """A text, and the mean of at least 20 ratings between -4 and 4."""

    text: str
    rating: float

    @property
    def positive(self) -> bool:
        return self.rating > 0


@dataclass(frozen=True)
class Ratings:
    """Texts that are clearly positive or negative; `sample` says that they are ours."""

    texts: tuple[Rated, ...]
    kind: str
    sample: bool
    why: str = ""

    def __str__(self) -> str:
        name = "a small sample that we wrote" if self.sample else self.kind
        share = sum(one.positive for one in self.texts) / len(self.texts)
        said = f"{name}: {len(self.texts):,} texts, {share:.0%} of them positive"
        return said + (f"\nnot the {self.kind}: {self.why}" if self.why else "")

    def folds(self, k: int, seed: int) -> Iterator[tuple[list[Rated], list[Rated]]]:
        """k times, what to learn from and what to test with: each text is tested once."""
        if not 2 <= k <= len(self.texts):
            raise ValueError(f"k={k}: folds are from 2 to {len(self.texts)}, the number of texts")
        g = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(self.texts), generator=g).tolist()
        for fold in range(k):
            held = set(order[fold::k])
            yield (
                [self.texts[i] for i in order if i not in held],
                [self.texts[i] for i in order[fold::k]],
            )


def ratings(kind: str = "tweets", offline: bool = False) -> Ratings:
    """Tweets, or sentences from reviews of movies or products, or from editorials.

    Without a network, our sample. A downloaded file with another sha256 raises
    CorruptArchiveError: it is never used.
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is none of {', '.join(KINDS)}")
    return or_sample(partial(whole, kind), partial(sample, kind), offline)


def whole(kind: str) -> Ratings:
    """The texts of a kind themselves."""
    path = fetch(RATINGS)
    name = f"hutto_ICWSM_2014/{KINDS[kind]}_GroundTruth.txt"
    try:
        with tarfile.open(fileobj=io.BytesIO(member(path.read_bytes(), MEMBER))) as inner:
            file = inner.extractfile(name)
            text = file.read().decode("utf-8", "replace") if file else ""
    except (KeyError, tarfile.TarError) as error:
        raise unreadable(path, error) from error
    return Ratings(parse(text), kind, sample=False)


def member(archive: bytes, name: str) -> bytes:
    """One file out of a compressed archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        file = tar.extractfile(name)
        return file.read() if file else b""


def sample(kind: str, why: str) -> Ratings:
    """The texts that come with the course."""
    return Ratings(parse(SAMPLE.read_text("utf-8")), kind, sample=True, why=why)


def parse(text: str) -> tuple[Rated, ...]:
    """The clear ones of a text with a line each: a name, a rating and a text, by tabs."""
    lines = [line.split("\t", 2) for line in text.splitlines() if line.strip()]
    rated = [Rated(html.unescape(words.strip()), float(rating)) for _, rating, words in lines]
    return tuple(one for one in rated if abs(one.rating) > LEAST)


def tokens(text: str) -> list[str]:
    """The words, emoticons and marks of a text; words in small letters, unless they shout."""
    found = TOKEN.findall(text)
    return [one if one.isupper() and len(one) > 1 else one.lower() for one in found]


@dataclass(frozen=True)
class Batch:
    """Texts as numbers, padded to the longest; a label for each, 1 where it is positive."""

    words: Int[Tensor, "batch n"]
    lengths: Int[Tensor, "batch"]
    labels: Int[Tensor, "batch"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a model reads."""
        return self.words, self.lengths


class Vocabulary:
    """Numbers for the tokens of the training texts: 0 is padding, 1 an unknown token."""

    def __init__(self, texts: Sequence[Rated], least: int = 2):
        self.words = numbered(frequent((t for one in texts for t in tokens(one.text)), least), 2)

    def batch(self, texts: Sequence[Rated], device: torch.device | str | None = None) -> Batch:
        """One batch of all these texts; one without any token is one unknown token."""
        known = [[self.words.get(t, UNKNOWN) for t in tokens(one.text)] for one in texts]
        rows = [row or [UNKNOWN] for row in known]
        return Batch(
            padded(rows, PADDING, device),
            torch.tensor([len(row) for row in rows], device=device),
            torch.tensor([int(one.positive) for one in texts], device=device),
        )

    def batches(
        self,
        texts: Sequence[Rated],
        size: int,
        g: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Iterator[Batch]:
        """All texts once, those of like lengths together; with a generator, in random order."""
        for places in by_length([len(tokens(one.text)) for one in texts], size, g):
            yield self.batch([texts[i] for i in places], device)
