"""The Turkish Web Treebank (Kayadelen et al. 2020, Apache-2.0), and a sample of our own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from attncourse.data.archives import Archive, or_sample, texts
from attncourse.data.batches import (
    NO_LABEL,
    PADDING,
    UNKNOWN,
    by_length,
    frequent,
    numbered,
    padded,
)

SAMPLE = Path(__file__).with_name("sample.conllu")
TREEBANK = Archive(
    "turkish-treebanks==1.0.0",
    "turkish_treebanks-1.0.0-py3-none-any.whl",
    "5a009c29a8e96e8f7e25059d59ac293c3baead6d746bf0fa4c9d3349b1e37ba0",
)
# our own word-by-word translations of a few of its sentences
GLOSSES = {
    "tr-guide:00000386:S035": "your-body to-you most right the-way will-show .",
    "tr-forum:00002267:S041": "paint supplies sell -ing in-places is-found .",
    "tr-forum:00000168:S042": "motor's 3 basic sound source there-are .",
    "tr-forum:00000311:S023": "back count you be-born when began !",
    "tr-forum:00000060:S022": "the-ice again apply same to-place .",
    "tr-blog:00000644:S008": "Istanbul Kalamış from-high-school graduate became .",
    "tr-guide:00000634:S003": "most in-case these errors non-existent count you-can .",
    "http://tr.wikipedia.org/wiki/D%C3%B6rtyol,_Hatay:S146": "own service its-building there-is .",
}


@dataclass(frozen=True)
class Sentence:
    """Words (or parts of words) with their tags.

    parents[i] is the word above word i, -1 at the root.
    A gloss translates each word; most sentences have none, and theirs is empty.
    """

    forms: tuple[str, ...]
    upos: tuple[str, ...]
    functions: tuple[str, ...]
    parents: tuple[int, ...]
    gloss: tuple[str, ...] = ()


@dataclass(frozen=True)
class Treebank:
    """Sentences to learn from, to choose by, and to test with; `sample` says that they are ours."""

    train: tuple[Sentence, ...]
    dev: tuple[Sentence, ...]
    test: tuple[Sentence, ...]
    sample: bool
    why: str = ""

    def __str__(self) -> str:
        name = "a small sample that we wrote" if self.sample else "the Turkish Web Treebank"
        sizes = f"{len(self.train):,} sentences to train, {len(self.dev)} to develop"
        sizes += f", {len(self.test)} to test"
        return f"{name}: {sizes}" + (f"\nnot the treebank: {self.why}" if self.why else "")


def treebank(offline: bool = False) -> Treebank:
    """The Turkish Web Treebank in its official split, or our sample where it cannot be had.

    A downloaded file with another sha256 raises CorruptArchiveError: it is never used.
    """
    return or_sample(whole, sample, offline)


def whole() -> Treebank:
    """The treebank itself, whose two sections are split each on its own."""
    found = texts(TREEBANK, r"data/(web|wiki)\.conllu", least=2)
    return split([parse(text) for text in found.values()])


def sample(why: str) -> Treebank:
    """The sentences that come with the course, split as the treebank is."""
    return replace(split([parse(SAMPLE.read_text("utf-8"))]), sample=True, why=why)


def split(sections: Iterable[Sequence[Sentence]]) -> Treebank:
    """Of each ten sentences of a section, eight to train, one to develop, one to test."""
    parts: list[list[Sentence]] = [[], [], []]
    for sentences in sections:
        for i, sentence in enumerate(sentences):
            parts[max(0, i % 10 - 7)].append(sentence)
    train, dev, test = map(tuple, parts)
    return Treebank(train, dev, test, sample=False)


def small_letters(form: str) -> str:
    """A word in small letters, as Turkish has them: that of I is ı, and that of İ is i."""
    return form.replace("I", "ı").replace("İ", "i").lower()


def parse(text: str) -> list[Sentence]:
    """The sentences of a text in CoNLL-U: a line a word, with ten columns; a gloss in the last."""
    return [sentence(block.splitlines()) for block in text.strip().split("\n\n")]


def sentence(lines: Sequence[str]) -> Sentence:
    """One sentence from its lines: comments first, then a line for each word."""
    words = [line.split("\t") for line in lines if not line.startswith("#")]
    _, forms, _, upos, _, _, parents, functions, _, more = zip(*words, strict=True)
    name = lines[0].removeprefix("# sent_id = ")
    gloss = [entry.removeprefix("Gloss=") for entry in more if entry.startswith("Gloss=")]
    gloss = gloss or GLOSSES.get(name, "").split()
    return Sentence(
        forms, upos, functions, tuple(int(parent) - 1 for parent in parents), tuple(gloss)
    )


@dataclass(frozen=True)
class Batch:
    """Sentences as numbers, padded to the longest: parents with -1, labels with NO_LABEL."""

    words: Int[Tensor, "batch n"]
    suffixes: Int[Tensor, "batch n"]
    lengths: Int[Tensor, "batch"]
    labels: Int[Tensor, "batch n"]
    parents: Int[Tensor, "batch n"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a model reads."""
        return self.words, self.suffixes, self.lengths, self.parents


class Vocabulary:
    """Numbers for the words and three-letter suffixes of the training sentences, and for labels.

    `label` names the tags to predict, "functions" or "upos". 0 is padding; 1 is an unknown word or
    suffix: one that training has fewer than `least` times.
    """

    def __init__(self, bank: Treebank, label: str = "functions", least: int = 2):
        forms = [small_letters(form) for one in bank.train for form in one.forms]
        self.label = label
        self.words = numbered(frequent(forms, least), start=2)
        self.suffixes = numbered(frequent((form[-3:] for form in forms), least), start=2)
        parts = (*bank.train, *bank.dev, *bank.test)
        self.labels = numbered({tag for one in parts for tag in getattr(one, label)}, start=0)

    def batch(
        self, sentences: Sequence[Sentence], device: torch.device | str | None = None
    ) -> Batch:
        """One batch of all these sentences."""
        lower = [[small_letters(form) for form in one.forms] for one in sentences]
        words = [[self.words.get(form, UNKNOWN) for form in forms] for forms in lower]
        suffixes = [[self.suffixes.get(form[-3:], UNKNOWN) for form in forms] for forms in lower]
        labels = [[self.labels[tag] for tag in getattr(one, self.label)] for one in sentences]
        return Batch(
            padded(words, PADDING, device),
            padded(suffixes, PADDING, device),
            torch.tensor([len(forms) for forms in lower], device=device),
            padded(labels, NO_LABEL, device),
            padded([one.parents for one in sentences], -1, device),
        )

    def batches(
        self,
        sentences: Sequence[Sentence],
        size: int,
        g: torch.Generator | None = None,
        forget: float = 0.0,
        device: torch.device | str | None = None,
    ) -> Iterator[Batch]:
        """All sentences once, those of like lengths together; with a generator, in random order.

        A share `forget` of the words is made unknown, so that a model learns what to do with those.
        """
        for places in by_length([len(one.forms) for one in sentences], size, g):
            batch = self.batch([sentences[i] for i in places], device)
            if forget:
                lost = torch.rand(batch.words.shape, generator=g).to(batch.words.device) < forget
                words = batch.words.masked_fill(lost & (batch.words != PADDING), UNKNOWN)
                batch = replace(batch, words=words)
            yield batch
