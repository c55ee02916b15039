"""The Turkish Web Treebank (Kayadelen et al. 2020, Apache-2.0), and a sample of our own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from attncourse.data.archives import Archive, load_or_sample, read_texts
from attncourse.data.batches import (
    NO_LABEL,
    PADDING,
    UNKNOWN,
    frequent_items,
    item_ids,
    length_buckets,
    pad_rows,
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
    """Words (or parts of words) with their tags and dependency tree.

    parents[i] is the index of the head of word i, -1 at the root.
    A gloss translates each word; it is empty for most sentences.
    """

    forms: tuple[str, ...]
    upos: tuple[str, ...]
    functions: tuple[str, ...]
    parents: tuple[int, ...]
    gloss: tuple[str, ...] = ()


@dataclass(frozen=True)
class Treebank:
    """Training, development and test sentences; `sample` marks our own, `why` the reason."""

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
    """The Turkish Web Treebank in its official split, or our sample if it cannot be downloaded.

    Raises CorruptArchiveError for a download with another sha256.
    """
    return load_or_sample(load_treebank, load_sample, offline)


def load_treebank() -> Treebank:
    """The real treebank; its two sections, web and wiki, are split separately."""
    sections = read_texts(TREEBANK, r"data/(web|wiki)\.conllu", min_count=2)
    return split_sections([parse_conllu(text) for text in sections.values()])


def load_sample(reason: str) -> Treebank:
    """The sample that comes with the course, split as the treebank is."""
    return replace(
        split_sections([parse_conllu(SAMPLE.read_text("utf-8"))]), sample=True, why=reason
    )


def split_sections(sections: Iterable[Sequence[Sentence]]) -> Treebank:
    """Split every ten sentences of a section into 8 training, 1 development and 1 test."""
    splits: list[list[Sentence]] = [[], [], []]
    for sentences in sections:
        for i, sentence in enumerate(sentences):
            splits[max(0, i % 10 - 7)].append(sentence)
    train, dev, test = map(tuple, splits)
    return Treebank(train, dev, test, sample=False)


def lower_turkish(form: str) -> str:
    """A word in Turkish lower case: I becomes ı, and İ becomes i."""
    return form.replace("I", "ı").replace("İ", "i").lower()


def parse_conllu(text: str) -> list[Sentence]:
    """The sentences of a text in CoNLL-U format; a gloss is in the last of the ten columns."""
    return [parse_sentence(block.splitlines()) for block in text.strip().split("\n\n")]


def parse_sentence(lines: Sequence[str]) -> Sentence:
    """A sentence from its CoNLL-U lines: comments first, then a line for each word."""
    words = [line.split("\t") for line in lines if not line.startswith("#")]
    _, forms, _, upos, _, _, parents, functions, _, misc = zip(*words, strict=True)
    name = lines[0].removeprefix("# sent_id = ")
    gloss = [entry.removeprefix("Gloss=") for entry in misc if entry.startswith("Gloss=")]
    gloss = gloss or GLOSSES.get(name, "").split()
    return Sentence(
        forms, upos, functions, tuple(int(parent) - 1 for parent in parents), tuple(gloss)
    )


@dataclass(frozen=True)
class Batch:
    """Padded ids of sentences; parents are padded with -1, labels with NO_LABEL."""

    words: Int[Tensor, "batch n"]
    suffixes: Int[Tensor, "batch n"]
    lengths: Int[Tensor, "batch"]
    labels: Int[Tensor, "batch n"]
    parents: Int[Tensor, "batch n"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Words, suffixes, lengths and parents, the arguments of a model."""
        return self.words, self.suffixes, self.lengths, self.parents


class Vocabulary:
    """Ids of the words and three-letter suffixes of the training sentences, and of the labels.

    `label` is the field of tags to predict, "functions" or "upos". Id 0 is padding; 1 is an unknown
    word or suffix, one that occurs in training fewer than `least` times.
    """

    def __init__(self, bank: Treebank, label: str = "functions", least: int = 2):
        forms = [lower_turkish(form) for sentence in bank.train for form in sentence.forms]
        self.label = label
        self.words = item_ids(frequent_items(forms, least), start=2)
        self.suffixes = item_ids(frequent_items((form[-3:] for form in forms), least), start=2)
        parts = (*bank.train, *bank.dev, *bank.test)
        self.labels = item_ids(
            {tag for sentence in parts for tag in getattr(sentence, label)}, start=0
        )

    def batch(
        self, sentences: Sequence[Sentence], device: torch.device | str | None = None
    ) -> Batch:
        """One batch of all these sentences."""
        lower = [[lower_turkish(form) for form in sentence.forms] for sentence in sentences]
        words = [[self.words.get(form, UNKNOWN) for form in forms] for forms in lower]
        suffixes = [[self.suffixes.get(form[-3:], UNKNOWN) for form in forms] for forms in lower]
        labels = [[self.labels[tag] for tag in getattr(s, self.label)] for s in sentences]
        return Batch(
            pad_rows(words, PADDING, device),
            pad_rows(suffixes, PADDING, device),
            torch.tensor([len(forms) for forms in lower], device=device),
            pad_rows(labels, NO_LABEL, device),
            pad_rows([sentence.parents for sentence in sentences], -1, device),
        )

    def batches(
        self,
        sentences: Sequence[Sentence],
        size: int,
        g: torch.Generator | None = None,
        forget: float = 0.0,
        device: torch.device | str | None = None,
    ) -> Iterator[Batch]:
        """Batches of all sentences, similar lengths together; a generator shuffles them.

        A share `forget` of the words is replaced by UNKNOWN (word dropout).
        """
        for indices in length_buckets([len(sentence.forms) for sentence in sentences], size, g):
            batch = self.batch([sentences[i] for i in indices], device)
            if forget:
                forgotten = (
                    torch.rand(batch.words.shape, generator=g).to(batch.words.device) < forget
                )
                words = batch.words.masked_fill(forgotten & (batch.words != PADDING), UNKNOWN)
                batch = replace(batch, words=words)
            yield batch
