"""Numbers and their names in several languages, from num2words, as a translation task.

Below a million, a German name is one long word, so it is split into its parts.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Int
from torch import Tensor

from attncourse.data.batches import NO_LABEL, PADDING, item_ids, length_buckets, pad_rows

START, END = 1, 2
GERMAN_PART = re.compile(
    "millionen|million|milliarden|milliarde|tausend|hundert|zehn|zwanzig|zig|ßig|und|null|"
    "eins|eine|ein|zwei|drei|vier|fünf|sechs|sech|sieben|sieb|acht|neun|elf|zwölf"
)
WORD = re.compile(r"[^\W\d_]+")
LANGUAGES = {"english": "en", "german": "de", "french": "fr"}
# test sets, by the number of English words in a name
LENGTHS = {"up to 10 words": (1, 10), "11 to 14": (11, 14), "15 and more": (15, 99)}


@cache
def name(number: int, language: str) -> tuple[str, ...]:
    """The words of a number's name; in German, the parts of the words."""
    if language not in LANGUAGES:
        raise ValueError(f"language={language!r} is none of {', '.join(LANGUAGES)}")
    try:
        from num2words import num2words
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "num2words names the numbers, and is not installed: pip install num2words"
        ) from None
    text = num2words(number, lang=LANGUAGES[language]).lower()
    return tuple((GERMAN_PART if language == "german" else WORD).findall(text))


def draw_number(random: random.Random) -> int:
    """A random number below 10^12; each group of three digits is zero with probability 1/2."""
    groups = [random.randrange(1, 1000) * (random.random() < 0.5) for _ in range(4)]
    return sum(group * 1000**i for i, group in enumerate(groups))


def numbers(train: int, test: int, seed: int) -> tuple[list[int], dict[str, list[int]]]:
    """Training numbers of at most 10 English words, and test numbers by the length of their names.

    The training set has all numbers below 100, and none of the test sets.
    """
    if train < 99 or test < 1:
        raise ValueError(f"train={train} must be at least 99, and test={test} at least 1")
    rng, training = random.Random(seed), set(range(1, 100))
    test_sets: dict[str, set[int]] = {name: set() for name in LENGTHS}
    while len(training) < train or min(map(len, test_sets.values())) < test:
        number = draw_number(rng)
        if (
            not number
            or number in training
            or any(number in test_set for test_set in test_sets.values())
        ):
            continue
        words = len(name(number, "english"))
        if words <= LENGTHS["up to 10 words"][1] and len(training) < train:
            training.add(number)
            continue
        for length, (min_words, max_words) in LENGTHS.items():
            if min_words <= words <= max_words and len(test_sets[length]) < test:
                test_sets[length].add(number)
    return sorted(training), {length: sorted(test_set) for length, test_set in test_sets.items()}


@dataclass(frozen=True)
class TranslationBatch:
    """Number names in two languages as token ids; the labels are the target shifted by one."""

    source: Int[Tensor, "batch m"]
    lengths: Int[Tensor, "batch"]
    target: Int[Tensor, "batch n"]
    labels: Int[Tensor, "batch n"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Source, target and source lengths, the arguments of a model."""
        return self.source, self.target, self.lengths


class Words:
    """Vocabularies of two languages: id 0 is padding, 1 the start, 2 the end."""

    def __init__(self, examples: Iterable[int], source: str, target: str):
        examples, self.languages = list(examples), (source, target)
        self.source, self.target = (
            item_ids({word for number in examples for word in name(number, language)}, start=3)
            for language in self.languages
        )

    def batch(
        self, examples: Sequence[int], device: torch.device | str | None = None
    ) -> TranslationBatch:
        """One batch with the names of these numbers; ValueError for a word not in training."""
        source, target = (
            [[word_id(word, table) for word in name(number, language)] for number in examples]
            for language, table in zip(self.languages, (self.source, self.target), strict=True)
        )
        return TranslationBatch(
            pad_rows(source, PADDING, device),
            torch.tensor([len(words) for words in source], device=device),
            pad_rows([[START, *words] for words in target], PADDING, device),
            pad_rows([[*words, END] for words in target], NO_LABEL, device),
        )

    def batches(
        self,
        examples: Sequence[int],
        size: int,
        g: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Iterator[TranslationBatch]:
        """Batches of all numbers, similar lengths together; a generator shuffles them."""
        lengths = [len(name(number, self.languages[0])) for number in examples]
        for indices in length_buckets(lengths, size, g):
            yield self.batch([examples[i] for i in indices], device)

    def decode(self, tokens: Sequence[int]) -> str:
        """The words of a translation as text, up to the end token."""
        words = {i: word for word, i in self.target.items()}
        translated = tokens[: list(tokens).index(END)] if END in tokens else tokens
        return " ".join(words.get(i, "?") for i in translated)


def word_id(word: str, table: dict[str, int]) -> int:
    """Id of a word; ValueError for one that is not in the vocabulary."""
    if word not in table:
        raise ValueError(f"{word!r} is not one of the {len(table)} words of training")
    return table[word]
